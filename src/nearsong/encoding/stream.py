"""Chunks of frames -> running mean, scale and centres: the state of a codebook while it learns (paper III-A)."""

import numpy as np
import numpy.typing as npt

from nearsong.encoding.frames import moments, normalize_frames
from nearsong.encoding.hartigan import absorb_in_turn
from nearsong.types import FloatArray

Frames = npt.NDArray[np.float32]

_BLOCK_FRAMES = 4096  # frames per block, to bound the memory of a copy


class CodebookState:
    """The state between chunks: statistics, and the centres in raw units.

    The mean of raw frames is the affine image of the mean of their z-scores, so raw centres stay right when a new
    chunk changes mean and scale.

    Parameters
    ----------
    n_codewords : int
        Centres to keep.
    seed : int
        Orders the frames of every chunk.
    width : int
        Coefficients a frame.

    Attributes
    ----------
    n_frames : int
        Frames so far.
    n_distinct : int
        Distinct ones among them, as far as they had to be counted.
    mean : ndarray of float64 and shape (width,)
        Of all frames so far.
    centres : ndarray of float64 and shape (n_codewords, width)
        In raw units; empty until there are enough distinct frames.
    counts : ndarray of int64 and shape (n_codewords,)
        Frames in each centre.

    Examples
    --------
    >>> stream = CodebookState(n_codewords=2, seed=0, width=1)
    >>> stream.add(np.array([[1.0], [1.0]], np.float32))
    >>> stream.started
    False
    >>> stream.add(np.array([[5.0], [7.0]], np.float32))
    >>> stream.centres.ravel().round(3), stream.counts
    (array([6., 1.]), array([2, 2]))
    """

    def __init__(self, n_codewords: int, seed: int, width: int) -> None:
        self.n_codewords = n_codewords
        self.seed = seed
        self.n_frames = 0
        self.n_distinct = 0
        self.mean = np.zeros(width)
        self.centres = np.empty((0, width))
        self.counts = np.empty(0, np.int64)
        self._squares = np.zeros(width)  # sums of squared deviations from the mean
        self._n_chunks = 0
        self._pending = np.empty((0, width), np.float32)  # frames that came before there were enough to start

    @property
    def started(self) -> bool:
        """Whether there are centres."""
        return self.counts.size > 0

    def scale(self) -> FloatArray:
        """Return the standard deviation of all frames so far, 1 where they are constant."""
        deviation: FloatArray = np.sqrt(self._squares / self.n_frames)
        return np.where(deviation > 0, deviation, 1.0)

    def add(self, frames: Frames) -> None:
        """Learn from a chunk, or store it until there are enough distinct frames."""
        if len(frames) == 0:
            return
        self._update_statistics(frames)
        if len(self._pending):
            frames = np.concatenate([self._pending, frames])
        scale = self.scale()
        order = np.random.default_rng([self.seed, self._n_chunks]).permutation(len(frames))
        if self.started:
            centres = (self.centres - self.mean) / scale
        else:
            first = _first_distinct(frames, order, self.mean, scale, self.n_codewords)
            self.n_distinct = len(first)
            if len(first) < self.n_codewords:
                self._pending = frames.copy()  # the caller may reuse the array
                return
            centres = normalize_frames(frames[order[first]], self.mean, 1.0 / scale).astype(np.float64)
            order = np.delete(order, first)
            self.counts = np.ones(self.n_codewords, np.int64)
            self._pending = np.empty((0, self.mean.size), np.float32)
        absorb_in_turn(frames, order, self.mean, scale, centres, self.counts)
        self.centres = self.mean + scale * centres
        self._n_chunks += 1

    def _update_statistics(self, frames: Frames) -> None:
        """Join the moments of a chunk to those of all before (Chan, Golub and LeVeque's update)."""
        mean, squares = moments(frames)
        if self.n_frames == 0:
            self.mean, self._squares, self.n_frames = mean, squares, len(frames)
            return
        total = self.n_frames + len(frames)
        shift = mean - self.mean
        self._squares = self._squares + squares + shift**2 * (self.n_frames * len(frames) / total)
        self.mean = self.mean + shift * (len(frames) / total)
        self.n_frames = total


def _first_distinct(
    frames: Frames, order: npt.NDArray[np.int64], mean: FloatArray, scale: FloatArray, n_wanted: int
) -> list[int]:
    """Return the positions in ``order`` of the first ``n_wanted`` frames with distinct z-scores, or of all."""
    positions: list[int] = []
    seen: set[bytes] = set()
    for start in range(0, len(order), _BLOCK_FRAMES):
        scores = normalize_frames(frames[order[start : start + _BLOCK_FRAMES]], mean, 1.0 / scale)
        for position, score in enumerate(scores + np.float32(0.0), start):  # -0.0 and 0.0 are one number
            row = score.tobytes()
            if row not in seen:
                seen.add(row)
                positions.append(position)
                if len(positions) == n_wanted:
                    return positions
    return positions
