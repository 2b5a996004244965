"""Anything frame-like -> a checked float32 array, tiles of fixed size, and z-scores (paper eq. 9)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.errors import InvalidInputError

_MAX_Z_SCORE = 1e15
"""Standard deviations at which z-scores are clipped: squares and products stay within float32."""


def check_frames(frames: Any, width: int | None = None, name: str = "frames") -> npt.NDArray[np.float32]:
    """Return frames as a finite, contiguous float32 array of shape (n_frames, n_coefficients).

    There may be no frames, but there is at least one coefficient, and ``width`` of them if that is given.

    Examples
    --------
    >>> check_frames([[1, 2], [3, 4]], width=2)
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    try:
        given = np.asarray(frames)
    except ValueError as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers ({error}).") from error
    if given.dtype.kind not in "buif":
        raise InvalidInputError(f"{name} has dtype {given.dtype}; give real numbers.")
    if given.ndim != 2 or given.shape[1] == 0:
        raise InvalidInputError(f"{name} has shape {given.shape}; frames x coefficients is needed.")
    if width is not None and given.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {given.shape[1]} coefficients per frame, the codebook {width}; compute both the same way."
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        array = np.ascontiguousarray(given, dtype=np.float32)
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        raise InvalidInputError(
            f"{name} has a value that is NaN, infinite or too large for float32, first in row {row}; "
            "drop such frames."
        )
    return array


class FrameTiles:
    """Cuts rows that arrive in chunks into tiles of fixed size, so that sums over tiles do not depend on the chunks.

    Parameters
    ----------
    n_rows : int
        Rows of a tile.
    n_features : int
        Numbers of a row.

    Examples
    --------
    >>> tiles = FrameTiles(n_rows=2, n_features=1)
    >>> [tile.ravel().tolist() for chunk in ([[1.0]], [[2.0], [3.0]]) for tile in tiles.cut(np.array(chunk))]
    [[1.0, 2.0]]
    >>> tiles.rest
    array([[3.]])
    """

    def __init__(self, n_rows: int, n_features: int) -> None:
        self._buffer = np.empty((n_rows, n_features))
        self._n_filled = 0

    @property
    def rest(self) -> npt.NDArray[np.float64]:
        """The rows after the last full tile, an array of shape (n, n_features) with n below the rows of a tile."""
        return self._buffer[: self._n_filled]

    def cut(self, rows: npt.NDArray[Any]) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the tiles (n_rows, n_features) that these rows complete; each is overwritten by the next."""
        size = len(self._buffer)
        while len(rows):
            taken = rows[: size - self._n_filled]
            rows = rows[len(taken) :]
            self._buffer[self._n_filled : self._n_filled + len(taken)] = taken
            self._n_filled += len(taken)
            if self._n_filled == size:
                self._n_filled = 0
                yield self._buffer


@njit(cache=True, nogil=True)
def moments(frames):  # type: ignore[no-untyped-def]
    """Return the mean of every column and the sum of squared deviations from it, both in float64."""
    n_frames, width = frames.shape
    mean, squares = np.zeros(width), np.zeros(width)
    for frame in range(n_frames):
        for i in range(width):
            mean[i] += frames[frame, i]
    mean /= n_frames
    for frame in range(n_frames):
        for i in range(width):
            deviation = frames[frame, i] - mean[i]
            squares[i] += deviation * deviation
    return mean, squares


@njit(cache=True, nogil=True)
def normalize_frame(frame, mean, inverse_scale, out):  # type: ignore[no-untyped-def]
    """Write the z-scores of one frame into the front of ``out``, computed in float64."""
    for i in range(frame.size):
        score = (frame[i] - mean[i]) * inverse_scale[i]
        score = score if score < _MAX_Z_SCORE else _MAX_Z_SCORE
        out[i] = score if score > -_MAX_Z_SCORE else -_MAX_Z_SCORE


@njit(cache=True, nogil=True)
def normalize_frames(frames, mean, inverse_scale):  # type: ignore[no-untyped-def]
    """Return the z-scores of all frames as float32."""
    scores = np.empty(frames.shape, np.float32)
    for frame in range(len(frames)):
        normalize_frame(frames[frame], mean, inverse_scale, scores[frame])
    return scores
