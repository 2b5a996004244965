"""Distances of a block of queries -> the most violated ranking of each, as coefficients of the order feature.

Each query's row of distances is overwritten with the coefficients ``a`` of its cutting plane, so that

    slack = Delta + sum_i a_i d_i,    gradient = sum_i a_i (q - x_i)(q - x_i)'

``a_i = 2/(PN) * insertion[i]`` for relevant songs, ``-2/(PN) * (relevant songs ranked after j)`` for irrelevant ones
and 0 for ignored ones, so each row sums to zero. Rows are independent and the GIL is released, so threads may share a
block.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.auc import count_swapped_pairs
from nearsong.metric.oracles.average_precision import map_insertion_points
from nearsong.metric.oracles.losses import AUC, MAP, MRR, NDCG
from nearsong.metric.oracles.mrr import mrr_insertion_points
from nearsong.metric.oracles.ndcg import ndcg_insertion_points
from nearsong.metric.oracles.precision import precision_insertion_points
from nearsong.metric.oracles.sorting import BUCKETS, argsort_into


@njit(cache=True, nogil=True)
def most_violated(  # type: ignore[no-untyped-def]
    loss,
    k,
    rows,
    squares,
    queries,
    relevant_lists,
    ignored_lists,
    max_relevant,
    losses,
    slacks,
    column_sums,
):
    """Replace the distances of a block of queries by the coefficients of their cutting planes.

    Parameters
    ----------
    loss : int
        One of ``LOSS_CODES``.
    k : int
        The cut of NDCG and precision.
    rows : float64 array of shape (n_queries, n_songs)
        Inner products of the projected queries and songs, overwritten with coefficients: completing the distances
        here saves passes over memory.
    squares : float64 array of shape (n_songs,)
        Squared norms of the projected songs.
    queries : int64 array of shape (n_queries,)
        The song that each row belongs to.
    relevant_lists, ignored_lists : ItemLists
        The query itself is always ignored and may appear in either list.
    max_relevant : int
        The length of the longest relevant list.
    losses, slacks : float64 arrays of shape (n_queries,)
        Filled.
    column_sums : float64 array of shape (n_songs,)
        The sums of the coefficients are added to it.
    """
    n = rows.shape[1]
    relevant_ids = np.empty(max_relevant, np.int32)
    relevant_raw = np.empty(max_relevant)
    relevant = np.empty(max_relevant)
    ranked = np.empty(max_relevant, np.int32)
    insertion = np.empty(max_relevant, np.int64)
    work = np.empty((3, max_relevant), np.int64)
    wide = max(n, max_relevant)
    order = np.empty(wide, np.int32)
    spare = np.empty(wide, np.int32)
    image = np.empty(wide, np.uint32)
    spare_image = np.empty(wide, np.uint32)
    counts = np.empty(BUCKETS, np.int64)
    swapped = np.empty(n, np.int32)
    keys = np.empty(n)
    ids = np.empty(n, np.int32)
    irrelevant = np.empty(n)
    cumulated = np.empty(n + 1)
    discount = np.empty(1)
    if loss == NDCG:
        discount = 1.0 / np.log2(np.arange(n + 2) + 1.0)

    for r in range(rows.shape[0]):
        row = rows[r]
        q = queries[r]
        for j in range(n):
            row[j] = squares[q] + squares[j] - 2.0 * row[j]
        n_excluded = 0
        for p in range(ignored_lists.start[q], ignored_lists.stop[q]):
            item = ignored_lists.items[p]
            if row[item] != np.inf:
                row[item] = np.inf
                n_excluded += 1
        if row[q] != np.inf:
            row[q] = np.inf
            n_excluded += 1
        n_relevant = 0
        for p in range(relevant_lists.start[q], relevant_lists.stop[q]):
            item = relevant_lists.items[p]
            if row[item] != np.inf:  # ignored wins over relevant
                relevant_ids[n_relevant] = item
                relevant_raw[n_relevant] = row[item]
                row[item] = np.inf
                n_relevant += 1
        n_irrelevant = n - n_excluded - n_relevant
        argsort_into(relevant_raw, n_relevant, ranked, spare, image, spare_image, counts)
        for i in range(n_relevant):
            relevant[i] = relevant_raw[ranked[i]]
        weight = 2.0 / (n_relevant * n_irrelevant)
        slack = 0.0

        if loss == AUC:
            count_swapped_pairs(row, relevant, n_relevant, swapped, insertion)
            wrong = 0
            for i in range(n_relevant):
                wrong += insertion[i]
            losses[r] = wrong / (n_relevant * n_irrelevant)
            for j in range(n):
                if swapped[j] > 0:
                    slack -= swapped[j] * row[j]
                row[j] = -weight * swapped[j]
        else:
            m = 0
            for j in range(n):
                if row[j] != np.inf:
                    keys[m] = row[j]
                    ids[m] = j
                    m += 1
            argsort_into(keys, m, order, spare, image, spare_image, counts)
            total = 0.0
            cumulated[0] = 0.0
            for j in range(m):
                irrelevant[j] = keys[order[j]]
                total += irrelevant[j]
                cumulated[j + 1] = total
            if loss == MRR:
                losses[r] = mrr_insertion_points(relevant, n_relevant, irrelevant, m, insertion)
            elif loss == NDCG:
                losses[r] = ndcg_insertion_points(
                    relevant, n_relevant, irrelevant, m, cumulated, k, discount, work, insertion
                )
            elif loss == MAP:
                losses[r] = map_insertion_points(relevant, n_relevant, irrelevant, m, work[0], insertion)
            else:
                losses[r] = precision_insertion_points(relevant, n_relevant, irrelevant, m, cumulated, k, insertion)
            row[:] = 0.0
            n_after = n_relevant
            for j in range(insertion[n_relevant - 1]):
                while insertion[n_relevant - n_after] <= j:
                    n_after -= 1
                row[ids[order[j]]] = -weight * n_after
                slack -= n_after * irrelevant[j]
        for i in range(n_relevant):
            row[relevant_ids[ranked[i]]] = weight * insertion[i]
            slack += insertion[i] * relevant[i]
        slacks[r] = losses[r] + weight * slack
        for j in range(n):
            column_sums[j] += row[j]
