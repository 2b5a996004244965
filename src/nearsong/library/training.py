"""Histograms, artists and who listens to whom -> a learned metric, if it is better than none, and how good it is.

Artists are held out several times. In each split metrics of every loss and C learn from training artists, validation
artists choose one, and test artists score it once, beside chance, popularity alone, the native metric and what
listeners themselves can tell. The loss and C that are best on average then learn from all artists.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.library.held_out_artists import HeldOut, Progress, Steps, one_thread_each
from nearsong.library.held_out_report import TrainingReport
from nearsong.library.training_data import (
    FEWEST_ARTISTS,
    FEWEST_JUDGED,
    FEWEST_LISTENERS,
    Taught,
    TrainingData,
    TrainingSettings,
    choose_taught,
)
from nearsong.library.training_words import SEEN
from nearsong.metric import MetricLearningToRank
from nearsong.model import Ear, SimilarityModel, learn_view
from nearsong.model.file_format import fingerprint
from nearsong.model.held_out import neighbours_among, ranking_of

__all__ = ["Trained", "TrainingData", "TrainingReport", "TrainingSettings", "evaluate", "train"]


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training gives.

    Attributes
    ----------
    model : SimilarityModel or None
        The learned one; None if the native metric is to be kept.
    report : TrainingReport
        Why, and how good both are.
    """

    model: SimilarityModel | None
    report: TrainingReport


def train(
    ear: Ear,
    data: TrainingData,
    settings: TrainingSettings | None = None,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> Trained:
    """Learn a metric from listeners, and judge it on artists it was not shown.

    Parameters
    ----------
    ear : Ear
        What made the histograms; of one codebook.
    data : TrainingData
        Histograms, artists and listeners.
    settings : TrainingSettings, optional
        By default the data decides.
    progress : callable, optional
        Called with a stage's name, steps done and steps in all.

    Returns
    -------
    Trained
        Its model is None, and the native metric to be kept, when

        - there is too little to learn from: fewer than 25 artists, or than 5 listeners of two artists or more; or to
          judge by: fewer than 10 artists that listeners relate to others;
        - held-out songs are not ranked better among the songs it learned from (mean paired difference);
        - they are ranked worse among songs of artists it never saw (the whole 95 % interval is below 0);
        - they are not surely better there either, and not surely above popularity alone: then all that was learned
          may be whom everybody listens to, and that ranks known songs better than sound does even where listeners'
          choices have nothing to do with sound (docs/decisions/0011-when-to-take-a-metric.md).

    Raises
    ------
    InvalidInputError
        If the settings ask for what cannot be; too little data is no error.
    """
    settings = settings or TrainingSettings()
    if len(ear.encoders) != 1:
        raise InvalidInputError(f"the ear has {len(ear.encoders)} codebooks; a training takes one.")
    start = perf_counter()
    taught = choose_taught(data, settings)
    report = _first_report(data, taught, settings)
    lacking = _what_lacks(taught)
    if lacking is not None:
        return Trained(None, replace(report, decision="native", reason=lacking, seconds=_seconds(start)))
    steps = Steps(progress, taught.n_splits * len(settings.losses) + 1)
    held_out = HeldOut(taught, settings)
    held_out.learn(settings.losses, settings.Cs, steps)
    report = held_out.report(report, data)
    judged = perf_counter()
    reason = _verdict(report)
    if reason != "gain":
        steps.finish()
        return Trained(None, replace(report, decision="native", reason=reason, seconds=_seconds(start, judged)))
    model, facts = _fit_all(ear, taught, report, settings)
    steps.finish()
    if not facts["converged"]:
        text = (
            f"Learning ended after {settings.final_max_rounds} rounds, {100 * facts['gap']:.1f} % short of its goal."
        )
        report = replace(report, notes=(*report.notes, text))
    return Trained(model, replace(report, decision="learned", reason="gain", seconds=_seconds(start, judged)))


def evaluate(
    data: TrainingData,
    settings: TrainingSettings | None = None,
    *,
    loss: str | None = None,
    C: float | None = None,
    model: SimilarityModel | None = None,
    seen: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> TrainingReport:
    """Judge again on held-out artists, without learning anything to keep.

    Parameters
    ----------
    data, settings, progress
        As for :func:`train`.
    loss, C : str and float, optional
        What to learn with in each split; without them nothing is learned. If they were chosen on the same listens,
        the result is a little too good.
    model : SimilarityModel, optional
        Such as an imported one: scored as it is, in the row ``imported``. If it has learned from these artists, the
        row is too good.
    seen : bool
        Whether the model has learned from these very listens; the report's notes then say that its row is not held
        out.

    Returns
    -------
    TrainingReport
        With the decision "none".
    """
    settings = settings or TrainingSettings()
    if (loss is None) != (C is None):
        raise InvalidInputError(f"loss={loss!r} and C={C!r} came; give both or none.")
    if seen and model is None:
        raise InvalidInputError("seen=True came without a model; give the model it is said of.")
    if loss is not None and C is not None:
        settings = replace(settings, losses=(loss,), Cs=(float(C),))
    start = perf_counter()
    taught = choose_taught(data, settings)
    report = replace(_first_report(data, taught, settings), decision="none", reason="asked")
    lacking = _what_lacks(taught)
    if lacking is not None:
        return replace(report, reason=lacking, seconds=_seconds(start))
    steps = Steps(progress, taught.n_splits)
    held_out = HeldOut(taught, settings)
    if loss is not None:
        held_out.learn(settings.losses, settings.Cs, steps)
    if model is not None:
        held_out.add_places("imported", model.project(taught.histograms))
    report = held_out.report(report, data)
    steps.finish()
    notes = (*report.notes, SEEN) if seen else report.notes
    reason = "asked" if report.rows else "nothing_to_judge"
    return replace(report, reason=reason, notes=notes, seconds=_seconds(start))


# ---- what is made of it


def _first_report(data: TrainingData, taught: Taught, settings: TrainingSettings) -> TrainingReport:
    return TrainingReport(
        decision="native",
        reason="nothing_to_judge",
        unit=taught.audience.unit,
        min_listeners=taught.min_listeners,
        n_relevant=taught.n_relevant,
        seed=settings.seed,
        artists=taught.audience.n_artists,
        songs=len(taught.songs),
        listeners=taught.n_listeners,
        artists_known=taught.artists_known,
        songs_known=taught.songs_known,
        listener_kinds={str(kind): int(n) for kind, n in data.listeners.items()},
    )


def _what_lacks(taught: Taught) -> str | None:
    """Say what there is too little of to learn from; None if there is enough."""
    if taught.audience.n_artists < FEWEST_ARTISTS:
        return "few_artists"
    if taught.n_listeners < FEWEST_LISTENERS:
        return "few_listeners"
    return "same_sound" if np.ptp(taught.histograms, axis=0).max() == 0 else None


def _verdict(report: TrainingReport) -> str:
    """Say whether the learned metric is better than the native one, by the rules that :func:`train` states."""
    known = report.estimate("learned - native", "known")
    unknown = report.estimate("learned - native", "unknown")
    popular = report.estimate("learned - popularity", "known")
    if known is None or known.artists < FEWEST_JUDGED:
        return "nothing_to_judge"
    if known.mean <= 0:
        return "no_gain"
    if unknown is not None and unknown.high < 0:
        return "worse_on_new"
    # splits share artists, so intervals are too narrow: half as much again has to be above 0
    surely_better_on_new = unknown is not None and unknown.low - (unknown.mean - unknown.low) / 2 > 0
    surely_above_popularity = popular is not None and popular.low > 0
    if not (surely_better_on_new or surely_above_popularity):
        return "only_popularity"
    return "gain"


def _fit_all(
    ear: Ear, taught: Taught, report: TrainingReport, settings: TrainingSettings
) -> tuple[SimilarityModel, dict[str, Any]]:
    """Learn from all artists that take part, with the loss and C that were chosen."""
    audience, songs = taught.audience, np.arange(len(taught.songs))
    near = neighbours_among(audience, np.unique(audience.song_unit), taught.n_relevant)
    ranking = ranking_of(audience, songs, songs, near)
    assert report.loss is not None
    assert report.C is not None
    learner = MetricLearningToRank(
        loss=report.loss, C=report.C, tol=settings.final_tol, max_rounds=settings.final_max_rounds
    )
    with one_thread_each():
        view, fitted = learn_view(taught.histograms, ranking.relevant, ranking.ignored, learner=learner)
    assert fitted is not None
    facts = {
        "artists": report.artists,
        "listeners": report.listeners,
        "songs": report.songs,
        "unit": report.unit,
        "min_listeners": report.min_listeners,
        "n_relevant": report.n_relevant,
        "seed": report.seed,
        "loss": report.loss,
        "C": report.C,
        "gap": float(fitted.gap_),
        "converged": bool(fitted.converged_),
        "fingerprint": fingerprint(taught.histograms, ranking.relevant, ranking.ignored),
    }
    return SimilarityModel(list(ear.encoders), [view], ear.features, facts), facts


def _seconds(start: float, judged: float | None = None) -> dict[str, float]:
    now = perf_counter()
    if judged is None:
        return {"total": round(now - start, 3)}
    return {"judging": round(judged - start, 3), "last fit": round(now - judged, 3), "total": round(now - start, 3)}
