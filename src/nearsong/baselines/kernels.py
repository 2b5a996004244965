"""The compiled loops behind Gaussian mixtures: one pass of EM or k-means, and sums of log densities.

All of them walk tiles of a few hundred frames that stay in the first cache, with the frames of a tile side by
side, so that every inner loop is a vector instruction. Logarithms and exponentials are to the base 2: the
powers then cost a short polynomial and an addition to the exponent bits.
"""

import numpy as np
from numba import njit

_TILE = 128
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it leaves the nearest whole number in the low bits
_SMALLEST = np.float32(-100.0)  # beside a 1, 2**-100 is nothing; much smaller numbers are slow, being no normal ones
# 2**f = 1 + ln(2) f + (ln(2) f)^2 / 2! + ...; what is left out is below 2e-7 for |f| <= 1/2
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
    x = max(x, _SMALLEST)
    shifted = x + _ROUND
    whole = np.float32(shifted).view(np.int32)
    f = x - (shifted - _ROUND)
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    return np.int32(np.float32(power).view(np.int32) + (whole << np.int32(23))).view(np.float32)


@njit(cache=True, nogil=True)
def exp2_all(x, out):  # type: ignore[no-untyped-def]
    """Write 2**x for every non-positive float32 (for the tests)."""
    for i in range(x.size):
        out[i] = _exp2(x[i])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def em_pass(frames, hard, constants, means, halves, counts, firsts, seconds):  # type: ignore[no-untyped-def]
    """Add up what the next mixture needs; return the summed log2 density under the present one, 0 if ``hard``.

    Parameters
    ----------
    frames : float32 array of shape (d, n)
    hard : bool
        Whether a frame belongs to its likeliest component alone; with equal constants and halves this is a step
        of k-means.
    constants : float32 array of shape (k,)
        log2 of weight and normaliser of each component.
    means, halves : float32 arrays of shape (k, d)
        Means, and log2(e) / 2 over the variances.
    counts, firsts, seconds : float64 arrays of shape (k,), (k, d), (k, d)
        Overwritten with the sums of r, r (x - mean) and r (x - mean)^2, r being the share of a component in a
        frame. Taken around the present mean, their difference loses no digits.
    """
    d, n = frames.shape
    k = constants.size
    shares = np.empty((k, _TILE), np.float32)
    peak = np.empty(_TILE, np.float32)
    total = np.empty(_TILE, np.float32)
    counts[:] = 0.0
    firsts[:] = 0.0
    seconds[:] = 0.0
    log_likelihood = 0.0
    for start in range(0, n, _TILE):
        width = min(_TILE, n - start)
        for c in range(k):
            shares[c, :width] = constants[c]
        for i in range(d):
            row = frames[i, start : start + width]
            for c in range(k):
                mean, half, out = means[c, i], halves[c, i], shares[c]
                for j in range(width):
                    away = row[j] - mean
                    out[j] -= half * away * away
        if hard:
            _to_winner(shares, peak, width)
        else:
            log_likelihood += _to_shares(shares, peak, total, width)
        for c in range(k):
            share = shares[c]
            count = _ZERO
            for j in range(width):
                count += share[j]
            counts[c] += count
            for i in range(d):
                row = frames[i, start : start + width]
                mean = means[c, i]
                first = _ZERO
                second = _ZERO
                for j in range(width):
                    away = row[j] - mean
                    part = share[j] * away
                    first += part
                    second += part * away
                firsts[c, i] += first
                seconds[c, i] += second
    return log_likelihood


@njit(cache=True, nogil=True)
def _to_shares(scores, peak, total, width):  # type: ignore[no-untyped-def]
    """Turn log2 joint densities of a tile into shares that sum to 1 a frame; return the log2 densities' sum."""
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
    """Turn the scores of a tile into 1 for the best component of a frame, equals to the first, and 0 elsewhere."""
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
        Components a mixture.
    sums : float64 array of shape (n_mixtures,)

    Notes
    -----
    A frame's density is 2**peak times a sum between 1 and k. The sums are multiplied up and one logarithm is
    taken for many frames, before the product can overflow.
    """
    n = scores.shape[1]
    patience = 120 if k == 1 else int(120.0 / np.log2(k))
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
            if pending == patience:
                sums[s] += np.log2(product).sum()
                product[:] = _ONE
                pending = 0
        sums[s] += peaks.sum() + np.log2(product).sum()
