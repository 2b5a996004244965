"""A matrix listeners x artists -> the listeners that an artist shares with every other artist, and their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


@dataclass(frozen=True)
class Overlap:
    """The listeners that two artists share.

    Attributes
    ----------
    shared, query, other : int
        Listeners of both, of the query's artist and of the other artist.
    jaccard : float
        The paper's similarity: shared / (query + other - shared).
    rank : int or None
        Rank of the other among the query's nearest artists by listeners, from 1, ties by name. None if no listener
        plays both.
    """

    shared: int
    query: int
    other: int
    jaccard: float
    rank: int | None


class SharedListeners(NamedTuple):
    """The artists that share a listener with one artist: ascending columns, their ranks and shared listeners."""

    columns: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    shared: npt.NDArray[np.int32]


class ArtistOverlap:
    """Counts shared listeners, one artist at a time.

    Parameters
    ----------
    plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener listens to an artist.
    keys : sequence of str
        The artists' keys, in the order of the columns; ties are broken by key.

    Notes
    -----
    Comparing one artist with all others takes one pass over the rows of its listeners.
    """

    def __init__(self, plays: sp.csr_array, keys: Sequence[str]) -> None:
        self._plays, self._by_artist = plays, plays.tocsc()
        self.n_listeners: npt.NDArray[np.int64] = np.diff(self._by_artist.indptr).astype(np.int64)
        self._name_rank = np.empty(len(keys), np.int64)
        self._name_rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))

    def count(self, column: int) -> SharedListeners:
        """Return the artists that share a listener with the artist of a column."""
        begin, end = self._by_artist.indptr[column : column + 2]
        played = self._plays[self._by_artist.indices[begin:end]].indices
        counts = np.bincount(played, minlength=len(self.n_listeners))
        counts[column] = 0
        columns = np.flatnonzero(counts)
        shared = counts[columns]
        jaccard = shared / (self.n_listeners[columns] + self.n_listeners[column] - shared)
        rank = np.empty(len(columns), np.int32)
        rank[np.lexsort((self._name_rank[columns], -jaccard))] = np.arange(1, len(columns) + 1)
        return SharedListeners(columns.astype(np.int32), rank, shared.astype(np.int32))
