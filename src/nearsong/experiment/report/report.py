"""A run folder -> its report: figures (PNG, SVG), tables (CSV) and one self-contained page (paper IV and V).

Sections for which a run has no data (tags, codebooks, a learning curve, songs to show) are omitted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearsong.experiment.methods.registry import REPORTED
from nearsong.experiment.report import drawing, figures, html, tables
from nearsong.experiment.report import wording as words
from nearsong.experiment.report.beyond import beyond_section, beyond_words
from nearsong.experiment.report.html import Html
from nearsong.experiment.report.methodology import methodology_section
from nearsong.experiment.report.reading import Row, Run, printable, read_run, read_showcase
from nearsong.experiment.report.songs import map_section, playlist_section
from nearsong.experiment.report.style import DATABASE_NAMES

_NUMERIC_COLUMNS = range(1, 20)  # all but the first


@dataclass
class Report:
    """The report under construction: its folder, the parts of the page, and the headings it links to."""

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

    def figure(self, drawn: drawing.Figure, name: str, caption: str) -> None:
        """Write a figure and append it to the page."""
        self.add(html.figure(drawing.save(drawn, self.out / "figures", name), name, caption))

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
        Folder of the report, by default ``report`` in the run folder. Files of an earlier report are overwritten.

    Returns
    -------
    Path
        The page, ``index.html``; next to it ``figures`` (PNG and SVG) and ``tables`` (CSV).

    Raises
    ------
    InvalidInputError
        If the folder is not a run folder, has no finished results, or matplotlib is not installed.

    Examples
    --------
    >>> write_report("no-such-run")
    Traceback (most recent call last):
    ...
    nearsong.errors.InvalidInputError: Folder not found: no-such-run
    """
    run = read_run(run_folder)
    drawing.check_matplotlib()
    showcase, warning = read_showcase(run_folder)
    report = Report(Path(run_folder) / "report" if out is None else Path(out))
    for folder in ("figures", "tables"):
        (report.out / folder).mkdir(parents=True, exist_ok=True)

    best = tables.comparison(run)
    pairs = tables.paired_differences(run, best)
    curve = _leading_curve(run, best)
    _summary_section(report, run, best, pairs, curve)
    _methods_section(report, best)
    beyond_section(report, best, pairs)
    _curve_section(report, run, best, curve)
    _grid_section(report, run)
    _dimension_section(report, run)
    if showcase is not None:
        map_section(report, showcase)
        playlist_section(report, showcase)
    _scores_section(report, run, best)
    _pairs_section(report, best, pairs)
    _statistics_section(report, run)
    methodology_section(report, run, best, [warning] if warning else [])

    name = printable(run.section("dataset").get("name") or "a data set")
    links = "".join(f'<a href="#{anchor}">{html.safe(title)}</a> ' for title, anchor in report.sections)
    top = [
        Html(f"<h1>Experiment report: {html.safe(name)}</h1>"),
        _subtitle(run),
        Html(f"<nav>{links}</nav>"),
    ]
    page = report.out / "index.html"
    page.write_text(html.page(f"{name}: nearsong experiment", top + report.parts), encoding="utf-8")
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
    """Return the learning curve of the leading method, in the configuration with most points."""
    rows = tables.learning_curve(run)
    lead = words.leading_method(best)
    methods = {row["method"] for row in rows}
    method = lead if lead in methods else min(methods, default=None)
    curves: dict[tuple[object, object], list[Row]] = {}
    for row in rows:
        if row["method"] == method:
            curves.setdefault((row["codebook"], row["tau"]), []).append(row)
    return max(curves.values(), key=len, default=[])


def _curve_levels(run: Run, best: Sequence[Row], curve: Sequence[Row]) -> tuple[str | None, dict[str, float]]:
    """Return the method that a curve is compared with and its AUC by database, in the configuration of the curve."""
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
    n_artists = max([curve[-1]["artists"], *(n for n in training if not math.isnan(n))])
    return words.curve_words(curve, native.get("known", math.nan), n_artists)


def _summary_section(
    report: Report, run: Run, best: Sequence[Row], pairs: Sequence[Row], curve: Sequence[Row]
) -> None:
    report.section("Summary", "summary")
    beyond = beyond_words(best, pairs)
    first, *rest = words.findings(run, best, pairs, _curve_words(run, best, curve))
    rest = [beyond, *rest] if beyond else rest
    report.add(html.paragraph(first, "lead"), _tiles(best), *(html.paragraph(text) for text in rest))


def _tiles(best: Sequence[Row]) -> Html:
    """Return the most important numbers as tiles."""
    records = {record["method"]: record for record in best}
    lead = words.leading_method(best)
    wanted = [lead, words.unlearned_of(lead, best) if lead else None, "popularity", "ceiling"]
    tiles = []
    for method in wanted:
        if method is None or method not in records:
            continue
        record = records[method]
        unknown = record["unknown_auc"]
        below = "" if math.isnan(unknown) else f'<span class="faint">{unknown:.3f} for unseen artists</span>'
        kind = "tile main" if method == lead else "tile"
        name = words.short_name(method)
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
        method = record["method"]
        paper = (words.paper_auc(method) or (math.nan,))[0]
        name = printable(words.short_name(method))
        rows.append({**record, "name": name, "learned": words.is_learned(method), "paper": paper})
    reference_methods = {name for name, method in REPORTED.items() if method.reference_line}
    dots = [row for row in rows if row["method"] not in reference_methods]
    if not dots:
        return
    lines = [line for row in rows if row["method"] in reference_methods for line in _reference_lines(row)]
    report.section("Comparison of methods", "methods")
    report.add(html.paragraph(
        "Every query is a song by an artist not used in training. The candidates are either the songs of the "
        "training artists (known artists, as in the paper), or songs by other artists not used in training (unseen "
        "artists), which is harder."))  # fmt: skip
    caption = (
        "Each method in the configuration with the best validation AUC. Bold: learned from listeners. Dashed lines: "
        "without audio. Further right is better."
    )
    if any(row["splits"] > 1 for row in dots):
        caption = f"Dots are averages over splits, lines ± 1 standard deviation. {caption}"
    report.figure(figures.comparison_figure(dots, lines), "comparison", caption)


def _reference_lines(row: Row) -> list[tuple[str, str, float]]:
    """Return name, database and AUC of the lines that a figure draws for a method."""
    name = words.method_name(row["method"]).split(",")[0]
    lines = [(name, database, row[f"{database}_auc"]) for database in tables.DATABASES]
    return [line for line in lines if not math.isnan(line[2])]


def _scores_section(report: Report, run: Run, best: Sequence[Row]) -> None:
    report.section("Scores", "scores")
    report.csv("comparison", best)
    report.csv("configurations", tables.configurations(run))
    header, cells = _score_cells(best)
    lead = words.leading_method(best)
    main = [number for number, record in enumerate(best) if record["method"] == lead]
    report.add(html.table(header, cells, _NUMERIC_COLUMNS, main))
    n_splits = sorted({record["splits"] for record in best})
    text = "AUC of one split. "
    if n_splits[-1] > 1:
        over = f"{n_splits[0]} splits" if len(n_splits) == 1 else "splits"
        text = f"AUC, mean ± standard deviation over {over}. "
    if "Paper" in header:
        text += (
            "The results of the paper are for other data (CAL10K and Last.fm, codebook size 1,024, τ = 1, known "
            "artists) and only indicate the order of magnitude. "
        )
    report.add(html.paragraph(text + "More scores: tables/comparison.csv.", "note"))


def _score_cells(best: Sequence[Row]) -> tuple[list[str], list[list[object]]]:
    """Return header and cells of the table of scores, without columns that say nothing."""
    columns: dict[str, list[object]] = {
        "Method": [words.short_name(record["method"]) for record in best],
        **{
            DATABASE_NAMES[database].capitalize(): [
                words.plus_minus(record[f"{database}_auc"], record[f"{database}_auc_std"]) for record in best
            ]
            for database in tables.DATABASES
        },
        "Paper": [
            words.plus_minus(*paper) if (paper := words.paper_auc(record["method"])) else "–" for record in best
        ],
        "Codebook / τ": [_configuration(record) for record in best],
    }
    if len({record["splits"] for record in best}) > 1:
        columns["Splits"] = [record["splits"] for record in best]
    columns = {title: values for title, values in columns.items() if any(value != "–" for value in values)}
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def _pairs_section(report: Report, best: Sequence[Row], pairs: Sequence[Row]) -> None:
    chosen = words.short_list(best, pairs)
    report.csv("paired_differences", pairs)
    if not chosen:
        return
    report.section("Paired differences", "pairs")
    databases = [database for database in tables.DATABASES if any(database in pairs for _, _, pairs in chosen)]
    cells, previous = [], ""
    for method, against, by_database in chosen:
        name = words.method_name(method) if method != previous else ""
        previous = method
        differences = [_pair_cell(by_database.get(database)) for database in databases]
        cells.append([name, words.method_name(against), *differences])
    header = ["Learned method", "Compared with", *(DATABASE_NAMES[database].capitalize() for database in databases)]
    text = "Both methods of a row were run on the same splits and are compared split by split: mean difference in AUC"
    if any(pair["splits"] > 1 for _, _, by_database in chosen for pair in by_database.values()):
        text += (
            ", its 95 % confidence interval (Student's t), and the number of splits in which the first method is "
            "better. The difference is clear if the interval does not contain 0. Splits overlap, so the intervals "
            "are somewhat too narrow"
        )
    report.add(html.paragraph(f"{text}."), html.table(header, cells, range(2, 4)))
    report.add(html.paragraph("All pairs of methods: tables/paired_differences.csv.", "note"))


def _pair_cell(pair: Row | None) -> Html:
    if pair is None:
        return html.safe("–")
    below = f"{pair['above']} of {pair['splits']}"
    if pair["splits"] > 1:
        below = f"({words.signed(pair['low'])} to {words.signed(pair['high'])}), {below}"
    return Html(f'{html.safe(words.signed(pair["difference"]))}<span class="detail">{html.safe(below)}</span>')


def _curve_section(report: Report, run: Run, best: Sequence[Row], curve: Sequence[Row]) -> None:
    report.csv("learning_curve", tables.learning_curve(run))
    if len(curve) < 2:
        return
    report.section("Learning curve", "curve")
    base, native = _curve_levels(run, best, curve)
    report.add(html.paragraph(" ".join(_curve_words(run, best, curve))))
    drawn = figures.curve_figure(curve, native, words.method_name(base) if base else "")
    codebook = f" Codebook size / τ: {_configuration(curve[0])}." if curve[0]["codebook"] is not None else ""
    name = words.method_name(curve[0]["method"])
    caption = f"{name} trained on fewer artists; the candidates stay the same.{codebook}"
    report.figure(drawn, "learning_curve", caption)


def _grid_section(report: Report, run: Run) -> None:
    panels = _grid_panels(run)
    rows = [row for _, panel in panels for row in panel]
    if len({(row["codebook"], row["tau"]) for row in rows}) < 2:
        return
    report.section("Codebook size and τ", "grid")
    ranges = [f"{name} {_range_of(panel):.3f}" for name, panel in panels]
    report.add(html.paragraph(
        "A song is represented by a histogram of codewords (typical short sounds), in which every frame counts for "
        f"its τ nearest codewords. Difference in AUC between the best and the worst choice: {', '.join(ranges)}."
    ))  # fmt: skip
    caption = "Known artists." + " Lines are ± 1 standard deviation over splits." * any(r["splits"] > 1 for r in rows)
    report.figure(figures.grid_figure(panels), "codebooks", caption)


def _grid_panels(run: Run) -> list[tuple[str, list[Row]]]:
    """Return label and configurations of every method with a panel."""
    records = [r for r in tables.configurations(run) if r["codebook"] is not None and r["tau"] is not None]
    records = [record for record in records if not math.isnan(record["known_auc"])]
    names = [name for name, method in REPORTED.items() if method.grid_panel]
    panels = [(words.method_name(name), [r for r in records if r["method"] == name]) for name in names]
    return [(label, rows) for label, rows in panels if rows]


def _range_of(rows: Sequence[Row]) -> float:
    scores = [row["known_auc"] for row in rows]
    return float(max(scores) - min(scores))


def _dimension_section(report: Report, run: Run) -> None:
    rows = tables.effective_dimensions(run)
    report.csv("effective_dimension", rows)
    means = {(row["codebook"], row["tau"]): row["dimension"] for row in rows}
    taus_of = {size: sorted(tau for codebook, tau in means if codebook == size) for size, _ in means}
    largest = max((size for size, taus in taus_of.items() if len(taus) > 1), default=None)
    if largest is None:
        return
    report.section("Effective dimension", "dimension")
    taus = taus_of[largest]
    report.add(html.paragraph(
        f"With a codebook of {largest:,}, changing τ from {taus[0]} to {taus[-1]} changes the number of dimensions "
        f"for 95 % of the variance from {means[largest, taus[0]]:.0f} to {means[largest, taus[-1]]:.0f} (in the "
        "paper, with 1,024 codewords: 253 for τ = 1, 107 for τ = 4). Fewer dimensions speed up training and search."
    ))  # fmt: skip
    several = any(row["splits"] > 1 for row in rows)
    caption = "Principal components that keep 95 % of the training songs' variance"
    caption += "; lines are ± 1 standard deviation over splits." if several else "."
    report.figure(figures.dimension_figure(rows), "effective_dimension", caption)


def _statistics_section(report: Report, run: Run) -> None:
    records = tables.split_statistics(run)
    report.csv("statistics", records)
    if not records:
        return
    report.section("Data", "data")
    columns = {"artists": "Artists", "songs": "Songs", "relevant": "Relevant songs per query"}
    cells = [
        [record["part"].capitalize(), *(_statistic_cell(record, name) for name in columns)] for record in records
    ]
    report.add(html.table(["", *columns.values()], cells, _NUMERIC_COLUMNS))
    report.add(html.paragraph(
        "Artists and songs: mean ± standard deviation over splits. Relevant songs: mean ± standard deviation over "
        "queries.", "note"))  # fmt: skip


def _statistic_cell(record: Row, name: str) -> Html:
    std = record["relevant_std_songs"] if name == "relevant" else record[f"{name}_std"]
    is_constant = float(record[name]).is_integer() and std == 0.0
    text = words.number(record[name], 0) if is_constant else words.plus_minus(record[name], std, 1)
    paper = words.PAPER_STATISTICS[record["part"]][name]
    return Html(f'{html.safe(text)}<span class="detail">paper: {html.safe(paper)}</span>')
