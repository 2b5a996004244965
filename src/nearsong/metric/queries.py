"""Class labels or a sparse relation -> for every query, which songs are relevant and which are ignored.

Labels never become an n x n matrix: all songs of a class share one list, and each query stores the bounds of its
list.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

IntArray = npt.NDArray[np.int64]


class ItemLists(NamedTuple):
    """One list of songs for every query; compiled functions take it as it is.

    Attributes
    ----------
    start, stop : int64 arrays of shape (n_queries,)
        ``items[start[q]:stop[q]]`` are the songs of query q.
    items : int32 array
        Song indices, ascending within a list.

    Examples
    --------
    >>> lists = ItemLists.from_labels(np.array([7, 3, 7]))
    >>> [lists.items[lists.start[q] : lists.stop[q]].tolist() for q in range(3)]
    [[0, 2], [1], [0, 2]]
    """

    start: IntArray
    stop: IntArray
    items: npt.NDArray[np.int32]

    @classmethod
    def from_relation(cls, relation: sp.csr_array) -> "ItemLists":
        """Return one list for each row of a relation."""
        bounds = relation.indptr.astype(np.int64)
        return cls(bounds[:-1], bounds[1:], relation.indices.astype(np.int32, copy=False))

    @classmethod
    def from_labels(cls, labels: npt.NDArray[np.int64]) -> "ItemLists":
        """Return all songs with the query's label, the query included; label -1 gets an empty list."""
        items = np.argsort(labels, kind="stable").astype(np.int32)
        ordered = labels[items]
        start = np.searchsorted(ordered, labels, side="left")
        stop = np.searchsorted(ordered, labels, side="right")
        return cls(start, np.where(labels < 0, start, stop), items)

    @classmethod
    def empty(cls, n: int) -> "ItemLists":
        """Return empty lists for ``n`` queries."""
        return cls(np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(0, np.int32))

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return int((self.stop - self.start).max(initial=0))


@dataclass(frozen=True)
class QuerySet:
    """Relevant and ignored songs of every query.

    A query is never part of its own ranking; a song that is both relevant and ignored is ignored.

    Attributes
    ----------
    relevant, ignored : ItemLists
        One list for each of the n songs.
    usable : int64 array
        The songs that can serve as queries, ascending: those with a relevant and an irrelevant song.
    n_skipped : int
        How many songs cannot.
    """

    relevant: ItemLists
    ignored: ItemLists
    usable: IntArray
    n_skipped: int

    @classmethod
    def from_lists(cls, relevant: ItemLists, ignored: ItemLists) -> "QuerySet":
        """Keep the queries that have at least one relevant and one irrelevant song."""
        n = len(relevant.start)
        n_relevant = np.empty(n, np.int64)
        n_excluded = np.empty(n, np.int64)
        _count_items(relevant, ignored, n_relevant, n_excluded)
        usable = np.flatnonzero((n_relevant > 0) & (n_relevant + n_excluded < n))
        return cls(relevant, ignored, usable, n - len(usable))


@njit(cache=True, nogil=True)
def _contains(items, start, stop, item):  # type: ignore[no-untyped-def]
    """Return whether the ascending ``items[start:stop]`` contain ``item``."""
    index = start + np.searchsorted(items[start:stop], item)
    return index < stop and items[index] == item


@njit(cache=True, nogil=True)
def _count_items(relevant, ignored, n_relevant, n_excluded):  # type: ignore[no-untyped-def]
    """Count each query's relevant songs and its excluded ones (itself and the ignored)."""
    for q in range(len(relevant.start)):
        first, last = relevant.start[q], relevant.stop[q]
        count = last - first
        excluded = ignored.stop[q] - ignored.start[q]
        if first < last and _contains(relevant.items, first, last, q):
            count -= 1
        self_ignored = False
        for p in range(ignored.start[q], ignored.stop[q]):
            item = ignored.items[p]
            if item == q:
                self_ignored = True
            elif first < last and _contains(relevant.items, first, last, item):
                count -= 1
        n_relevant[q] = count
        n_excluded[q] = excluded if self_ignored else excluded + 1
