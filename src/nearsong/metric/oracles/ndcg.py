"""NDCG@k: Delta = 1 - DCG/ideal DCG with discount D(rank) = 1/log2(1 + rank) down to rank k, 0 below.

The i-th relevant song has rank i + insertion[i] (i from 1), so Delta is a sum over relevant songs. Without the cut
at k every term is concave in its insertion point, and the best non-decreasing ones follow by pooling adjacent
violators. With the cut, the number m of relevant songs in the first k fixes a boundary at k - m: the first m are
pooled and clamped to it, the others take the larger of the boundary and their free insertion point. The pool for m
songs is a prefix of the pool for m + 1, so trying all m costs little more than one.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.staircase import free_insertion_points, gain


@njit(cache=True, nogil=True)
def ndcg_insertion_points(  # type: ignore[no-untyped-def]
    relevant, n_relevant, irrelevant, n_irrelevant, cumulated, k, discount, work, insertion
):
    """Fill ``insertion`` with the most violated staircase and return its loss.

    ``discount[r]`` is D(r) without the cut, for r up to P + N + 1; ``work`` is an int64 work array of shape
    3 x P at least.
    """
    free, starts, pooled = work[0], work[1], work[2]
    free_insertion_points(relevant, n_relevant, irrelevant, n_irrelevant, free)
    weight = 2.0 / (n_relevant * n_irrelevant)
    top = min(k, n_relevant + n_irrelevant)
    max_hits = min(top, n_relevant)
    ideal = 0.0
    for i in range(max_hits):
        ideal += discount[i + 1]
    best_value, best_hits = -np.inf, -1
    n_blocks = 0
    for hits in range(max_hits + 1):
        if hits > 0:
            n_blocks = _pool_next(
                hits - 1, n_blocks, starts, pooled, relevant, irrelevant, n_irrelevant, weight, discount, ideal
            )
        boundary = top - hits
        if boundary > n_irrelevant:
            continue
        value = _violation(
            hits, boundary, n_blocks, starts, pooled, free, relevant, n_relevant, cumulated, weight, discount, ideal
        )
        if value > best_value or best_hits < 0:  # keep the first even where distances overflowed to NaN
            best_value, best_hits = value, hits
            _write_clamped(hits, boundary, n_blocks, starts, pooled, insertion)
    boundary = top - best_hits
    for i in range(best_hits, n_relevant):
        insertion[i] = max(free[i], boundary)
    dcg = 0.0
    for i in range(best_hits):
        dcg += discount[i + 1 + insertion[i]]
    return 1.0 - dcg / ideal


@njit(cache=True, nogil=True)
def _violation(  # type: ignore[no-untyped-def]
    hits, boundary, n_blocks, starts, pooled, free, relevant, n_relevant, cumulated, weight, discount, ideal
):
    """Return the violation of the best staircase with ``hits`` relevant songs before the cut."""
    total, dcg = 0.0, 0.0
    for block in range(n_blocks):
        stop = starts[block + 1] if block + 1 < n_blocks else hits
        point = min(pooled[block], boundary)
        for i in range(starts[block], stop):
            total += gain(relevant[i], point, cumulated)
            dcg += discount[i + 1 + point]
    for i in range(hits, n_relevant):
        total += gain(relevant[i], max(free[i], boundary), cumulated)
    return 1.0 - dcg / ideal + weight * total


@njit(cache=True, nogil=True)
def _write_clamped(hits, boundary, n_blocks, starts, pooled, insertion):  # type: ignore[no-untyped-def]
    """Write the insertion points of the pooled songs, clamped to the boundary."""
    for block in range(n_blocks):
        stop = starts[block + 1] if block + 1 < n_blocks else hits
        for i in range(starts[block], stop):
            insertion[i] = min(pooled[block], boundary)


@njit(cache=True, nogil=True)
def _pool_next(  # type: ignore[no-untyped-def]
    song, n_blocks, starts, pooled, relevant, irrelevant, n_irrelevant, weight, discount, ideal
):
    """Add one relevant song to the pool and merge blocks until their insertion points are non-decreasing."""
    start = song
    distance_sum = relevant[song]
    point = _best_block_insertion(song, song, distance_sum, irrelevant, 0, n_irrelevant, weight, discount, ideal)
    while n_blocks > 0 and pooled[n_blocks - 1] > point:
        n_blocks -= 1
        for i in range(starts[n_blocks], start):
            distance_sum += relevant[i]
        start = starts[n_blocks]
        point = _best_block_insertion(
            start, song, distance_sum, irrelevant, point, pooled[n_blocks], weight, discount, ideal
        )
    starts[n_blocks] = start
    pooled[n_blocks] = point
    return n_blocks + 1


@njit(cache=True, nogil=True)
def _best_block_insertion(  # type: ignore[no-untyped-def]
    first, last, distance_sum, irrelevant, low, high, weight, discount, ideal
):
    """Return the best common insertion point in low..high of relevant songs first..last (0-based)."""
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
