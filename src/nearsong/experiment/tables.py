"""Rows of a run -> the numbers of its report: one list of records a table, every record a dictionary.

Means and standard deviations go over splits (with n - 1; NaN for a single split). Configurations are chosen by
validation only; test scores are looked at afterwards (paper IV-B).
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import scipy.stats

from nearsong.experiment.report_run import Row, Run, number_or_nan, score_of

DATABASES = ("known", "unknown")
SCORES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
PARTS = ("training", "validation", "test")
Configuration = tuple[Any, Any]  # codebook size and tau; None for methods without


def mean_and_std(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and standard deviation (n - 1) of the finite values; NaN where there are too few.

    Examples
    --------
    >>> mean_and_std([1.0, 3.0, float("nan")])
    (2.0, 1.4142135623730951)
    >>> mean_and_std([5.0])
    (5.0, nan)
    """
    finite = np.array([value for value in values if math.isfinite(value)])
    mean = float(finite.mean()) if finite.size else math.nan
    return mean, float(finite.std(ddof=1)) if finite.size > 1 else math.nan


def _sortable(value: Any) -> tuple[int, float, str]:
    """Order None before numbers before text."""
    if value is None:
        return 0, 0.0, ""
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, str(value))


def _grouped(rows: Iterable[Row], *keys: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Return rows by the values of some keys, in ascending order of these."""
    ordered = sorted(rows, key=lambda row: tuple(_sortable(row.get(key)) for key in keys))
    grouped = groupby(ordered, key=lambda row: tuple(row.get(key) for key in keys))
    return [(values, list(group)) for values, group in grouped]


def split_statistics(run: Run) -> list[Row]:
    """Describe the parts of the splits (the paper's Table I): artists, songs and relevant songs a query.

    ``relevant_std_songs`` is the spread from song to song within a split, averaged over splits; the paper's
    Table I gives that one. ``relevant_std`` is the spread of the splits' means.
    """
    table = []
    for part in PARTS:
        rows = [row["parts"][part] for row in run.splits if isinstance(row["parts"].get(part), dict)]
        if not rows:
            continue
        record: Row = {"part": part, "splits": len(rows)}
        for name in ("artists", "songs", "relevant", "queries"):
            values = [number_or_nan(row.get(name)) for row in rows]
            record[name], record[f"{name}_std"] = mean_and_std(values)
        record["relevant_std_songs"] = mean_and_std(number_or_nan(row.get("relevant_std")) for row in rows)[0]
        table.append(record)
    return table


def configurations(run: Run) -> list[Row]:
    """Score every method in every configuration: validation AUC, all test scores, dimension and rank."""
    table = []
    for (method, codebook, tau), rows in _grouped(run.picks, "method", "codebook", "tau"):
        record: Row = {"method": method, "codebook": codebook, "tau": tau, "splits": len(rows)}
        validation = [score_of(row, "validation", "known") for row in rows]
        record["validation_auc"], record["validation_auc_std"] = mean_and_std(validation)
        for database in DATABASES:
            for score in SCORES:
                name = f"{database}_{score}"
                values = [score_of(row, "test", database, score) for row in rows]
                record[name], record[f"{name}_std"] = mean_and_std(values)
        for name in ("dimension", "rank"):
            record[name], record[f"{name}_std"] = mean_and_std(number_or_nan(row.get(name)) for row in rows)
        table.append(record)
    return table


def comparison(run: Run) -> list[Row]:
    """Give every method its best configuration, best among all by test AUC first.

    The configuration is the one with the highest mean validation AUC among those measured on the most splits
    (in an unfinished run few splits may flatter); equals go to the smaller codebook and tau. Test scores have no
    part in it.
    """
    best: dict[str, Row] = {}
    for record in configurations(run):
        other = best.get(record["method"])
        if other is None or _merit(record) > _merit(other):
            best[record["method"]] = record
    return sorted(best.values(), key=lambda record: -_first_finite(record["known_auc"], record["unknown_auc"]))


def _merit(record: Row) -> tuple[int, float]:
    return record["splits"], _first_finite(record["validation_auc"], -math.inf)


def _first_finite(*values: float) -> float:
    return next((value for value in values if not math.isnan(value)), -math.inf)


def auc_by_split(run: Run, record: Row, database: str) -> dict[int, float]:
    """Return the test AUC of a method in a configuration, split by split."""
    wanted = record["method"], record["codebook"], record["tau"]
    scores = {
        int(row["split"]): score_of(row, "test", database)
        for row in run.picks
        if (row["method"], row.get("codebook"), row.get("tau")) == wanted
    }
    return {split: auc for split, auc in scores.items() if math.isfinite(auc)}


def paired_difference(first: dict[int, float], second: dict[int, float]) -> Row | None:
    """Compare two methods over the splits both have: mean difference, its 95 % interval, splits above 0.

    Parameters
    ----------
    first, second : dict of int to float
        Scores by split.

    Returns
    -------
    dict or None
        ``difference`` (first - second), ``low`` and ``high`` (Student's t, NaN for one split), ``above`` and
        ``splits``; None if they share no split.

    Examples
    --------
    >>> record = paired_difference({0: 0.8, 1: 0.7, 2: 0.9}, {0: 0.7, 1: 0.7, 2: 0.7})
    >>> {name: round(float(value), 3) for name, value in record.items()}
    {'difference': 0.1, 'low': -0.148, 'high': 0.348, 'above': 2.0, 'splits': 3.0}
    """
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    differences = np.array([first[split] - second[split] for split in common])
    mean, std = mean_and_std(differences)
    n = len(common)
    half = float(scipy.stats.t.ppf(0.975, n - 1)) * std / math.sqrt(n) if n > 1 else math.nan
    above = int((differences > 0).sum())
    return {"difference": mean, "low": mean - half, "high": mean + half, "above": above, "splits": n}


def paired_differences(run: Run, best: Sequence[Row]) -> list[Row]:
    """Compare every method with every other, each in its best configuration, for both databases."""
    table = []
    for database in DATABASES:
        scores = {record["method"]: auc_by_split(run, record, database) for record in best}
        for method, own in scores.items():
            for against, others in scores.items():
                pair = paired_difference(own, others) if method != against else None
                if pair is not None:
                    table.append({"method": method, "against": against, "database": database, **pair})
    return table


def effective_dimensions(run: Run) -> list[Row]:
    """Return how many principal components keep 95 % of the variance, by codebook and tau.

    As in the paper for vectors in PPK space; where a run has none, for those of the next learned method.
    """
    rows = [row for row in run.picks + run.cells if row.get("codebook") is not None and row.get("tau") is not None]
    rows = [row for row in rows if not math.isnan(number_or_nan(row.get("dimension")))]
    method = next((name for name in ("ppk_mlr", "averaged", "native_ppk", "mlr", "native")
                   if any(row["method"] == name for row in rows)), None)  # fmt: skip
    table = []
    for (codebook, tau), group in _grouped((row for row in rows if row["method"] == method), "codebook", "tau"):
        by_split = {int(row["split"]): float(row["dimension"]) for row in group}
        mean, std = mean_and_std(by_split.values())
        table.append({"method": method, "codebook": codebook, "tau": tau, "dimension": mean, "dimension_std": std,
                      "splits": len(by_split)})  # fmt: skip
    return table


def learning_curve(run: Run) -> list[Row]:
    """Return the test AUC against the number of training artists, mean and spread over splits."""
    table = []
    for (method, codebook, tau, artists), rows in _grouped(run.curve, "method", "codebook", "tau", "artists"):
        record: Row = {"method": method, "codebook": codebook, "tau": tau, "artists": artists, "splits": len(rows)}
        record["songs"] = mean_and_std(number_or_nan(row.get("songs")) for row in rows)[0]
        for database in DATABASES:
            values = [score_of(row, "test", database) for row in rows]
            record[f"{database}_auc"], record[f"{database}_auc_std"] = mean_and_std(values)
        table.append(record)
    return table


def choices(run: Run) -> list[Row]:
    """Return what validation chose, split by split, for every learned method and configuration."""
    names = ("method", "codebook", "tau", "split", "loss", "C", "dimension", "rank")
    table = []
    for _, rows in _grouped((row for row in run.picks if row.get("loss") is not None), "method", "codebook", "tau"):
        for row in rows:
            record = {name: row.get(name) for name in names}
            record["validation_auc"] = score_of(row, "validation", "known")
            record["test_known_auc"] = score_of(row, "test", "known")
            table.append(record)
    return table


def convergence(run: Run) -> list[Row]:
    """Return what the fits of each method took, by loss and C: medians, and the largest gap left open."""
    table = []
    for (method, loss, C), rows in _grouped(run.cells, "method", "loss", "C"):
        values = {name: _finite(row.get(name) for row in rows) for name in ("rounds", "gap", "seconds", "rank")}
        record: Row = {"method": method, "loss": loss, "C": C, "fits": len(rows)}
        for name, found in values.items():
            record[name] = float(np.median(found)) if found else math.nan
        record["largest_gap"] = max(values["gap"], default=math.nan)
        record["total_seconds"] = sum(values["seconds"])
        table.append(record)
    return table


def validation_by_choice(run: Run, method: str, configuration: Configuration) -> list[Row]:
    """Return the validation AUC of every loss and C tried for a method in one configuration."""
    rows = [row for row in run.cells if row["method"] == method]
    rows = [row for row in rows if (row.get("codebook"), row.get("tau")) == configuration]
    table = []
    for (loss, C), group in _grouped(rows, "loss", "C"):
        mean, std = mean_and_std(score_of(row, "validation", "known") for row in group)
        table.append({"loss": loss, "C": C, "validation_auc": mean, "validation_auc_std": std, "splits": len(group)})
    return table


def _finite(values: Iterable[Any]) -> list[float]:
    return [number for value in values if not math.isnan(number := number_or_nan(value))]


def as_csv(table: Sequence[Row]) -> str:
    """Return records as CSV with a header; None and NaN become empty.

    Examples
    --------
    >>> print(as_csv([{"method": "native", "auc": 0.68, "tau": None}]), end="")
    method,auc,tau
    native,0.68,
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), lineterminator="\n")
    writer.writeheader()
    for record in table:
        writer.writerow({name: "" if value is None or value != value else value for name, value in record.items()})
    return text.getvalue()
