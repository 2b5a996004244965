"""Listens, partition by partition -> exact neighbour lists of a block: the compiled part of `blockwise`.

A block is a range of ranks. Until all partitions were read, each of its items has ``cells`` of its own: an item of
rank r that meets many others has one counter for each of the r more popular items (it is *dense*), an item that meets
few has a list of those it met, with repetitions. What takes less memory is chosen for each item.
"""

import numpy as np
from numba import njit

from nearsong.relevance.co_listening import PREFETCHED_LISTENS, insert, prefetch


@njit(cache=True, nogil=True)
def add_listens(first, last, ranks, begins, ends, slots, rows, starts, is_dense, cells, filled):  # type: ignore[no-untyped-def]
    """Add the listens of a partition to the cells of ranks ``first`` to ``last - 1``.

    ``ranks`` are those with listens in this partition, ascending; the listens of ``ranks[n]`` are
    ``slots[begins[n]:ends[n]]``. The cells of rank r are ``cells[starts[r - first]:starts[r - first + 1]]``;
    ``filled`` tells how many of them the lists have used. Returns the prefetch sum, which has no meaning.
    """
    prefetched = 0
    for n in range(np.searchsorted(ranks, first), np.searchsorted(ranks, last)):
        item = ranks[n] - first
        own = cells[starts[item] : starts[item + 1]]
        used = filled[item]
        for start in range(begins[n], ends[n], PREFETCHED_LISTENS):
            stop = min(start + PREFETCHED_LISTENS, ends[n])
            prefetched += prefetch(start, stop, slots, rows)
            for listen in range(start, stop):
                slot = slots[listen]
                other = rows[slot]
                if is_dense[item]:
                    while other >= 1:
                        own[other] += np.uint32(1)
                        slot -= 1
                        other = rows[slot]
                else:
                    while other >= 1:
                        own[used] = other
                        used += 1
                        slot -= 1
                        other = rows[slot]
        filled[item] = used
    return prefetched


@njit(cache=True, nogil=True)
def compare_block(  # type: ignore[no-untyped-def]
    first, last, starts, is_dense, cells, listeners, names, candidate, similarities, ids
):
    """Compare ranks ``first`` to ``last - 1`` with the more popular ranks they met, and list both ways."""
    weakest = np.zeros(last)  # the last column of similarities
    counts, met = np.zeros(last, np.uint32), np.empty(last, np.uint32)
    for item in range(first, last):
        n_met = 0
        own = cells[starts[item - first] : starts[item - first + 1]]
        if is_dense[item - first]:
            for other in range(1, item):
                met[n_met] = other
                counts[other] = own[other]
                n_met += own[other] > 0
        else:
            for other in own:
                met[n_met] = other
                n_met += counts[other] == 0
                counts[other] += np.uint32(1)
        for m in range(n_met):
            other = met[m]
            shared = counts[other]
            counts[other] = 0
            similarity = shared / (listeners[item] + listeners[other] - shared)
            if candidate[item] and similarity >= weakest[other]:
                insert(similarities[other], ids[other], similarity, names[item])
                weakest[other] = similarities[other, -1]
            if candidate[other] and similarity >= weakest[item]:
                insert(similarities[item], ids[item], similarity, names[other])
                weakest[item] = similarities[item, -1]


@njit(cache=True, nogil=True)
def compact(similarities, ids):  # type: ignore[no-untyped-def]
    """Move the entries of all lists to the front, without gaps; return where the list of each rank starts."""
    n_ranks, k = similarities.shape
    flat_similarities, flat_ids = similarities.reshape(n_ranks * k), ids.reshape(n_ranks * k)
    starts = np.empty(n_ranks + 1, np.int64)
    n_entries = 0
    for rank in range(n_ranks):
        starts[rank] = n_entries
        for entry in range(rank * k, (rank + 1) * k):
            if flat_similarities[entry] == 0.0:
                break
            flat_similarities[n_entries] = flat_similarities[entry]
            flat_ids[n_entries] = flat_ids[entry]
            n_entries += 1
    starts[n_ranks] = n_entries
    return starts


@njit(cache=True, nogil=True)
def merge(starts, listed, listed_ids, similarities, ids):  # type: ignore[no-untyped-def]
    """Merge the compacted lists of a block into those of the same ranks."""
    for rank in range(starts.size - 1):
        for entry in range(starts[rank], starts[rank + 1]):
            insert(similarities[rank], ids[rank], listed[entry - starts[0]], listed_ids[entry - starts[0]])
