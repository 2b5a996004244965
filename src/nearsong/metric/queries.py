"""Class labels or a sparse relation -> for every query, which songs are relevant and which to ignore.

Labels never become an n x n matrix: all songs of a class share one list, and a query holds the bounds of its own.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ItemLists:
    """``items[start[q]:stop[q]]``, ascending, are the songs that belong to query ``q``."""

    start: IntArray
    stop: IntArray
    items: npt.NDArray[np.int32]

    @classmethod
    def from_relation(cls, relation: sp.csr_array) -> "ItemLists":
        """One list a row."""
        bounds = relation.indptr.astype(np.int64)
        return cls(bounds[:-1], bounds[1:], relation.indices.astype(np.int32, copy=False))

    @classmethod
    def from_labels(cls, labels: npt.NDArray[np.int64]) -> "ItemLists":
        """All songs with the query's label, the query itself included; label -1 gets an empty list."""
        items = np.argsort(labels, kind="stable").astype(np.int32)
        ordered = labels[items]
        start = np.searchsorted(ordered, labels, side="left")
        stop = np.searchsorted(ordered, labels, side="right")
        return cls(start, np.where(labels < 0, start, stop), items)

    @classmethod
    def empty(cls, n: int) -> "ItemLists":
        """No songs for any of ``n`` queries."""
        return cls(np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(0, np.int32))

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return int((self.stop - self.start).max(initial=0))


@dataclass(frozen=True)
class QuerySet:
    """Relevant and ignored lists of n songs, and which of the songs can serve as a query.

    The query itself is never an item of its own ranking; a song that is both relevant and ignored is ignored.
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
        _count_items(
            relevant.start,
            relevant.stop,
            relevant.items,
            ignored.start,
            ignored.stop,
            ignored.items,
            n_relevant,
            n_excluded,
        )
        usable = np.flatnonzero((n_relevant > 0) & (n_relevant + n_excluded < n))
        return cls(relevant, ignored, usable, n - len(usable))


@njit(cache=True, nogil=True)
def _contains(items, start, stop, item):  # type: ignore[no-untyped-def]
    """Tell whether the ascending ``items[start:stop]`` hold ``item``."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low < stop and items[low] == item


@njit(cache=True, nogil=True)
def _count_items(  # type: ignore[no-untyped-def]
    relevant_start,
    relevant_stop,
    relevant_items,
    ignored_start,
    ignored_stop,
    ignored_items,
    n_relevant,
    n_excluded,
):
    """Count each query's relevant songs and its excluded ones (itself and the ignored)."""
    for q in range(len(relevant_start)):
        first, last = relevant_start[q], relevant_stop[q]
        relevant = last - first
        excluded = ignored_stop[q] - ignored_start[q]
        if first < last and _contains(relevant_items, first, last, q):
            relevant -= 1
        self_ignored = False
        for p in range(ignored_start[q], ignored_stop[q]):
            item = ignored_items[p]
            if item == q:
                self_ignored = True
            elif first < last and _contains(relevant_items, first, last, item):
                relevant -= 1
        n_relevant[q] = relevant
        n_excluded[q] = excluded if self_ignored else excluded + 1
