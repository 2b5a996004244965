"""Tables of a run -> the report's section on methods beyond the paper: other encoders and the listener space.

They are compared with the paper's method, split by split: for known and unseen artists, for both mixed, and among
songs of about the same popularity.
"""

import math
from collections.abc import Sequence

from nearsong.experiment.report import html, tables
from nearsong.experiment.report import wording as words
from nearsong.experiment.report.html import Html
from nearsong.experiment.report.reading import Row
from nearsong.experiment.report.songs import ReportWriter

MEASURE_NAMES = {
    "known": "Known artists",
    "unknown": "Unseen artists",
    "mixed": "Mixed",
    "known_terciles": "Known, within terciles",
    "unknown_terciles": "Unseen, within terciles",
}


def best_beyond_paper(best: Sequence[Row]) -> str | None:
    """Return the method beyond the paper with the highest validation AUC, known and unseen artists alike."""
    candidates = [record for record in best if words.is_beyond_paper(record["method"])]
    candidates = [record for record in candidates if words.is_learned(record["method"])]
    return max(candidates, key=_validation, default={"method": None})["method"]


def _validation(record: Row) -> float:
    aucs = [record["validation_auc"], record["validation_unknown_auc"]]
    finite = [auc for auc in aucs if not math.isnan(auc)]
    return sum(finite) / len(finite) if finite else -math.inf


def beyond_words(best: Sequence[Row], pairs: Sequence[Row]) -> str:
    """Return a sentence on the best method beyond the paper; empty if there is none to compare."""
    method, lead = best_beyond_paper(best), words.leading_method(best)
    if method is None or lead is None:
        return ""
    record = next(record for record in best if record["method"] == method)
    known, unknown = (words.find_pair(pairs, method, lead, database) for database in tables.DATABASES)
    if known is None:
        return ""
    text = (
        f"Beyond the paper, {words.method_name(method)} (the best by validation) reaches "
        f"{words.number(record['known_auc'])} among known artists (difference from {words.method_name(lead)} "
        f"{words.difference(known)})"
    )
    if unknown is None:
        return f"{text}."
    return (
        f"{text} and {words.number(record['unknown_auc'])} among unseen artists (difference "
        f"{words.difference(unknown)})."
    )


def beyond_section(report: ReportWriter, best: Sequence[Row], pairs: Sequence[Row]) -> None:
    """Show every method beyond the paper with its differences from the paper's, beside popularity."""
    lead = words.leading_method(best)
    shown = [record for record in best if words.is_beyond_paper(record["method"])]
    if not shown:
        return
    reference = [record for record in best if record["method"] in (lead, "popularity")]
    rows = sorted([*shown, *reference], key=lambda record: -_first(record))
    measures = [name for name in MEASURE_NAMES if any(not math.isnan(_auc(record, name)) for record in rows)]
    cells: list[list[object]] = []
    for record in rows:
        differences = [_cell(record, measure, pairs, lead) for measure in measures]
        cells.append([words.short_name(record["method"]), *differences])
    report.section("Beyond the paper", "beyond")
    text = (
        "These methods describe songs by more than codewords, or predict where their listeners would put them. Below "
        "each AUC is the difference from the paper's method"
    )
    if lead is not None:
        text = f"{text}, {words.method_name(lead)}"
    report.add(html.paragraph(
        f"{text}, with its 95 % confidence interval over splits. Mixed: songs of known and of unseen artists in one "
        "database. Within terciles: only songs whose artists are of about the same popularity are compared, so that "
        "preferring popular artists gains little."))  # fmt: skip
    main = [number for number, record in enumerate(rows) if record["method"] == best_beyond_paper(best)]
    header = ["Method", *(MEASURE_NAMES[measure] for measure in measures)]
    report.add(html.table(header, cells, range(1, len(header)), main))


def _first(record: Row) -> float:
    return next((value for name in MEASURE_NAMES if not math.isnan(value := _auc(record, name))), -math.inf)


def _auc(record: Row, measure: str) -> float:
    database, score = tables.MEASURES[measure]
    return float(record[f"{database}_{score}"])


def _cell(record: Row, measure: str, pairs: Sequence[Row], lead: str | None) -> Html:
    pair = words.find_pair(pairs, record["method"], lead, measure)
    text = html.safe(words.number(_auc(record, measure)))
    if pair is None:
        return text
    below = words.signed(pair["difference"])
    if pair["splits"] > 1:
        below = f"{below} ({words.signed(pair['low'])} to {words.signed(pair['high'])})"
    return Html(f'{text}<span class="detail">{html.safe(below)}</span>')
