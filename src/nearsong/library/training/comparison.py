"""Two stored models -> their scores on held-out artists, how much they agree, and that in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from nearsong.errors import InvalidInputError
from nearsong.library.store import ModelRow
from nearsong.library.training.report import Estimate, TrainingReport


@dataclass(frozen=True, kw_only=True)
class ComparedScores:
    """The scores of one of two models.

    Attributes
    ----------
    known, unknown : Estimate or None
        AUC for held-out artists, compared with songs that have listeners and among unseen artists; None if it was
        not measured.
    learned_from : str
        What it was learned from; empty for sound alone.
    """

    known: Estimate | None = None
    unknown: Estimate | None = None
    learned_from: str = ""


def report_of(row: ModelRow) -> TrainingReport | None:
    """Return the report of the training of a model; None if it has none, or one of another version."""
    try:
        return TrainingReport.from_json(row.facts["report"]) if "report" in row.facts else None
    except InvalidInputError:
        return None


def compared_scores(row: ModelRow, other: ModelRow) -> ComparedScores:
    """Return the scores of a model; those of sound alone as the training of the other measured them."""
    report = report_of(row)
    if report is not None:
        return ComparedScores(
            known=report.estimate("learned"),
            unknown=report.estimate("learned", "unknown"),
            learned_from=report.learned_from,
        )
    reference = report_of(other)
    if row.kind != "native" or reference is None:
        return ComparedScores()
    return ComparedScores(known=reference.estimate("native"), unknown=reference.estimate("native", "unknown"))


def comparison_sentences(rows: Sequence[ModelRow], shared: float | None) -> list[str]:
    """Return which of two models ranks better, and how much they agree.

    Parameters
    ----------
    rows : two ModelRows
    shared : float or None
        Share of the ten nearest songs that they have in common; None if one has no embeddings.
    """
    first, second = rows
    scores = [compared_scores(first, second).known, compared_scores(second, first).known]
    sentences = [_verdict((first.id, second.id), scores)]
    reports = [report_of(row) for row in rows]
    sizes = {(report.songs, report.listeners) for report in reports if report is not None}
    if len(sizes) == 2 and None not in scores:
        sentences.append("They were measured on different songs and listens, so the scores are only a hint.")
    if shared is None:
        sentences.append("How many nearest songs they share is known once both were active.")
    else:
        sentences.append(f"They share {10 * shared:.1f} of the 10 nearest songs of a song, on average.")
    return sentences


def _verdict(ids: tuple[int, int], scores: Sequence[Estimate | None]) -> str:
    measured = [(estimate, model) for estimate, model in zip(scores, ids, strict=True) if estimate is not None]
    if len(measured) < 2:
        lacking = " and ".join(str(model) for model, score in zip(ids, scores, strict=True) if score is None)
        models = f"Model {lacking} was" if len(measured) == 1 else f"Models {lacking} were"
        return f"{models} not measured on held-out artists, so the scores cannot be compared."
    (better, winner), (worse, loser) = sorted(measured, key=lambda pair: -pair[0].mean)
    numbers = f"{100 * better.mean:.1f} of 100 pairs in the right order, model {loser}: {100 * worse.mean:.1f}"
    if better.low <= worse.high:
        return f"No clear difference for held-out artists. Model {winner}: {numbers}."
    return f"Model {winner} ranks held-out artists better: {numbers}."
