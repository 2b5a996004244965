"""One query's distances -> its five ranking scores, without sorting the database.

With binary relevance every score depends only on how many irrelevant songs are strictly closer than, and how many are
exactly as far as, each distinct distance of a relevant song. So only the P relevant distances are sorted, and each of
the N other songs is located among them by binary search: O(N log P) per query.

Ties are scored by expectation: each score is the exact mean over all orders of the songs at the same distance, which
are equally likely.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

SCORES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
"""The columns that `score_rows` writes."""

_CELLS_PER_LEVEL = 32
_ONE = np.uint64(1)  # with unsigned indices numba omits its check for negative ones


class SongLists(NamedTuple):
    """One list of songs for every query: ``songs[starts[q]:stops[q]]``, ascending."""

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    songs: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def _gather_relevant(keys, relevant, ignored, gathered):  # type: ignore[no-untyped-def]
    """Write the keys of relevant songs that are not ignored into ``gathered``; return their number."""
    n = 0
    i = 0
    for song in relevant:  # both index lists ascend
        while i < ignored.size and ignored[i] < song:
            i += 1
        if i == ignored.size or ignored[i] != song:
            gathered[n] = keys[song]
            n += 1
    return n


@njit(cache=True, nogil=True)
def _group_equal(levels, n, sizes):  # type: ignore[no-untyped-def]
    """Reduce ascending ``levels[:n]`` to its distinct values, with their ``sizes``; return their number."""
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
    """Return the cell of a key, non-decreasing in the key despite rounding; NaN goes to ``last``."""
    position = max(key - nearest, 0.0) * scale
    return np.uint64(position) if position < last else np.uint64(last)


@njit(cache=True, nogil=True)
def _level_of(key, levels, starts, nearest, scale, last):  # type: ignore[no-untyped-def]
    """Return the index of the first level not below ``key``, by binary search inside the key's cell."""
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
def _count_irrelevant(keys, ignored, levels, sizes, groups, up_to, tied, cell_starts):  # type: ignore[no-untyped-def]
    """Count the irrelevant songs between consecutive relevant levels and on them.

    ``up_to[g]`` gets the number of irrelevant songs with ``levels[g - 1] < key <= levels[g]``, ``tied[g]``
    those with ``key == levels[g]``. All songs are counted first, then the relevant and ignored ones are subtracted.

    The range between the nearest and the farthest level is divided into cells of equal width, many more than there
    are levels. Most cells contain no level, so one look-up locates a song and branches are easy to predict.
    """
    nearest, farthest = levels[0], levels[groups - 1]
    span = farthest - nearest
    cells = max(min(_CELLS_PER_LEVEL * groups, cell_starts.size - 1), 1) if 0.0 < span < np.inf else 1
    scale = cells / span if cells > 1 else 0.0
    last = float(cells - 1)
    cell_starts[: cells + 1] = 0
    for group in range(groups):
        cell_starts[_cell(levels[group], nearest, scale, last) + _ONE] += _ONE
    for cell in range(cells):
        cell_starts[cell + 1] += cell_starts[cell]
    up_to[:groups] = 0
    tied[:groups] = 0
    for key in keys:
        if key <= farthest:
            level = _level_of(key, levels, cell_starts, nearest, scale, last)
            up_to[level] += 1
            if levels[level] == key:
                tied[level] += 1
    for song in ignored:
        key = keys[song]
        if key <= farthest:
            level = _level_of(key, levels, cell_starts, nearest, scale, last)
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
    chance = relevant / size  # probability that the first relevant song has this offset in the group
    for offset in range(1, irrelevant + 1):
        total += chance / (before + offset)
        chance *= (irrelevant - offset + 1) / (size - offset)
    return total + chance / (before + irrelevant + 1)


@njit(cache=True, nogil=True)
def _expected_precisions(before, relevant_before, relevant, irrelevant):  # type: ignore[no-untyped-def]
    """Return the mean, over orders of one tie group, of the sum of precisions at its relevant songs."""
    size = relevant + irrelevant
    # Given a relevant song at one rank, every other song of the group is relevant with this probability.
    chance = (relevant - 1) / (size - 1) if size > 1 else 0.0
    total = 0.0
    for offset in range(size):
        total += (relevant_before + 1 + offset * chance) / (before + offset + 1)
    return total * relevant / size


@njit(cache=True, nogil=True)
def _score_groups(sizes, up_to, tied, groups, n_relevant, n_irrelevant, discounts, k, out):  # type: ignore[no-untyped-def]
    """Compute the five scores of one query from its counts."""
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
    out[2] = min(gain / ideal, 1.0)  # rounding may put a perfect ranking an ulp above 1
    out[3] = precisions / n_relevant
    out[4] = hits / k


@njit(cache=True, nogil=True)
def score_rows(first, stop, origin, keys, relevant, ignored, discounts, k, out):  # type: ignore[no-untyped-def]
    """Score queries ``first`` to ``stop - 1``; a query that cannot be scored gets NaN.

    Parameters
    ----------
    first, stop : int
        The range of queries; threads take disjoint ranges.
    origin : int
        The query in the first row of ``keys``.
    keys : float64 array of shape (block, n_songs)
        Any numbers that order the songs of a query as its distances do; never NaN.
    relevant, ignored : SongLists
        Ignored songs are neither relevant nor irrelevant and take precedence over relevant ones.
    discounts : float64 array
        ``1 / log2(2 + i)`` for every rank index ``i`` below ``k`` that the songs can reach.
    k : int
        Cut-off of NDCG and precision; 0 for the whole list.
    out : float64 array of shape (n_queries, 5)
        Filled with the columns of `SCORES`.
    """
    longest = 0
    for query in range(first, stop):
        longest = max(longest, relevant.stops[query] - relevant.starts[query])
    levels = np.empty(longest)
    sizes = np.empty(longest, np.int64)
    up_to = np.empty(longest, np.int64)
    tied = np.empty(longest, np.int64)
    cell_starts = np.empty(min(_CELLS_PER_LEVEL * longest, keys.shape[1]) + 1, np.uint64)
    for query in range(first, stop):
        row = keys[query - origin]
        off_list = ignored.songs[ignored.starts[query] : ignored.stops[query]]
        wanted = relevant.songs[relevant.starts[query] : relevant.stops[query]]
        n_relevant = _gather_relevant(row, wanted, off_list, levels)
        n_ranked = row.size - off_list.size
        if n_relevant == 0 or n_relevant == n_ranked:
            out[query] = np.nan
            continue
        levels[:n_relevant].sort()
        groups = _group_equal(levels, n_relevant, sizes)
        _count_irrelevant(row, off_list, levels, sizes, groups, up_to, tied, cell_starts)
        cut = k if k > 0 else n_ranked
        n_irrelevant = n_ranked - n_relevant
        _score_groups(sizes, up_to, tied, groups, n_relevant, n_irrelevant, discounts, cut, out[query])
