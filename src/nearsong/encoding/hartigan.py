"""Frames -> centres: one pass of online k-means by Hartigan's criterion, at the speed of a matrix product.

Adding x to the cluster of n_c points around c raises the k-means cost by ``n_c / (n_c + 1) * |x - c|^2``. Each
point is added where that is least, and moves the centre immediately: ``c += (x - c) / (n_c + 1)``. A point moves a
single centre. So one matrix product gives the distances of a batch of points to all current centres, and after each
point only one column, for the remaining points, is recomputed: the result is the same as adding the points one by
one.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.encoding.frames import normalize_frame
from nearsong.encoding.ordered_keys import LAST, index_of, ordered
from nearsong.encoding.products import LANES, ROWS, multiply, pack
from nearsong.types import FloatArray

_BATCH_POINTS = 16 * ROWS  # points per matrix product
_PADDING_SQUARE = 1e38  # the squared norm of a padding centre


def absorb_in_turn(
    frames: npt.NDArray[np.float32],
    order: npt.NDArray[np.int64],
    mean: FloatArray,
    scale: FloatArray,
    centres: FloatArray,
    counts: npt.NDArray[np.int64],
) -> None:
    """Add frames ``order[0], order[1], ...`` to the centres, updating ``centres`` and ``counts`` in place.

    Parameters
    ----------
    frames : array of float32 and shape (n_frames, d)
        In raw units.
    order : array of int64
        The rows of ``frames`` to add, in order.
    mean, scale : array of float64 and shape (d,)
        Mean and standard deviation for z-scores.
    centres : array of float64 and shape (k, d)
        In units of z-scores.
    counts : array of int64 and shape (k,)
        Points in each centre.

    Examples
    --------
    >>> centres, counts = np.array([[0.0], [8.0]]), np.array([1, 1])
    >>> frames = np.array([[2.0], [5.0], [9.0]], np.float32)
    >>> absorb_in_turn(frames, np.array([0, 1, 2]), np.zeros(1), np.ones(1), centres, counts)
    >>> centres.ravel(), counts
    (array([1.        , 7.33333333]), array([2, 3]))
    """
    squares = np.einsum("ij,ij->i", centres, centres)
    weights = pack(np.column_stack([-2.0 * centres, squares]), _PADDING_SQUARE)
    _absorb(frames, order, mean, 1.0 / scale, centres, counts, weights)


@njit(cache=True, nogil=True)
def _absorb(frames, order, mean, inverse_scale, centres, counts, weights):  # type: ignore[no-untyped-def]
    """Run the pass; ``weights`` holds -2c and |c|^2 of every centre, packed."""
    width, n_centres = centres.shape[1], len(centres)
    batch = np.ones((_BATCH_POINTS, width + 1), np.float32)
    by_coefficient = np.zeros((width, _BATCH_POINTS), np.float32)
    keys = np.empty((_BATCH_POINTS, weights.shape[0] * weights.shape[2]), np.float32)
    shares = np.ones(keys.shape[1], np.float32)  # n_c / (n_c + 1)
    for c in range(n_centres):
        shares[c] = counts[c] / (counts[c] + 1)
    low, low_at, column = np.empty(LANES, np.float32), np.empty(LANES, np.int32), np.empty(_BATCH_POINTS, np.float32)
    for start in range(0, order.size, _BATCH_POINTS):
        filled = min(_BATCH_POINTS, order.size - start)
        for p in range(filled):
            normalize_frame(frames[order[start + p]], mean, inverse_scale, batch[p])
            for i in range(width):
                by_coefficient[i, p] = batch[p, i]
        multiply(batch, weights, keys)
        for p in range(filled):
            square = np.float32(0.0)
            for i in range(width):
                square += batch[p, i] * batch[p, i]
            c = _cheapest(keys[p], shares, square, low, low_at)
            weight = weights[c // LANES, :, c % LANES]
            _move(batch[p], c, centres, counts, weight)
            shares[c] = counts[c] / (counts[c] + 1)
            _product(weight, by_coefficient, column)
            for later in range(p + 1, filled):
                keys[later, c] = column[later]


@njit(cache=True, nogil=True)
def _cheapest(keys, shares, square, low, low_at):  # type: ignore[no-untyped-def]
    """Return the centre with the least ``shares * (keys + square)``, equals by lower index."""
    low_bits = low.view(np.int32)
    for lane in range(LANES):
        low[lane] = np.inf
        low_at[lane] = lane
    for first in range(0, keys.size, LANES):
        some_keys, some_shares = keys[first : first + LANES], shares[first : first + LANES]
        for lane in range(LANES):
            cost = (some_keys[lane] + square) * some_shares[lane]
            lower = cost < low[lane]
            low_at[lane] = np.int32(first + lane) if lower else low_at[lane]
            low[lane] = cost if lower else low[lane]
    best = LAST
    for lane in range(LANES):
        best = min(best, ordered(low_bits[lane], low_at[lane]))
    return index_of(best)


@njit(cache=True, nogil=True)
def _move(point, c, centres, counts, weight):  # type: ignore[no-untyped-def]
    """Add a point to centre c."""
    width = centres.shape[1]
    counts[c] += 1
    square = 0.0
    for i in range(width):
        centres[c, i] += (point[i] - centres[c, i]) / counts[c]
        weight[i] = -2.0 * centres[c, i]
        square += centres[c, i] * centres[c, i]
    weight[width] = square


@njit(cache=True, nogil=True)
def _product(weight, by_coefficient, column):  # type: ignore[no-untyped-def]
    """Write the keys of all points of the batch for one centre into ``column``."""
    width = len(by_coefficient)
    column[:] = weight[width]
    for i in range(width):
        factor, row = weight[i], by_coefficient[i]
        for p in range(_BATCH_POINTS):
            column[p] += factor * row[p]
