"""Samples -> power in mel bands of half-overlapping frames of 512 samples, sixteen frames at a time."""

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio.spectrum.fourier import LANES, power_spectrum, radix_4, unit_roots

FRAME_LENGTH = 512
"""Samples per frame: 23 ms at 22,050 Hz."""

HOP_LENGTH = FRAME_LENGTH // 2
"""Samples from one frame to the next: half a frame, as in the paper."""

_HALF = FRAME_LENGTH // 2
_IMAGINARY = _HALF * LANES  # real parts first, then the imaginary ones
_ROOTS = unit_roots(FRAME_LENGTH)


def hann_window(length: int) -> npt.NDArray[np.float64]:
    """Return the periodic Hann window, an array of shape (length,)."""
    # importing scipy.signal for it would take every worker half a second
    return (0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, length + 1)))[:-1]


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
    a = np.empty(FRAME_LENGTH * LANES, dtype=np.float32)
    b = np.empty(FRAME_LENGTH * LANES, dtype=np.float32)
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
        radix_4(a, b, 64, 1, _ROOTS)
        radix_4(b, a, 16, 4, _ROOTS)
        radix_4(a, b, 4, 16, _ROOTS)
        radix_4(b, a, 1, 64, _ROOTS)
        power_spectrum(a, power, _ROOTS)
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
