"""Precision@k: Delta = (min(P, k) - m) / k, where m relevant songs are among the first k.

Fixing m fixes a wall: the first m relevant songs stand before at most k - m irrelevant ones, the others behind
at least k - m. Free places are non-decreasing, so clamping them to the wall is optimal on both sides. Every
feasible m is tried.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.staircase import free_places, gain


@njit(cache=True, nogil=True)
def place_for_precision(  # type: ignore[no-untyped-def]
    relevant, n_relevant, irrelevant, n_irrelevant, cumulated, k, placed
):
    """Fill ``placed`` with the most violated staircase and return its loss."""
    free_places(relevant, n_relevant, irrelevant, n_irrelevant, placed)
    weight = 2.0 / (n_relevant * n_irrelevant)
    top = min(k, n_relevant + n_irrelevant)
    most = min(top, n_relevant)
    best_value, best_hits = -np.inf, most
    for hits in range(max(0, top - n_irrelevant), most + 1):
        wall = top - hits
        total = 0.0
        for i in range(n_relevant):
            place = min(placed[i], wall) if i < hits else max(placed[i], wall)
            total += gain(relevant[i], place, cumulated)
        value = (most - hits) / k + weight * total
        if value > best_value:
            best_value, best_hits = value, hits
    wall = top - best_hits
    for i in range(n_relevant):
        placed[i] = min(placed[i], wall) if i < best_hits else max(placed[i], wall)
    return (most - best_hits) / k
