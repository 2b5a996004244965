"""A small concave quadratic program -> its maximiser on the simplex: c'a - a'Ha/2 over a >= 0, sum(a) fixed."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def maximise_on_simplex(H, c, weights, tolerance, max_steps):  # type: ignore[no-untyped-def]
    """Improve the feasible ``weights`` in place until no exchange of mass gains more than ``tolerance``.

    Sequential minimal optimisation: move mass to the coordinate with the steepest slope from the one with the largest
    second-order gain. The line search is exact, so the objective never falls.
    """
    slope = c - H @ weights
    total = weights.sum()
    for _ in range(max_steps):
        gainer = int(np.argmax(slope))
        lowest = np.inf
        giver = -1
        best_gain = 0.0
        for t in range(len(c)):
            if weights[t] <= 0.0:
                continue
            lowest = min(lowest, slope[t])
            lead = slope[gainer] - slope[t]
            if lead > 0.0:
                gain = lead * lead / _curvature(H, gainer, t)
                if gain > best_gain:
                    best_gain, giver = gain, t
        if giver < 0 or (slope[gainer] - lowest) * total <= tolerance:
            return
        moved = (slope[gainer] - slope[giver]) / _curvature(H, gainer, giver)
        if moved >= weights[giver]:
            moved = weights[giver]
            weights[giver] = 0.0
        else:
            weights[giver] -= moved
        weights[gainer] += moved
        for t in range(len(c)):
            slope[t] -= moved * (H[t, gainer] - H[t, giver])


@njit(cache=True, nogil=True)
def _curvature(H, i, j):  # type: ignore[no-untyped-def]
    """Return the curvature along e_i - e_j, bounded above zero for identical planes."""
    return max(H[i, i] + H[j, j] - 2.0 * H[i, j], 1e-14 * (H[i, i] + H[j, j]) + 1e-300)
