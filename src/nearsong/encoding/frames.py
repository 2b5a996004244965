"""Anything frame-like -> a checked float32 array, and its z-scores (paper eq. 9)."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.errors import InvalidInputError

_FARTHEST = 1e15
"""Standard deviations beyond which a frame counts as this far: squares and products stay within float32."""


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
        raise InvalidInputError(f"{name} holds {given.dtype} values, which are no coefficients; give real numbers.")
    if given.ndim != 2 or given.shape[1] == 0:
        raise InvalidInputError(f"{name} has shape {given.shape}; frames x coefficients is needed.")
    if width is not None and given.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {given.shape[1]} coefficients a frame and the codebook {width}; compute both alike."
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
        score = score if score < _FARTHEST else _FARTHEST
        out[i] = score if score > -_FARTHEST else -_FARTHEST


@njit(cache=True, nogil=True)
def normalize_frames(frames, mean, inverse_scale):  # type: ignore[no-untyped-def]
    """Return the z-scores of all frames as float32."""
    scores = np.empty(frames.shape, np.float32)
    for frame in range(len(frames)):
        normalize_frame(frames[frame], mean, inverse_scale, scores[frame])
    return scores
