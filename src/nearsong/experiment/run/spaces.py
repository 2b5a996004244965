"""A split and the vectors of all encoders -> listener spaces, the one that validation chooses, and its scores."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nearsong.experiment.methods.fused import fused_parts
from nearsong.experiment.methods.listener_space import (
    METRIC_WEIGHTS,
    Choice,
    SongSpace,
    SpaceMethod,
    outside_of_training,
)
from nearsong.experiment.run.learning import score_row
from nearsong.experiment.run.prepared import Prepared
from nearsong.experiment.run.results import Row
from nearsong.model.held_out import Split, unseen_validation
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.selection import Learned, PCAVectors, best_of
from nearsong.types import FloatArray

BALANCE_FOLDS, MIN_FOLD_ARTISTS = 4, 3
"""Folds of the training artists for the balance, and artists that a fold must have."""


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """A metric on phi that may be a block of a space.

    Attributes
    ----------
    factor : array of shape (rank, n_dimensions)
        L over phi.
    learned : Learned
        What validation chose of the grid.
    """

    factor: FloatArray
    learned: Learned

    @classmethod
    def of(cls, songs: PCAVectors, grid: list[Learned]) -> "LearnedMetric":
        """Return the best metric of a grid, from the principal components back to phi."""
        best = best_of(grid)
        return cls(best.factor if songs.axes is None else best.factor @ songs.axes, best)


@dataclass(frozen=True, eq=False)
class SpaceLearner:
    """Fits listener spaces to the training artists of a split; all other artists of the experiment are held out.

    Attributes
    ----------
    prepared : Prepared
        Songs, listens and encoders.
    split : Split
        Its training artists.
    method : SpaceMethod
        What the spaces are made of.
    metric : LearnedMetric, optional
        A further block.
    """

    prepared: Prepared
    split: Split
    method: SpaceMethod
    metric: LearnedMetric | None = None

    @cached_property
    def _fused(self) -> tuple[FloatArray, tuple[slice, ...]]:
        return fused_parts(self.prepared, self.method.encoders_for(self.prepared), self.split.training.queries)

    @property
    def phi(self) -> FloatArray:
        """All songs, an array of shape (n_songs, n_dimensions)."""
        return self._fused[0]

    @cached_property
    def _examples(self) -> dict[str, Any]:
        population, training = self.prepared.population, self.split.training.queries
        return {
            "phi": self.phi[training],
            "song_artist": population.song_artist[training],
            "plays": population.all_plays,
            "held_out": outside_of_training(self.prepared, self.split),
            "parts": self._fused[1],
        }

    def fit(self, choice: Choice) -> SongSpace:
        """Fit a space with some parameters."""
        factor = None if self.metric is None else self.metric.factor
        space = ListenerSpace(**choice).fit(**self._examples, metric=factor)
        return SongSpace(space, self.phi, self.prepared.population.song_artist, self.method.by_listeners)

    def balance(self, songs: SongSpace) -> SongSpace:
        """Make songs embedded by listeners comparable with songs embedded by sound, if there are enough artists."""
        n_folds = min(BALANCE_FOLDS, len(songs.space.artists_) // MIN_FOLD_ARTISTS)
        if not songs.by_listeners or n_folds < 2:
            return songs
        songs.space.fit_balance(**self._examples, n_folds=n_folds, seed=self.prepared.seed)
        return replace(songs, is_balanced=True)


def space_rows(prepared: Prepared, split: Split, method: SpaceMethod, metric: LearnedMetric | None) -> list[Row]:
    """Fit a space for every choice; choose by validation, known and unseen artists alike; score the test queries."""
    learner = SpaceLearner(prepared, split, method, metric)
    choices = [dict(choice) for choice in method.choices]
    if method.with_metric:
        choices = [{**choice, "metric_weight": weight} for choice in choices for weight in METRIC_WEIGHTS]
    fitted = [learner.fit(choice) for choice in choices]
    rankings = split.validation, unseen_validation(prepared.population, split, prepared.n_relevant)
    aucs = []
    for space in fitted:
        scores = [space.score(ranking) for ranking in rankings]
        aucs.append(float(np.mean([score.auc for score in scores if score is not None] or [0.0])))
    best = int(np.argmax(aucs))
    chosen_space = learner.balance(fitted[best])
    facts = {"method": method.reported_name(prepared), "codebook": None, "tau": None}
    rows: list[Row] = [
        {"kind": "space", "split": split.number, **facts, "choice": choice, "validation_auc": auc}
        for choice, auc in zip(choices, aucs, strict=True)
    ]
    chosen = {
        "loss": metric.learned.loss if metric is not None else None,
        "C": metric.learned.C if metric is not None else None,
        "dimension": learner.phi.shape[1],
        "rank": chosen_space.space.n_embedding_dimensions,
        "choice": choices[best],
    }
    pick = {"kind": "pick", "split": split.number, **facts, **chosen}
    return [*rows, {**pick, **score_row(prepared, split, chosen_space.score)}]
