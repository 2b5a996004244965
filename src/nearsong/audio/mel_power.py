"""Samples -> power in mel bands, compiled: the Fourier transforms of sixteen frames at a time.

Libraries transform one frame after another. Here sixteen frames lie side by side, so that every step of the
transform is a vector instruction over them, and the spectrum goes from cache straight into the mel bands
(docs/decisions/0006-mel-power.md has the measurement). A frame's numbers depend on its own samples only.

The transform is the textbook one: 512 real samples are 256 complex ones, transformed by four radix-4 steps of
Stockham's self-sorting algorithm and untangled. The sizes are constants because the compiler can then see that
what is read and what is written do not overlap.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

FRAME_LENGTH = 512
"""Samples a frame: 23 ms at 22,050 Hz."""

HOP_LENGTH = FRAME_LENGTH // 2
"""Samples from one frame to the next: half-overlapping, as in the paper."""

LANES = 16
"""Frames transformed side by side."""

_HALF = FRAME_LENGTH // 2
_IMAGINARY = _HALF * LANES  # real parts first, then the imaginary ones

_angles = -2 * np.pi * np.arange(FRAME_LENGTH) / FRAME_LENGTH
_COS, _SIN = np.cos(_angles).astype(np.float32), np.sin(_angles).astype(np.float32)


def mel_bands(sample_rate: int, n_mels: int) -> npt.NDArray[np.float32]:
    """Return the triangular mel filters (n_mels x bins): Slaney's scale, from 0 to half the rate, of equal area."""
    bins = np.linspace(0, sample_rate / 2, _HALF + 1)
    corners = _mel_to_hertz(np.linspace(0, _hertz_to_mel(sample_rate / 2), n_mels + 2))
    low, centre, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    triangles = np.maximum(0, np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)))
    return np.asarray(triangles * (2 / (high - low)), dtype=np.float32)


# Slaney's scale: linear below 1,000 Hz (15 mel), above it 27 mel for every factor of 6.4.
_LINEAR_END, _HERTZ_A_MEL, _LOG_STEP = 1000.0, 200 / 3, float(np.log(6.4)) / 27


def _hertz_to_mel(hertz: float) -> float:
    if hertz <= _LINEAR_END:
        return hertz / _HERTZ_A_MEL
    return _LINEAR_END / _HERTZ_A_MEL + float(np.log(hertz / _LINEAR_END)) / _LOG_STEP


def _mel_to_hertz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    knee = _LINEAR_END / _HERTZ_A_MEL
    return np.where(mel <= knee, mel * _HERTZ_A_MEL, _LINEAR_END * np.exp(_LOG_STEP * (mel - knee)))


def band_edges(bands: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Return the first bin of each band and the one after its last (2 x n_mels); equal where a band has none."""
    inside = bands > 0
    first = inside.argmax(axis=1)
    last = np.where(inside.any(axis=1), bands.shape[1] - inside[:, ::-1].argmax(axis=1), first)
    return np.stack([first, last])


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def mel_power(samples, n_frames, window, bands, edges):  # type: ignore[no-untyped-def]
    """Return the mel power (n_frames x n_mels) of the half-overlapping frames of some samples, and the whole power.

    ``n_frames`` is a multiple of LANES, and ``samples`` reaches to the end of the last.
    """
    whole = np.empty(n_frames, dtype=np.float32)
    turned = np.empty((HOP_LENGTH, LANES + 1), dtype=np.float32)
    a = np.empty(2 * _HALF * LANES, dtype=np.float32)
    b = np.empty(2 * _HALF * LANES, dtype=np.float32)
    power = np.empty((_HALF + 1, LANES), dtype=np.float32)
    total = np.empty(LANES, dtype=np.float32)
    result = np.empty((n_frames, len(bands)), dtype=np.float32)
    for start in range(0, n_frames, LANES):
        hops = samples[start * HOP_LENGTH : (start + LANES + 1) * HOP_LENGTH].reshape((LANES + 1, HOP_LENGTH))
        for i in range(HOP_LENGTH):
            for lane in range(LANES + 1):
                turned[i, lane] = hops[lane, i]
        # a frame's second half is the first of the next: lanes one to the right
        for i in range(FRAME_LENGTH):
            place = i // 2 * LANES + (_IMAGINARY if i % 2 else 0)  # even samples are real parts, odd ones imaginary
            row, right, weight = i % HOP_LENGTH, i // HOP_LENGTH, window[i]
            for lane in range(LANES):
                a[place + lane] = turned[row, right + lane] * weight
        _radix_4(a, b, 64, 1)
        _radix_4(b, a, 16, 4)
        _radix_4(a, b, 4, 16)
        _radix_4(b, a, 1, 64)
        _untangle(a, power)
        total[:] = 0
        for i in range(_HALF + 1):
            for lane in range(LANES):
                total[lane] += power[i, lane]
        whole[start : start + LANES] = total
        for band in range(len(bands)):
            total[:] = 0
            for i in range(edges[0, band], edges[1, band]):
                weight = bands[band, i]
                for lane in range(LANES):
                    total[lane] += weight * power[i, lane]
            for lane in range(LANES):
                result[start + lane, band] = total[lane]
    return result, whole


@njit(inline="always")
def _radix_4(x, y, quarter, stride):  # type: ignore[no-untyped-def]
    """Take one step of the transform: ``stride`` transforms of length 4 * ``quarter`` to four times as many."""
    run = stride * LANES
    apart = quarter * run
    step = FRAME_LENGTH // (4 * quarter)
    for p in range(quarter):
        u_re, u_im = _COS[p * step], _SIN[p * step]
        v_re, v_im = _COS[2 * p * step], _SIN[2 * p * step]
        w_re, w_im = _COS[3 * p * step], _SIN[3 * p * step]
        here, there = p * run, 4 * p * run
        for i in range(run):
            j = here + i
            x0r, x1r, x2r, x3r = x[j], x[j + apart], x[j + 2 * apart], x[j + 3 * apart]
            j += _IMAGINARY
            x0i, x1i, x2i, x3i = x[j], x[j + apart], x[j + 2 * apart], x[j + 3 * apart]
            sum02r, sum02i, dif02r, dif02i = x0r + x2r, x0i + x2i, x0r - x2r, x0i - x2i
            sum13r, sum13i, dif13r, dif13i = x1r + x3r, x1i + x3i, x3i - x1i, x1r - x3r  # the last two times i
            j = there + i
            y[j] = sum02r + sum13r
            y[_IMAGINARY + j] = sum02i + sum13i
            re, im = dif02r - dif13r, dif02i - dif13i
            y[j + run] = u_re * re - u_im * im
            y[_IMAGINARY + j + run] = u_re * im + u_im * re
            re, im = sum02r - sum13r, sum02i - sum13i
            y[j + 2 * run] = v_re * re - v_im * im
            y[_IMAGINARY + j + 2 * run] = v_re * im + v_im * re
            re, im = dif02r + dif13r, dif02i + dif13i
            y[j + 3 * run] = w_re * re - w_im * im
            y[_IMAGINARY + j + 3 * run] = w_re * im + w_im * re


@njit(inline="always")
def _untangle(z, power):  # type: ignore[no-untyped-def]
    """Take the transform of even + i odd samples to the power spectrum of the real ones."""
    for k in range(_HALF + 1):
        this, other = (k % _HALF) * LANES, ((_HALF - k) % _HALF) * LANES
        w_re, w_im = _COS[k], _SIN[k]
        for lane in range(LANES):
            z_re, z_im = z[this + lane], z[_IMAGINARY + this + lane]
            mirror_re, mirror_im = z[other + lane], z[_IMAGINARY + other + lane]
            even_re, even_im = z_re + mirror_re, z_im - mirror_im
            odd_re, odd_im = z_im + mirror_im, mirror_re - z_re
            re = even_re + w_re * odd_re - w_im * odd_im
            im = even_im + w_re * odd_im + w_im * odd_re
            power[k, lane] = np.float32(0.25) * (re * re + im * im)
