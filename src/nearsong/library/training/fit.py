"""Song vectors, artists and listeners -> a learned model, if it is better than sound alone, and its report.

Artists are split several times. In each split, every method is fitted on the training artists with every choice of
its parameters, one choice is selected on the validation artists, and it is scored once on the test artists, next to
chance, popularity alone, sound alone and how well listeners predict each other. The method and parameters that are
best on average are then used to fit a model on all artists.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.executor import ClusterCalls
from nearsong.library.training.data import (
    TrainingData,
    TrainingSet,
    choose_training_set,
)
from nearsong.library.training.final import FinalFit
from nearsong.library.training.fused import codeword_member, fused_members
from nearsong.library.training.held_out import HeldOut
from nearsong.library.training.report import TrainingReport
from nearsong.library.training.retraining.active_model import ActiveModel
from nearsong.library.training.settings import (
    METHODS,
    MIN_ACTIVE_LISTENERS,
    MIN_ARTISTS,
    MIN_SCORED_ARTISTS,
    TrainingSettings,
)
from nearsong.library.training.threads import Steps
from nearsong.library.training.wording import SEEN
from nearsong.model import SimilarityModel, SongEncoder
from nearsong.types import Progress

__all__ = [
    "ActiveModel",
    "FittedModel",
    "TrainingData",
    "TrainingReport",
    "TrainingSettings",
    "evaluate",
    "fit_model",
]

GRIDS = {
    "loss": "losses",
    "C": "Cs",
    "penalty": "penalties",
    "centroid_share": "centroid_shares",
    "sound_weight": "sound_weights",
    "metric_weight": "metric_weights",
    "pretrained_ratio": "pretrained_ratios",
}
"""Parameters that validation chooses, and the settings that list their values."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The result of a training.

    Attributes
    ----------
    model : SimilarityModel or None
        The learned model; None if sound alone stays in use.
    report : TrainingReport
        The reason for the decision, and the scores of both.
    """

    model: SimilarityModel | None
    report: TrainingReport


def fit_model(
    encoder: SongEncoder,
    data: TrainingData,
    settings: TrainingSettings | None = None,
    *,
    active: ActiveModel | None = None,
    cluster: ClusterCalls | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> FittedModel:
    """Learn from listeners with several methods and score them on held-out artists.

    Parameters
    ----------
    encoder : SongEncoder
        The encoder of the vectors; joined if there are several.
    data : TrainingData
        Song vectors, artists and listeners.
    settings : TrainingSettings, optional
        By default chosen from the data.
    active : ActiveModel, optional
        The model that is in use, if it was learned; a new one has to be better.
    cluster : ClusterCalls, optional
        Where the grid of splits, methods and parameters is learned; by default here. The last fit is made here.
    progress : callable, optional
        Called with the name of the stage, the steps done and the total.

    Returns
    -------
    FittedModel
        The model is None, and sound alone stays in use, if

        - there is too little data: fewer than 25 artists, fewer than 5 listeners of two or more artists, or fewer
          than 10 artists that can be scored;
        - held-out songs are not ranked better among known songs (mean paired difference);
        - they are ranked worse among unseen artists (the whole 95 % interval is below 0);
        - they are not significantly better among unseen artists, and what was learned is not significantly
          above popularity alone. It may then have learned only which artists are popular, which ranks known songs
          better than sound does even if listeners' choices are unrelated to sound
          (docs/decisions/0011-when-to-take-a-metric.md);
        - there is an active model and the new one is not better than it: held-out songs are not ranked better among
          known songs and among unseen artists together, or are ranked worse among unseen artists (the whole interval
          is below 0; docs/decisions/0028-training-by-itself.md).

    Raises
    ------
    InvalidInputError
        If the settings are impossible; too little data is not an error.
    """
    settings = settings or TrainingSettings()
    methods = methods_for(encoder, settings)
    start = perf_counter()
    training_set = _restored(encoder, choose_training_set(data, settings))
    report = _first_report(data, training_set, settings)
    lacking = _missing_data(training_set)
    if lacking is not None:
        return FittedModel(None, replace(report, decision="native", reason=lacking, seconds=_seconds(start)))
    held_out = HeldOut(encoder, training_set, settings, methods, cluster)
    steps = Steps(progress, held_out.n_steps() + 1)
    held_out.learn(steps)
    if active is not None:
        held_out.add_active(active)
    report = held_out.report(report, data)
    scored = perf_counter()
    reason = verdict(report)
    if reason != "gain":
        steps.finish()
        decision = "active" if reason == "not_better" else "native"
        return FittedModel(None, replace(report, decision=decision, reason=reason, seconds=_seconds(start, scored)))
    model, facts = _fit_all(FinalFit(encoder, data, training_set, settings), report)
    steps.finish()
    if not facts.get("converged", True):
        report = replace(report, notes=(*report.notes, _unfinished(facts["gap"], settings.final_max_rounds)))
    return FittedModel(model, replace(report, decision="learned", reason="gain", seconds=_seconds(start, scored)))


def evaluate(
    encoder: SongEncoder,
    data: TrainingData,
    settings: TrainingSettings | None = None,
    *,
    method: str | None = None,
    choice: Mapping[str, Any] | None = None,
    model: SimilarityModel | None = None,
    seen: bool = False,
    cluster: ClusterCalls | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> TrainingReport:
    """Score again on held-out artists, without producing a model.

    Parameters
    ----------
    encoder, data, settings, cluster, progress
        As for :func:`fit_model`.
    method : str, optional
        Method that is fitted in each split; without it nothing is.
    choice : mapping, optional
        Its parameters. If they were chosen on the same listens, the scores are slightly too high. Those that are not
        given are chosen in each split.
    model : SimilarityModel, optional
        A model of some of these encoders to score unchanged, in the row ``imported``. If it was trained on these
        artists, its score is too high.
    seen : bool
        Whether the model was trained on these listens; the report then notes that its row is not held out.

    Returns
    -------
    TrainingReport
        With the decision "none".
    """
    settings = settings or TrainingSettings()
    if choice and method is None:
        raise InvalidInputError(f"choice={dict(choice)!r} is of no method; give method too, or no choice.")
    if seen and model is None:
        raise InvalidInputError("seen=True needs a model; give the one that was trained on these songs.")
    methods: tuple[str, ...] = ()
    if method is not None:
        grids: dict[str, Any] = {GRIDS[name]: (value,) for name, value in (choice or {}).items() if name in GRIDS}
        settings = replace(settings, methods=(method,), **grids)
        methods = methods_for(encoder, settings)
    start = perf_counter()
    training_set = _restored(encoder, choose_training_set(data, settings))
    report = replace(_first_report(data, training_set, settings), decision="none", reason="asked")
    lacking = _missing_data(training_set)
    if lacking is not None:
        return replace(report, reason=lacking, seconds=_seconds(start))
    held_out = HeldOut(encoder, training_set, settings, methods, cluster)
    steps = Steps(progress, held_out.n_steps())
    held_out.learn(steps)
    if model is not None:
        held_out.add_model("imported", model)
    report = held_out.report(report, data)
    steps.finish()
    notes = (*report.notes, SEEN) if seen else report.notes
    reason = "asked" if report.rows else "nothing_to_judge"
    return replace(report, reason=reason, notes=notes, seconds=_seconds(start))


# ---- steps


def methods_for(encoder: SongEncoder, settings: TrainingSettings) -> tuple[str, ...]:
    """Return the methods to try, and those that they build on: by default all that the encoders allow.

    With codewords only, MLR on all encoders would be little else than the paper's, at the same cost.
    """
    codewords = codeword_member(encoder)
    if settings.methods is None:
        if codewords is None:
            return tuple(name for name in METHODS if name != "paper")
        return METHODS if fused_members(encoder) != [codewords] else ("paper", "listener_space")
    if "paper" in settings.methods and codewords is None:
        raise InvalidInputError(
            "the method 'paper' needs codewords, and the songs are not analysed with them; run "
            "`nearsong scan --encoders` with codewords among the encoders, or choose other methods."
        )
    wanted = set(settings.methods)
    if "combined" in wanted:
        wanted |= {"mlr", "listener_space"}
    return tuple(name for name in METHODS if name in wanted)


def _first_report(data: TrainingData, training_set: TrainingSet, settings: TrainingSettings) -> TrainingReport:
    return TrainingReport(
        decision="native",
        reason="nothing_to_judge",
        unit=training_set.listening_data.unit,
        min_listeners=training_set.min_listeners,
        n_relevant=training_set.n_relevant,
        seed=settings.seed,
        artists=training_set.listening_data.n_artists,
        songs=len(training_set.songs),
        listeners=training_set.n_listeners,
        artists_known=training_set.artists_known,
        songs_known=training_set.songs_known,
        listener_kinds={str(kind): int(n) for kind, n in data.listeners.items()},
        coverage=training_set.final.coverage,
    )


def _missing_data(training_set: TrainingSet) -> str | None:
    """Return what there is too little of; None if there is enough data."""
    if training_set.listening_data.n_artists < MIN_ARTISTS:
        return "few_artists"
    if training_set.n_listeners < MIN_ACTIVE_LISTENERS:
        return "few_listeners"
    spread = np.nanmax(training_set.vectors, axis=0) - np.nanmin(training_set.vectors, axis=0)
    return "same_sound" if not np.nanmax(spread, initial=0.0) > 0 else None


def _restored(encoder: SongEncoder, training_set: TrainingSet) -> TrainingSet:
    """Return the training set with its vectors in double precision."""
    if not len(training_set.songs):
        return training_set
    return replace(training_set, vectors=encoder.restore(training_set.vectors))


def verdict(report: TrainingReport) -> str:
    """Return whether what was learned is better than sound alone and the active model, by :func:`fit_model`."""
    known = report.estimate("learned - native", "known")
    unknown = report.estimate("learned - native", "unknown")
    popular = report.estimate("learned - popularity", "known")
    if known is None or known.artists < MIN_SCORED_ARTISTS:
        return "nothing_to_judge"
    if known.mean <= 0:
        return "no_gain"
    if unknown is not None and unknown.high < 0:
        return "worse_on_new"
    # splits share artists, so intervals are too narrow: an interval 1.5 times as wide has to be above 0
    surely_better_on_new = unknown is not None and unknown.low - (unknown.mean - unknown.low) / 2 > 0
    surely_above_popularity = popular is not None and popular.low > 0
    if not (surely_better_on_new or surely_above_popularity):
        return "only_popularity"
    return "gain" if _is_better_than_active(report) else "not_better"


def _is_better_than_active(report: TrainingReport) -> bool:
    """Return whether what was learned is better than the active model; True if there is none."""
    known = report.estimate("learned - active", "known")
    unknown = report.estimate("learned - active", "unknown")
    gains = [estimate.mean for estimate in (known, unknown) if estimate is not None]
    if not gains:
        return True
    return float(np.mean(gains)) > 0 and (unknown is None or unknown.high >= 0)


def _fit_all(final: FinalFit, report: TrainingReport) -> tuple[SimilarityModel, dict[str, Any]]:
    """Fit the chosen method on all artists, with the chosen parameters."""
    assert report.method is not None
    assert report.coverage is not None
    learned_from = report.coverage.used
    if report.method in ("paper", "mlr"):
        learned_from = report.coverage.ranked
    model, fitted = final.fit(report.method, report.choice)
    facts = {
        "artists": learned_from.artists,
        "listeners": report.listeners,
        "songs": learned_from.songs,
        "chosen_on": {"artists": report.artists, "songs": report.songs},
        "unit": report.unit,
        "min_listeners": report.min_listeners,
        "n_relevant": report.n_relevant,
        "seed": report.seed,
        "method": report.method,
        **report.choice,
        **fitted,
    }
    return replace(model, trained_on=facts), facts


def _unfinished(gap: float | None, n_rounds: int) -> str:
    """Say how far a fit came that did not converge."""
    how = "before the batches of songs agreed" if gap is None else f"within {100 * gap:.1f} % of the optimum"
    return f"Training stopped after {n_rounds} rounds, {how}."


def _seconds(start: float, scored: float | None = None) -> dict[str, float]:
    now = perf_counter()
    if scored is None:
        return {"total": round(now - start, 3)}
    return {"judging": round(scored - start, 3), "last fit": round(now - scored, 3), "total": round(now - start, 3)}
