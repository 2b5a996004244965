"""Rows of a run -> the report's section on methodology: protocol, chosen settings, convergence, notes, settings."""

import json
import math
from collections.abc import Iterable, Sequence

from nearsong.experiment.report import figures, html, tables
from nearsong.experiment.report import wording as words
from nearsong.experiment.report.html import Html
from nearsong.experiment.report.reading import Row, Run, printable
from nearsong.experiment.report.songs import ReportWriter


def methodology_section(report: ReportWriter, run: Run, best: Sequence[Row], warnings: Sequence[str]) -> None:
    """Describe how the results were computed and how to reproduce them."""
    report.section("Methodology", "methodology")
    report.add(html.paragraph(_protocol(run)))
    _choices(report, run, best)
    _convergence(report, run, best)
    _notes(report, run, warnings)
    _settings(report, run)


def _protocol(run: Run) -> str:
    settings = run.section("settings")
    relevant, plays, listeners = (settings.get(name) for name in ("n_relevant", "min_plays", "min_listeners"))
    sentences = [
        "Artists were split at random into 40 % for training, 30 % for validation and 30 % for testing; no artist is "
        "in two parts."
    ]
    if isinstance(relevant, int):
        sentences.append(
            f"The {relevant} training artists that share most listeners with an artist are relevant to it."
        )
    if isinstance(plays, int | float):
        sentences.append(f"A listener of an artist is a user with at least {plays:g} plays.")
    if isinstance(listeners, int):
        sentences.append(f"Artists with fewer than {listeners} listeners are used for the codebook only.")
    sentences.append(
        "The relevant songs of a query are those of its artist's relevant artists. Configurations were chosen by "
        "their AUC on validation songs, and only then scored on test songs."
    )
    return " ".join(sentences)


def _choices(report: ReportWriter, run: Run, best: Sequence[Row]) -> None:
    """Show the loss and C that validation chose for each split."""
    choices = tables.choices(run)
    report.csv("choices", choices)
    columns = []
    for record in best:
        configuration = record["method"], record["codebook"], record["tau"]
        own = {row["split"]: row for row in choices if (row["method"], row["codebook"], row["tau"]) == configuration}
        if own:
            columns.append((record["method"], own))
    if not columns:
        return
    splits = sorted({split for _, own in columns for split in own})
    cells = [[str(split), *(_choice(own.get(split)) for _, own in columns)] for split in splits]
    header = ["Split", *(words.method_name(method) for method, _ in columns)]
    report.add(Html("<h3>Chosen loss and C</h3>"))
    report.add(html.paragraph("Training loss and C, the cost of ranking errors, chosen on validation songs."))
    report.add(html.table(header, cells, range(1, 20)))


def _choice(row: Row | None) -> str:
    if row is None:
        return "–"
    C = row["C"]
    return f"{str(row['loss']).upper()}, {C:g}" if isinstance(C, int | float) else str(row["loss"]).upper()


def _convergence(report: ReportWriter, run: Run, best: Sequence[Row]) -> None:
    """Show rounds, time and optimality gap of the fits by loss and C."""
    records = tables.convergence(run)
    report.csv("convergence", records)
    method = _fitted_method(records, best)
    fits = _with_cost(row for row in records if row["method"] == method and row["loss"] is not None)
    if method is None or not fits:
        return
    report.add(Html("<h3>Convergence</h3>"), html.paragraph(_convergence_words(method, fits)))
    if len({row["C"] for row in fits}) > 1:
        caption = "Left: mean over splits in the chosen configuration. Others: medians over all fits of the method."
        drawn = figures.fitting_figure(_validation_rows(run, method, best), fits)
        report.figure(drawn, "fits", caption)
    report.add(html.details("All fits by loss and C (medians)", _fit_table(fits)))


def _fitted_method(records: Sequence[Row], best: Sequence[Row]) -> str | None:
    """Return the method that the report is about if it was fitted, otherwise the first that was."""
    methods = {row["method"] for row in records}
    lead = words.leading_method(best)
    return lead if lead in methods else min(methods, default=None)


def _with_cost(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if isinstance(row["C"], int | float) and row["C"] > 0]


def _validation_rows(run: Run, method: str, best: Sequence[Row]) -> list[Row]:
    """Return the validation AUC by loss and C in the chosen configuration of a method."""
    chosen = [(record["codebook"], record["tau"]) for record in best if record["method"] == method]
    return _with_cost(tables.validation_by_choice(run, method, chosen[0] if chosen else (None, None)))


def _convergence_words(method: str, fits: Sequence[Row]) -> str:
    n_fits, seconds = sum(row["fits"] for row in fits), sum(row["total_seconds"] for row in fits)
    gaps = [row["largest_gap"] for row in fits if not math.isnan(row["largest_gap"])]
    text = f"{words.method_name(method)} was fitted {n_fits:,} times, in {_duration(seconds)} altogether."
    if gaps:
        text += f" Every fit has a certified bound on its distance to the optimum, at most {max(gaps):.1e} here."
    return text


def _fit_table(fits: Sequence[Row]) -> Html:
    header = ["Loss", "C", "Fits", "Rounds", "Seconds", "Gap", "Largest gap", "Rank"]
    cells = [
        [
            str(row["loss"]).upper(),
            f"{row['C']:g}",
            row["fits"],
            words.number(row["rounds"], 0),
            words.number(row["seconds"], 2),
            _scientific(row["gap"]),
            _scientific(row["largest_gap"]),
            words.number(row["rank"], 0),
        ]
        for row in fits
    ]
    return html.table(header, cells, range(1, 8))


def _scientific(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1e}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _notes(report: ReportWriter, run: Run, warnings: Sequence[str]) -> None:
    """List notes on the data and on this report."""
    notes = run.section("dataset").get("notes")
    texts = [printable(note) for note in notes] if isinstance(notes, list) else []
    statistics = run.section("statistics")
    labels = (("experiment_artists", "artists in the experiment"), ("experiment_songs", "songs in the experiment"),
              ("codebook_artists", "other artists for the codebooks"),
              ("codebook_frames", "frames for the codebooks"))  # fmt: skip
    counts = [f"{statistics[key]:,} {label}" for key, label in labels if isinstance(statistics.get(key), int)]
    if counts:
        texts.insert(0, "; ".join(counts) + ".")
    if run.unreadable_lines:
        texts.append(f"{run.unreadable_lines} incomplete line(s) of results.jsonl were skipped.")
    texts += warnings
    if texts:
        report.add(Html("<h3>Notes</h3>"), html.bullets(texts))


def _settings(report: ReportWriter, run: Run) -> None:
    """Show settings, seed and version, and how to reproduce the run."""
    dataset, settings = run.section("dataset"), run.section("settings")
    rows = [
        ["Data set", printable(dataset.get("name") or "–")],
        ["Content", printable(dataset.get("content") or "–")],
        ["Fingerprint of the data", printable(dataset.get("fingerprint") or "–")],
        ["nearsong", printable(run.header.get("nearsong") or "–")],
        ["Seed", printable(settings.get("seed", "–"))],
    ]
    report.add(Html("<h3>Reproducing this run</h3>"))
    report.add(html.paragraph(
        "Run the experiment on the same data set with this version and these settings; the seed determines the "
        "splits, and the fingerprint identifies the data."))  # fmt: skip
    report.add(html.table(["", ""], [row for row in rows if row[1] != "–"]))
    text = json.dumps(settings, indent=2, sort_keys=True)
    report.add(html.details("All settings", html.preformatted(text)))
