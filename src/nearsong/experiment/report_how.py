"""The report's last part, how it was done: what validation chose, how the fits went, notes, settings."""

import json
import math
from collections.abc import Sequence

from nearsong.experiment import figures, tables
from nearsong.experiment import report_html as html
from nearsong.experiment import report_words as words
from nearsong.experiment.report_html import Html
from nearsong.experiment.report_run import Row, Run, printable
from nearsong.experiment.report_songs import Pages


def how_section(report: Pages, run: Run, best: Sequence[Row], troubles: Sequence[str]) -> None:
    """Say how the numbers came about and how to get them again."""
    report.section("How it was done", "how")
    report.add(html.paragraph(_procedure(run)))
    _choices(report, run, best)
    _fits(report, run, best)
    _notes(report, run, troubles)
    _repeat(report, run)


def _procedure(run: Run) -> str:
    settings = run.section("settings")
    listeners, relevant = settings.get("min_listeners"), settings.get("n_relevant")
    plays = settings.get("min_plays")
    text = (
        "Artists were split at random into 40 % to learn from, 30 % to choose settings with (validation) and 30 % to "
        "test with; no artist is in two parts."
    )
    if isinstance(relevant, int):
        text += (
            f" An artist's {relevant} most similar training artists, by the listeners they share, are relevant to it"
        )
        text += f"; someone who played an artist {plays:g} times or more is a listener" * isinstance(
            plays, int | float
        )
        text += (
            f", and artists with fewer than {listeners} listeners take no part in learning or testing"
            * isinstance(listeners, int)
        )
        text += "."
    return (
        f"{text} A song's relevant songs are those of its artist's relevant artists. Every configuration was chosen "
        "by its AUC on the validation songs, and only then scored on the test songs."
    )


def _choices(report: Pages, run: Run, best: Sequence[Row]) -> None:
    """Show the loss and C that validation chose, split by split."""
    everything = tables.choices(run)
    report.csv("choices", everything)
    columns = []
    for record in best:
        wanted = record["method"], record["codebook"], record["tau"]
        own = {row["split"]: row for row in everything if (row["method"], row["codebook"], row["tau"]) == wanted}
        if own:
            columns.append((record["method"], own))
    if not columns:
        return
    splits = sorted({split for _, own in columns for split in own})
    cells = [[str(split), *(_choice(own.get(split)) for _, own in columns)] for split in splits]
    header = ["Split", *(words.method_name(method) for method, _ in columns)]
    report.add(Html("<h3>What validation chose</h3>"))
    report.add(html.paragraph("The loss learned with and C, how much a wrong ranking costs, for each split."))
    report.add(html.table(header, cells, range(1, 20)))


def _choice(row: Row | None) -> str:
    if row is None:
        return "–"
    C = row["C"]
    return f"{str(row['loss']).upper()}, C {C:g}" if isinstance(C, int | float) else str(row["loss"]).upper()


def _fits(report: Pages, run: Run, best: Sequence[Row]) -> None:
    """Show what the fits took, by loss and C."""
    everything = tables.convergence(run)
    report.csv("convergence", everything)
    methods = {row["method"] for row in everything}
    lead = words.leading_method(best)
    method = lead if lead in methods else next(iter(sorted(methods)), None)
    rows = [row for row in everything if row["method"] == method and row["loss"] is not None]
    rows = [row for row in rows if isinstance(row["C"], int | float) and row["C"] > 0]
    if method is None or not rows:
        return
    record = next((r for r in best if r["method"] == method), None)
    configuration = (record["codebook"], record["tau"]) if record else (None, None)
    chosen = tables.validation_by_choice(run, method, configuration)
    chosen = [row for row in chosen if isinstance(row["C"], int | float) and row["C"] > 0]
    fits, seconds = sum(row["fits"] for row in rows), sum(row["total_seconds"] for row in rows)
    gaps = [row["largest_gap"] for row in rows if not math.isnan(row["largest_gap"])]
    report.add(Html("<h3>How the fits went</h3>"))
    text = f"{words.method_name(method)} was fitted {fits:,} times, {_duration(seconds)} together."
    if gaps:
        text += f" Every fit ends with a proof of how far from the optimum it can be: at most {max(gaps):.1e} here."
    report.add(html.paragraph(text))
    if len({row["C"] for row in rows}) > 1:
        caption = "Left: mean over splits in the chosen configuration. Others: medians over all fits of the method."
        report.figure(figures.fitting_figure(chosen, rows), "fits", caption)
    header = ["Loss", "C", "Fits", "Rounds", "Seconds", "Gap", "Largest gap", "Rank"]
    cells = [
        [
            str(row["loss"]).upper(),
            f"{row['C']:g}",
            row["fits"],
            words.number(row["rounds"], 0),
            words.number(row["seconds"], 2),
            _tiny(row["gap"]),
            _tiny(row["largest_gap"]),
            words.number(row["rank"], 0),
        ]
        for row in rows
    ]
    report.add(html.details("All fits by loss and C (medians)", html.table(header, cells, range(1, 8))))


def _tiny(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1e}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _notes(report: Pages, run: Run, troubles: Sequence[str]) -> None:
    """Show what is to be known about the data and about this report."""
    notes = run.section("dataset").get("notes")
    texts = [printable(note) for note in notes] if isinstance(notes, list) else []
    statistics = run.section("statistics")
    labels = (("experiment_artists", "artists in the experiment"), ("experiment_songs", "songs in the experiment"),
              ("codebook_artists", "other artists that the codebooks are made of"),
              ("codebook_frames", "frames that the codebooks are made of"))  # fmt: skip
    counts = [f"{statistics[key]:,} {label}" for key, label in labels if isinstance(statistics.get(key), int)]
    if counts:
        texts.insert(0, "; ".join(counts) + ".")
    if run.unreadable_lines:
        texts.append(f"{run.unreadable_lines} line(s) of results.jsonl are cut off and were skipped.")
    texts += troubles
    if texts:
        report.add(Html("<h3>Notes on the data</h3>"), html.bullets(texts))


def _repeat(report: Pages, run: Run) -> None:
    """Show settings, seed and version, and how to repeat the run."""
    dataset, settings = run.section("dataset"), run.section("settings")
    facts = [
        ["Data set", printable(dataset.get("name") or "–")],
        ["Kind of content", printable(dataset.get("content") or "–")],
        ["Fingerprint of the data", printable(dataset.get("fingerprint") or "–")],
        ["nearsong", printable(run.header.get("nearsong") or "–")],
        ["Seed", printable(settings.get("seed", "–"))],
    ]
    report.add(Html("<h3>To repeat it</h3>"))
    report.add(html.paragraph(
        "Run the experiment on the same data set with this version and these settings; the seed fixes the splits, "
        "and the fingerprint tells whether the data are the same. nearsong experiment report RUN "
        "writes this page again from the run folder alone."))  # fmt: skip
    report.add(html.table(["", ""], [row for row in facts if row[1] != "–"]))
    text = json.dumps(settings, indent=2, sort_keys=True)
    report.add(html.details("All settings", html.preformatted(text)))
