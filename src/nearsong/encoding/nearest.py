"""Frames and codewords -> the tau nearest codewords of every frame: in float32, and reproducible.

The order of ``|z - c|^2`` over the codewords is that of ``|c|^2 / 2 - z.c``: one matrix product, whose last
column of ones carries the norms. It is computed in float32, tile by tile, and rounds the same way at every position:
the result for a frame does not depend on the frames around it, and equal codewords tie. The keys
of a tile are searched while they are in the cache.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.encoding.frames import normalize_frame
from nearsong.encoding.ordered_keys import LAST, index_of, ordered
from nearsong.encoding.products import LANES, ROWS, multiply, pack
from nearsong.types import FloatArray

_TILE_FRAMES = 80 * ROWS  # frames whose keys are in the cache together
_PADDING_KEY = 3e38  # the key of a padding codeword


class CodewordSearch:
    """Finds nearest codewords for one codebook.

    Parameters
    ----------
    mean, scale : array of float64 and shape (d,)
        Mean and standard deviation for z-scores.
    codewords : array of float32 and shape (n_codewords, d)
        In units of z-scores.

    Examples
    --------
    >>> search = CodewordSearch(np.zeros(1), np.ones(1), np.array([[0.0], [10.0], [-4.0]], np.float32))
    >>> search.find(np.array([[1.0], [6.0], [-3.0]], np.float32), tau=2)
    array([[0, 2],
           [1, 0],
           [2, 0]], dtype=int32)
    """

    def __init__(self, mean: FloatArray, scale: FloatArray, codewords: npt.NDArray[np.float32]) -> None:
        wide = codewords.astype(np.float64)
        half_squares = np.einsum("ij,ij->i", wide, wide) / 2
        self.mean = mean
        self.inverse_scale = 1.0 / scale
        self.weights = pack(np.column_stack([-wide, half_squares]), _PADDING_KEY)

    def find(self, frames: npt.NDArray[np.float32], tau: int, threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the ``tau`` nearest codewords of each frame, nearest first, equals by lower index.

        Parameters
        ----------
        frames : array of float32 and shape (n_frames, d)
            Finite, in raw units, contiguous.
        tau : int
            From 1 to the number of codewords.
        threads : int
            Does not change the result.

        Returns
        -------
        ndarray of int32 and shape (n_frames, tau)
        """
        nearest = np.empty((len(frames), tau), np.int32)
        tiles = -(-len(frames) // _TILE_FRAMES)
        step = _TILE_FRAMES * max(1, -(-tiles // threads))
        parts = [
            (frames[start : start + step], nearest[start : start + step]) for start in range(0, len(frames), step)
        ]
        if len(parts) == 1:
            self._fill(*parts[0])
        elif parts:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(self._fill, *zip(*parts, strict=True)))
        return nearest

    def _fill(self, frames: npt.NDArray[np.float32], nearest: npt.NDArray[np.int32]) -> None:
        find_nearest(frames, self.mean, self.inverse_scale, self.weights, nearest)


@njit(cache=True, nogil=True)
def find_nearest(frames, mean, inverse_scale, weights, nearest):  # type: ignore[no-untyped-def]
    """Fill ``nearest`` (n_frames, tau), tile by tile."""
    n_frames, width = frames.shape
    tile = np.ones((_TILE_FRAMES, width + 1), np.float32)
    keys = np.empty((_TILE_FRAMES, weights.shape[0] * weights.shape[2]), np.float32)
    for start in range(0, n_frames, _TILE_FRAMES):
        filled = min(_TILE_FRAMES, n_frames - start)
        for row in range(filled):
            normalize_frame(frames[start + row], mean, inverse_scale, tile[row])
        used = -(-filled // ROWS) * ROWS  # up to two extra rows, whose keys are ignored
        multiply(tile[:used], weights, keys[:used])
        _select(keys[:filled], nearest[start : start + filled])


@njit(cache=True, nogil=True)
def _select(keys, nearest):  # type: ignore[no-untyped-def]
    """Write the indices of the smallest keys of every row, smallest first.

    Lane j holds the keys j, j + LANES, j + 2 LANES, ... A first pass, which is elementwise and
    vectorised, finds the smallest key of each lane. Then, tau times, the smallest of all lanes is taken and replaced
    by the next key of its lane.
    """
    n_keys, tau = keys.shape[1], nearest.shape[1]
    bits = keys.view(np.int32)
    low, low_at, best_of_lane = np.empty(LANES, np.float32), np.empty(LANES, np.int32), np.empty(LANES, np.int64)
    low_bits = low.view(np.int32)
    for row in range(len(keys)):
        for lane in range(LANES):
            low[lane] = keys[row, lane]
            low_at[lane] = lane
        for first in range(LANES, n_keys, LANES):
            block = keys[row, first : first + LANES]
            for lane in range(LANES):
                key = block[lane]
                lower = key < low[lane]
                low_at[lane] = np.int32(first + lane) if lower else low_at[lane]
                low[lane] = key if lower else low[lane]
        for lane in range(LANES):
            best_of_lane[lane] = ordered(low_bits[lane], low_at[lane])
        for rank in range(tau):
            best = LAST
            for lane in range(LANES):
                best = min(best, best_of_lane[lane])
            nearest[row, rank] = index_of(best)
            if rank + 1 < tau:
                lane = index_of(best) % LANES
                best_of_lane[lane] = _next_in_lane(bits[row], lane, best)


@njit(cache=True, nogil=True)
def _next_in_lane(bits, lane, last):  # type: ignore[no-untyped-def]
    """Return the smallest entry of a lane that comes after ``last``."""
    following = LAST
    for at in range(np.uint64(lane), np.uint64(bits.size), np.uint64(LANES)):  # unsigned: no test for negatives
        entry = ordered(bits[at], at)
        following = min(following, entry if entry > last else LAST)
    return following
