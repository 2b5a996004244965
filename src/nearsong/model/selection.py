"""A split -> a metric for every loss and C, the one that is best on validation, and baselines to compare it with.

The baselines are chance, popularity without any audio, and how well half of the listeners predict the other half.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.evaluation import RankingScores
from nearsong.metric import MetricLearningToRank
from nearsong.model.held_out import (
    Indices,
    ListeningData,
    Ranking,
    Score,
    Split,
    neighbours_among,
    with_relevance_from,
)
from nearsong.reduction.principal_components import PrincipalComponents
from nearsong.types import FloatArray

Row = dict[str, Any]

MAX_AUC_BELOW_BEST = 0.01
"""Metrics whose validation AUC is at most this much below the best are averaged."""


def scores_row(scores: RankingScores | None) -> Row | None:
    """Return scores as a JSON record."""
    return None if scores is None else {**scores.means(), "n_queries": scores.n_queries}


# ---- baselines without audio


def random_score(split: Split, seed: int) -> Score:
    """Rank in random order."""

    def score(ranking: Ranking) -> RankingScores | None:
        random = np.random.default_rng([seed, split.number, 11, *ranking.relevant.shape])
        return ranking.score_table(random.random(ranking.relevant.shape))

    return score


def popularity_score(listening_data: ListeningData, split: Split, n_relevant: int) -> Score:
    """Rank units by how often they are among the nearest of training units, without any audio."""
    units = np.unique(listening_data.song_unit[split.training.queries])

    def score(ranking: Ranking) -> RankingScores | None:
        unit_of = listening_data.song_unit
        near = neighbours_among(listening_data, np.unique(unit_of[ranking.database]), n_relevant)[units]
        popularity = np.bincount(near[near >= 0], minlength=listening_data.plays.shape[1])
        row = -popularity[unit_of[ranking.database]].astype(np.float64)
        return ranking.score_table(np.broadcast_to(row, ranking.relevant.shape))

    return score


def ceiling_score(listening_data: ListeningData, split: Split, *, n_relevant: int, seed: int) -> Score:
    """Predict relevance for one half of the listeners from the Jaccard index of the other half."""
    random = np.random.default_rng([seed, split.number, 13])
    listeners = random.permutation(listening_data.plays.shape[0])
    first, second = (sp.csr_array(listening_data.plays[half]) for half in np.array_split(listeners, 2))
    listens = sp.csc_array(first.astype(np.float64))

    def score(ranking: Ranking) -> RankingScores | None:
        other_ranking = with_relevance_from(listening_data, ranking, second, n_relevant)
        queries, of_query = np.unique(listening_data.song_unit[ranking.queries], return_inverse=True)
        database, of_song = np.unique(listening_data.song_unit[ranking.database], return_inverse=True)
        similarity = _jaccard_table(listens[:, queries], listens[:, database])
        return other_ranking.score_table(-similarity[np.ix_(of_query, of_song)])

    return score


def _jaccard_table(listens: Any, others: Any) -> FloatArray:
    """Return the Jaccard index of every unit's listeners with those of other units."""
    shared: FloatArray = (listens.T @ others).toarray()
    union = np.asarray(listens.sum(axis=0))[:, None] + np.asarray(others.sum(axis=0)) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


# ---- metrics


@dataclass(frozen=True, eq=False)
class PCAVectors:
    """All songs after PCA, which was fitted on the training songs.

    Attributes
    ----------
    vectors : array of shape (n_songs, dimension)
        The songs.
    dimension : int
        Components.
    axes : array of shape (dimension, n_dimensions) or None
        The components in the space before PCA; None where there was none.
    """

    vectors: FloatArray
    dimension: int
    axes: FloatArray | None = None


def compress(
    vectors: FloatArray,
    training: Indices,
    keep: float | None = 0.95,
    scales: Callable[[FloatArray], FloatArray] | None = None,
) -> PCAVectors:
    """Keep 95 % of the training songs' variance (paper IV-B); None keeps all.

    ``scales`` gives, from the training songs, what each dimension is divided by first.
    """
    divisors = np.ones(vectors.shape[1]) if scales is None else scales(vectors[training])
    if scales is not None:
        vectors = vectors / divisors
    if keep is None:
        return PCAVectors(vectors, vectors.shape[1])
    if np.ptp(vectors[training], axis=0).max() == 0:  # identical songs: nothing to compress or learn
        return PCAVectors(vectors[:, :1], 1, np.eye(1, vectors.shape[1]) / divisors)
    pca = PrincipalComponents.fit(vectors[training], keep)
    return PCAVectors(pca.transform(vectors), len(pca.components), pca.components / divisors)


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted metric of the grid, its validation scores and its cost."""

    loss: str
    C: float
    factor: FloatArray
    validation: RankingScores | None
    row: Row

    @property
    def auc(self) -> float:
        """Validation AUC, by which metrics are chosen."""
        return self.validation.auc if self.validation is not None else 0.0


def learn_grid(
    songs: PCAVectors,
    training: Ranking,
    validation: Ranking,
    losses: Sequence[str],
    Cs: Sequence[float],
    *,
    tol: float,
    max_rounds: int,
    after_round: Callable[[], None] | None = None,
) -> list[Learned]:
    """Fit a metric for every loss and C, and score each on validation queries.

    Parameters
    ----------
    songs : PCAVectors
        All songs.
    training : Ranking
        What the metric is learned from; its queries are its database.
    validation : Ranking
        What metrics are scored on.
    losses, Cs : sequences
        The grid.
    tol, max_rounds : float, int
        Stopping rules, see :class:`nearsong.MetricLearningToRank`.
    after_round : callable, optional
        Called after every round of every fit; an exception ends all of them.

    Returns
    -------
    list of Learned
        By loss, then by rising C.
    """
    learned = []
    for loss in losses:
        learner = MetricLearningToRank(
            loss=loss,
            tol=tol,
            max_rounds=max_rounds,
            callback=None if after_round is None else lambda _: after_round(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # zero metrics and unfinished fits are noted in the rows
            path = learner.fit_path(songs.vectors[training.queries], training.relevant, Cs, ignored=training.ignored)
        learned += [_scored(fitted, songs, validation) for fitted in path]
    return learned


def _scored(fitted: MetricLearningToRank, songs: PCAVectors, validation: Ranking) -> Learned:
    factor = np.asarray(fitted.components_, dtype=np.float64)
    scores = validation.score_vectors(songs.vectors @ factor.T)
    row = {
        "loss": fitted.loss,
        "C": float(fitted.C),
        "validation": {"known": scores_row(scores)},
        "rounds": int(fitted.n_rounds_),
        "gap": float(fitted.gap_) if np.isfinite(fitted.gap_) else None,
        "seconds": float(sum(entry.oracle_seconds + entry.solver_seconds for entry in fitted.history_)),
        "dimension": songs.dimension,
        "rank": int((np.abs(factor).max(axis=1) > 0).sum()),
    }
    return Learned(fitted.loss, float(fitted.C), factor, scores, row)


def best_of(grid: Sequence[Learned]) -> Learned:
    """Return the metric with the highest validation AUC; the first of equals."""
    return max(grid, key=lambda learned: learned.auc)


def averaged_factor(grid: Sequence[Learned], songs: PCAVectors, training: Indices) -> FloatArray:
    """Average the metrics that are about as good as the best on validation, scaled to the same mean distance."""
    best = best_of(grid).auc
    factors = []
    for learned in grid:
        spread = (songs.vectors[training] @ learned.factor.T).var(axis=0).sum()
        if learned.auc >= best - MAX_AUC_BELOW_BEST and spread > 0:
            factors.append(learned.factor / np.sqrt(spread))
    stacked = np.vstack(factors) / np.sqrt(len(factors)) if factors else best_of(grid).factor
    # a factor needs no more rows than the space has dimensions
    if len(stacked) <= stacked.shape[1]:
        return stacked
    return np.asarray(np.linalg.qr(stacked, mode="r"), dtype=np.float64)
