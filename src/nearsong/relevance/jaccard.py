"""Play counts -> each item's most similar items, by the Jaccard index of their listeners (paper II-A).

``similarity(i, j) = |A and B| / |A or B|``, where A and B are the users with enough plays of i and of j.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.executor import available_processors
from nearsong.relevance import co_listening
from nearsong.relevance.arrangement import ArrangedListens, ItemRanks, arrange, count_listeners, rank_items
from nearsong.relevance.plays import check_among, check_plays
from nearsong.validation import check_count, check_positive


def jaccard_neighbors(
    plays: Any,
    k: int = 10,
    min_plays: float = 10,
    among: npt.ArrayLike | None = None,
    block: int = 2**17,
    n_jobs: int | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Find the ``k`` items whose listeners overlap most with each item's listeners.

    A user is a listener of an item when ``plays >= min_plays``. The similarity of two items is the Jaccard index of
    their sets of listeners A and B, ``|A and B| / |A or B|``. The relation is directed: i may be a neighbour of j
    without j being a neighbour of i.

    Parameters
    ----------
    plays : sparse matrix or array-like of shape (n_users, n_items)
        Play counts, in any sparse format or dense. Duplicate entries are summed.
    k : int
        Neighbours per item.
    min_plays : float
        The plays that make a user a listener; above 0.
    among : array-like of int, or of bool and shape (n_items,), optional
        The items that may be neighbours, such as the training artists; indices or a mask. Every item still gets a
        row.
    block : int
        Listens that a thread processes, and candidate pairs that it collects, before it updates the shared lists. It
        bounds the memory of a thread and does not change the result.
    n_jobs : int, optional
        Threads, by default one per available processor. Does not change the result.

    Returns
    -------
    ids : ndarray of int32 and shape (n_items, k)
        Each item's neighbours, most similar first, ties by lower index, padded with -1. Never the item itself, and
        only items with a similarity above 0.
    similarities : ndarray of float64 and shape (n_items, k)
        Their Jaccard indices, in (0, 1], padded with 0.

    Notes
    -----
    The result is exact, ties included: equal fractions of integers round to equal doubles, and different ones to
    different doubles below 2**26 users. Besides the play counts, memory is two 32-bit numbers per listen (up to three
    with ``among``), the result, and per thread about 36 bytes per item and 16 bytes per unit of ``block``; nothing
    grows with the square of the number of items.

    Examples
    --------
    >>> plays = [[12, 30, 0, 0], [15, 11, 40, 3], [0, 10, 25, 99]]
    >>> ids, similarities = jaccard_neighbors(plays, k=2)
    >>> ids
    array([[1, 2],
           [0, 2],
           [1, 3],
           [2, 1]], dtype=int32)
    >>> similarities.round(2)
    array([[0.67, 0.33],
           [0.67, 0.67],
           [0.67, 0.5 ],
           [0.5 , 0.33]])
    """
    k = check_count(k, "k")
    min_plays = check_positive(min_plays, "min_plays")
    block = check_count(block, "block")
    jobs = available_processors() if n_jobs is None else check_count(n_jobs, "n_jobs")
    counts = check_plays(plays)
    candidate = None if among is None else check_among(among, counts.shape[1])
    ranks = rank_items(count_listeners(counts, min_plays), candidate)
    listens = arrange(counts, min_plays, ranks)
    search = _Search(listens, ranks, k, block)
    jobs = min(jobs, max(1, listens.slots.size // block))
    if jobs == 1:
        search.work()
    else:
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(search.work) for _ in range(jobs)]:
                done.result()
    ids = np.empty((ranks.names.size - 1, k), np.int32)
    similarities = np.empty(ids.shape, np.float64)
    ids[ranks.names[1:]] = search.ids[1:]
    similarities[ranks.names[1:]] = search.similarities[1:]
    return ids, similarities


class _Search:
    """The neighbour lists under construction, shared by the threads that call ``work``."""

    def __init__(self, listens: ArrangedListens, ranks: ItemRanks, k: int, block: int) -> None:
        n_ranks = ranks.names.size
        self.listens, self.ranks, self.block = listens, ranks, block
        self.ids = np.full((n_ranks, k), -1, np.int32)
        self.similarities = np.zeros((n_ranks, k))
        self._weakest = np.zeros(n_ranks)  # the last column of similarities, and of ids
        self._weakest_id = np.full(n_ranks, -1, np.int32)
        self._next_rank = 1
        self._lock = threading.Lock()

    def work(self) -> None:
        """Process blocks of items, the most popular first, until none is left."""
        at, ranks, (n_ranks, k) = self.listens, self.ranks, self.ids.shape
        max_offers = self.block + n_ranks + k  # an item adds at most n_ranks + k offers to fewer than `block`
        offers = np.empty(max_offers, np.uint32), np.empty(max_offers, np.int32), np.empty(max_offers)
        counts, met = np.zeros(n_ranks, np.uint32), np.empty(n_ranks, np.uint32)
        weakest, weakest_id = np.empty(n_ranks), np.empty(n_ranks, np.int32)
        best, best_ids = np.empty(k), np.empty(k, np.int32)
        rank, last, n_offers = 1, 1, 0
        while True:
            with self._lock:
                co_listening.take_offers(
                    n_offers, *offers, self.similarities, self.ids, self._weakest, self._weakest_id
                )
                if rank == last:
                    rank, last = self._take_block()
                weakest[:], weakest_id[:] = self._weakest, self._weakest_id
            if rank == last:
                return
            rank, n_offers, _ = co_listening.collect_offers(
                rank, last, self.block, at.starts, at.slots, at.rows, ranks.listeners, ranks.names, ranks.candidate,
                weakest, weakest_id, counts, met, best, best_ids, *offers,
            )  # fmt: skip

    def _take_block(self) -> tuple[int, int]:
        """Return the next range of ranks, with about ``block`` listens; an empty range at the end."""
        first, starts = self._next_rank, self.listens.starts
        n_ranks = self.ranks.names.size
        if first < n_ranks:
            last = int(np.searchsorted(starts, starts[first] + self.block, side="right")) - 1
            self._next_rank = min(max(last, first + 1), n_ranks)
        return first, self._next_rank
