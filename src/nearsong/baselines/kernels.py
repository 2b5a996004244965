"""Compiled loops of Gaussian mixtures: one pass of EM or k-means, and sums of log densities.

They process tiles of frames that fit into the L1 cache, the frames of a tile in contiguous memory, so that inner
loops are vectorised. Logarithms and exponentials are to the base 2: a power then costs a short polynomial and an
addition to the exponent bits.
"""

import numpy as np
from numba import njit

_TILE = 128
_ROUNDING = np.float32(12582912.0)  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits
_MIN_EXPONENT = np.float32(-100.0)  # 2**-100 vanishes when added to 1; far smaller numbers are denormal and slow
# 2**f = 1 + ln(2) f + (ln(2) f)^2 / 2! + ...; the remainder is below 2e-7 for |f| <= 1/2
_LN2 = np.log(2.0)
_C1 = np.float32(_LN2)
_C2 = np.float32(_LN2**2 / 2)
_C3 = np.float32(_LN2**3 / 6)
_C4 = np.float32(_LN2**4 / 24)
_C5 = np.float32(_LN2**5 / 120)
_C6 = np.float32(_LN2**6 / 720)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)


@njit(cache=True, nogil=True, inline="always")
def _exp2(x):  # type: ignore[no-untyped-def]
    """Return 2**x for float32 ``x <= 0``, with 2**-100 for anything smaller."""
    x = max(x, _MIN_EXPONENT)
    shifted = x + _ROUNDING
    integer = np.float32(shifted).view(np.int32)
    f = x - (shifted - _ROUNDING)
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    return np.int32(np.float32(power).view(np.int32) + (integer << np.int32(23))).view(np.float32)


@njit(cache=True, nogil=True)
def exp2_all(x, out):  # type: ignore[no-untyped-def]
    """Write 2**x for every non-positive float32; used by tests only."""
    for i in range(x.size):
        out[i] = _exp2(x[i])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def em_pass(frames, hard, constants, means, precisions, counts, firsts, seconds):  # type: ignore[no-untyped-def]
    """Compute the sufficient statistics of the next mixture.

    Parameters
    ----------
    frames : float32 array of shape (d, n)
    hard : bool
        Whether a frame belongs entirely to its likeliest component; with equal constants and precisions this is a
        step of k-means.
    constants : float32 array of shape (k,)
        log2 of weight and normaliser of each component.
    means, precisions : float32 arrays of shape (k, d)
        Means, and log2(e) / 2 divided by the variances.
    counts, firsts, seconds : float64 arrays of shape (k,), (k, d), (k, d)
        Overwritten with the sums of r, r (x - mean) and r (x - mean)^2, r being the responsibility of a component
        for a frame. Sums around the current mean do not cancel.

    Returns
    -------
    float
        Sum of the log2 densities under the current mixture, 0 if ``hard``.
    """
    d, n = frames.shape
    k = constants.size
    responsibilities = np.empty((k, _TILE), np.float32)
    peak = np.empty(_TILE, np.float32)
    total = np.empty(_TILE, np.float32)
    counts[:] = 0.0
    firsts[:] = 0.0
    seconds[:] = 0.0
    log_likelihood = 0.0
    for start in range(0, n, _TILE):
        width = min(_TILE, n - start)
        for c in range(k):
            responsibilities[c, :width] = constants[c]
        for i in range(d):
            row = frames[i, start : start + width]
            for c in range(k):
                mean, precision, out = means[c, i], precisions[c, i], responsibilities[c]
                for j in range(width):
                    difference = row[j] - mean
                    out[j] -= precision * difference * difference
        if hard:
            _to_winner(responsibilities, peak, width)
        else:
            log_likelihood += _to_responsibilities(responsibilities, peak, total, width)
        for c in range(k):
            weights = responsibilities[c]
            count = _ZERO
            for j in range(width):
                count += weights[j]
            counts[c] += count
            for i in range(d):
                row = frames[i, start : start + width]
                mean = means[c, i]
                first = _ZERO
                second = _ZERO
                for j in range(width):
                    difference = row[j] - mean
                    part = weights[j] * difference
                    first += part
                    second += part * difference
                firsts[c, i] += first
                seconds[c, i] += second
    return log_likelihood


@njit(cache=True, nogil=True)
def _to_responsibilities(scores, peak, total, width):  # type: ignore[no-untyped-def]
    """Turn log2 joint densities of a tile into responsibilities; return the sum of the log2 densities."""
    k = len(scores)
    peak[:width] = scores[0, :width]
    for c in range(1, k):
        row = scores[c]
        for j in range(width):
            peak[j] = row[j] if row[j] > peak[j] else peak[j]
    total[:width] = _ZERO
    for c in range(k):
        row = scores[c]
        for j in range(width):
            power = _exp2(row[j] - peak[j])
            row[j] = power
            total[j] += power
    log_density = 0.0
    for j in range(width):
        log_density += peak[j] + np.log2(total[j])
        total[j] = _ONE / total[j]
    for c in range(k):
        row = scores[c]
        for j in range(width):
            row[j] *= total[j]
    return log_density


@njit(cache=True, nogil=True)
def _to_winner(scores, peak, width):  # type: ignore[no-untyped-def]
    """Set the best component of each frame to 1 and all others to 0; ties go to the first."""
    k = len(scores)
    winner = np.zeros(width, np.int32)
    peak[:width] = scores[0, :width]
    for c in range(1, k):
        row = scores[c]
        for j in range(width):
            better = row[j] > peak[j]
            peak[j] = row[j] if better else peak[j]
            winner[j] = np.int32(c) if better else winner[j]
    for c in range(k):
        row = scores[c]
        for j in range(width):
            row[j] = _ONE if winner[j] == c else _ZERO


@njit(cache=True, nogil=True)
def add_log_densities(scores, k, sums):  # type: ignore[no-untyped-def]
    """Add to ``sums[s]`` the log2 densities of all frames under mixture s.

    Parameters
    ----------
    scores : float32 or float64 array of shape (n_mixtures * k, n_frames)
        log2 joint densities, the components of a mixture in adjacent rows.
    k : int
        Components per mixture.
    sums : float64 array of shape (n_mixtures,)

    Notes
    -----
    A frame's density is 2**peak times a sum between 1 and k. These sums are multiplied, and one logarithm is taken
    for many frames, before the product can overflow.
    """
    n = scores.shape[1]
    max_tiles = 120 if k == 1 else int(120.0 / np.log2(k))
    peak = np.empty(_TILE, scores.dtype)
    total = np.empty(_TILE, np.float32)
    product = np.empty(_TILE, np.float32)
    peaks = np.empty(_TILE, np.float64)
    for s in range(sums.size):
        product[:] = _ONE
        peaks[:] = 0.0
        pending = 0
        for start in range(0, n, _TILE):
            width = min(_TILE, n - start)
            peak[:width] = scores[s * k, start : start + width]
            for c in range(1, k):
                row = scores[s * k + c, start : start + width]
                for j in range(width):
                    peak[j] = row[j] if row[j] > peak[j] else peak[j]
            total[:width] = _ZERO
            for c in range(k):
                row = scores[s * k + c, start : start + width]
                for j in range(width):
                    total[j] += _exp2(np.float32(row[j] - peak[j]))
            for j in range(width):
                product[j] *= total[j]
                peaks[j] += peak[j]
            pending += 1
            if pending == max_tiles:
                sums[s] += np.log2(product).sum()
                product[:] = _ONE
                pending = 0
        sums[s] += peaks.sum() + np.log2(product).sum()
