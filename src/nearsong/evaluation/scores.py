"""Projected songs and who is relevant to whom -> how good the ranking is (paper IV: mean AUC over queries).

Five scores of a ranked list with binary relevance: AUC, MRR, NDCG@k, MAP and precision@k. The songs of a
database are ranked by their Euclidean distance to each query, a block of queries at a time: one matrix
product makes the distances, :mod:`nearsong.evaluation.rank_counts` scores them.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation.distance_keys import KeyBlocks, distance_keys
from nearsong.evaluation.rank_counts import SCORES, score_rows
from nearsong.executor import available_processors
from nearsong.validation import check_choice, check_count, check_labels, check_relation, check_vectors

_BLOCK_ENTRIES = 1 << 25
"""Distances held at once unless the caller says otherwise: 256 MiB."""

_PARTS = 4
"""Parts of a block for each thread, so that none waits long for a slower one."""


class _Lists(NamedTuple):
    """``songs[starts[q]:stops[q]]``, ascending, belong to query q."""

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    songs: npt.NDArray[np.int32]


@dataclass(frozen=True)
class RankingScores:
    """Mean scores over the usable queries, and the score of every query.

    Attributes
    ----------
    auc : float
        Share of (relevant, irrelevant) pairs in the right order; a tied pair counts one half.
    mrr : float
        1 / rank of the first relevant song.
    ndcg : float
        Sum of ``1 / log2(1 + rank)`` over the relevant songs among the first k, divided by the same sum for a
        list with all relevant songs on top.
    map : float
        Mean over the relevant songs of the precision at their rank, over the whole list.
    precision_at_k : float
        Relevant songs among the first k, divided by k.
    k : int or None
        The cut-off of ``ndcg`` and ``precision_at_k``; None is the whole list.
    n_queries : int
        Queries the means are taken over.
    n_skipped : int
        Queries left out: none of their songs is relevant, or none is irrelevant.
    per_query : mapping of str to array of shape (n_queries + n_skipped,)
        The five scores of each query, NaN for a skipped one.

    Notes
    -----
    Songs at exactly the same distance are scored by expectation: every score is its mean over all orders of
    the tied songs. A metric that maps everything to one point gets what a random order gets, AUC 1/2.
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
        Projected query songs; they need not be in the database.
    database : array of shape (n_songs, r) or None
        Projected songs to rank. None ranks the queries among themselves, each without itself.
    relevant : sparse or dense matrix of shape (n_queries, n_songs)
        Non-zero where the song is relevant to the query.
    ignored : sparse or dense matrix of shape (n_queries, n_songs), optional
        Non-zero where the song is neither relevant nor irrelevant (the query itself, its own artist); such a
        song is taken off that query's list, also where ``relevant`` names it.
    k : int or None, default=10
        Cut-off of NDCG and precision; None for the whole list.
    block : int, optional
        Queries ranked at a time; their distances take ``8 * block * n_songs`` bytes. By default 256 MiB.
    threads : int, optional
        Threads that score a block, by default one a processor. The matrix product has its own.

    Returns
    -------
    RankingScores

    Raises
    ------
    NoUsableQueryError
        If no query has both a relevant and an irrelevant song.

    Notes
    -----
    Songs are ordered by ``|x|^2 - 2 q.x`` in float64, with the mean of the database taken from both sides.
    Identical vectors tie exactly. *Different* vectors whose squared distances differ by less than about
    ``1e-15`` times ``|x|^2 + |q|^2`` (from that mean) may come out in either order.

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
    block: int | None = None,
    threads: int | None = None,
) -> RankingScores:
    """Score rankings by distances that are already there, whatever made them.

    Parameters
    ----------
    distances : array of shape (n_queries, n_songs)
        Small is similar; negative and infinite values are fine, NaN is not. Read a block at a time, so a
        memory map of any real type will do.
    relevant, ignored, k, block, threads
        As in :func:`ranking_scores`. To leave the query itself out, name it in ``ignored``.

    Returns
    -------
    RankingScores

    Examples
    --------
    >>> from nearsong.evaluation import scores_from_distances
    >>> scores_from_distances([[0.3, 0.1, 0.2]], [[1, 1, 0]], k=1).means()
    {'auc': 0.5, 'mrr': 1.0, 'ndcg': 1.0, 'map': 0.8333333333333333, 'precision_at_k': 1.0}
    """
    table = np.asarray(distances)
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"distances came as {table.dtype} of shape {table.shape}; real numbers are needed, "
            "queries x songs, with at least one of each."
        )
    shape = (table.shape[0], table.shape[1])

    def keys(start: int, stop: int) -> npt.NDArray[np.float64]:
        rows = np.ascontiguousarray(table[start:stop], dtype=np.float64)
        missing = np.isnan(rows).any(axis=1)
        if missing.any():
            raise InvalidInputError(
                f"distances has a NaN in row {start + int(missing.argmax())}; it has no place in a ranking. "
                "Set it to inf to rank the song last, or to any number and name the pair in `ignored`."
            )
        return rows

    return _evaluate(
        keys,
        _relation_lists(check_relation(relevant, shape, "relevant")),
        _relation_lists(_check_ignored(ignored, shape)),
        shape,
        k,
        _check_block(block, shape),
        threads,
    )


def label_scores(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    k: int | None = 10,
    block: int | None = None,
    threads: int | None = None,
) -> RankingScores:
    """Rank labelled songs among themselves: those with the query's label are relevant, itself left out.

    Songs of a label share one list, so the relation never takes more than its n songs.

    Parameters
    ----------
    vectors : array of shape (n_songs, r)
        Projected songs.
    labels : array of shape (n_songs,)
        The class of each song: numbers or strings.
    k, block, threads
        As in :func:`ranking_scores`.

    Returns
    -------
    RankingScores

    Examples
    --------
    >>> from nearsong.evaluation import label_scores
    >>> label_scores([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).auc
    1.0
    """
    songs = check_vectors(vectors, "vectors")
    shape = (len(songs), len(songs))
    block = _check_block(block, shape)
    itself = sp.eye_array(len(songs), dtype=bool, format="csr")
    return _evaluate(
        distance_keys(songs, songs, block),
        _label_lists(check_labels(labels, len(songs), "labels")),
        _relation_lists(itself),
        shape,
        k,
        block,
        threads,
    )


@dataclass(frozen=True)
class RankingScorer:
    """A scikit-learn scorer made by :func:`ranking_scorer`: ``scorer(estimator, X, y)`` is a mean score."""

    score: str
    k: int | None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Transform ``X``, rank its songs among themselves, return the mean score for labels ``y``."""
        return label_scores(estimator.transform(X), y, k=self.k).means()[self.score]


def ranking_scorer(score: str = "auc", k: int | None = 10) -> RankingScorer:
    """Return a scorer for scikit-learn's model selection, with class labels as ``y``.

    Parameters
    ----------
    score : {"auc", "mrr", "ndcg", "map", "precision_at_k"}, default="auc"
        What to maximise.
    k : int or None, default=10
        Cut-off of NDCG and precision; None for the whole list.

    Returns
    -------
    RankingScorer
        ``scorer(estimator, X, y)`` transforms ``X`` with the estimator, ranks the songs among themselves and
        returns the mean over them, those of the same label being relevant. Every test fold needs two labels
        and a label with two songs: split with ``StratifiedKFold``.

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


def _relation_lists(relation: sp.csr_array) -> _Lists:
    bounds = relation.indptr.astype(np.int64)
    return _Lists(bounds[:-1], bounds[1:], relation.indices.astype(np.int32, copy=False))


def _label_lists(codes: npt.NDArray[np.int64]) -> _Lists:
    """List the songs with the query's label, itself among them; all queries of a label share one list."""
    ends = np.cumsum(np.bincount(codes))
    members = np.argsort(codes, kind="stable").astype(np.int32)
    return _Lists(np.concatenate([[0], ends[:-1]])[codes], ends[codes], members)


def _evaluate(
    keys: KeyBlocks,
    relevant: _Lists,
    ignored: _Lists,
    shape: tuple[int, int],
    k: int | None,
    block: int,
    threads: int | None,
) -> RankingScores:
    """Score all queries, a block at a time, the rows of a block shared out among threads."""
    n_queries, n_songs = shape
    k = _check_cutoff(k)
    threads = _check_threads(threads)
    discounts = 1.0 / np.log2(np.arange(2, 2 + min(k or n_songs, n_songs)))
    scores = np.empty((n_queries, len(SCORES)))
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, n_queries, block):
            stop = min(start + block, n_queries)
            table = keys(start, stop)
            bounds = np.linspace(start, stop, _PARTS * threads + 1).astype(np.int64).tolist()
            jobs = [
                pool.submit(score_rows, first, last, start, table, *relevant, *ignored, discounts, k or 0, scores)
                for first, last in pairwise(bounds)
                if first < last
            ]
            for job in jobs:
                job.result()
    usable = ~np.isnan(scores[:, 0])
    if not usable.any():
        raise NoUsableQueryError(
            f"None of the {n_queries} queries has both a relevant and an irrelevant song among the {n_songs} "
            "ranked, so there is nothing to score; check `relevant` and `ignored` (or the labels)."
        )
    means = scores[usable].mean(axis=0)
    return RankingScores(
        **dict(zip(SCORES, means.tolist(), strict=True)),
        k=k,
        n_queries=int(usable.sum()),
        n_skipped=int(n_queries - usable.sum()),
        per_query=dict(zip(SCORES, scores.T.copy(), strict=True)),
    )
