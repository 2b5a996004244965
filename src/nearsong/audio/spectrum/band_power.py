"""Samples -> power in bands of long frames, sixteen frames at a time.

The frames of chroma and mel levels have 4,096 and 2,048 samples and start every quarter of their length.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from nearsong.audio.decode import Samples
from nearsong.audio.spectrum.fourier import LANES, power_spectrum, radix_2, radix_4, unit_roots

TILE_FRAMES = 64
"""Frames per tile; a multiple of `LANES`."""


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


def _compiled(length: int) -> Any:
    """Return the function below for frames of 2,048 or 4,096 samples; what it closes over is constant in it."""
    half, hop, roots = length // 2, length // 4, unit_roots(length)

    @njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
    def band_power(samples, n_frames, window, bands, edges):  # type: ignore[no-untyped-def]
        """Return the power in bands (n_frames x n_bands) of frames, and their total power.

        ``n_frames`` is a multiple of `LANES`, ``samples`` covers all frames, and ``bands`` (n_bands x bins) has
        weights of the first bins of the spectrum, which are not zero between ``edges``.
        """
        a = np.empty(length * LANES, dtype=np.float32)
        b = np.empty(length * LANES, dtype=np.float32)
        transposed = np.empty((hop, LANES + 3), dtype=np.float32)
        power = np.empty((bands.shape[1], LANES), dtype=np.float32)
        total = np.empty(LANES, dtype=np.float32)
        total_power = np.empty(n_frames, dtype=np.float32)
        result = np.empty((n_frames, len(bands)), dtype=np.float32)
        for start in range(0, n_frames, LANES):
            _load(samples[start * hop :], window, transposed, a, total, length)
            total_power[start : start + LANES] = total
            radix_4(a, b, half // 4, 1, roots)
            radix_4(b, a, half // 16, 4, roots)
            radix_4(a, b, half // 64, 16, roots)
            radix_4(b, a, half // 256, 64, roots)
            radix_4(a, b, half // 1024, 256, roots)
            if length == 2048:
                power_spectrum(b, power, roots)
            else:
                radix_2(b, a, half)
                power_spectrum(a, power, roots)
            _sum_bands(power, bands, edges, total, result[start : start + LANES])
        return result, total_power

    return band_power


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


band_power_2048 = _compiled(2048)
"""Power in bands of frames of 2,048 samples every 512."""

band_power_4096 = _compiled(4096)
"""Power in bands of frames of 4,096 samples every 1,024."""
