"""Distances of a block of queries -> the most violated ranking of each, as coefficients of the order feature.

Each query's row of distances is overwritten with the coefficients ``a`` of its cutting plane, so that

    slack = Delta + sum_i a_i d_i,    gradient = sum_i a_i (q - x_i)(q - x_i)'

``a_i = 2/(PN) * placed[i]`` for relevant songs, ``-2/(PN) * (relevant songs behind j)`` for irrelevant ones, 0 for
the ignored: each row sums to zero. Rows are independent, so threads may share a block; the GIL is released.
"""

import numpy as np
from numba import njit

from nearsong.metric.oracles.auc import count_swapped_pairs
from nearsong.metric.oracles.average_precision import place_for_map
from nearsong.metric.oracles.mrr import place_for_mrr
from nearsong.metric.oracles.ndcg import place_for_ndcg
from nearsong.metric.oracles.precision import place_for_precision
from nearsong.metric.oracles.sorting import BUCKETS, argsort_into

AUC, MRR, NDCG, MAP, PRECISION = 0, 1, 2, 3, 4
LOSS_CODES = {"auc": AUC, "mrr": MRR, "ndcg": NDCG, "map": MAP, "precision_at_k": PRECISION}


@njit(cache=True, nogil=True)
def most_violated(  # type: ignore[no-untyped-def]
    loss,
    k,
    rows,
    squares,
    queries,
    relevant_start,
    relevant_stop,
    relevant_items,
    ignored_start,
    ignored_stop,
    ignored_items,
    most_relevant,
    losses,
    slacks,
    column_sums,
):
    """Overwrite ``rows`` with coefficients; fill ``losses`` and ``slacks``; add to ``column_sums``.

    ``rows`` (queries x songs) comes in as inner products of the projected songs and ``squares`` as their squared
    norms: finishing the distances here saves passes over memory. Query ``q``'s relevant songs are
    ``relevant_items[relevant_start[q]:relevant_stop[q]]``, in the same way for ignored ones; the query itself is
    always ignored, and may appear in either list. ``most_relevant`` bounds the length of a relevant list.
    """
    n = rows.shape[1]
    relevant_ids = np.empty(most_relevant, np.int32)
    relevant_raw = np.empty(most_relevant)
    relevant = np.empty(most_relevant)
    ranked = np.empty(most_relevant, np.int32)
    placed = np.empty(most_relevant, np.int64)
    work = np.empty((3, most_relevant), np.int64)
    wide = max(n, most_relevant)
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
        for p in range(ignored_start[q], ignored_stop[q]):
            item = ignored_items[p]
            if row[item] != np.inf:
                row[item] = np.inf
                n_excluded += 1
        if row[q] != np.inf:
            row[q] = np.inf
            n_excluded += 1
        n_relevant = 0
        for p in range(relevant_start[q], relevant_stop[q]):
            item = relevant_items[p]
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
            count_swapped_pairs(row, relevant, n_relevant, swapped, placed)
            wrong = 0
            for i in range(n_relevant):
                wrong += placed[i]
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
                losses[r] = place_for_mrr(relevant, n_relevant, irrelevant, m, placed)
            elif loss == NDCG:
                losses[r] = place_for_ndcg(relevant, n_relevant, irrelevant, m, cumulated, k, discount, work, placed)
            elif loss == MAP:
                losses[r] = place_for_map(relevant, n_relevant, irrelevant, m, work[0], placed)
            else:
                losses[r] = place_for_precision(relevant, n_relevant, irrelevant, m, cumulated, k, placed)
            row[:] = 0.0
            behind = n_relevant
            for j in range(placed[n_relevant - 1]):
                while placed[n_relevant - behind] <= j:
                    behind -= 1
                row[ids[order[j]]] = -weight * behind
                slack -= behind * irrelevant[j]
        for i in range(n_relevant):
            row[relevant_ids[ranked[i]]] = weight * placed[i]
            slack += placed[i] * relevant[i]
        slacks[r] = losses[r] + weight * slack
        for j in range(n):
            column_sums[j] += row[j]
