"""Precision@k: Delta = (min(P, k) - m) / k, where m relevant songs are among the first k.

A fixed m fixes a boundary: the first m relevant songs have at most k - m irrelevant ones before them, the others at
least k - m. Free insertion points are non-decreasing, so clamping them to the boundary is optimal on both sides.
Every feasible m is tried.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.staircase import free_insertion_points, gain


@njit(cache=True, nogil=True)
def precision_insertion_points(  # type: ignore[no-untyped-def]
    relevant, n_relevant, irrelevant, n_irrelevant, cumulated, k, insertion
):
    """Fill ``insertion`` with the most violated staircase and return its loss."""
    free_insertion_points(relevant, n_relevant, irrelevant, n_irrelevant, insertion)
    weight = 2.0 / (n_relevant * n_irrelevant)
    top = min(k, n_relevant + n_irrelevant)
    max_hits = min(top, n_relevant)
    best_value, best_hits = -np.inf, max_hits
    for hits in range(max(0, top - n_irrelevant), max_hits + 1):
        boundary = top - hits
        total = 0.0
        for i in range(n_relevant):
            clamped = min(insertion[i], boundary) if i < hits else max(insertion[i], boundary)
            total += gain(relevant[i], clamped, cumulated)
        value = (max_hits - hits) / k + weight * total
        if value > best_value:
            best_value, best_hits = value, hits
    boundary = top - best_hits
    for i in range(n_relevant):
        insertion[i] = min(insertion[i], boundary) if i < best_hits else max(insertion[i], boundary)
    return (max_hits - best_hits) / k
