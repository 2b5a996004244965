"""Binary listens -> exact neighbour tables: the compiled part of ``jaccard_neighbors``.

Items are renamed by popularity: rank 1 has the most listeners. Every user's items lie in ``rows`` in rank
order, one user after the other, each behind a sentinel 0::

    rows    0 3 8 9   0 1 3   0 ...      (user 0 listens to ranks 3, 8 and 9; user 1 to ranks 1 and 3)

For each listen of an item, ``places`` holds the slot just left of that item in its user's row. Walking left
from there until the sentinel meets exactly the *more popular* items that share this user, so each unordered
pair of items is counted once and serves both of its ends; and because those ranks are small, the counters
they touch stay in the cache.

When only some items may be neighbours, every user has a second row holding just those. An item that is itself
no candidate walks in the second rows, since it can neither give nor take anything in a pair without one.
"""

import numpy as np
from numba import njit

_LINE = 16  # ranks (uint32) in a cache line
_AHEAD = 32  # listens whose rows are fetched together, before any of them is walked
_LINES_AHEAD = 3  # cache lines fetched of each; longer walks are left to the hardware
PADDING = _LINE * _LINES_AHEAD  # unread slots in front of ``rows``, so that fetching ahead stays inside


@njit(cache=True, nogil=True)
def count_listeners(indices, kept, n_items):  # type: ignore[no-untyped-def]
    """Count the kept entries of every item."""
    listeners = np.zeros(n_items, np.int64)
    for entry in range(indices.size):
        if kept[entry]:
            listeners[indices[entry]] += 1
    return listeners


@njit(cache=True, nogil=True)
def list_listeners(indptr, indices, kept, rank, candidate, starts, users):  # type: ignore[no-untyped-def]
    """Write the users of rank ``r`` into ``users[starts[r]:starts[r + 1]]``.

    Returns the number of items each user listens to (row 0), and of candidates among them (row 1).
    """
    following = starts[:-1].copy()
    per_user = np.zeros((2, indptr.size - 1), np.int64)
    for user in range(indptr.size - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            if kept[entry]:
                r = rank[indices[entry]]
                users[following[r]] = user
                following[r] += 1
                per_user[0, user] += 1
                per_user[1, user] += candidate[r]
    return per_user


@njit(cache=True, nogil=True)
def fill_rows(starts, places, candidate, cursor, rows):  # type: ignore[no-untyped-def]
    """Fill ``rows`` in rank order and turn ``places``, in place, from users into slots.

    ``cursor[0, u]`` is the last slot written of user ``u``'s row, at first its sentinel; ``cursor[1, u]``, if
    there is such a row, that of the user's candidates.
    """
    restricted = cursor.shape[0] == 2
    for r in range(1, starts.size - 1):
        for listen in range(starts[r], starts[r + 1]):
            user = places[listen]
            slot = cursor[0, user]
            rows[slot + 1] = r
            cursor[0, user] = slot + 1
            if restricted:
                second = cursor[1, user]
                if candidate[r]:
                    rows[second + 1] = r
                    cursor[1, user] = second + 1
                else:
                    slot = second
            places[listen] = slot


@njit(cache=True, nogil=True)
def _insert(similarities, ids, similarity, item):  # type: ignore[no-untyped-def]
    """Insert into a list sorted by falling similarity, then rising id; the last entry drops out.

    For the small k of neighbour lists this is quicker than a heap, and there is nothing to sort at the end.
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
def _count_shared(begin, end, places, rows, counts, met):  # type: ignore[no-untyped-def]
    """Count the users shared with every more popular item; ``met`` lists the items with a count above 0.

    Rows lie scattered over memory, and a walk is too short and too unpredictable for the processor to start
    on the next one early. So the rows of a few listens are read ahead, independently of each other, and then
    walked; without this the walks take more than twice as long. The sum of what was read ahead is returned
    for one reason: otherwise the compiler would drop the reading.
    """
    n_met = 0
    read_ahead = 0
    for start in range(begin, end, _AHEAD):
        stop = min(start + _AHEAD, end)
        for listen in range(start, stop):
            for line in range(_LINES_AHEAD):
                read_ahead += rows[places[listen] - _LINE * line]
        for listen in range(start, stop):
            slot = places[listen]
            other = rows[slot]
            while other >= 1:
                shared = counts[other]
                met[n_met] = other
                n_met += shared == 0
                counts[other] = shared + np.uint32(1)
                slot -= 1
                other = rows[slot]
    return n_met, read_ahead


@njit(cache=True, nogil=True)
def collect_offers(  # type: ignore[no-untyped-def]
    first, last, limit, starts, places, rows, listeners, names, candidate,
    weakest, weakest_id, counts, met, best, best_ids, to_rank, offered, offered_similarity,
):  # fmt: skip
    """Compare ranks ``first`` to ``last - 1`` with every more popular rank that shares a listener.

    An *offer* (a rank, an item for its list, their similarity) is written down for each pair that may still
    enter a list, judged by ``weakest`` and ``weakest_id``: an earlier state of each list's last entry.
    Returns the next rank to compare (before ``last`` once ``limit`` offers are made), the number of offers,
    and a number without meaning (see ``_count_shared``).
    """
    n_offers = 0
    read_ahead = 0
    for item in range(first, last):
        n_met, read = _count_shared(starts[item], starts[item + 1], places, rows, counts, met)
        read_ahead += read
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
                _insert(best, best_ids, similarity, names[other])
                bar = max(bar, best[-1])
        for m in range(best.size):
            if best[m] == 0.0:
                break
            to_rank[n_offers] = item
            offered[n_offers] = best_ids[m]
            offered_similarity[n_offers] = best[m]
            n_offers += 1
        if n_offers >= limit:
            return item + 1, n_offers, read_ahead
    return last, n_offers, read_ahead


@njit(cache=True, nogil=True)
def take_offers(n_offers, to_rank, offered, offered_similarity, similarities, ids, weakest, weakest_id):  # type: ignore[no-untyped-def]
    """Merge offers into the neighbour lists and bring the record of the lists' last entries up to date."""
    for m in range(n_offers):
        rank = to_rank[m]
        if offered_similarity[m] >= weakest[rank]:
            _insert(similarities[rank], ids[rank], offered_similarity[m], offered[m])
            weakest[rank] = similarities[rank, -1]
            weakest_id[rank] = ids[rank, -1]
