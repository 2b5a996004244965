"""Play counts -> each item's most similar items, by the Jaccard index of their listeners (paper II-A).

``similarity(i, j) = |A and B| / |A or B|``, where A and B are the users with enough plays of i and of j.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.executor import available_processors
from nearsong.relevance import co_listening
from nearsong.validation import check_count, check_positive

_MAX_INDEX = 2**31 - 1  # users and items are numbered in 32 bits
_SLOTS_OF_32_BITS = 2**32  # from this many slots on, slot indices take 64 bits


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
    listens = _arrange(_check_plays(plays), min_plays, among)
    search = _Search(listens, k, block)
    jobs = min(jobs, max(1, listens.slots.size // block))
    if jobs == 1:
        search.work()
    else:
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(search.work) for _ in range(jobs)]:
                done.result()
    ids = np.empty((listens.names.size - 1, k), np.int32)
    similarities = np.empty(ids.shape, np.float64)
    ids[listens.names[1:]] = search.ids[1:]
    similarities[listens.names[1:]] = search.similarities[1:]
    return ids, similarities


@dataclass(frozen=True)
class _Listens:
    """The binary matrix in the layout of `co_listening`; rank 0 is unused."""

    starts: npt.NDArray[np.int64]  # (n_items + 2,): listens of rank r are starts[r]:starts[r + 1]
    slots: npt.NDArray[Any]  # (n_listens,): where in rows the walk of each listen begins
    rows: npt.NDArray[np.uint32]  # each user's ranks, preceded by a sentinel 0
    listeners: npt.NDArray[np.int64]  # (n_items + 1,): size of each rank's set of users
    names: npt.NDArray[np.int32]  # (n_items + 1,): the item of each rank
    candidate: npt.NDArray[np.bool_]  # (n_items + 1,): whether that item may be a neighbour


def _arrange(plays: sp.csr_array, min_plays: float, among: npt.ArrayLike | None) -> _Listens:
    """Return the listens by item and by user, with items numbered by popularity."""
    n_users, n_items = plays.shape
    candidate = np.ones(n_items, bool) if among is None else _check_among(among, n_items)
    indices = np.asarray(plays.indices, dtype=np.int32)
    indptr = np.asarray(plays.indptr, dtype=np.int64)
    counted = plays.data >= min_plays
    listeners = co_listening.count_listeners(indices, counted, n_items)
    order = np.argsort(-listeners, kind="stable")
    rank = np.empty(n_items, np.int64)
    rank[order] = np.arange(1, n_items + 1)
    names = np.concatenate([[-1], order]).astype(np.int32)
    listeners = np.concatenate([[0], listeners[order]])
    candidate = np.concatenate([[False], candidate[order]])
    starts = np.concatenate([[0], np.cumsum(listeners)])

    max_slots = co_listening.PADDING + 2 * (n_users + int(starts[-1]))
    slots = np.empty(starts[-1], np.uint32 if max_slots < _SLOTS_OF_32_BITS else np.int64)
    per_user = co_listening.list_listeners(indptr, indices, counted, rank, candidate, starts, slots)
    lengths = per_user[: 1 if among is None else 2] + 1  # a sentinel, then the ranks
    row_ends = co_listening.PADDING + np.cumsum(lengths).reshape(lengths.shape)
    rows = np.zeros(co_listening.PADDING + int(lengths.sum()), np.uint32)
    co_listening.fill_rows(starts, slots, candidate, row_ends - lengths, rows)
    return _Listens(starts=starts, slots=slots, rows=rows, listeners=listeners, names=names, candidate=candidate)


class _Search:
    """The neighbour lists under construction, shared by the threads that call ``work``."""

    def __init__(self, listens: _Listens, k: int, block: int) -> None:
        n_ranks = listens.names.size
        self.listens, self.block = listens, block
        self.ids = np.full((n_ranks, k), -1, np.int32)
        self.similarities = np.zeros((n_ranks, k))
        self._weakest = np.zeros(n_ranks)  # the last column of similarities, and of ids
        self._weakest_id = np.full(n_ranks, -1, np.int32)
        self._next_rank = 1
        self._lock = threading.Lock()

    def work(self) -> None:
        """Process blocks of items, the most popular first, until none is left."""
        at, (n_ranks, k) = self.listens, self.ids.shape
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
                rank, last, self.block, at.starts, at.slots, at.rows, at.listeners, at.names, at.candidate,
                weakest, weakest_id, counts, met, best, best_ids, *offers,
            )  # fmt: skip

    def _take_block(self) -> tuple[int, int]:
        """Return the next range of ranks, with about ``block`` listens; an empty range at the end."""
        first, starts = self._next_rank, self.listens.starts
        n_ranks = self.listens.names.size
        if first < n_ranks:
            last = int(np.searchsorted(starts, starts[first] + self.block, side="right")) - 1
            self._next_rank = min(max(last, first + 1), n_ranks)
        return first, self._next_rank


def _check_plays(plays: Any) -> sp.csr_array:
    """Return play counts as canonical CSR, without changing the caller's matrix."""
    matrix: Any = plays
    if not sp.issparse(plays):
        try:
            matrix = np.asarray(plays)
        except ValueError as error:
            raise InvalidInputError(f"plays cannot be read as an array of numbers ({error}).") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"plays has {matrix.ndim} dimension(s); a users x items matrix of play counts is needed."
        )
    if matrix.dtype.kind not in "buif":
        raise InvalidInputError(f"plays holds {matrix.dtype} values, which are not counts; use integers or floats.")
    if max(matrix.shape) > _MAX_INDEX:
        raise InvalidInputError(
            f"plays has shape {matrix.shape}, but users and items are numbered in 32 bits; split a matrix "
            f"with more than {_MAX_INDEX} of either."
        )
    if matrix.dtype == np.float16:  # SciPy has no sparse float16 matrices
        matrix = matrix.astype(np.float32)
    if getattr(matrix, "format", "dense") not in {"coo", "csr", "csc"}:
        matrix = sp.csr_array(matrix)
    _check_values(matrix)
    if matrix.format == "coo" or not matrix.has_canonical_format:
        # Duplicates are summed in 64 bits: twice 100 plays do not fit into an int8.
        matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64, copy=True)
    counts = sp.csr_array(matrix)
    counts.sum_duplicates()
    return counts


def _check_values(plays: Any) -> None:
    """Raise an error that names the first negative, NaN or infinite play count."""
    if plays.data.size == 0 or (plays.data.min() >= 0 and plays.data.max() < np.inf):
        return
    entries = plays.tocoo()
    first = int(np.flatnonzero(~((entries.data >= 0) & (entries.data < np.inf)))[0])
    user, item = (int(axis[first]) for axis in entries.coords)
    raise InvalidInputError(
        f"plays has the value {entries.data[first]} at user {user}, item {item}, but a play count is finite "
        "and not negative; drop or repair such entries."
    )


def _check_among(among: npt.ArrayLike, n_items: int) -> npt.NDArray[np.bool_]:
    """Return item indices or a mask as a mask over all items."""
    chosen = np.asarray(among)
    if chosen.ndim == 1 and chosen.dtype == bool and chosen.size == n_items:
        return chosen
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "ui"):
        raise InvalidInputError(
            f"among has shape {chosen.shape} and holds {chosen.dtype} values; use a list of item indices, or a "
            f"mask of {n_items} booleans."
        )
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_items):
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"among has item {wrong}, but plays has {n_items} items; use 0 to {n_items - 1}.")
    mask = np.zeros(n_items, bool)
    mask[chosen.astype(np.int64)] = True
    return mask
