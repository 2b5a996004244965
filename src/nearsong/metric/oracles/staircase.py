"""The shape every ranking oracle works on: relevant songs dropped into the list of irrelevant ones.

For a fixed query the best ranking keeps relevant songs in ascending distance among themselves and irrelevant
ones too (rearrangement inequality), so a ranking is a *staircase*: ``placed[i]`` = how many irrelevant songs
stand before the i-th nearest relevant one, non-decreasing in i. With P relevant, N irrelevant songs and the
partial-order feature of the paper (eq. 4), what a ranking gains over the correct one is

    Delta(placed) + sum_i gain_i(placed[i]),   gain_i(b) = 2/(PN) * (b * d_i - sum of the b smallest irrelevant d)

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
def free_places(relevant, n_relevant, irrelevant, n_irrelevant, free):  # type: ignore[no-untyped-def]
    """Write into ``free[i]`` the place that maximises ``gain_i`` alone: irrelevant songs nearer than i."""
    for i in range(n_relevant):
        free[i] = count_below(irrelevant, n_irrelevant, relevant[i])


@njit(cache=True, nogil=True)
def gain(distance, place, cumulated):  # type: ignore[no-untyped-def]
    """Return ``PN/2 * gain_i(place)``; ``cumulated[b]`` is the sum of the b smallest irrelevant distances."""
    return place * distance - cumulated[place]
