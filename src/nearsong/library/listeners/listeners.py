"""Listening histories -> artists that share listeners, and whether listeners consider two artists similar."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.caching import cached_property
from nearsong.library.listeners.artist_overlap import ArtistOverlap, Overlap, SharedListeners
from nearsong.library.listeners.histories import Histories
from nearsong.validation import check_count

NEAREST_ARTISTS = 10
"""Listeners agree with a result if its artist is among this many nearest to the seed's artist."""

MAX_CACHED_ARTISTS = 256
"""Artists whose neighbours are cached: 12 bytes for each neighbour, so at most 60 MB where 20,000 artists all share
listeners."""


class Listeners:
    """Who listens to which artists; safe to share between threads.

    Parameters
    ----------
    plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener listens to an artist.
    keys : sequence of str
        The artists' keys, as :func:`nearsong.names.artist_key` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> plays = sp.csr_array(np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]], bool))
    >>> listeners = Listeners(plays, ["abba", "blur", "can"])
    >>> listeners.nearest_artists("abba")
    ['blur', 'can']
    >>> listeners.overlap("abba", "can")
    Overlap(shared=1, query=2, other=2, jaccard=0.3333333333333333, rank=2)
    """

    def __init__(self, plays: sp.csr_array, keys: Sequence[str]) -> None:
        self._plays = plays
        self._keys = keys
        self._columns = {key: column for column, key in enumerate(keys)}
        self._cache: OrderedDict[int, SharedListeners] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, histories: Histories) -> "Listeners":
        """Return the listeners of all histories."""
        keys = histories.catalogue.artist_keys
        if not histories.histories:
            return cls(sp.csr_array((0, len(keys)), dtype=bool), keys)
        return cls(histories.listening().artist_plays, keys)

    @property
    def n_listeners(self) -> int:
        """The number of listeners."""
        return int(self._plays.shape[0])

    @property
    def plays(self) -> sp.csr_array:
        """Who listens to which artists, of shape (n_listeners, n_artists)."""
        return self._plays

    def columns(self, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the columns of artists by their keys, (n_keys,); -1 where there is none."""
        return np.array([self._columns.get(key, -1) for key in keys], dtype=np.int64)

    def overlap(self, query: str, other: str) -> Overlap | None:
        """Return the overlap of two artists, by key; None if they are the same or one has no listeners."""
        column, other_column = self._column(query), self._column(other)
        if column is None or other_column is None or column == other_column:
            return None
        neighbours = self._neighbours(column)
        first, second = self._overlaps.n_listeners[[column, other_column]].tolist()
        row = int(np.searchsorted(neighbours.columns, other_column))
        if row == len(neighbours.columns) or neighbours.columns[row] != other_column:
            return Overlap(0, first, second, 0.0, None)
        shared = int(neighbours.shared[row])
        return Overlap(shared, first, second, shared / (first + second - shared), int(neighbours.rank[row]))

    def nearest_artists(self, key: str, k: int = NEAREST_ARTISTS) -> list[str]:
        """Return the artists whose listeners overlap most with an artist's, the nearest first, ties by name."""
        k = check_count(k, "k", minimum=0)
        column = self._column(key)
        if column is None:
            return []
        neighbours = self._neighbours(column)
        rows = np.flatnonzero(neighbours.rank <= k)
        return [self._keys[int(neighbours.columns[row])] for row in rows[np.argsort(neighbours.rank[rows])]]

    def agree(self, query: str, other: str) -> bool | None:
        """Return whether the other artist is among the ten nearest to the query's by listeners.

        None if undefined: both are the same, or one of them has no listeners.
        """
        overlap = self.overlap(query, other)
        return None if overlap is None else overlap.rank is not None and overlap.rank <= NEAREST_ARTISTS

    @cached_property
    def _overlaps(self) -> ArtistOverlap:
        return ArtistOverlap(self._plays, self._keys)

    def _column(self, key: str) -> int | None:
        """Return the column of an artist; None if unknown or without listeners."""
        column = self._columns.get(key) if key else None
        return column if column is not None and self._overlaps.n_listeners[column] else None

    def _neighbours(self, column: int) -> SharedListeners:
        with self._lock:
            if (cached := self._cache.get(column)) is not None:
                self._cache.move_to_end(column)
                return cached
        # outside the lock: counting twice is cheaper than blocking every thread
        counted = self._overlaps.count(column)
        with self._lock:
            self._cache[column] = counted
            while len(self._cache) > MAX_CACHED_ARTISTS:
                self._cache.popitem(last=False)
        return counted
