"""AUC: Delta = share of relevant/irrelevant pairs in the wrong order.

Delta is itself a sum over pairs, so every pair decides alone: i and j are swapped exactly when
``d_j < d_i + 1/2`` (the swap loses 1/(PN) of AUC and 2/(PN) * (d_j - d_i) of score). That is a consistent
ranking: sort everything by distance with 1/2 added to the relevant songs. No irrelevant song is ever sorted.
"""

import numpy as np
from numba import njit

_MARGIN = 0.5
_COUNT_ALL_UP_TO = 96  # relevant songs; beyond, a binary search per irrelevant song is faster than SIMD compares


@njit(cache=True, nogil=True)
def count_swapped_pairs(row, relevant, n_relevant, swapped, placed):  # type: ignore[no-untyped-def]
    """Count for every song the pairs it is swapped in.

    ``row`` holds the distances of all songs with +inf for those that are not irrelevant; ``relevant`` the
    distances of the relevant songs, ascending. Fills ``placed[i]`` (irrelevant songs put before relevant i)
    and ``swapped[j]`` (relevant songs put behind song j).
    """
    n = row.shape[0]
    if n_relevant <= _COUNT_ALL_UP_TO:
        swapped[:] = 0
        for i in range(n_relevant):
            threshold = relevant[i] + _MARGIN
            before = 0
            for j in range(n):
                wrong = np.int32(row[j] < threshold)
                swapped[j] += wrong
                before += wrong  # type: ignore[assignment]
            placed[i] = before
        return
    placed[:n_relevant] = 0
    for j in range(n):
        if row[j] == np.inf:
            swapped[j] = 0
            continue
        kept, high = 0, n_relevant  # relevant songs whose threshold is at or below row[j] stay before j
        while kept < high:
            middle = (kept + high) // 2
            if relevant[middle] + _MARGIN <= row[j]:
                kept = middle + 1
            else:
                high = middle
        swapped[j] = n_relevant - kept
        if kept < n_relevant:
            placed[kept] += 1
    for i in range(1, n_relevant):
        placed[i] += placed[i - 1]
