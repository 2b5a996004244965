"""Sorted distances of one query -> the parts that all ranking oracles share.

For a fixed query the best ranking keeps relevant songs in ascending order of distance, and irrelevant ones too
(rearrangement inequality). So a ranking is a *staircase*: ``insertion[i]``, the insertion point of the i-th nearest
relevant song, is the number of irrelevant songs ranked before it, non-decreasing in i. With P relevant and N
irrelevant songs and the partial-order feature of the paper (eq. 4), the violation of a ranking is

    Delta(insertion) + sum_i gain_i(insertion[i]),
    gain_i(b) = 2/(PN) * (b * d_i - sum of the b smallest irrelevant distances)

and every ``gain_i`` is concave in b. The losses differ only in Delta.
"""

from numba import njit


@njit(cache=True, nogil=True)
def count_below(sorted_values, n, value):  # type: ignore[no-untyped-def]
    """Return how many of ``sorted_values[:n]`` (ascending) are strictly below ``value``."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if sorted_values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def free_insertion_points(relevant, n_relevant, irrelevant, n_irrelevant, free):  # type: ignore[no-untyped-def]
    """Write into ``free[i]`` the maximiser of ``gain_i`` alone: the number of irrelevant songs nearer than i."""
    for i in range(n_relevant):
        free[i] = count_below(irrelevant, n_irrelevant, relevant[i])


@njit(cache=True, nogil=True)
def gain(distance, insertion, cumulated):  # type: ignore[no-untyped-def]
    """Return ``PN/2 * gain_i(insertion)``; ``cumulated[b]`` is the sum of the b smallest irrelevant distances."""
    return insertion * distance - cumulated[insertion]
