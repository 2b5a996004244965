"""One query's distances -> its five ranking scores, without sorting the database.

With binary relevance every score depends only on how many irrelevant songs are strictly closer than, and how
many are exactly as far as, each distinct distance of a relevant song. So the P relevant distances are sorted,
each of the N other songs is dropped into its place among them, and the whole list is never ordered:
O(N log P) a query.

Ties are scored by expectation. Songs at the same distance fill their block of ranks in random order, all
orders equally likely, and each score is the exact mean over those orders.
"""

import numpy as np
from numba import njit

SCORES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
"""The columns that :func:`score_rows` writes."""

_CELLS_PER_LEVEL = 32
_ONE = np.uint64(1)  # unsigned indices spare the loop numba's check for negative ones


@njit(cache=True, nogil=True)
def _gather_relevant(keys, relevant, ignored, gathered):  # type: ignore[no-untyped-def]
    """Write the keys of relevant songs that are not ignored into ``gathered``; return how many there are."""
    n = 0
    place = 0
    for song in relevant:  # both index lists ascend
        while place < ignored.size and ignored[place] < song:
            place += 1
        if place == ignored.size or ignored[place] != song:
            gathered[n] = keys[song]
            n += 1
    return n


@njit(cache=True, nogil=True)
def _group_equal(levels, n, sizes):  # type: ignore[no-untyped-def]
    """Squeeze ascending ``levels[:n]`` to its distinct values, with their ``sizes``; return how many."""
    groups = 0
    for i in range(n):
        if groups > 0 and levels[groups - 1] == levels[i]:
            sizes[groups - 1] += 1
        else:
            levels[groups] = levels[i]
            sizes[groups] = 1
            groups += 1
    return groups


@njit(cache=True, nogil=True)
def _cell(key, nearest, scale, last):  # type: ignore[no-untyped-def]
    """Return the cell of a key. Never falls as the key grows, whatever the rounding; NaN goes to ``last``."""
    place = max(key - nearest, 0.0) * scale
    return np.uint64(place) if place < last else np.uint64(last)


@njit(cache=True, nogil=True)
def _level_of(key, levels, starts, nearest, scale, last):  # type: ignore[no-untyped-def]
    """Return the index of the first level not below ``key``: a binary search inside the key's cell."""
    cell = _cell(key, nearest, scale, last)
    low = starts[cell]
    high = starts[cell + _ONE]
    while low < high:
        middle = (low + high) >> _ONE
        if levels[middle] < key:
            low = middle + _ONE
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _count_irrelevant(keys, ignored, levels, sizes, groups, up_to, tied, starts):  # type: ignore[no-untyped-def]
    """Count the irrelevant songs between consecutive relevant levels and on them.

    ``up_to[g]`` gets the number of irrelevant songs with ``levels[g - 1] < key <= levels[g]``, ``tied[g]``
    those with ``key == levels[g]``. Every song is counted first, then the relevant and ignored are taken out.

    Equal cells between the nearest and the farthest level, many more than there are levels, shorten the
    search: most cells hold no level, so one look-up places the song and the branch predictor is right.
    """
    nearest, farthest = levels[0], levels[groups - 1]
    span = farthest - nearest
    cells = max(min(_CELLS_PER_LEVEL * groups, starts.size - 1), 1) if 0.0 < span < np.inf else 1
    scale = cells / span if cells > 1 else 0.0
    last = float(cells - 1)
    starts[: cells + 1] = 0
    for group in range(groups):
        starts[_cell(levels[group], nearest, scale, last) + _ONE] += _ONE
    for cell in range(cells):
        starts[cell + 1] += starts[cell]
    up_to[:groups] = 0
    tied[:groups] = 0
    for key in keys:
        if key <= farthest:
            level = _level_of(key, levels, starts, nearest, scale, last)
            up_to[level] += 1
            if levels[level] == key:
                tied[level] += 1
    for song in ignored:
        key = keys[song]
        if key <= farthest:
            level = _level_of(key, levels, starts, nearest, scale, last)
            up_to[level] -= 1
            if levels[level] == key:
                tied[level] -= 1
    for group in range(groups):
        up_to[group] -= sizes[group]
        tied[group] -= sizes[group]


@njit(cache=True, nogil=True)
def _expected_reciprocal_rank(before, relevant, irrelevant):  # type: ignore[no-untyped-def]
    """Return the mean of 1/rank of the first relevant song when ``before`` songs precede its tie group."""
    size = relevant + irrelevant
    total = 0.0
    chance = relevant / size  # that the first relevant song stands at this place of the group
    for place in range(1, irrelevant + 1):
        total += chance / (before + place)
        chance *= (irrelevant - place + 1) / (size - place)
    return total + chance / (before + irrelevant + 1)


@njit(cache=True, nogil=True)
def _expected_precisions(before, relevant_before, relevant, irrelevant):  # type: ignore[no-untyped-def]
    """Return the mean, over orders of one tie group, of the sum of precisions at its relevant songs."""
    size = relevant + irrelevant
    # Given a relevant song at one place, each other place of the group is relevant with this chance.
    others = (relevant - 1) / (size - 1) if size > 1 else 0.0
    total = 0.0
    for place in range(size):
        total += (relevant_before + 1 + place * others) / (before + place + 1)
    return total * relevant / size


@njit(cache=True, nogil=True)
def _score_groups(sizes, up_to, tied, groups, n_relevant, n_irrelevant, discounts, k, out):  # type: ignore[no-untyped-def]
    """Turn the counts of one query into its five scores."""
    auc = precisions = gain = hits = 0.0
    relevant_before = irrelevant_up_to = 0
    for group in range(groups):
        relevant = sizes[group]
        irrelevant = tied[group]
        irrelevant_up_to += up_to[group]
        closer = irrelevant_up_to - irrelevant
        before = closer + relevant_before
        size = relevant + irrelevant
        auc += relevant * (n_irrelevant - closer - 0.5 * irrelevant)
        if group == 0:
            out[1] = _expected_reciprocal_rank(before, relevant, irrelevant)
        precisions += _expected_precisions(before, relevant_before, relevant, irrelevant)
        within = min(k - before, size)  # ranks of this group among the first k
        if within > 0:
            hits += relevant * (within / size)
            discount = 0.0
            for rank in range(before, before + within):
                discount += discounts[rank]
            gain += discount * (relevant / size)
        relevant_before += relevant
    ideal = 0.0
    for rank in range(min(n_relevant, k)):
        ideal += discounts[rank]
    out[0] = auc / (float(n_relevant) * n_irrelevant)
    out[2] = min(gain / ideal, 1.0)  # rounding may leave a perfect ranking an ulp above 1
    out[3] = precisions / n_relevant
    out[4] = hits / k


@njit(cache=True, nogil=True)
def score_rows(  # type: ignore[no-untyped-def]
    first,
    stop,
    origin,
    keys,
    relevant_starts,
    relevant_stops,
    relevant,
    ignored_starts,
    ignored_stops,
    ignored,
    discounts,
    k,
    out,
):
    """Score queries ``first`` to ``stop - 1``; a query that cannot be scored gets NaN.

    Parameters
    ----------
    first, stop : int
        The queries to work on; threads take disjoint ranges.
    origin : int
        The query in the first row of ``keys``.
    keys : float64 array of shape (block, n_songs)
        Anything that orders the songs of a query as its distances do; never NaN.
    relevant_starts, relevant_stops, relevant : arrays of int
        ``relevant[relevant_starts[q]:relevant_stops[q]]``, ascending, are the relevant songs of query q.
    ignored_starts, ignored_stops, ignored : arrays of int
        The same for songs that are neither relevant nor irrelevant; these win over ``relevant``.
    discounts : float64 array
        ``1 / log2(2 + i)`` for every rank index ``i`` below ``k`` that the songs can reach.
    k : int
        Cut-off of NDCG and precision; 0 for the whole list.
    out : float64 array of shape (n_queries, 5)
        Written: the columns of :data:`SCORES`.
    """
    longest = 0
    for query in range(first, stop):
        longest = max(longest, relevant_stops[query] - relevant_starts[query])
    levels = np.empty(longest)
    sizes = np.empty(longest, np.int64)
    up_to = np.empty(longest, np.int64)
    tied = np.empty(longest, np.int64)
    starts = np.empty(min(_CELLS_PER_LEVEL * longest, keys.shape[1]) + 1, np.uint64)
    for query in range(first, stop):
        row = keys[query - origin]
        off_list = ignored[ignored_starts[query] : ignored_stops[query]]
        wanted = relevant[relevant_starts[query] : relevant_stops[query]]
        n_relevant = _gather_relevant(row, wanted, off_list, levels)
        n_ranked = row.size - off_list.size
        if n_relevant == 0 or n_relevant == n_ranked:
            out[query] = np.nan
            continue
        levels[:n_relevant].sort()
        groups = _group_equal(levels, n_relevant, sizes)
        _count_irrelevant(row, off_list, levels, sizes, groups, up_to, tied, starts)
        cut = k if k > 0 else n_ranked
        n_irrelevant = n_ranked - n_relevant
        _score_groups(sizes, up_to, tied, groups, n_relevant, n_irrelevant, discounts, cut, out[query])
