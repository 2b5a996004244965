"""Binary listens -> exact neighbour lists: the compiled part of `jaccard_neighbors`.

Items are numbered by popularity: rank 1 has the most listeners. ``rows`` holds every user's items in rank order, one
user after the other, each preceded by a sentinel 0::

    rows    0 3 8 9   0 1 3   0 ...      (user 0 listens to ranks 3, 8 and 9; user 1 to ranks 1 and 3)

For each listen of an item, ``slots`` holds the slot just left of that item in its user's row. Walking left from there
to the sentinel visits exactly the *more popular* items that share this user, so each unordered pair of items is
counted once, for both items; and because those ranks are small, their counters stay in the cache.

When only some items may be neighbours, every user has a second row with just those. An item that is not a candidate
itself walks the second rows, since only pairs with a candidate matter.
"""

import numpy as np
from numba import njit

_LINE = 16  # ranks (uint32) in a cache line
PREFETCHED_LISTENS = 32  # listens whose rows are read together before any of them is walked
_PREFETCHED_LINES = 3  # cache lines read of each row; longer walks are left to the hardware
PADDING = _LINE * _PREFETCHED_LINES  # unused slots in front of ``rows``, so that prefetching stays inside


@njit(cache=True, nogil=True)
def count_listeners(indices, counted, n_items):  # type: ignore[no-untyped-def]
    """Return the number of listeners of every item: its entries that count as listens."""
    listeners = np.zeros(n_items, np.int64)
    for entry in range(indices.size):
        if counted[entry]:
            listeners[indices[entry]] += 1
    return listeners


@njit(cache=True, nogil=True)
def list_listeners(indptr, indices, counted, rank, candidate, starts, users):  # type: ignore[no-untyped-def]
    """Write the users of rank ``r`` into ``users[starts[r]:starts[r + 1]]``.

    Returns the number of items each user listens to (row 0), and of candidates among them (row 1).
    """
    following = starts[:-1].copy()
    per_user = np.zeros((2, indptr.size - 1), np.int64)
    for user in range(indptr.size - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            if counted[entry]:
                r = rank[indices[entry]]
                users[following[r]] = user
                following[r] += 1
                per_user[0, user] += 1
                per_user[1, user] += candidate[r]
    return per_user


@njit(cache=True, nogil=True)
def fill_rows(starts, slots, candidate, sentinels, rows):  # type: ignore[no-untyped-def]
    """Fill ``rows`` in rank order and replace the users in ``slots`` by slots.

    ``sentinels[0, u]`` is the slot of the sentinel of user ``u``'s row; ``sentinels[1, u]`` is the same for the row
    of the user's candidates, if there is one. Returns how many steps the walks of each rank take together.
    """
    restricted = sentinels.shape[0] == 2
    last = sentinels.copy()  # the last slot written of each row
    pairs = np.zeros(starts.size - 1, np.int64)
    for r in range(1, starts.size - 1):
        for listen in range(starts[r], starts[r + 1]):
            user = slots[listen]
            slot = last[0, user]
            rows[slot + 1] = r
            last[0, user] = slot + 1
            sentinel = sentinels[0, user]
            if restricted:
                second = last[1, user]
                if candidate[r]:
                    rows[second + 1] = r
                    last[1, user] = second + 1
                else:
                    slot, sentinel = second, sentinels[1, user]
            slots[listen] = slot
            pairs[r] += slot - sentinel
    return pairs


@njit(cache=True, nogil=True)
def insert(similarities, ids, similarity, item):  # type: ignore[no-untyped-def]
    """Insert into a list sorted by decreasing similarity, then increasing id; the last entry is dropped.

    For the small k of neighbour lists this is faster than a heap, and the list needs no final sort.
    """
    slot = ids.size - 1
    if similarity < similarities[slot] or (similarity == similarities[slot] and item > ids[slot]):
        return
    while slot > 0 and (
        similarities[slot - 1] < similarity or (similarities[slot - 1] == similarity and ids[slot - 1] > item)
    ):
        similarities[slot] = similarities[slot - 1]
        ids[slot] = ids[slot - 1]
        slot -= 1
    similarities[slot] = similarity
    ids[slot] = item


@njit(cache=True, nogil=True)
def prefetch(start, stop, slots, rows):  # type: ignore[no-untyped-def]
    """Read the beginnings of the walks of some listens, independently of each other.

    Rows are scattered over memory, and walks are too short and unpredictable for the hardware prefetcher. So the
    rows of a few listens are read first and then walked, which halves the time. The sum of what was read is returned
    only so that the compiler does not remove the reads.
    """
    prefetched = 0
    for listen in range(start, stop):
        for line in range(_PREFETCHED_LINES):
            prefetched += rows[slots[listen] - _LINE * line]
    return prefetched


@njit(cache=True, nogil=True)
def _count_shared(begin, end, slots, rows, counts, met):  # type: ignore[no-untyped-def]
    """Count the users shared with every more popular item; ``met`` lists the items with a count above 0.

    Returns the length of that list, and the prefetch sum.
    """
    n_met = 0
    prefetched = 0
    for start in range(begin, end, PREFETCHED_LISTENS):
        stop = min(start + PREFETCHED_LISTENS, end)
        prefetched += prefetch(start, stop, slots, rows)
        for listen in range(start, stop):
            slot = slots[listen]
            other = rows[slot]
            while other >= 1:
                shared = counts[other]
                met[n_met] = other
                n_met += shared == 0
                counts[other] = shared + np.uint32(1)
                slot -= 1
                other = rows[slot]
    return n_met, prefetched


@njit(cache=True, nogil=True)
def collect_offers(  # type: ignore[no-untyped-def]
    first, last, limit, starts, slots, rows, listeners, names, candidate,
    weakest, weakest_id, counts, met, best, best_ids, to_rank, offered, offered_similarity,
):  # fmt: skip
    """Compare ranks ``first`` to ``last - 1`` with every more popular rank that shares a listener.

    An *offer* (a rank, an item for its list, their similarity) is recorded for each pair that may still enter a list,
    judged by ``weakest`` and ``weakest_id``, an earlier state of each list's last entry. Returns the next rank to
    compare (before ``last`` once ``limit`` offers are made), the number of offers, and the prefetch sum, which has no
    meaning.
    """
    n_offers = 0
    prefetched = 0
    for item in range(first, last):
        n_met, read = _count_shared(starts[item], starts[item + 1], slots, rows, counts, met)
        prefetched += read
        best[:] = 0.0
        bar = weakest[item]
        for m in range(n_met):
            other = met[m]
            shared = counts[other]
            counts[other] = 0
            similarity = shared / (listeners[item] + listeners[other] - shared)
            if (
                similarity >= weakest[other]
                and candidate[item]
                and (similarity > weakest[other] or names[item] < weakest_id[other])
            ):
                to_rank[n_offers] = other
                offered[n_offers] = names[item]
                offered_similarity[n_offers] = similarity
                n_offers += 1
            if similarity >= bar and candidate[other]:
                insert(best, best_ids, similarity, names[other])
                bar = max(bar, best[-1])
        for m in range(best.size):
            if best[m] == 0.0:
                break
            to_rank[n_offers] = item
            offered[n_offers] = best_ids[m]
            offered_similarity[n_offers] = best[m]
            n_offers += 1
        if n_offers >= limit:
            return item + 1, n_offers, prefetched
    return last, n_offers, prefetched


@njit(cache=True, nogil=True)
def take_offers(n_offers, to_rank, offered, offered_similarity, similarities, ids, weakest, weakest_id):  # type: ignore[no-untyped-def]
    """Merge offers into the neighbour lists and update the record of the last entry of each list."""
    for m in range(n_offers):
        rank = to_rank[m]
        if offered_similarity[m] >= weakest[rank]:
            insert(similarities[rank], ids[rank], offered_similarity[m], offered[m])
            weakest[rank] = similarities[rank, -1]
            weakest_id[rank] = ids[rank, -1]
