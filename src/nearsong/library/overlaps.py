"""Listening histories -> what listeners make of two artists: how many play both, and who is nearest to whom."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.library.learning import Histories
from nearsong.library.made_once import made_once
from nearsong.validation import check_count

NEAREST_ARTISTS = 10
"""Listeners agree with a song if its artist is among so many that are nearest to the seed's."""

REMEMBERED = 256
"""Artists whose nearest are kept: 12 bytes for each artist that shares a listener with one, so at most 60 MB where
20,000 artists all do."""


@dataclass(frozen=True)
class Overlap:
    """What listeners make of two artists.

    Attributes
    ----------
    shared, query, other : int
        Listeners of both, of the query's artist and of the other's.
    jaccard : float
        The paper's similarity: shared / (query + other - shared).
    rank : int or None
        The other's place among the query's nearest artists by listeners; 1 is the nearest, equals by name. None if
        nobody plays both.
    """

    shared: int
    query: int
    other: int
    jaccard: float
    rank: int | None


class _Near(NamedTuple):
    """The artists that share a listener with one, by column; ``rank`` and ``shared`` go with them."""

    columns: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    shared: npt.NDArray[np.int32]


class Listeners:
    """Who listens to whom; threads may share it.

    Parameters
    ----------
    plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener listens to an artist.
    keys : sequence of str
        What the artists are compared by.

    Notes
    -----
    One artist beside all others costs one pass over what its listeners play. The last few hundred are remembered.

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
        self._known: OrderedDict[int, _Near] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, histories: Histories) -> "Listeners":
        """Take the listeners of some histories."""
        keys = histories.catalogue.artist_keys
        if not histories.sources:
            return cls(sp.csr_array((0, len(keys)), dtype=bool), keys)
        return cls(histories.listening().artist_plays, keys)

    @property
    def n_listeners(self) -> int:
        """How many there are."""
        return int(self._plays.shape[0])

    def overlap(self, query: str, other: str) -> Overlap | None:
        """Return what listeners make of two artists, by what they are compared by.

        None if both are the same, or nobody listens to one of them.
        """
        mine, theirs = self._column(query), self._column(other)
        if mine is None or theirs is None or mine == theirs:
            return None
        near, (first, second) = self._near(mine), self._sizes[[mine, theirs]].tolist()
        place = int(np.searchsorted(near.columns, theirs))
        if place == len(near.columns) or near.columns[place] != theirs:
            return Overlap(0, first, second, 0.0, None)
        shared = int(near.shared[place])
        return Overlap(shared, first, second, shared / (first + second - shared), int(near.rank[place]))

    def nearest_artists(self, key: str, k: int = NEAREST_ARTISTS) -> list[str]:
        """Return the artists whose listeners overlap most with one's, the nearest first, equals by name."""
        k = check_count(k, "k", minimum=0)
        column = self._column(key)
        if column is None:
            return []
        near = self._near(column)
        among = np.flatnonzero(near.rank <= k)
        return [self._keys[int(near.columns[place])] for place in among[np.argsort(near.rank[among])]]

    def agree(self, query: str, other: str) -> bool | None:
        """Say whether listeners have the other artist among the ten nearest of the query's.

        None where they cannot tell: both are the same, or nobody listens to one of them.
        """
        found = self.overlap(query, other)
        return None if found is None else found.rank is not None and found.rank <= NEAREST_ARTISTS

    def _column(self, key: str) -> int | None:
        """Return the column of an artist that somebody listens to."""
        column = self._columns.get(key) if key else None
        return column if column is not None and self._sizes[column] else None

    @made_once
    def _by_artist(self) -> sp.csc_array:
        return self._plays.tocsc()

    @made_once
    def _sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self._by_artist.indptr).astype(np.int64)

    @made_once
    def _by_name(self) -> npt.NDArray[np.int64]:
        """Return each artist's place in the alphabet."""
        places = np.empty(len(self._keys), np.int64)
        places[sorted(range(len(self._keys)), key=self._keys.__getitem__)] = np.arange(len(self._keys))
        return places

    def _near(self, column: int) -> _Near:
        with self._lock:
            if (known := self._known.get(column)) is not None:
                self._known.move_to_end(column)
                return known
        found = self._counted(column)  # two threads may count the same: that costs less than to make all others wait
        with self._lock:
            self._known[column] = found
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _counted(self, column: int) -> _Near:
        """Count who of an artist's listeners plays whom else."""
        begin, end = self._by_artist.indptr[column : column + 2]
        played = self._plays[self._by_artist.indices[begin:end]].indices
        counts = np.bincount(played, minlength=len(self._keys))
        counts[column] = 0
        columns = np.flatnonzero(counts)
        shared, sizes = counts[columns], self._sizes
        jaccard = shared / (sizes[columns] + sizes[column] - shared)
        rank = np.empty(len(columns), np.int32)
        rank[np.lexsort((self._by_name[columns], -jaccard))] = np.arange(1, len(columns) + 1)
        return _Near(columns.astype(np.int32), rank, shared.astype(np.int32))
