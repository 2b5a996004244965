"""A split -> a metric for every loss and C, the one validation chooses, and the rankings it has to beat.

Those are chance, popularity without any sound, and what one half of the listeners says about the other.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import PCA

from nearsong.evaluation import RankingScores
from nearsong.metric import MetricLearningToRank
from nearsong.model.held_out import Audience, Indices, Ranking, Score, Split, judged_by, neighbours_among

FloatArray = npt.NDArray[np.float64]
Row = dict[str, Any]

NEAR_BEST = 0.01
"""Metrics whose validation AUC is within this of the best are averaged."""


def scores_row(scores: RankingScores | None) -> Row | None:
    """Return scores as JSON has them."""
    return None if scores is None else {**scores.means(), "n_queries": scores.n_queries}


# ---- rankings that hear nothing


def random_score(split: Split, seed: int) -> Score:
    """Rank by chance."""

    def score(ranking: Ranking) -> RankingScores | None:
        random = np.random.default_rng([seed, split.number, 11, *ranking.relevant.shape])
        return ranking.score_table(random.random(ranking.relevant.shape))

    return score


def popularity_score(audience: Audience, split: Split, n_relevant: int) -> Score:
    """Rank units by how often training units have them among their nearest, without any sound."""
    units = np.unique(audience.song_unit[split.training.queries])

    def score(ranking: Ranking) -> RankingScores | None:
        unit_of = audience.song_unit
        near = neighbours_among(audience, np.unique(unit_of[ranking.database]), n_relevant)[units]
        popularity = np.bincount(near[near >= 0], minlength=audience.plays.shape[1])
        row = -popularity[unit_of[ranking.database]].astype(np.float64)
        return ranking.score_table(np.broadcast_to(row, ranking.relevant.shape))

    return score


def ceiling_score(audience: Audience, split: Split, *, n_relevant: int, seed: int) -> Score:
    """Predict what one half of the listeners find near by the Jaccard index of the other half."""
    random = np.random.default_rng([seed, split.number, 13])
    listeners = random.permutation(audience.plays.shape[0])
    first, second = (sp.csr_array(audience.plays[half]) for half in np.array_split(listeners, 2))
    listens = sp.csc_array(first.astype(np.float64))

    def score(ranking: Ranking) -> RankingScores | None:
        judged = judged_by(audience, ranking, second, n_relevant)
        queries, of_query = np.unique(audience.song_unit[ranking.queries], return_inverse=True)
        database, of_song = np.unique(audience.song_unit[ranking.database], return_inverse=True)
        similarity = _jaccard_table(listens[:, queries], listens[:, database])
        return judged.score_table(-similarity[np.ix_(of_query, of_song)])

    return score


def _jaccard_table(listens: Any, others: Any) -> FloatArray:
    """Return the Jaccard index of every unit's listeners with those of other units."""
    shared: FloatArray = (listens.T @ others).toarray()
    union = np.asarray(listens.sum(axis=0))[:, None] + np.asarray(others.sum(axis=0)) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


# ---- metrics


@dataclass(frozen=True, eq=False)
class Compressed:
    """All songs in the space a metric is learned in, fitted on training songs."""

    vectors: FloatArray
    dimension: int


def compress(vectors: FloatArray, training: Indices, keep: float | None = 0.95) -> Compressed:
    """Keep 95 % of the training songs' variance (paper IV-B); None keeps all."""
    if keep is None:
        return Compressed(vectors, vectors.shape[1])
    if np.ptp(vectors[training], axis=0).max() == 0:  # all sound the same: there is nothing to compress or to learn
        return Compressed(vectors[:, :1], 1)
    pca = PCA(n_components=keep, svd_solver="full").fit(vectors[training])
    return Compressed(pca.transform(vectors), int(pca.n_components_))


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted metric of the grid, its validation scores and what it cost."""

    loss: str
    C: float
    factor: FloatArray
    validation: RankingScores | None
    row: Row

    @property
    def auc(self) -> float:
        """What metrics are chosen by."""
        return self.validation.auc if self.validation is not None else 0.0


def learn_grid(
    songs: Compressed,
    teacher: Ranking,
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
    songs : Compressed
        All songs.
    teacher : Ranking
        What is learned from; its queries are its database.
    validation : Ranking
        What metrics are judged by.
    losses, Cs : sequences
        The grid.
    tol, max_rounds : float, int
        When a fit ends, see :class:`nearsong.MetricLearningToRank`.
    after_round : callable, optional
        Called after every round of every fit; what it raises ends them all.

    Returns
    -------
    list of Learned
        By loss, then by rising C.
    """
    found = []
    for loss in losses:
        learner = MetricLearningToRank(
            loss=loss,
            tol=tol,
            max_rounds=max_rounds,
            callback=None if after_round is None else lambda _: after_round(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # zero metrics and unfinished fits are in the rows
            path = learner.fit_path(songs.vectors[teacher.queries], teacher.relevant, Cs, ignored=teacher.ignored)
        found += [_judged(fitted, songs, validation) for fitted in path]
    return found


def _judged(fitted: MetricLearningToRank, songs: Compressed, validation: Ranking) -> Learned:
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


def averaged_factor(grid: Sequence[Learned], songs: Compressed, training: Indices) -> FloatArray:
    """Average the metrics that validation cannot tell from the best, scaled to the same mean distance."""
    best = best_of(grid).auc
    factors = []
    for learned in grid:
        spread = (songs.vectors[training] @ learned.factor.T).var(axis=0).sum()
        if learned.auc >= best - NEAR_BEST and spread > 0:
            factors.append(learned.factor / np.sqrt(spread))
    stacked = np.vstack(factors) / np.sqrt(len(factors)) if factors else best_of(grid).factor
    # as many rows as the space has dimensions say the same
    if len(stacked) <= stacked.shape[1]:
        return stacked
    return np.asarray(np.linalg.qr(stacked, mode="r"), dtype=np.float64)
