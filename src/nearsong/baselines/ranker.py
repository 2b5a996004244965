"""A database and a query -> the database in order of distance: what all compared methods share (paper IV-C)."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from nearsong.validation import check_count

FloatArray = npt.NDArray[np.float64]


class SongRanker(BaseEstimator, ABC):
    """Remembers a database of songs and says how far each of them is from any query.

    What a song is differs: a row of a matrix for the vector methods, an array of frames for the audio methods.
    Parameters are kept as given and checked by ``fit``, as everywhere in scikit-learn.

    Examples
    --------
    A ranker of one's own needs two methods:

    >>> class ByTempo(SongRanker):
    ...     def fit(self, songs):
    ...         self.tempi_ = np.asarray(songs)
    ...         return self
    ...
    ...     def distances(self, queries):
    ...         return np.abs(np.asarray(queries)[:, None] - self.tempi_)
    >>> ids, distances = ByTempo().fit([90.0, 125.0, 118.0, 60.0]).rank(120.0, k=2)
    >>> ids, distances
    (array([2, 1]), array([2., 5.]))
    """

    @abstractmethod
    def fit(self, songs: Any) -> Self:
        """Remember the database."""

    @abstractmethod
    def distances(self, queries: Any) -> FloatArray:
        """Return how far every database song is from every query, (n_queries, n_songs); small is similar."""

    def rank(self, query: Any, k: int | None = None) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Put the database in order for one query.

        Parameters
        ----------
        query : a single song
            Of the kind the database was fitted with.
        k : int, optional
            How many songs to return; all by default, and never more than there are.

        Returns
        -------
        ids : ndarray of int64
            Places of the songs in the database, nearest first, equals by lower id.
        distances : ndarray of float64
            Their distances.
        """
        row = self.distances(self._alone(query))[0]
        wanted = len(row) if k is None else min(check_count(k, "k"), len(row))
        among = np.arange(len(row))
        if wanted < len(row):
            among = np.flatnonzero(row <= np.partition(row, wanted - 1)[wanted - 1])
        ids = among[np.argsort(row[among], kind="stable")[:wanted]].astype(np.int64)
        return ids, row[ids]

    def _alone(self, query: Any) -> Any:
        """Return the one query as ``distances`` takes many."""
        return [query]
