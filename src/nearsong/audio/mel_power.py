"""Samples -> power in mel bands: compiled Fourier transforms of sixteen frames at a time.

FFT libraries transform one frame after another. Here sixteen frames are interleaved, so that every step of the
transform is a vector instruction, and the spectrum goes from the cache straight into the mel bands (measured in
docs/decisions/0006-mel-power.md). The values of a frame depend on its own samples only.

512 real samples are treated as 256 complex ones, transformed by four radix-4 steps of Stockham's self-sorting
algorithm and separated again. The sizes are constants so that the compiler can prove that reads and writes do not
overlap.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

FRAME_LENGTH = 512
"""Samples per frame: 23 ms at 22,050 Hz."""

HOP_LENGTH = FRAME_LENGTH // 2
"""Samples from one frame to the next: half a frame, as in the paper."""

LANES = 16
"""Frames transformed at the same time."""

_HALF = FRAME_LENGTH // 2
_IMAGINARY = _HALF * LANES  # real parts first, then the imaginary ones

_angles = -2 * np.pi * np.arange(FRAME_LENGTH) / FRAME_LENGTH
_COS, _SIN = np.cos(_angles).astype(np.float32), np.sin(_angles).astype(np.float32)


def hann_window() -> npt.NDArray[np.float64]:
    """Return the periodic Hann window of a frame."""
    # importing scipy.signal for it would take every worker half a second
    return (0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, FRAME_LENGTH + 1)))[:-1]


def mel_bands(
    sample_rate: int, n_mels: int, frame_length: int = FRAME_LENGTH, min_hertz: float = 0.0
) -> npt.NDArray[np.float32]:
    """Return triangular mel filters of equal area (n_mels x bins) on Slaney's scale, up to half the sample rate."""
    bins = np.linspace(0, sample_rate / 2, frame_length // 2 + 1)
    mels = np.linspace(_hertz_to_mel(min_hertz), _hertz_to_mel(sample_rate / 2), n_mels + 2)
    corners = _mel_to_hertz(mels)
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
    """Return the first bin of each band and the bin after its last one (2 x n_mels); equal for empty bands."""
    inside = bands > 0
    first = inside.argmax(axis=1)
    last = np.where(inside.any(axis=1), bands.shape[1] - inside[:, ::-1].argmax(axis=1), first)
    return np.stack([first, last])


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def mel_power(samples, n_frames, window, bands, edges):  # type: ignore[no-untyped-def]
    """Return the mel power (n_frames x n_mels) of half-overlapping frames, and the total power of each frame.

    ``n_frames`` is a multiple of LANES, and ``samples`` covers all frames.
    """
    total_power = np.empty(n_frames, dtype=np.float32)
    transposed = np.empty((HOP_LENGTH, LANES + 1), dtype=np.float32)
    a = np.empty(2 * _HALF * LANES, dtype=np.float32)
    b = np.empty(2 * _HALF * LANES, dtype=np.float32)
    power = np.empty((_HALF + 1, LANES), dtype=np.float32)
    total = np.empty(LANES, dtype=np.float32)
    result = np.empty((n_frames, len(bands)), dtype=np.float32)
    for start in range(0, n_frames, LANES):
        hops = samples[start * HOP_LENGTH : (start + LANES + 1) * HOP_LENGTH].reshape((LANES + 1, HOP_LENGTH))
        for i in range(HOP_LENGTH):
            for lane in range(LANES + 1):
                transposed[i, lane] = hops[lane, i]
        # the second half of a frame is the first half of the next one, which is one lane to the right
        for i in range(FRAME_LENGTH):
            slot = i // 2 * LANES + (_IMAGINARY if i % 2 else 0)  # even samples are real parts, odd ones imaginary
            row, right, weight = i % HOP_LENGTH, i // HOP_LENGTH, window[i]
            for lane in range(LANES):
                a[slot + lane] = transposed[row, right + lane] * weight
        _radix_4(a, b, 64, 1)
        _radix_4(b, a, 16, 4)
        _radix_4(a, b, 4, 16)
        _radix_4(b, a, 1, 64)
        _power_spectrum(a, power)
        total[:] = 0
        for i in range(_HALF + 1):
            for lane in range(LANES):
                total[lane] += power[i, lane]
        total_power[start : start + LANES] = total
        for band in range(len(bands)):
            total[:] = 0
            for i in range(edges[0, band], edges[1, band]):
                weight = bands[band, i]
                for lane in range(LANES):
                    total[lane] += weight * power[i, lane]
            for lane in range(LANES):
                result[start + lane, band] = total[lane]
    return result, total_power


@njit(inline="always")
def _radix_4(x, y, quarter, stride):  # type: ignore[no-untyped-def]
    """Do one step of the transform: from ``stride`` transforms of length 4 * ``quarter`` to four times as many."""
    run = stride * LANES
    distance = quarter * run
    step = FRAME_LENGTH // (4 * quarter)
    for p in range(quarter):
        u_re, u_im = _COS[p * step], _SIN[p * step]
        v_re, v_im = _COS[2 * p * step], _SIN[2 * p * step]
        w_re, w_im = _COS[3 * p * step], _SIN[3 * p * step]
        source, target = p * run, 4 * p * run
        for i in range(run):
            j = source + i
            x0r, x1r, x2r, x3r = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            j += _IMAGINARY
            x0i, x1i, x2i, x3i = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            sum02r, sum02i, dif02r, dif02i = x0r + x2r, x0i + x2i, x0r - x2r, x0i - x2i
            sum13r, sum13i, dif13r, dif13i = x1r + x3r, x1i + x3i, x3i - x1i, x1r - x3r  # the last two times i
            j = target + i
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
def _power_spectrum(z, power):  # type: ignore[no-untyped-def]
    """Turn the transform of even + i odd samples into the power spectrum of the real signal."""
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
