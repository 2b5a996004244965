"""Embeddings + relevant songs -> the quality of the rankings (paper IV: mean AUC over queries).

Five scores of a ranked list with binary relevance: AUC, MRR, NDCG@k, MAP and precision@k. The songs of a database are
ranked by their Euclidean distance to each query, a block of queries at a time: one matrix product gives the
distances, `rank_counts.py` scores them.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation.distance_keys import KeyBlocks, distance_keys
from nearsong.evaluation.rank_counts import SCORES, SongLists, score_rows
from nearsong.executor import available_processors
from nearsong.validation import check_choice, check_count, check_labels, check_relation, check_vectors

_BLOCK_ENTRIES = 1 << 25
"""Distances in memory at the same time by default: 256 MiB."""

_PARTS_PER_THREAD = 4
"""Parts of a block per thread, so that threads finish at about the same time."""


@dataclass(frozen=True)
class RankingScores:
    """Mean scores over the usable queries, and the score of every query.

    Attributes
    ----------
    auc : float
        Share of (relevant, irrelevant) pairs in the right order; a tied pair counts one half.
    mrr : float
        Reciprocal rank of the first relevant song.
    ndcg : float
        Sum of ``1 / log2(1 + rank)`` over the relevant songs among the first k, divided by the same sum for an ideal
        ranking.
    map : float
        Mean precision at the ranks of the relevant songs, over the whole list.
    precision_at_k : float
        Relevant songs among the first k, divided by k.
    k : int or None
        The cut-off of ``ndcg`` and ``precision_at_k``; None is the whole list.
    n_queries : int
        Queries that the means are taken over.
    n_skipped : int
        Queries without a relevant or without an irrelevant song, which are left out.
    per_query : mapping of str to array of shape (n_queries + n_skipped,)
        The five scores of each query, NaN for a skipped one.

    Notes
    -----
    Ties are scored by expectation: every score is its mean over all orders of the songs at the same distance. A
    metric that maps all songs to one point has the scores of a random order, AUC 1/2.
    """

    auc: float
    mrr: float
    ndcg: float
    map: float
    precision_at_k: float
    k: int | None
    n_queries: int
    n_skipped: int
    per_query: Mapping[str, npt.NDArray[np.float64]] = field(repr=False, compare=False)

    def means(self) -> dict[str, float]:
        """Return the five means by name."""
        return {name: getattr(self, name) for name in SCORES}


def ranking_scores(
    queries: npt.ArrayLike,
    database: npt.ArrayLike | None,
    relevant: Any,
    ignored: Any = None,
    *,
    k: int | None = 10,
    block: int | None = None,
    threads: int | None = None,
) -> RankingScores:
    """Rank a database by Euclidean distance from each query and score the rankings.

    Parameters
    ----------
    queries : array of shape (n_queries, r)
        Embeddings of the query songs; they need not be in the database.
    database : array of shape (n_songs, r) or None
        Embeddings of the songs to rank. None ranks the queries among themselves, each without itself.
    relevant : sparse or dense matrix of shape (n_queries, n_songs)
        Non-zero where the song is relevant to the query.
    ignored : sparse or dense matrix of shape (n_queries, n_songs), optional
        Non-zero where the song is neither relevant nor irrelevant (the query itself, its own artist); such a song is
        removed from the ranking of that query, also where ``relevant`` has it.
    k : int or None, default=10
        Cut-off of NDCG and precision; None for the whole list.
    block : int, optional
        Queries ranked at the same time; their distances take ``8 * block * n_songs`` bytes. By default 256 MiB.
    threads : int, optional
        Threads that score a block, by default one per processor. The matrix product has its own.

    Raises
    ------
    NoUsableQueryError
        If no query has both a relevant and an irrelevant song.

    Notes
    -----
    Songs are ordered by ``|x|^2 - 2 q.x`` in float64, with the mean of the database subtracted from both. Identical
    vectors tie exactly. *Different* vectors whose squared distances differ by less than about ``1e-15`` times
    ``|x|^2 + |q|^2`` (relative to that mean) may come out in either order.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.evaluation import ranking_scores
    >>> scores = ranking_scores([[0.0]], [[1.0], [2.0], [3.0], [4.0]], np.array([[0, 1, 0, 1]]), k=2)
    >>> scores.auc, scores.mrr, scores.map, scores.precision_at_k
    (0.25, 0.5, 0.5, 0.5)
    """
    queries = check_vectors(queries, "queries")
    songs = queries if database is None else check_vectors(database, "database")
    if queries.shape[1] != songs.shape[1]:
        raise InvalidInputError(
            f"queries have {queries.shape[1]} features and the database {songs.shape[1]}; "
            "project both with the same metric."
        )
    shape = (len(queries), len(songs))
    off_list = _check_ignored(ignored, shape)
    if database is None:
        off_list = sp.csr_array(off_list + sp.eye_array(len(songs), dtype=bool, format="csr"))
    block = _check_block(block, shape)
    return _evaluate(
        distance_keys(queries, songs, block),
        _relation_lists(check_relation(relevant, shape, "relevant")),
        _relation_lists(off_list),
        shape,
        k,
        block,
        threads,
    )


def scores_from_distances(
    distances: npt.ArrayLike,
    relevant: Any,
    ignored: Any = None,
    *,
    k: int | None = 10,
    threads: int | None = None,
) -> RankingScores:
    """Score the rankings of a matrix of distances.

    Parameters
    ----------
    distances : array of shape (n_queries, n_songs)
        Small is similar; negative and infinite values are allowed, NaN is not. Read in blocks, so it may be a memory
        map of any real type.
    relevant, ignored, k, threads
        As in `ranking_scores`. To leave out the query itself, set it in ``ignored``.

    Examples
    --------
    >>> from nearsong.evaluation import scores_from_distances
    >>> scores_from_distances([[0.3, 0.1, 0.2]], [[1, 1, 0]], k=1).means()
    {'auc': 0.5, 'mrr': 1.0, 'ndcg': 1.0, 'map': 0.8333333333333333, 'precision_at_k': 1.0}
    """
    table = np.asarray(distances)
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"distances has shape {table.shape} and dtype {table.dtype}; a queries x songs array of real numbers is "
            "needed, with at least one of each."
        )
    shape = (table.shape[0], table.shape[1])

    def keys(start: int, stop: int) -> npt.NDArray[np.float64]:
        rows = np.ascontiguousarray(table[start:stop], dtype=np.float64)
        missing = np.isnan(rows).any(axis=1)
        if missing.any():
            raise InvalidInputError(
                f"distances has a NaN in row {start + int(missing.argmax())}, which cannot be ranked. Set it to inf "
                "to rank the song last, or to any number and set the pair in `ignored`."
            )
        return rows

    return _evaluate(
        keys,
        _relation_lists(check_relation(relevant, shape, "relevant")),
        _relation_lists(_check_ignored(ignored, shape)),
        shape,
        k,
        _check_block(None, shape),
        threads,
    )


def label_scores(vectors: npt.ArrayLike, labels: npt.ArrayLike, *, k: int | None = 10) -> RankingScores:
    """Rank labelled songs among themselves; songs with the query's label are relevant.

    Each query is left out of its own ranking. Songs of a label share one list, so memory is linear in the songs.

    Parameters
    ----------
    vectors : array of shape (n_songs, r)
        Embeddings of the songs.
    labels : array of shape (n_songs,)
        The class of each song, as numbers or strings.
    k : int or None, default=10
        As in `ranking_scores`.

    Examples
    --------
    >>> from nearsong.evaluation import label_scores
    >>> label_scores([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).auc
    1.0
    """
    songs = check_vectors(vectors, "vectors")
    shape = (len(songs), len(songs))
    block = _check_block(None, shape)
    itself = sp.eye_array(len(songs), dtype=bool, format="csr")
    return _evaluate(
        distance_keys(songs, songs, block),
        _label_lists(check_labels(labels, len(songs), "labels")),
        _relation_lists(itself),
        shape,
        k,
        block,
    )


@dataclass(frozen=True)
class RankingScorer:
    """A scikit-learn scorer, made by `ranking_scorer`: ``scorer(estimator, X, y)`` returns a mean score."""

    score: str
    k: int | None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Transform ``X``, rank its songs among themselves and return the mean score for the labels ``y``."""
        return label_scores(estimator.transform(X), y, k=self.k).means()[self.score]


def ranking_scorer(score: str = "auc", k: int | None = 10) -> RankingScorer:
    """Return a scorer for scikit-learn's model selection, with class labels as ``y``.

    Parameters
    ----------
    score : {"auc", "mrr", "ndcg", "map", "precision_at_k"}, default="auc"
        The score to maximise.
    k : int or None, default=10
        Cut-off of NDCG and precision; None for the whole list.

    Returns
    -------
    RankingScorer
        ``scorer(estimator, X, y)`` transforms ``X`` with the estimator, ranks the songs among themselves and
        returns the mean score; songs of the same label are relevant. Every test fold needs two labels and a label
        with two songs: split with ``StratifiedKFold``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.model_selection import GridSearchCV, StratifiedKFold
    >>> from nearsong.evaluation import ranking_scorer
    >>> scorer = ranking_scorer("auc")
    >>> search = GridSearchCV(PCA(), {"n_components": [1, 4]}, scoring=scorer, cv=StratifiedKFold(3))
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'n_components': 1}
    """
    return RankingScorer(check_choice(score, "score", SCORES), _check_cutoff(k))


def _check_cutoff(k: int | None) -> int | None:
    return None if k is None else check_count(k, "k")


def _check_block(block: int | None, shape: tuple[int, int]) -> int:
    wanted = max(1, _BLOCK_ENTRIES // shape[1]) if block is None else check_count(block, "block")
    return min(wanted, shape[0])


def _check_threads(threads: int | None) -> int:
    if threads is not None:
        return check_count(threads, "threads")
    return available_processors()


def _check_ignored(ignored: Any, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array(shape, dtype=bool) if ignored is None else check_relation(ignored, shape, "ignored")


def _relation_lists(relation: sp.csr_array) -> SongLists:
    bounds = relation.indptr.astype(np.int64)
    return SongLists(bounds[:-1], bounds[1:], relation.indices.astype(np.int32, copy=False))


def _label_lists(codes: npt.NDArray[np.int64]) -> SongLists:
    """Return the songs with the query's label, the query included; all queries of a label share one list."""
    ends = np.cumsum(np.bincount(codes))
    members = np.argsort(codes, kind="stable").astype(np.int32)
    return SongLists(np.concatenate([[0], ends[:-1]])[codes], ends[codes], members)


def _evaluate(
    keys: KeyBlocks,
    relevant: SongLists,
    ignored: SongLists,
    shape: tuple[int, int],
    k: int | None,
    block: int,
    threads: int | None = None,
) -> RankingScores:
    """Score all queries, block by block, with the rows of a block divided among threads."""
    n_queries, n_songs = shape
    k = _check_cutoff(k)
    threads = _check_threads(threads)
    discounts = 1.0 / np.log2(np.arange(2, 2 + min(k or n_songs, n_songs)))
    scores = np.empty((n_queries, len(SCORES)))
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, n_queries, block):
            stop = min(start + block, n_queries)
            table = keys(start, stop)
            bounds = np.linspace(start, stop, _PARTS_PER_THREAD * threads + 1).astype(np.int64).tolist()
            jobs = [
                pool.submit(score_rows, first, last, start, table, relevant, ignored, discounts, k or 0, scores)
                for first, last in pairwise(bounds)
                if first < last
            ]
            for job in jobs:
                job.result()
    usable = ~np.isnan(scores[:, 0])
    if not usable.any():
        raise NoUsableQueryError(
            f"None of the {n_queries} queries has both a relevant and an irrelevant song among the {n_songs} ranked; "
            "check `relevant` and `ignored`, or the labels."
        )
    means = scores[usable].mean(axis=0)
    return RankingScores(
        **dict(zip(SCORES, means.tolist(), strict=True)),
        k=k,
        n_queries=int(usable.sum()),
        n_skipped=int(n_queries - usable.sum()),
        per_query=dict(zip(SCORES, scores.T.copy(), strict=True)),
    )
