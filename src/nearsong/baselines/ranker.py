"""A database and a query -> the database in order of distance: the protocol of all baselines (paper IV-C)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.estimators import BaseEstimator
from nearsong.types import FloatArray
from nearsong.validation import check_count


class SongRanker(BaseEstimator, ABC):
    """Ranks the songs of a database by their distance to a query.

    A song is a row of a matrix for vector baselines, an array of frames for audio baselines. As in scikit-learn,
    the constructor stores parameters unchanged and ``fit`` checks them.

    Examples
    --------
    A new ranker needs two methods:

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
        """Store the database."""

    @abstractmethod
    def distances(self, queries: Any) -> FloatArray:
        """Return the distance of every query to every song, (n_queries, n_songs); small means similar."""

    def rank(self, query: Any, k: int | None = None) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Rank the database for one query.

        Parameters
        ----------
        query : a single song
            In the same form as the songs of the database.
        k : int, optional
            Number of songs to return, all by default.

        Returns
        -------
        ids : ndarray of int64
            Rows of the songs in the database, nearest first; ties go to the lower id.
        distances : ndarray of float64
            Their distances.
        """
        row = self.distances(self._as_batch(query))[0]
        n_results = len(row) if k is None else min(check_count(k, "k"), len(row))
        candidates = np.arange(len(row))
        if n_results < len(row):
            candidates = np.flatnonzero(row <= np.partition(row, n_results - 1)[n_results - 1])
        ids = candidates[np.argsort(row[candidates], kind="stable")[:n_results]].astype(np.int64)
        return ids, row[ids]

    def _as_batch(self, query: Any) -> Any:
        """Return a single query in the form that ``distances`` expects."""
        return [query]


class FrameRanker(SongRanker):
    """A ranker of songs given as frames, which are summarised once; ``fit`` and ``distances`` also take summaries."""

    @abstractmethod
    def summarise(self, frames: npt.NDArray[Any]) -> Any:
        """Return the summary of a song's frames, (n_frames, n_features)."""

    @abstractmethod
    def pack(self, summaries: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
        """Return summaries as arrays that can be concatenated along their first axis."""

    @abstractmethod
    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """Return the summaries that :meth:`pack` packed."""
