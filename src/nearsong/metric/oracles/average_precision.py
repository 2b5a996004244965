"""MAP: Delta = 1 - average precision; the i-th relevant song (from 1) contributes i / (i + placed[i]) / P.

The loss is a sum of terms that are concave in their own place, so the best non-decreasing places follow by
pooling adjacent violators: a relevant song that would rather stand before its predecessor is merged with it,
and the block moves as one.
"""

from numba import njit


@njit(cache=True, nogil=True)
def _best_block_place(first, last, relevant, irrelevant, low, high, weight, n_relevant):  # type: ignore[no-untyped-def]
    """Return the place in low..high that relevant songs first..last (0-based) like best in common."""
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
def place_for_map(relevant, n_relevant, irrelevant, n_irrelevant, starts, placed):  # type: ignore[no-untyped-def]
    """Fill ``placed`` with the most violated staircase and return its loss; ``starts`` is an int64 work array."""
    weight = 2.0 / (n_relevant * n_irrelevant)
    n_blocks = 0
    for song in range(n_relevant):
        start = song
        place = _best_block_place(song, song, relevant, irrelevant, 0, n_irrelevant, weight, n_relevant)
        # placed[start of a block] is the block's place until the blocks are final
        while n_blocks > 0 and placed[starts[n_blocks - 1]] > place:
            n_blocks -= 1
            start = starts[n_blocks]
            place = _best_block_place(start, song, relevant, irrelevant, place, placed[start], weight, n_relevant)
        starts[n_blocks] = start
        placed[start] = place
        n_blocks += 1
    precision = 0.0
    block = 0
    for i in range(n_relevant):
        if block + 1 < n_blocks and starts[block + 1] == i:
            block += 1
        placed[i] = placed[starts[block]]
        precision += (i + 1) / (i + 1.0 + placed[i])
    return 1.0 - precision / n_relevant
