"""Samples -> power in bands of long frames: compiled Fourier transforms of sixteen frames at a time.

The frames of chroma and mel levels have 4,096 and 2,048 samples and start every quarter of their length. As in
`mel_power.py`, sixteen of them are interleaved, so that every step of the transform is a vector instruction, and the
spectrum goes from the cache straight into the bands. The values of a frame depend on its own samples only.

n real samples are treated as n / 2 complex ones, transformed by steps of Stockham's self-sorting algorithm (radix 4,
and one of radix 2 for 4,096 samples) and separated again. Sizes are constants where the functions are called, so that
the compiler can prove that reads and writes do not overlap.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio.decode import Samples

LANES = 16
"""Frames transformed at the same time."""

TILE_FRAMES = 64
"""Frames per tile; a multiple of `LANES`."""

_TABLE_LENGTH = 4096
_angles = -2 * np.pi * np.arange(_TABLE_LENGTH) / _TABLE_LENGTH
_COS, _SIN = np.cos(_angles).astype(np.float32), np.sin(_angles).astype(np.float32)


def hann_window(length: int) -> npt.NDArray[np.float32]:
    """Return the periodic Hann window, an array of shape (length,)."""
    return np.asarray(0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, length + 1)[:-1]), dtype=np.float32)


class SampleTiles:
    """Cuts the samples of one song, in blocks, into overlapping tiles of `TILE_FRAMES` frames.

    Frame i is centred at sample ``hop_length * i``, with zeros before the first and after the last sample, so n
    samples have ``1 + n // hop_length`` frames.

    Parameters
    ----------
    frame_length, hop_length : int
        Samples of a frame, and from one frame to the next.
    margin : int
        Further samples that a tile has on either side.

    Examples
    --------
    >>> tiles = SampleTiles(frame_length=8, hop_length=2)
    >>> [len(tile) for tile in tiles.cut(np.ones(200, np.float32))]
    [134]
    >>> rest, n_frames = tiles.rest()  # 101 frames in all
    >>> len(rest), n_frames
    (102, 37)
    """

    def __init__(self, frame_length: int, hop_length: int, margin: int = 0) -> None:
        self._before = frame_length // 2 + margin
        self._overlap = frame_length - hop_length + 2 * margin
        self._hop_length = hop_length
        self._buffer = np.zeros(TILE_FRAMES * hop_length + self._overlap, dtype=np.float32)
        self._n_filled = self._before

    def cut(self, samples: Samples) -> Iterator[Samples]:
        """Take a block of samples (n,) and yield the tiles it completes; a tile is valid until the next one."""
        start = 0
        while start < len(samples):
            taken = samples[start : start + len(self._buffer) - self._n_filled]
            self._buffer[self._n_filled : self._n_filled + len(taken)] = taken
            self._n_filled += len(taken)
            start += len(taken)
            if self._n_filled == len(self._buffer):
                yield self._buffer
                self._buffer[: self._overlap] = self._buffer[-self._overlap :].copy()
                self._n_filled = self._overlap

    @property
    def n_pending(self) -> int:
        """Samples from the centre of the first frame of the next tile on."""
        return self._n_filled - self._before

    def rest(self) -> tuple[Samples, int]:
        """Return a last tile, zero-padded to a multiple of `LANES` frames, and how many of its frames count."""
        n_frames = self.n_pending // self._hop_length + 1
        tile = np.zeros(-(-n_frames // LANES) * LANES * self._hop_length + self._overlap, dtype=np.float32)
        tile[: self._n_filled] = self._buffer[: self._n_filled]
        return tile, n_frames


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def band_power_2048(samples, n_frames, window, bands, edges):  # type: ignore[no-untyped-def]
    """Return the power in bands (n_frames x n_bands) of frames of 2,048 samples every 512, and their total power.

    ``n_frames`` is a multiple of `LANES`, ``samples`` covers all frames, and ``bands`` (n_bands x bins) has weights
    of the first bins of the spectrum, which are not zero between ``edges``.
    """
    a = np.empty(2048 * LANES, dtype=np.float32)
    b = np.empty(2048 * LANES, dtype=np.float32)
    transposed = np.empty((512, LANES + 3), dtype=np.float32)
    power = np.empty((bands.shape[1], LANES), dtype=np.float32)
    total = np.empty(LANES, dtype=np.float32)
    total_power = np.empty(n_frames, dtype=np.float32)
    result = np.empty((n_frames, len(bands)), dtype=np.float32)
    for start in range(0, n_frames, LANES):
        _load(samples[start * 512 :], window, transposed, a, total, 2048)
        total_power[start : start + LANES] = total
        _radix_4(a, b, 256, 1, 1024)
        _radix_4(b, a, 64, 4, 1024)
        _radix_4(a, b, 16, 16, 1024)
        _radix_4(b, a, 4, 64, 1024)
        _radix_4(a, b, 1, 256, 1024)
        _power_spectrum(b, power, 1024)
        _sum_bands(power, bands, edges, total, result[start : start + LANES])
    return result, total_power


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def band_power_4096(samples, n_frames, window, bands, edges):  # type: ignore[no-untyped-def]
    """Return the same as `band_power_2048` for frames of 4,096 samples every 1,024."""
    a = np.empty(4096 * LANES, dtype=np.float32)
    b = np.empty(4096 * LANES, dtype=np.float32)
    transposed = np.empty((1024, LANES + 3), dtype=np.float32)
    power = np.empty((bands.shape[1], LANES), dtype=np.float32)
    total = np.empty(LANES, dtype=np.float32)
    total_power = np.empty(n_frames, dtype=np.float32)
    result = np.empty((n_frames, len(bands)), dtype=np.float32)
    for start in range(0, n_frames, LANES):
        _load(samples[start * 1024 :], window, transposed, a, total, 4096)
        total_power[start : start + LANES] = total
        _radix_4(a, b, 512, 1, 2048)
        _radix_4(b, a, 128, 4, 2048)
        _radix_4(a, b, 32, 16, 2048)
        _radix_4(b, a, 8, 64, 2048)
        _radix_4(a, b, 2, 256, 2048)
        _radix_2(b, a, 2048)
        _power_spectrum(a, power, 2048)
        _sum_bands(power, bands, edges, total, result[start : start + LANES])
    return result, total_power


@njit(inline="always")
def _load(samples, window, transposed, z, total, length):  # type: ignore[no-untyped-def]
    """Write windowed frames side by side into ``z``, even samples as real parts, and their power into ``total``."""
    hop, quarter, imaginary = length // 4, length // 8 * LANES, length // 2 * LANES
    for block in range(0, hop, 8):
        for lane in range(LANES + 3):
            for i in range(block, block + 8):
                transposed[i, lane] = samples[lane * hop + i]
    total[:] = 0
    for i in range(hop):
        slot = i // 2 * LANES + (imaginary if i % 2 else 0)
        w0, w1, w2, w3 = window[i], window[i + hop], window[i + 2 * hop], window[i + 3 * hop]
        # a quarter of a frame is the quarter before it in the next frame, which is one lane to the right
        for lane in range(LANES):
            x0, x1 = transposed[i, lane] * w0, transposed[i, lane + 1] * w1
            x2, x3 = transposed[i, lane + 2] * w2, transposed[i, lane + 3] * w3
            total[lane] += x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3
            z[slot + lane] = x0
            z[slot + quarter + lane] = x1
            z[slot + 2 * quarter + lane] = x2
            z[slot + 3 * quarter + lane] = x3


@njit(inline="always")
def _radix_4(x, y, quarter, stride, half):  # type: ignore[no-untyped-def]
    """Do one step of the transform: from ``stride`` transforms of length 4 * ``quarter`` to four times as many."""
    imaginary = half * LANES
    run = stride * LANES
    distance = quarter * run
    step = _TABLE_LENGTH // (4 * quarter)
    for p in range(quarter):
        u_re, u_im = _COS[p * step], _SIN[p * step]
        v_re, v_im = _COS[2 * p * step], _SIN[2 * p * step]
        w_re, w_im = _COS[3 * p * step], _SIN[3 * p * step]
        source, target = p * run, 4 * p * run
        for i in range(run):
            j = source + i
            x0r, x1r, x2r, x3r = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            j += imaginary
            x0i, x1i, x2i, x3i = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            sum02r, sum02i, dif02r, dif02i = x0r + x2r, x0i + x2i, x0r - x2r, x0i - x2i
            sum13r, sum13i, dif13r, dif13i = x1r + x3r, x1i + x3i, x3i - x1i, x1r - x3r  # the last two times i
            j = target + i
            y[j] = sum02r + sum13r
            y[imaginary + j] = sum02i + sum13i
            re, im = dif02r - dif13r, dif02i - dif13i
            y[j + run] = u_re * re - u_im * im
            y[imaginary + j + run] = u_re * im + u_im * re
            re, im = sum02r - sum13r, sum02i - sum13i
            y[j + 2 * run] = v_re * re - v_im * im
            y[imaginary + j + 2 * run] = v_re * im + v_im * re
            re, im = dif02r + dif13r, dif02i + dif13i
            y[j + 3 * run] = w_re * re - w_im * im
            y[imaginary + j + 3 * run] = w_re * im + w_im * re


@njit(inline="always")
def _radix_2(x, y, half):  # type: ignore[no-untyped-def]
    """Do a last step of half the size: sums and differences."""
    imaginary, run = half * LANES, half // 2 * LANES
    for i in range(run):
        x0r, x1r, x0i, x1i = x[i], x[i + run], x[imaginary + i], x[imaginary + i + run]
        y[i] = x0r + x1r
        y[i + run] = x0r - x1r
        y[imaginary + i] = x0i + x1i
        y[imaginary + i + run] = x0i - x1i


@njit(inline="always")
def _power_spectrum(z, power, half):  # type: ignore[no-untyped-def]
    """Turn the transform of even + i odd samples into the first bins of the power spectrum of the real signal."""
    imaginary, step = half * LANES, _TABLE_LENGTH // (2 * half)
    for k in range(len(power)):
        this, other = (k % half) * LANES, ((half - k) % half) * LANES
        w_re, w_im = _COS[k * step], _SIN[k * step]
        for lane in range(LANES):
            z_re, z_im = z[this + lane], z[imaginary + this + lane]
            mirror_re, mirror_im = z[other + lane], z[imaginary + other + lane]
            even_re, even_im = z_re + mirror_re, z_im - mirror_im
            odd_re, odd_im = z_im + mirror_im, mirror_re - z_re
            re = even_re + w_re * odd_re - w_im * odd_im
            im = even_im + w_re * odd_im + w_im * odd_re
            power[k, lane] = np.float32(0.25) * (re * re + im * im)


@njit(inline="always")
def _sum_bands(power, bands, edges, total, result):  # type: ignore[no-untyped-def]
    """Write the power in bands of the frames of all lanes into ``result``; four bins at a time, as sums wait."""
    for band in range(len(bands)):
        first, last = edges[0, band], edges[1, band]
        odd = first + (last - first) % 4
        total[:] = 0
        for i in range(first, odd):
            w0 = bands[band, i]
            for lane in range(LANES):
                total[lane] += w0 * power[i, lane]
        for i in range(odd, last, 4):
            w0, w1, w2, w3 = bands[band, i], bands[band, i + 1], bands[band, i + 2], bands[band, i + 3]
            for lane in range(LANES):
                total[lane] += (
                    w0 * power[i, lane] + w1 * power[i + 1, lane] + w2 * power[i + 2, lane] + w3 * power[i + 3, lane]
                )
        for lane in range(LANES):
            result[lane, band] = total[lane]
