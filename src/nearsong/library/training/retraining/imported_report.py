"""The report of a training in a model file -> checked, as the report of an imported model.

A model file may come from anybody: what does not read like a report is left out, and the model has no scores then.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.library.training.report import MEASURES, Estimate, TrainingReport
from nearsong.library.training.wording import PLAIN, TECHNICAL, sentences

REPORT, KIND = "report", "kind"
"""Names of the facts in a model file: the report, and whether the model was native or learned."""

MEASURED_ELSEWHERE = "This model was imported: its scores were measured in the library where it was trained."

MAX_TEXT = 2_000
"""Characters of a note."""

MAX_TEXTS = 100
"""Notes and rows of scores."""


def travelling_facts(facts: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return what a model file says of its training; examples are songs of one library, and stay there."""
    report = facts.get(REPORT)
    origin = facts.get("origin", "learned") if kind == "imported" else kind
    return {KIND: origin} | ({} if report is None else {REPORT: {**report, "examples": []}})


def arrived_facts(trained_on: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of an imported model: its origin, and its report if the file has a sound one."""
    facts: dict[str, Any] = {"origin": "native" if trained_on.get(KIND) == "native" else "learned"}
    try:
        report = TrainingReport.from_json(trained_on.get(REPORT, {}))
        _check(report)
        notes = tuple(note for note in report.notes if note != MEASURED_ELSEWHERE)
        report = replace(report, examples=(), notes=(*notes, MEASURED_ELSEWHERE))
        for words in (TECHNICAL, PLAIN):
            sentences(report, words)
    except (ArithmeticError, AttributeError, InvalidInputError, LookupError, TypeError, ValueError):
        return facts
    return {**facts, REPORT: report.as_json()}


def _check(report: TrainingReport) -> None:
    """Raise an InvalidInputError if a score is no score, a count no count, or a note no text."""
    rows = (*report.rows, *report.differences)
    scores = [getattr(row, measure) for row in rows for measure in MEASURES]
    numbers = [n for score in scores if isinstance(score, Estimate) for n in (score.mean, score.low, score.high)]
    counts = [report.artists, report.songs, report.listeners, *report.listener_kinds.values()]
    texts = [report.decision, report.reason, *report.notes, *(row.name for row in rows)]
    is_sound = all(map(_is_score, numbers)) and all(map(_is_count, counts)) and all(map(_is_text, texts))
    if not is_sound or len(texts) > MAX_TEXTS:
        raise InvalidInputError("the report in the model file is not one.")


def _is_score(value: object) -> bool:
    return isinstance(value, float | int) and math.isfinite(value) and -1 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 50


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT
