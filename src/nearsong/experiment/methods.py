"""A split and a method -> how well it ranks: everything the tables compare (paper IV-C and the controls it lacks)."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from nearsong.baselines import HumanTags
from nearsong.encoding import ProductKernelMap, TfIdf
from nearsong.evaluation import RankingScores
from nearsong.experiment.prepare import Prepared
from nearsong.experiment.protocol import Ranking, Split, judged_by, neighbours_among
from nearsong.experiment.results import Row
from nearsong.experiment.settings import Settings
from nearsong.metric import MetricLearningToRank

FloatArray = npt.NDArray[np.float64]

NEAR_BEST = 0.01
"""Metrics whose validation AUC is within this of the best are averaged."""


def scores_row(scores: RankingScores | None) -> Row | None:
    """Return scores as the results file has them."""
    return None if scores is None else {**scores.means(), "n_queries": scores.n_queries}


def judge(split: Split, score: Callable[[Ranking], RankingScores | None]) -> Row:
    """Return validation and test scores of a ranking that needs no choice."""
    return {
        "validation": {"known": scores_row(score(split.validation))},
        "test": {"known": scores_row(score(split.test_known)), "unknown": scores_row(score(split.test_unknown))},
    }


# ---- rankings that learn nothing from relevance


def plain_vectors(prepared: Prepared, split: Split, method: str, codebook: int | None, tau: int | None) -> FloatArray:
    """Return vectors whose Euclidean distances rank as the method does; fitted on training songs only."""
    training = split.training.queries
    if method in ("native", "mlr") and not prepared.has_sound:
        assert prepared.vectors is not None
        scaled: FloatArray = StandardScaler().fit(prepared.vectors[training]).transform(prepared.vectors)
        return scaled
    if method in ("smd", "smd_mlr"):
        return ProductKernelMap().transform(prepared.multinomials())
    if method in ("tags_cosine", "tags_tfidf", "tags_mlr"):
        return _tag_vectors(prepared, training, method)
    assert codebook is not None
    assert tau is not None
    histograms = prepared.histograms(codebook, tau)
    if method in ("native_ppk", "ppk_mlr", "shuffled"):
        return ProductKernelMap().transform(histograms)
    if method == "tfidf":
        return _unit_rows(TfIdf().fit(histograms[training]).transform(histograms))
    return histograms


def _tag_vectors(prepared: Prepared, training: npt.NDArray[np.int64], method: str) -> FloatArray:
    assert prepared.tags is not None
    tags = prepared.tags.astype(np.float64)
    weighting = "tfidf" if method == "tags_tfidf" else "binary"
    return _unit_rows(HumanTags(weighting).fit(tags[training]).transform(tags).toarray())


def _unit_rows(rows: FloatArray) -> FloatArray:
    """Scale rows to length 1, so that Euclidean distance ranks as cosine does; rows of zeros go to a far corner."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    # |q - x|^2 = 2 - 2 cos; an extra coordinate puts the zero vector at distance sqrt(2) from all, as cosine 0 is
    return np.hstack([unit, (lengths == 0).astype(np.float64)])


def random_score(prepared: Prepared, split: Split) -> Callable[[Ranking], RankingScores | None]:
    """Rank by chance."""

    def score(ranking: Ranking) -> RankingScores | None:
        random = np.random.default_rng([prepared.settings.seed, split.number, 11, *ranking.relevant.shape])
        return ranking.score_table(random.random(ranking.relevant.shape))

    return score


def popularity_score(prepared: Prepared, split: Split) -> Callable[[Ranking], RankingScores | None]:
    """Rank artists by how often training artists have them among their nearest, without any sound."""
    population = prepared.population
    artists = np.unique(population.song_artist[split.training.queries])

    def score(ranking: Ranking) -> RankingScores | None:
        database = np.unique(population.song_artist[ranking.database])
        near = neighbours_among(population, database, prepared.settings)[artists]
        popularity = np.bincount(near[near >= 0], minlength=population.n_artists)
        row = -popularity[population.song_artist].astype(np.float64)
        return ranking.score_distances(np.broadcast_to(row, (prepared.n_songs, prepared.n_songs)))

    return score


def ceiling_score(prepared: Prepared, split: Split) -> Callable[[Ranking], RankingScores | None]:
    """Predict what one half of the users find near by the Jaccard index of the other half."""
    population, settings = prepared.population, prepared.settings
    random = np.random.default_rng([settings.seed, split.number, 13])
    users = random.permutation(population.plays.shape[0])
    first, second = (sp.csr_array(population.plays[half]) for half in np.array_split(users, 2))
    listens = first.astype(np.float64)
    shared = (listens.T @ listens).toarray()
    sizes = np.diag(shared)
    union = sizes[:, None] + sizes - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)

    def score(ranking: Ranking) -> RankingScores | None:
        judged = judged_by(population, ranking, second, settings)
        of_song = population.song_artist
        table = -similarity[np.ix_(of_song[ranking.queries], of_song[ranking.database])]
        return judged.score_table(table)

    return score


# ---- metrics


@dataclass(frozen=True, eq=False)
class Compressed:
    """All songs in the space a metric is learned in, fitted on training songs."""

    vectors: FloatArray
    dimension: int


def compress(vectors: FloatArray, training: npt.NDArray[np.int64], keep: float | None = 0.95) -> Compressed:
    """Keep 95 % of the training songs' variance (paper IV-B); None keeps all."""
    if keep is None:
        return Compressed(vectors, vectors.shape[1])
    if np.ptp(vectors[training], axis=0).max() == 0:  # all sound the same: there is nothing to compress or to learn
        return Compressed(vectors[:, :1], 1)
    pca = PCA(n_components=keep, svd_solver="full").fit(vectors[training])
    return Compressed(pca.transform(vectors), int(pca.n_components_))


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted metric of the grid and its validation scores."""

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
    songs: Compressed, teacher: Ranking, validation: Ranking, losses: Sequence[str], settings: Settings
) -> list[Learned]:
    """Fit a metric for every loss and C, and score each on validation queries."""
    found = []
    for loss in losses:
        learner = MetricLearningToRank(loss=loss, tol=settings.tol, max_rounds=settings.max_rounds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # zero metrics and unfinished fits are in the rows
            path = learner.fit_path(
                songs.vectors[teacher.queries], teacher.relevant, settings.Cs, ignored=teacher.ignored
            )
        for fitted in path:
            factor = np.asarray(fitted.components_, dtype=np.float64)
            scores = validation.score_vectors(songs.vectors @ factor.T)
            row = {
                "loss": loss,
                "C": float(fitted.C),
                "validation": {"known": scores_row(scores)},
                "rounds": int(fitted.n_rounds_),
                "gap": float(fitted.gap_) if np.isfinite(fitted.gap_) else None,
                "seconds": float(sum(entry.oracle_seconds + entry.solver_seconds for entry in fitted.history_)),
                "dimension": songs.dimension,
                "rank": int((np.abs(factor).max(axis=1) > 0).sum()),
            }
            found.append(Learned(loss, float(fitted.C), factor, scores, row))
    return found


def best_of(grid: Sequence[Learned]) -> Learned:
    """Return the metric with the highest validation AUC; the first of equals."""
    return max(grid, key=lambda learned: learned.auc)


def averaged_factor(grid: Sequence[Learned], songs: Compressed, training: npt.NDArray[np.int64]) -> FloatArray:
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


def pick_row(split: Split, songs: Compressed, factor: FloatArray, facts: Row) -> Row:
    """Score the metric that was chosen on the test queries."""
    places = songs.vectors @ factor.T
    return {
        "kind": "pick",
        "split": split.number,
        **facts,
        **judge(split, lambda ranking: ranking.score_vectors(places)),
    }
