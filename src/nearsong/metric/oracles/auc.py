"""AUC: Delta = share of relevant/irrelevant pairs in the wrong order.

Delta is itself a sum over pairs, so every pair decides alone: i and j are swapped exactly when
``d_j < d_i + 1/2`` (the swap loses 1/(PN) of AUC and 2/(PN) * (d_j - d_i) of score). That is a consistent
ranking: sort everything by distance with 1/2 added to the relevant songs. No irrelevant song is ever sorted.
"""

import numpy as np
from numba import njit

_MARGIN = 0.5
_CELLS = 2048


@njit(cache=True, nogil=True)
def count_swapped_pairs(row, relevant, n_relevant, swapped, insertion):  # type: ignore[no-untyped-def]
    """Count for every song the pairs it is swapped in.

    ``row`` holds the distances of all songs with +inf for those that are not irrelevant; ``relevant`` the
    distances of the relevant songs, ascending. Fills ``insertion[i]`` (irrelevant songs ranked before relevant i)
    and ``swapped[j]`` (relevant songs ranked after song j).

    A grid over the thresholds ``d_i + 1/2`` tells where each song falls: a cell knows how many thresholds lie in
    lower cells, and the few in its own are compared. Its branches are easy to predict, unlike a binary search's.
    """
    low = relevant[0] + _MARGIN
    high = relevant[n_relevant - 1] + _MARGIN
    scale = (_CELLS - 1) / (high - low) if high > low else 0.0
    if not np.isfinite(scale):  # the spread is too small to divide by
        scale = 0.0
    lower = np.zeros(_CELLS + 1, np.int32)
    for i in range(n_relevant):
        lower[int((relevant[i] + _MARGIN - low) * scale) + 1] += 1
    for cell in range(_CELLS):
        lower[cell + 1] += lower[cell]
    insertion[:n_relevant] = 0
    for j in range(row.shape[0]):
        if row[j] >= high:  # +inf is here too
            swapped[j] = 0
            continue
        n_ahead = 0 if row[j] < low else lower[int((row[j] - low) * scale)]
        while relevant[n_ahead] + _MARGIN <= row[j]:
            n_ahead += 1
        swapped[j] = n_relevant - n_ahead
        insertion[n_ahead] += 1
    for i in range(1, n_relevant):
        insertion[i] += insertion[i - 1]
