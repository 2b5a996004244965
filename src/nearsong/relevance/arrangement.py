"""Play counts -> listens by item and by user, with items numbered by popularity: what `co_listening` counts in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.relevance import co_listening

_SLOTS_OF_32_BITS = 2**32  # from this many slots on, slot indices take 64 bits


@dataclass(frozen=True, eq=False)
class ItemRanks:
    """Items numbered by popularity, from 1 on; rank 0 is unused.

    Attributes
    ----------
    names : array of int32 and shape (n_items + 1,)
        The item of each rank.
    listeners : array of int64 and shape (n_items + 1,)
        How many users listen to it.
    candidate : array of bool and shape (n_items + 1,)
        Whether it may be a neighbour.
    is_restricted : bool
        Whether there are items that may be none.
    """

    names: npt.NDArray[np.int32]
    listeners: npt.NDArray[np.int64]
    candidate: npt.NDArray[np.bool_]
    is_restricted: bool

    def of_items(self) -> npt.NDArray[np.int64]:
        """Return the rank of each item."""
        rank = np.empty(self.names.size - 1, np.int64)
        rank[self.names[1:]] = np.arange(1, self.names.size)
        return rank


@dataclass(frozen=True, eq=False)
class ArrangedListens:
    """The binary matrix of some users in the layout of `co_listening`.

    Attributes
    ----------
    starts : array of int64 and shape (n_items + 2,)
        The listens of rank r are ``starts[r]:starts[r + 1]``.
    slots : array of shape (n_listens,)
        Where in ``rows`` the walk of each listen begins.
    rows : array of uint32
        The ranks of each user, preceded by a sentinel 0.
    pairs : array of int64 and shape (n_items + 1,)
        How many steps the walks of each rank take together.
    """

    starts: npt.NDArray[np.int64]
    slots: npt.NDArray[Any]
    rows: npt.NDArray[np.uint32]
    pairs: npt.NDArray[np.int64]


def count_listeners(plays: sp.csr_array, min_plays: float) -> npt.NDArray[np.int64]:
    """Return how many users listen to each item."""
    listeners: npt.NDArray[np.int64] = co_listening.count_listeners(
        np.asarray(plays.indices, dtype=np.int32), plays.data >= min_plays, plays.shape[1]
    )
    return listeners


def rank_items(listeners: npt.NDArray[np.int64], candidate: npt.NDArray[np.bool_] | None) -> ItemRanks:
    """Give the most popular item rank 1, and so on; without a mask all items may be neighbours."""
    order = np.argsort(-listeners, kind="stable")
    is_candidate = np.ones(listeners.size, bool) if candidate is None else candidate
    return ItemRanks(
        names=np.concatenate([[-1], order]).astype(np.int32),
        listeners=np.concatenate([[0], listeners[order]]),
        candidate=np.concatenate([[False], is_candidate[order]]),
        is_restricted=candidate is not None,
    )


def arrange(plays: sp.csr_array, min_plays: float, ranks: ItemRanks) -> ArrangedListens:
    """Return the listens of some users by item and by user."""
    n_users, n_items = plays.shape
    indices = np.asarray(plays.indices, dtype=np.int32)
    indptr = np.asarray(plays.indptr, dtype=np.int64)
    counted = plays.data >= min_plays
    listeners = co_listening.count_listeners(indices, counted, n_items)
    starts = np.concatenate([[0, 0], np.cumsum(listeners[ranks.names[1:]])])

    max_slots = co_listening.PADDING + 2 * (n_users + int(starts[-1]))
    slots = np.empty(starts[-1], np.uint32 if max_slots < _SLOTS_OF_32_BITS else np.int64)
    per_user = co_listening.list_listeners(indptr, indices, counted, ranks.of_items(), ranks.candidate, starts, slots)
    lengths = per_user[: 2 if ranks.is_restricted else 1] + 1  # a sentinel, then the ranks
    row_ends = co_listening.PADDING + np.cumsum(lengths).reshape(lengths.shape)
    rows = np.zeros(co_listening.PADDING + int(lengths.sum()), np.uint32)
    pairs = co_listening.fill_rows(starts, slots, ranks.candidate, row_ends - lengths, rows)
    return ArrangedListens(starts=starts, slots=slots, rows=rows, pairs=pairs)
