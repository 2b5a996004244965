"""Rows of a run -> the tables of its report, each a list of records (dictionaries).

Means and standard deviations are over splits (with n - 1; NaN for a single split). Configurations are chosen by
validation AUC only, never by test scores (paper IV-B).
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import scipy.stats

from nearsong.experiment.methods.registry import LEADING
from nearsong.experiment.report.reading import Row, Run, number_or_nan, score_of

DATABASES = ("known", "unknown")
ALL_DATABASES = (*DATABASES, "mixed")
SCORES = ("auc", "mrr", "ndcg", "map", "precision_at_k", "tercile_auc")
MEASURES = {
    **{database: (database, "auc") for database in ALL_DATABASES},
    **{f"{database}_terciles": (database, "tercile_auc") for database in ALL_DATABASES},
}
"""What methods are compared by: name -> database and score."""
PARTS = ("training", "validation", "test")
Configuration = tuple[Any, Any]  # codebook size and tau; None for methods without


def mean_and_std(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and standard deviation (n - 1) of the finite values; NaN if there are too few.

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
    """Sort None before numbers before text."""
    if value is None:
        return 0, 0.0, ""
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, str(value))


def _grouped(rows: Iterable[Row], *keys: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Return rows grouped by the values of some keys, sorted by these values."""
    ordered = sorted(rows, key=lambda row: tuple(_sortable(row.get(key)) for key in keys))
    grouped = groupby(ordered, key=lambda row: tuple(row.get(key) for key in keys))
    return [(values, list(group)) for values, group in grouped]


def split_statistics(run: Run) -> list[Row]:
    """Return the paper's Table I: artists, songs and relevant songs per query of each part of the splits.

    ``relevant_std_songs`` is the standard deviation over the songs of a split, averaged over splits, as in the paper.
    ``relevant_std`` is the standard deviation of the means of the splits.
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
    """Return validation AUC, test scores, dimension and rank of every method in every configuration."""
    table = []
    for (method, codebook, tau), rows in _grouped(run.picks, "method", "codebook", "tau"):
        record: Row = {"method": method, "codebook": codebook, "tau": tau, "splits": len(rows)}
        validation = [score_of(row, "validation", "known") for row in rows]
        record["validation_auc"], record["validation_auc_std"] = mean_and_std(validation)
        record["validation_unknown_auc"] = mean_and_std(score_of(row, "validation", "unknown") for row in rows)[0]
        for database in ALL_DATABASES:
            for score in SCORES:
                name = f"{database}_{score}"
                values = [score_of(row, "test", database, score) for row in rows]
                record[name], record[f"{name}_std"] = mean_and_std(values)
        for name in ("dimension", "rank"):
            record[name], record[f"{name}_std"] = mean_and_std(number_or_nan(row.get(name)) for row in rows)
        table.append(record)
    return table


def comparison(run: Run) -> list[Row]:
    """Return every method in its best configuration, sorted by test AUC.

    The configuration is the one with the highest mean validation AUC among those with the most splits (in an
    unfinished run few splits may be misleading); ties go to the smaller codebook and tau. Test scores are not used.
    """
    best: dict[str, Row] = {}
    for record in configurations(run):
        previous = best.get(record["method"])
        if previous is None or _merit(record) > _merit(previous):
            best[record["method"]] = record
    return sorted(best.values(), key=lambda record: -_first_finite(record["known_auc"], record["unknown_auc"]))


def _merit(record: Row) -> tuple[int, float]:
    return record["splits"], _first_finite(record["validation_auc"], -math.inf)


def _first_finite(*values: float) -> float:
    return next((value for value in values if not math.isnan(value)), -math.inf)


def auc_by_split(run: Run, record: Row, measure: str) -> dict[int, float]:
    """Return the test AUC of a method in a configuration for each split, for one of the ``MEASURES``."""
    configuration = record["method"], record["codebook"], record["tau"]
    scores = {
        int(row["split"]): score_of(row, "test", *MEASURES[measure])
        for row in run.picks
        if (row["method"], row.get("codebook"), row.get("tau")) == configuration
    }
    return {split: auc for split, auc in scores.items() if math.isfinite(auc)}


def paired_difference(first: dict[int, float], second: dict[int, float]) -> Row | None:
    """Compare two methods on their common splits: mean difference, its 95 % confidence interval, splits above 0.

    Parameters
    ----------
    first, second : dict of int to float
        Score of each split.

    Returns
    -------
    dict or None
        ``difference`` (first - second), ``low`` and ``high`` (Student's t, NaN for one split), ``above`` and
        ``splits``; None without common splits.

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
    """Compare all pairs of methods in their best configurations by each of the ``MEASURES``, as ``database``."""
    table = []
    for database in MEASURES:
        scores = {record["method"]: auc_by_split(run, record, database) for record in best}
        for method, own in scores.items():
            for against, reference in scores.items():
                pair = paired_difference(own, reference) if method != against else None
                if pair is not None:
                    table.append({"method": method, "against": against, "database": database, **pair})
    return table


def effective_dimensions(run: Run) -> list[Row]:
    """Return the number of principal components for 95 % of the variance, by codebook and tau.

    As in the paper for vectors in PPK space, or if the run has none for those of the next learned method.
    """
    rows = [row for row in run.picks + run.cells if row.get("codebook") is not None and row.get("tau") is not None]
    rows = [row for row in rows if not math.isnan(number_or_nan(row.get("dimension")))]
    present = {row["method"] for row in rows}
    method = next((method.name for method in LEADING if method.name in present), None)
    table = []
    for (codebook, tau), group in _grouped((row for row in rows if row["method"] == method), "codebook", "tau"):
        by_split = {int(row["split"]): float(row["dimension"]) for row in group}
        mean, std = mean_and_std(by_split.values())
        table.append({"method": method, "codebook": codebook, "tau": tau, "dimension": mean, "dimension_std": std,
                      "splits": len(by_split)})  # fmt: skip
    return table


def learning_curve(run: Run) -> list[Row]:
    """Return mean and standard deviation of the test AUC by number of training artists."""
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
    """Return the choice of validation for every learned method, configuration and split."""
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
    """Return medians of rounds, gap, seconds and rank of the fits by method, loss and C, and the largest gap."""
    table = []
    for (method, loss, C), rows in _grouped(run.cells, "method", "loss", "C"):
        values = {name: _finite(row.get(name) for row in rows) for name in ("rounds", "gap", "seconds", "rank")}
        record: Row = {"method": method, "loss": loss, "C": C, "fits": len(rows)}
        for name, finite in values.items():
            record[name] = float(np.median(finite)) if finite else math.nan
        record["largest_gap"] = max(values["gap"], default=math.nan)
        record["total_seconds"] = sum(values["seconds"])
        table.append(record)
    return table


def validation_by_choice(run: Run, method: str, configuration: Configuration) -> list[Row]:
    """Return the validation AUC of a method in one configuration by loss and C."""
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
