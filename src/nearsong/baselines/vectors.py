"""Songs as rows of a matrix -> Euclidean or cosine distance: histograms, PPK, TF-IDF and tag vectors (paper IV-C)."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.baselines.ranker import SongRanker
from nearsong.baselines.songs import Rows, check_rows, distinct_songs, single_row
from nearsong.estimators import check_is_fitted
from nearsong.types import FloatArray

_BLOCK_ENTRIES = 1 << 22  # distances computed together: 32 MB
_CANCELLATION = 1e-6  # ratio of squared distance to squared lengths below which the expanded square is too inexact


class _VectorRanker(SongRanker):
    """Holds the distinct rows of the database; subclasses measure one block of queries against them."""

    def fit(self, songs: Any) -> Self:
        """Store the rows of a matrix.

        Parameters
        ----------
        songs : array or sparse matrix of shape (n_songs, n_features)
        """
        rows = check_rows(songs, "songs")
        distinct, self._inverse = distinct_songs(_row_bytes(rows))
        self.n_features_in_ = rows.shape[1]
        self._store(rows if len(distinct) == rows.shape[0] else rows[distinct])
        return self

    def distances(self, queries: Any) -> FloatArray:
        """Return the distance of every query to every song.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
            Duplicates of a song have exactly the same distance.
        """
        check_is_fitted(self)
        rows = check_rows(queries, "queries", self.n_features_in_)
        n_queries, n_songs = rows.shape[0], len(self._inverse)
        table = np.empty((n_queries, n_songs))
        block = max(1, _BLOCK_ENTRIES // max(n_songs, self.n_features_in_))
        for start in range(0, n_queries, block):
            part = _dense(rows[start : start + block])
            table[start : start + block] = self._measure(part)[:, self._inverse]
        return table

    @abstractmethod
    def _store(self, songs: Rows) -> None:
        """Store the distinct rows of the database."""

    @abstractmethod
    def _measure(self, queries: FloatArray) -> FloatArray:
        """Return the distances of a block of queries to the stored rows."""

    def _as_batch(self, query: Any) -> Any:
        return single_row(query)


class EuclideanSimilarity(_VectorRanker):
    """Rank songs by the Euclidean distance of their vectors ("native" in the paper).

    On square roots of histograms (PPK vectors) this is the distance of the probability product kernel.

    Examples
    --------
    >>> ranker = EuclideanSimilarity().fit([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, 1.0]])
    >>> ranker.rank([3.0, 4.0], k=3)
    (array([1, 2, 3]), array([0.        , 0.        , 4.24264069]))
    """

    def _store(self, songs: Rows) -> None:
        # Squares cancel least around the mean; centring would make a sparse matrix dense, so it is left as it is.
        self._centre = np.zeros(songs.shape[1]) if sp.issparse(songs) else songs.mean(axis=0)
        self._songs = songs if sp.issparse(songs) else songs - self._centre
        self._squares = _squared_lengths(self._songs)

    def _measure(self, queries: FloatArray) -> FloatArray:
        queries = queries - self._centre
        lengths = _squared_lengths(queries)[:, None] + self._squares
        squared = lengths - 2.0 * _products(queries, self._songs)
        self._recompute(queries, squared, np.argwhere(squared <= _CANCELLATION * lengths))
        return np.sqrt(squared, out=squared)

    def _recompute(self, queries: FloatArray, squared: FloatArray, pairs: npt.NDArray[np.intp]) -> None:
        """Compute some squared distances from differences, where the expanded square has cancelled."""
        block = max(1, _BLOCK_ENTRIES // self.n_features_in_)
        for start in range(0, len(pairs), block):
            q, x = pairs[start : start + block].T
            difference = queries[q] - _dense(self._songs[x])
            squared[q, x] = np.einsum("ij,ij->i", difference, difference)


class CosineSimilarity(_VectorRanker):
    """Rank songs by 1 - cosine of their vectors; a zero vector has cosine 0 with everything.

    Vectors of small whole numbers, such as tags, tie exactly where their cosines are equal.

    Examples
    --------
    >>> ranker = CosineSimilarity().fit([[1.0, 0.0], [5.0, 5.0], [0.0, 0.0], [0.0, 2.0]])
    >>> ranker.distances([[0.0, 1.0]]).round(3)
    array([[1.   , 0.293, 1.   , 0.   ]])
    """

    def _store(self, songs: Rows) -> None:
        self._songs = _scaled(songs)
        self._squares = _squared_lengths(self._songs)

    def _measure(self, queries: FloatArray) -> FloatArray:
        queries = _scaled(queries)
        products = _products(queries, self._songs)
        lengths = _squared_lengths(queries)[:, None] * self._squares
        # The root of a quotient: numerator and denominator are exact for whole numbers, so equal cosines are equal.
        squares = np.divide(products * products, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        cosines = np.copysign(np.sqrt(squares, out=squares), products)
        return np.clip(1.0 - cosines, 0.0, 2.0, out=cosines)


def _products(queries: FloatArray, songs: Rows) -> FloatArray:
    product: FloatArray = (songs @ queries.T).T if sp.issparse(songs) else queries @ songs.T
    return product


def _squared_lengths(rows: Rows) -> FloatArray:
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    squares: FloatArray = np.einsum("ij,ij->i", rows, rows)
    return squares


def _dense(rows: Rows) -> FloatArray:
    dense: FloatArray = rows.toarray() if sp.issparse(rows) else rows
    return dense


def _scaled(rows: Rows) -> Any:
    """Scale each row by a power of two so that its largest entry is in [1/2, 1): exact, and squares cannot vanish."""
    if sp.issparse(rows):
        exponents = np.frexp(abs(rows).max(axis=1).toarray().ravel())[1]
        data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    return np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1))[1][:, None])


def _row_bytes(rows: Rows) -> list[bytes]:
    if sp.issparse(rows):
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in bounds]
    return [row.tobytes() for row in rows + 0.0]  # + 0.0 turns -0.0 into 0.0, so that both have the same bytes
