"""NDCG@k: Delta = 1 - DCG/ideal DCG with discount D(rank) = 1/log2(1 + rank) down to rank k, 0 below.

The i-th relevant song has rank i + placed[i] (i from 1), so Delta is a sum over relevant songs. Without the cut
at k every term is concave in its place, and the best non-decreasing places follow by pooling adjacent violators.
With the cut, the number m of relevant songs in the first k fixes a wall at k - m: the first m are pooled and
clamped to it, the others take their free places or the wall. The pool for m songs is a prefix of the pool for
m + 1, so all m cost little more than one.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.staircase import free_places, gain


@njit(cache=True, nogil=True)
def _best_block_place(  # type: ignore[no-untyped-def]
    first, last, distance_sum, irrelevant, low, high, weight, discount, ideal
):
    """Return the place in low..high that relevant songs first..last (0-based) like best in common."""
    length = last - first + 1
    while low < high:
        middle = (low + high) // 2
        step = weight * (distance_sum - length * irrelevant[middle])
        # the discounts of a block telescope: ranks first+1+b .. last+1+b each move one down
        step += (discount[first + middle + 1] - discount[last + middle + 2]) / ideal
        if step > 0.0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def place_for_ndcg(  # type: ignore[no-untyped-def]
    relevant, n_relevant, irrelevant, n_irrelevant, cumulated, k, discount, work, placed
):
    """Fill ``placed`` with the most violated staircase and return its loss.

    ``discount[r]`` is D(r) without the cut, for r up to P + N + 1; ``work`` is an int64 work array of shape
    3 x P at least.
    """
    free, starts, places = work[0], work[1], work[2]
    free_places(relevant, n_relevant, irrelevant, n_irrelevant, free)
    weight = 2.0 / (n_relevant * n_irrelevant)
    top = min(k, n_relevant + n_irrelevant)
    most = min(top, n_relevant)
    ideal = 0.0
    for i in range(most):
        ideal += discount[i + 1]
    best_value, best_hits = -np.inf, -1
    n_blocks = 0
    for hits in range(most + 1):
        if hits > 0:
            n_blocks = _pool_next(
                hits - 1,
                n_blocks,
                starts,
                places,
                relevant,
                irrelevant,
                n_irrelevant,
                weight,
                discount,
                ideal,
            )
        wall = top - hits
        if wall > n_irrelevant:
            continue
        total, dcg = 0.0, 0.0
        for block in range(n_blocks):
            stop = starts[block + 1] if block + 1 < n_blocks else hits
            place = min(places[block], wall)
            for i in range(starts[block], stop):
                total += gain(relevant[i], place, cumulated)
                dcg += discount[i + 1 + place]
        for i in range(hits, n_relevant):
            total += gain(relevant[i], max(free[i], wall), cumulated)
        value = 1.0 - dcg / ideal + weight * total
        if value > best_value or best_hits < 0:  # the first stands even where distances overflowed to NaN
            best_value, best_hits = value, hits
            for block in range(n_blocks):
                stop = starts[block + 1] if block + 1 < n_blocks else hits
                for i in range(starts[block], stop):
                    placed[i] = min(places[block], wall)
    wall = top - best_hits
    for i in range(best_hits, n_relevant):
        placed[i] = max(free[i], wall)
    dcg = 0.0
    for i in range(best_hits):
        dcg += discount[i + 1 + placed[i]]
    return 1.0 - dcg / ideal


@njit(cache=True, nogil=True)
def _pool_next(  # type: ignore[no-untyped-def]
    song, n_blocks, starts, places, relevant, irrelevant, n_irrelevant, weight, discount, ideal
):
    """Add one relevant song to the pool and merge blocks until their places are non-decreasing."""
    start = song
    distance_sum = relevant[song]
    place = _best_block_place(song, song, distance_sum, irrelevant, 0, n_irrelevant, weight, discount, ideal)
    while n_blocks > 0 and places[n_blocks - 1] > place:
        n_blocks -= 1
        for i in range(starts[n_blocks], start):
            distance_sum += relevant[i]
        start = starts[n_blocks]
        place = _best_block_place(
            start, song, distance_sum, irrelevant, place, places[n_blocks], weight, discount, ideal
        )
    starts[n_blocks] = start
    places[n_blocks] = place
    return n_blocks + 1
