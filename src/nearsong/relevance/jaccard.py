"""Play counts -> each item's most similar items, by the Jaccard index of their listeners (paper II-A).

``similarity(i, j) = |A and B| / (|A| + |B| - |A and B|)``, A and B being the users who played i and j enough.
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

_LARGEST = 2**31 - 1  # users and items are numbered in 32 bits
_SLOTS_OF_32_BITS = 2**32  # beyond this many listens their places take 64 bits each


def jaccard_neighbors(
    plays: Any,
    k: int = 10,
    min_plays: float = 10,
    among: npt.ArrayLike | None = None,
    block: int = 2**17,
    n_jobs: int | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Find the ``k`` items whose listeners overlap most with each item's listeners.

    A user listens to an item when ``plays >= min_plays``. Two items are as similar as the Jaccard index of
    their sets of listeners, ``|A and B| / |A or B|``. The relation is directed: i may be among the neighbours
    of j without j being among those of i.

    Parameters
    ----------
    plays : sparse matrix or array-like of shape (n_users, n_items)
        Play counts, in any sparse format or dense. Entries given twice are summed.
    k : int
        Neighbours per item.
    min_plays : float
        Plays from which on a user counts as a listener; above 0.
    among : array-like of int, or of bool and shape (n_items,), optional
        The items that may be neighbours, e.g. the training artists. Every item still gets its own row.
    block : int
        Listens a thread works through, and candidate pairs it gathers, before it shares what it found. It
        bounds a thread's memory and changes nothing in the result; small blocks only cost time.
    n_jobs : int, optional
        Threads; by default one for each processor this process may use. Changes nothing in the result.

    Returns
    -------
    ids : ndarray of int32 and shape (n_items, k)
        Each item's neighbours, most similar first, equals by lower index, padded with -1. Never the item
        itself, and only items with a similarity above 0.
    similarities : ndarray of float64 and shape (n_items, k)
        Their Jaccard indices, in (0, 1], padded with 0.

    Notes
    -----
    The result is exact, ties included: a division of whole numbers rounds equal fractions to equal doubles,
    and different ones to different doubles below 2**26 users. Beyond the play counts themselves, memory is
    two 32-bit numbers a listen (up to three with ``among``), the result, and per thread about 36 bytes an
    item and 16 bytes a unit of ``block``; nothing grows with the square of the items.

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
    jobs = min(jobs, max(1, listens.places.size // block))
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
    """The binary matrix as ``co_listening`` walks it; everything of rank 0 is unused."""

    starts: npt.NDArray[np.int64]  # (n_items + 2,): listens of rank r are starts[r]:starts[r + 1]
    places: npt.NDArray[Any]  # (n_listens,): where in rows the walk of each listen begins
    rows: npt.NDArray[np.uint32]  # each user's ranks behind a sentinel 0
    listeners: npt.NDArray[np.int64]  # (n_items + 1,): size of each rank's set of users
    names: npt.NDArray[np.int32]  # (n_items + 1,): the item of each rank
    candidate: npt.NDArray[np.bool_]  # (n_items + 1,): whether that item may be a neighbour


def _arrange(plays: sp.csr_array, min_plays: float, among: npt.ArrayLike | None) -> _Listens:
    """Lay out who listens to what, by item and by user, with the items renamed by popularity."""
    n_users, n_items = plays.shape
    candidate = np.ones(n_items, bool) if among is None else _check_among(among, n_items)
    indices = np.asarray(plays.indices, dtype=np.int32)
    indptr = np.asarray(plays.indptr, dtype=np.int64)
    kept = plays.data >= min_plays
    listeners = co_listening.count_listeners(indices, kept, n_items)
    order = np.argsort(-listeners, kind="stable")
    rank = np.empty(n_items, np.int64)
    rank[order] = np.arange(1, n_items + 1)
    names = np.concatenate([[-1], order]).astype(np.int32)
    listeners = np.concatenate([[0], listeners[order]])
    candidate = np.concatenate([[False], candidate[order]])
    starts = np.concatenate([[0], np.cumsum(listeners)])

    most_slots = co_listening.PADDING + 2 * (n_users + int(starts[-1]))
    places = np.empty(starts[-1], np.uint32 if most_slots < _SLOTS_OF_32_BITS else np.int64)
    per_user = co_listening.list_listeners(indptr, indices, kept, rank, candidate, starts, places)
    lengths = per_user[: 1 if among is None else 2] + 1  # a sentinel, then the ranks
    row_ends = co_listening.PADDING + np.cumsum(lengths).reshape(lengths.shape)
    rows = np.zeros(co_listening.PADDING + int(lengths.sum()), np.uint32)
    co_listening.fill_rows(starts, places, candidate, row_ends - lengths, rows)
    return _Listens(starts, places, rows, listeners, names, candidate)


class _Search:
    """The neighbour lists under construction, shared by any number of threads that call ``work``."""

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
        """Take blocks of items, from the most popular on, until none is left."""
        at, (n_ranks, k) = self.listens, self.ids.shape
        room = self.block + n_ranks + k  # an item adds at most n_ranks + k offers to fewer than `block`
        offers = np.empty(room, np.uint32), np.empty(room, np.int32), np.empty(room)
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
                rank, last, self.block, at.starts, at.places, at.rows, at.listeners, at.names, at.candidate,
                weakest, weakest_id, counts, met, best, best_ids, *offers,
            )  # fmt: skip

    def _take_block(self) -> tuple[int, int]:
        """Return the next ranks to compare, about ``block`` listens of them; an empty range at the end."""
        first, starts = self._next_rank, self.listens.starts
        n_ranks = self.listens.names.size
        if first < n_ranks:
            last = int(np.searchsorted(starts, starts[first] + self.block, side="right")) - 1
            self._next_rank = min(max(last, first + 1), n_ranks)
        return first, self._next_rank


def _check_plays(plays: Any) -> sp.csr_array:
    """Return play counts as canonical CSR, never changing the caller's matrix."""
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
        raise InvalidInputError(
            f"plays holds {matrix.dtype} values, which are no counts; give whole or floating-point numbers."
        )
    if max(matrix.shape) > _LARGEST:
        raise InvalidInputError(
            f"plays has shape {matrix.shape}, but users and items are numbered in 32 bits; split a matrix "
            f"with more than {_LARGEST} of either."
        )
    if matrix.dtype == np.float16:  # scipy has no sparse matrices of these
        matrix = matrix.astype(np.float32)
    if getattr(matrix, "format", "dense") not in {"coo", "csr", "csc"}:
        matrix = sp.csr_array(matrix)
    _check_values(matrix)
    if matrix.format == "coo" or not matrix.has_canonical_format:
        # Repeated entries are summed in 64 bits: twice 100 plays do not fit into an int8.
        matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64, copy=True)
    counts = sp.csr_array(matrix)
    counts.sum_duplicates()
    return counts


def _check_values(plays: Any) -> None:
    """Refuse negative, NaN and infinite play counts, naming the first."""
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
    """Return item ids or a mask as a mask over all items."""
    chosen = np.asarray(among)
    if chosen.ndim == 1 and chosen.dtype == bool and chosen.size == n_items:
        return chosen
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "ui"):
        raise InvalidInputError(
            f"among has shape {chosen.shape} and holds {chosen.dtype} values; give a list of item ids, or a "
            f"mask of {n_items} booleans."
        )
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_items):
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"among names item {wrong}, but plays has {n_items} items; use 0 to {n_items - 1}.")
    mask = np.zeros(n_items, bool)
    mask[chosen.astype(np.int64)] = True
    return mask
