"""MAP: Delta = 1 - average precision; the i-th relevant song (from 1) contributes i / (i + insertion[i]) / P.

The violation is a sum of terms that are concave in their own insertion point, so the best non-decreasing insertion
points follow by pooling adjacent violators: a relevant song whose own optimum is before that of its predecessor is
merged with it, and the block shares one insertion point.
"""

from numba import njit


@njit(cache=True, nogil=True)
def _best_block_insertion(  # type: ignore[no-untyped-def]
    first, last, relevant, irrelevant, low, high, weight, n_relevant
):
    """Return the best common insertion point in low..high of relevant songs first..last (0-based)."""
    length = last - first + 1
    distance_sum = 0.0
    for i in range(first, last + 1):
        distance_sum += relevant[i]
    while low < high:
        middle = (low + high) // 2
        step = weight * (distance_sum - length * irrelevant[middle])
        for i in range(first + 1, last + 2):
            step += i / ((i + middle) * (i + middle + 1.0)) / n_relevant
        if step > 0.0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def map_insertion_points(  # type: ignore[no-untyped-def]
    relevant, n_relevant, irrelevant, n_irrelevant, starts, insertion
):
    """Fill ``insertion`` with the most violated staircase and return its loss; ``starts`` is an int64 work array."""
    weight = 2.0 / (n_relevant * n_irrelevant)
    n_blocks = 0
    for song in range(n_relevant):
        start = song
        point = _best_block_insertion(song, song, relevant, irrelevant, 0, n_irrelevant, weight, n_relevant)
        # until the blocks are final, insertion[start of a block] holds the insertion point of the block
        while n_blocks > 0 and insertion[starts[n_blocks - 1]] > point:
            n_blocks -= 1
            start = starts[n_blocks]
            point = _best_block_insertion(
                start, song, relevant, irrelevant, point, insertion[start], weight, n_relevant
            )
        starts[n_blocks] = start
        insertion[start] = point
        n_blocks += 1
    precision = 0.0
    block = 0
    for i in range(n_relevant):
        if block + 1 < n_blocks and starts[block + 1] == i:
            block += 1
        insertion[i] = insertion[starts[block]]
        precision += (i + 1) / (i + 1.0 + insertion[i])
    return 1.0 - precision / n_relevant
