"""Songs as rows of a matrix -> Euclidean or cosine distance: histograms, PPK, TF-IDF and tag vectors (paper IV-C)."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from nearsong.baselines.ranker import FloatArray, SongRanker
from nearsong.baselines.songs import Rows, check_rows, first_copies, single_row

_BLOCK_ENTRIES = 1 << 22  # distances worked on at a time: 32 MB
_NEAR = 1e-6  # squared distance over squared lengths below which an expanded square has lost too many digits


class _VectorRanker(SongRanker):
    """The database as different rows; subclasses measure one block of queries against them."""

    def fit(self, songs: Any) -> Self:
        """Remember the rows of a matrix.

        Parameters
        ----------
        songs : array or sparse matrix of shape (n_songs, n_features)
        """
        rows = check_rows(songs, "songs")
        different, self._like = first_copies(_row_bytes(rows))
        self.n_features_in_ = rows.shape[1]
        self._remember(rows if len(different) == rows.shape[0] else rows[different])
        return self

    def distances(self, queries: Any) -> FloatArray:
        """Return how far every song is from every query.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
            Copies of a song are exactly as far as each other.
        """
        check_is_fitted(self)
        rows = check_rows(queries, "queries", self.n_features_in_)
        n_queries, n_songs = rows.shape[0], len(self._like)
        table = np.empty((n_queries, n_songs))
        block = max(1, _BLOCK_ENTRIES // max(n_songs, self.n_features_in_))
        for start in range(0, n_queries, block):
            part = _dense(rows[start : start + block])
            table[start : start + block] = self._measure(part)[:, self._like]
        return table

    @abstractmethod
    def _remember(self, songs: Rows) -> None:
        """Keep the different rows of the database."""

    @abstractmethod
    def _measure(self, queries: FloatArray) -> FloatArray:
        """Return the distances of a few queries to the remembered rows."""

    def _alone(self, query: Any) -> Any:
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

    def _remember(self, songs: Rows) -> None:
        # Squares cancel least around the mean; a sparse matrix would fill up and stays where it is.
        self._centre = np.zeros(songs.shape[1]) if sp.issparse(songs) else songs.mean(axis=0)
        self._songs = songs if sp.issparse(songs) else songs - self._centre
        self._squares = _squared_lengths(self._songs)

    def _measure(self, queries: FloatArray) -> FloatArray:
        queries = queries - self._centre
        lengths = _squared_lengths(queries)[:, None] + self._squares
        squared = lengths - 2.0 * _products(queries, self._songs)
        self._measure_again(queries, squared, np.argwhere(squared <= _NEAR * lengths))
        return np.sqrt(squared, out=squared)

    def _measure_again(self, queries: FloatArray, squared: FloatArray, pairs: npt.NDArray[np.intp]) -> None:
        """Take the difference itself where the expanded square has cancelled."""
        block = max(1, _BLOCK_ENTRIES // self.n_features_in_)
        for start in range(0, len(pairs), block):
            q, x = pairs[start : start + block].T
            apart = queries[q] - _dense(self._songs[x])
            squared[q, x] = np.einsum("ij,ij->i", apart, apart)


class CosineSimilarity(_VectorRanker):
    """Rank songs by 1 - cosine of their vectors; a zero vector has cosine 0 with everything.

    Vectors of small whole numbers, tags above all, tie exactly where their cosines are equal.

    Examples
    --------
    >>> ranker = CosineSimilarity().fit([[1.0, 0.0], [5.0, 5.0], [0.0, 0.0], [0.0, 2.0]])
    >>> ranker.distances([[0.0, 1.0]]).round(3)
    array([[1.   , 0.293, 1.   , 0.   ]])
    """

    def _remember(self, songs: Rows) -> None:
        self._songs = _scaled(songs)
        self._squares = _squared_lengths(self._songs)

    def _measure(self, queries: FloatArray) -> FloatArray:
        queries = _scaled(queries)
        products = _products(queries, self._songs)
        lengths = _squared_lengths(queries)[:, None] * self._squares
        # The root of a quotient: for whole numbers both its parts are exact, so equal cosines come out equal.
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
    """Bring each row's largest entry to between 1/2 and 1 by a power of two: no digit is lost, no square vanishes."""
    if sp.issparse(rows):
        exponents = np.frexp(abs(rows).max(axis=1).toarray().ravel())[1]
        data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    return np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1))[1][:, None])


def _row_bytes(rows: Rows) -> list[bytes]:
    if sp.issparse(rows):
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in bounds]
    return [row.tobytes() for row in rows + 0.0]  # turns -0.0 into 0.0, one pattern of bits
