"""A run folder -> its report: figures (PNG, SVG), tables (CSV) and one self-contained page (paper IV and V).

What a run does not have - tags, codebooks, a learning curve, songs to show - is left out of the report.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearsong.experiment import figures, tables
from nearsong.experiment import report_html as html
from nearsong.experiment import report_words as words
from nearsong.experiment.report_how import how_section
from nearsong.experiment.report_html import Html
from nearsong.experiment.report_run import Row, Run, printable, read_run, read_showcase
from nearsong.experiment.report_songs import map_section, playlist_section
from nearsong.experiment.report_style import DATABASE_NAMES

_NUMBERS = range(1, 20)  # columns: all but the first


@dataclass
class Report:
    """The report under construction: where files go, the page's parts, and the headings it links to."""

    out: Path
    parts: list[Html] = field(default_factory=list)
    sections: list[tuple[str, str]] = field(default_factory=list)

    def add(self, *parts: Html) -> None:
        """Append to the page."""
        self.parts.extend(parts)

    def section(self, title: str, anchor: str) -> None:
        """Begin a section."""
        self.sections.append((title, anchor))
        self.add(html.heading(title, anchor))

    def figure(self, drawn: figures.Figure, name: str, caption: str) -> None:
        """Write a figure and show it."""
        self.add(html.figure(figures.save(drawn, self.out / "figures", name), name, caption))

    def csv(self, name: str, table: Sequence[Row]) -> None:
        """Write a table as CSV, unless it is empty."""
        if table:
            (self.out / "tables" / f"{name}.csv").write_text(tables.as_csv(table), encoding="utf-8")


def write_report(run_folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a run.

    Parameters
    ----------
    run_folder : path-like
        A run folder; the run need not be complete.
    out : path-like, optional
        Where to write, by default ``report`` inside the run folder. Files of an earlier report are replaced.

    Returns
    -------
    Path
        The page, ``index.html``. Beside it: ``figures`` with a PNG and an SVG each, ``tables`` with CSV files.

    Raises
    ------
    InvalidInputError
        If the folder is no run folder, or nothing in it is finished.

    Examples
    --------
    >>> write_report("no-such-run")
    Traceback (most recent call last):
    ...
    nearsong.errors.InvalidInputError: no-such-run is no folder; give the folder of a run.
    """
    run = read_run(run_folder)
    showcase, trouble = read_showcase(run_folder)
    report = Report(Path(run_folder) / "report" if out is None else Path(out))
    for folder in ("figures", "tables"):
        (report.out / folder).mkdir(parents=True, exist_ok=True)

    best = tables.comparison(run)
    pairs = tables.paired_differences(run, best)
    curve = _leading_curve(run, best)
    _found_section(report, run, best, pairs, curve)
    _methods_section(report, best)
    _curve_section(report, run, best, curve)
    _grid_section(report, run)
    _dimension_section(report, run)
    if showcase is not None:
        map_section(report, showcase)
        playlist_section(report, showcase)
    _scores_section(report, run, best)
    _pairs_section(report, best, pairs)
    _statistics_section(report, run)
    how_section(report, run, best, [trouble] if trouble else [])

    name = printable(run.section("dataset").get("name") or "a data set")
    links = "".join(f'<a href="#{anchor}">{html.safe(title)}</a> ' for title, anchor in report.sections)
    top = [
        Html(f"<h1>Hearing what listeners relate: {html.safe(name)}</h1>"),
        _subtitle(run),
        Html(f"<nav>{links}</nav>"),
    ]
    page = report.out / "index.html"
    page.write_text(html.page(f"{name}: what nearsong found", top + report.parts), encoding="utf-8")
    return page


def _subtitle(run: Run) -> Html:
    dataset = run.section("dataset")
    counts = [f"{dataset[key]:,} {label}" for key, label in
              (("n_songs", "songs"), ("n_artists", "artists"), ("n_users", "listeners"))
              if isinstance(dataset.get(key), int)]  # fmt: skip
    n_splits = len({row["split"] for row in run.picks})
    counts.append(f"{n_splits} random split{'s' * (n_splits != 1)} of the artists")
    return html.paragraph(" · ".join(counts), "faint")


def _leading_curve(run: Run, best: Sequence[Row]) -> list[Row]:
    """Return the learning curve of the method the report is about, in the configuration with most points."""
    rows = tables.learning_curve(run)
    lead = words.leading_method(best)
    methods = {row["method"] for row in rows}
    method = lead if lead in methods else next(iter(sorted(methods)), None)
    curves: dict[tuple[object, object], list[Row]] = {}
    for row in rows:
        if row["method"] == method:
            curves.setdefault((row["codebook"], row["tau"]), []).append(row)
    return max(curves.values(), key=len, default=[])


def _curve_levels(run: Run, best: Sequence[Row], curve: Sequence[Row]) -> tuple[str | None, dict[str, float]]:
    """Return the unlearned method to set beside a curve and its AUC by database, in the curve's configuration."""
    base = words.unlearned_of(curve[0]["method"], best) if curve else None
    if base is None:
        return None, {}
    candidates = [record for record in tables.configurations(run) if record["method"] == base]
    same = [r for r in candidates if (r["codebook"], r["tau"]) == (curve[0]["codebook"], curve[0]["tau"])]
    record = (same or [r for r in best if r["method"] == base])[0]
    return base, {database: record[f"{database}_auc"] for database in tables.DATABASES}


def _curve_words(run: Run, best: Sequence[Row], curve: Sequence[Row]) -> list[str]:
    if not curve:
        return []
    _, native = _curve_levels(run, best, curve)
    training = [record["artists"] for record in tables.split_statistics(run) if record["part"] == "training"]
    everything = max([curve[-1]["artists"], *(n for n in training if not math.isnan(n))])
    return words.curve_words(curve, native.get("known", math.nan), everything)


def _found_section(report: Report, run: Run, best: Sequence[Row], pairs: Sequence[Row], curve: Sequence[Row]) -> None:
    report.section("What was found", "found")
    first, *others = words.findings(run, best, pairs, _curve_words(run, best, curve))
    report.add(html.paragraph(first, "lead"), _tiles(best), *(html.paragraph(text) for text in others))


def _tiles(best: Sequence[Row]) -> Html:
    """Return the few numbers to remember."""
    records = {record["method"]: record for record in best}
    lead = words.leading_method(best)
    wanted = [lead, words.unlearned_of(lead, best) if lead else None, "popularity", "ceiling"]
    tiles = []
    for method in wanted:
        if method is None or method not in records:
            continue
        record = records[method]
        unknown = record["unknown_auc"]
        below = "" if math.isnan(unknown) else f'<span class="faint">{unknown:.3f} with unseen artists</span>'
        kind = "tile main" if method == lead else "tile"
        name = words.FIGURE_NAMES.get(method, method)
        tiles.append(f'<div class="{kind}"><b>{words.number(record["known_auc"])}</b>'
                     f"<span>{html.safe(name)}</span>{below}</div>")  # fmt: skip
    return Html(f'<div class="tiles">{"".join(tiles)}</div>') if tiles else Html("")


def _configuration(record: Row) -> str:
    if record["codebook"] is None or record["tau"] is None:
        return "–"
    return f"{record['codebook']:,} / {record['tau']}"


def _methods_section(report: Report, best: Sequence[Row]) -> None:
    rows = []
    for record in best:
        paper = words.PAPER_AUC.get(record["method"], (math.nan, math.nan))[0]
        name = words.FIGURE_NAMES.get(record["method"], record["method"])
        learned = record["method"] in words.UNLEARNED
        rows.append({**record, "name": printable(str(name)), "learned": learned, "paper": paper})
    lines = [(words.method_name(row["method"]).split(",")[0], database, row[f"{database}_auc"])
             for row in rows if row["method"] in ("popularity", "random") for database in tables.DATABASES
             if not math.isnan(row[f"{database}_auc"])]  # fmt: skip
    dots = [row for row in rows if row["method"] not in ("popularity", "random")]
    if not dots:
        return
    report.section("All methods side by side", "methods")
    report.add(html.paragraph(
        "The query is always a song by an artist the method never heard. What it chooses from is either the songs it "
        "learned from, as in the paper, or songs by yet other artists it never saw, which is harder."))  # fmt: skip
    caption = (
        "Each method in the configuration that did best on the validation songs; test songs were scored once. "
        "Bold: learned from listeners. Dashed: what needs no sound at all. Further right is better."
    )
    report.figure(figures.comparison_figure(dots, lines), "comparison", caption)


def _scores_section(report: Report, run: Run, best: Sequence[Row]) -> None:
    report.section("The scores", "scores")
    report.csv("comparison", best)
    report.csv("configurations", tables.configurations(run))
    lead = words.leading_method(best)
    cells = [
        [
            words.method_name(record["method"]),
            words.plus_minus(record["known_auc"], record["known_auc_std"]),
            words.plus_minus(record["unknown_auc"], record["unknown_auc_std"]),
            words.plus_minus(*words.PAPER_AUC[record["method"]]) if record["method"] in words.PAPER_AUC else "–",
            _configuration(record),
            words.number(record["validation_auc"]),
            record["splits"],
        ]
        for record in best
    ]
    header = [
        "Method",
        "Songs it learned from",
        "Artists it never saw",
        "The paper",
        "Codebook / τ",
        "Validation",
        "Splits",
    ]
    main = [place for place, record in enumerate(best) if record["method"] == lead]
    filled = [i for i in range(len(header)) if any(row[i] != "–" for row in cells)]
    header, cells = [header[i] for i in filled], [[row[i] for i in filled] for row in cells]
    report.add(html.table(header, cells, _NUMBERS, main))
    text = (
        "AUC, mean ± standard deviation over splits. " if any(r["splits"] > 1 for r in best) else "AUC of one split. "
    )
    if "The paper" in header:
        text += (
            "The paper's numbers are for other songs and listeners (CAL10K and Last.fm, codebook 1,024, τ 1) and a "
            "database of songs it learned from: something to measure by, not a rival. "
        )
    report.add(html.paragraph(text + "The other scores are in tables/comparison.csv.", "note"))


def _pairs_section(report: Report, best: Sequence[Row], pairs: Sequence[Row]) -> None:
    chosen = words.short_list(best, pairs)
    report.csv("paired_differences", pairs)
    if not chosen:
        return
    report.section("Is the difference real?", "pairs")
    several = any(pair["splits"] > 1 for _, _, found in chosen for pair in found.values())
    databases = [database for database in tables.DATABASES if any(database in found for _, _, found in chosen)]
    cells, before = [], ""
    for method, against, found in chosen:
        name = words.method_name(method) if method != before else ""
        before = method
        cells.append([name, words.method_name(against), *(_pair_cell(found.get(database)) for database in databases)])
    header = ["Learned method", "compared with", *(DATABASE_NAMES[database] for database in databases)]
    report.add(html.paragraph(
        "Both methods of a line saw the same splits, so they are compared split by split: the mean difference in AUC"
        + (", in brackets the interval it likely lies in (95 %, Student's t), and in how many splits the first was "
           "higher. An interval that does not contain 0 is a clear difference. Splits share songs, so the intervals "
           "are somewhat too narrow." if several else ".")))  # fmt: skip
    report.add(html.table(header, cells, range(2, 4)))
    report.add(html.paragraph("Every method against every other: tables/paired_differences.csv.", "note"))


def _pair_cell(pair: Row | None) -> Html:
    if pair is None:
        return html.safe("–")
    below = f"{pair['above']} of {pair['splits']}"
    if pair["splits"] > 1:
        below = f"({words.signed(pair['low'])} to {words.signed(pair['high'])}), {below}"
    return Html(f'{html.safe(words.signed(pair["difference"]))}<span class="why">{html.safe(below)}</span>')


def _curve_section(report: Report, run: Run, best: Sequence[Row], curve: Sequence[Row]) -> None:
    report.csv("learning_curve", tables.learning_curve(run))
    if len(curve) < 2:
        return
    report.section("How many artists are enough?", "curve")
    base, native = _curve_levels(run, best, curve)
    report.add(html.paragraph(" ".join(_curve_words(run, best, curve))))
    drawn = figures.curve_figure(curve, native, words.method_name(base) if base else "")
    codebook = f" Codebook and τ: {_configuration(curve[0])}." if curve[0]["codebook"] is not None else ""
    name = words.method_name(curve[0]["method"])
    caption = f"{name} taught with fewer artists; the songs it chooses from stay the same.{codebook}"
    report.figure(drawn, "learning_curve", caption)


def _grid_section(report: Report, run: Run) -> None:
    records = [r for r in tables.configurations(run) if r["codebook"] is not None and r["tau"] is not None]
    panels = []
    for method in words.REPRESENTATIONS:
        own = [record for record in records if record["method"] == method and not math.isnan(record["known_auc"])]
        if own:
            panels.append((words.method_name(method), own))
    if len({(row["codebook"], row["tau"]) for _, rows in panels for row in rows}) < 2:
        return
    report.section("Codebook size and soft counting", "grid")
    swings = [
        f"{name} {max(r['known_auc'] for r in rows) - min(r['known_auc'] for r in rows):.3f}" for name, rows in panels
    ]
    report.add(html.paragraph(
        "A song is described by how often each codeword (a typical short sound) occurs in it; a frame may count for "
        f"its τ nearest codewords. From the worst to the best such choice AUC changes by: {', '.join(swings)}."
    ))  # fmt: skip
    several = any(row["splits"] > 1 for _, rows in panels for row in rows)
    caption = "Database: songs it learned from." + " Bars are one standard deviation over splits." * several
    report.figure(figures.grid_figure(panels), "codebooks", caption)


def _dimension_section(report: Report, run: Run) -> None:
    rows = tables.effective_dimensions(run)
    report.csv("effective_dimension", rows)
    means = {(row["codebook"], row["tau"]): row["dimension"] for row in rows}
    taus_of = {size: sorted(tau for codebook, tau in means if codebook == size) for size, _ in means}
    largest = max((size for size, taus in taus_of.items() if len(taus) > 1), default=None)
    if largest is None:
        return
    report.section("How many dimensions the sound takes", "dimension")
    taus = taus_of[largest]
    report.add(html.paragraph(
        f"With {largest:,} codewords, counting {taus[-1]} instead of {taus[0]} per frame changes the dimensions "
        f"needed for 95 % of the variance from {means[largest, taus[0]]:.0f} to {means[largest, taus[-1]]:.0f}. (The "
        "paper, 1,024 codewords: 253 for τ 1 and 107 for τ 4.) Fewer dimensions make learning and searching faster."
    ))  # fmt: skip
    several = any(row["splits"] > 1 for row in rows)
    caption = "Principal components that keep 95 % of the training songs' variance"
    caption += "; bars: one standard deviation over splits." if several else "."
    report.figure(figures.dimension_figure(rows), "effective_dimension", caption)


def _statistics_section(report: Report, run: Run) -> None:
    records = tables.split_statistics(run)
    report.csv("statistics", records)
    if not records:
        return
    report.section("The data", "data")
    cells = []
    for name, label, digits in (
        ("artists", "Artists", 1),
        ("songs", "Songs", 1),
        ("relevant", "Relevant per query", 1),
    ):
        row: list[object] = [label]
        for record in records:
            spread = record["relevant_std_songs"] if name == "relevant" else record[f"{name}_std"]
            whole = float(record[name]).is_integer() and spread in (0.0,)
            row.append(words.number(record[name], 0) if whole else words.plus_minus(record[name], spread, digits))
            row.append(words.PAPER_STATISTICS[record["part"]][name])
        cells.append(row)
    header = [""]
    for record in records:
        header += [record["part"].capitalize(), "the paper"]
    report.add(html.table(header, cells, _NUMBERS))
    report.add(html.paragraph(
        "Artists and songs: mean ± standard deviation over splits. Relevant: mean number of relevant songs a query "
        "has, ± the spread from song to song.", "note"))  # fmt: skip
