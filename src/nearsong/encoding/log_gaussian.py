"""Frames of a song, in chunks -> mean and covariance -> a vector in which Euclidean distance compares Gaussians.

The covariance C enters by its matrix logarithm, which turns the curved set of covariance matrices into a flat space
(Arsigny, Fillard, Pennec and Ayache, 2006). The vector holds its upper triangle; entries off the diagonal are
multiplied by the square root of 2, so that the distance of two vectors is the Frobenius norm |log C - log D|.

Moments are merged tile by tile (Chan, Golub and LeVeque), so that one pass suffices, no digits are lost to a large
mean, and the bytes do not depend on how the frames arrive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.encoding.frames import FrameTiles
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_learned

TILE_FRAMES = 160
"""Frames whose moments are computed together: products so small that a BLAS does not divide them among threads."""

MIN_VARIANCE = 1e-6
"""Features that vary less in the sampled songs, such as those of silence, are measured in units of 1."""

_MIN_SCALE = 1e-9

_MAX_MEAN = 1e15
"""Scaled means are clipped to this, so that they stay finite in single precision."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and scatter of some frames.

    Attributes
    ----------
    n_frames : int
        How many.
    mean : array of shape (n_features,)
        Their mean.
    scatter : array of shape (n_features, n_features)
        Their covariance times their number.
    """

    n_frames: int
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, frames: FloatArray) -> Self:
        """Return the moments of frames, an array of shape (n_frames, n_features) with at least one row."""
        mean, centred = _centre(frames)
        return cls(len(frames), mean, centred.T @ centred)

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of the frames of both."""
        share = other.n_frames / (self.n_frames + other.n_frames)
        mean, scatter = _merge(self.mean, self.scatter, other.mean, other.scatter, share, self.n_frames * share)
        return Moments(self.n_frames + other.n_frames, mean, scatter)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the frames, an array of shape (n_features, n_features)."""
        return self.scatter / self.n_frames


@njit(cache=True, nogil=True)
def _centre(frames):  # type: ignore[no-untyped-def]
    """Return the mean (d,) of frames (n, d) and their differences from it."""
    n_frames, n_features = frames.shape
    mean = np.zeros(n_features)
    for i in range(n_frames):
        for j in range(n_features):
            mean[j] += frames[i, j]
    mean /= n_frames
    centred = np.empty((n_frames, n_features))
    for i in range(n_frames):
        for j in range(n_features):
            centred[i, j] = frames[i, j] - mean[j]
    return mean, centred


@njit(cache=True, nogil=True)
def _merge(mean, scatter, other_mean, other_scatter, share, weight):  # type: ignore[no-untyped-def]
    """Return mean (d,) and scatter (d, d) of two sets of frames, of which the second has a share of all frames.

    The scatter between them is that of their means, times the number of frames of the first times the share.
    """
    n_features = mean.size
    shift = other_mean - mean
    merged = np.empty((n_features, n_features))
    for i in range(n_features):
        for j in range(n_features):
            merged[i, j] = scatter[i, j] + other_scatter[i, j] + weight * shift[i] * shift[j]
    return mean + share * shift, merged


class MomentAccumulator:
    """The moments of one song while its frames arrive.

    Parameters
    ----------
    n_features : int
        Numbers of a frame.

    Examples
    --------
    >>> accumulator = MomentAccumulator(2)
    >>> for chunk in ([[1.0, 0.0]], [[3.0, 4.0]]):
    ...     accumulator.add(np.array(chunk))
    >>> accumulator.moments().mean, accumulator.moments().covariance.tolist()
    (array([2., 2.]), [[1.0, 2.0], [2.0, 4.0]])
    """

    def __init__(self, n_features: int) -> None:
        self._tiles = FrameTiles(TILE_FRAMES, n_features)
        self._merged: Moments | None = None  # of all full tiles

    @property
    def n_frames(self) -> int:
        """Frames so far."""
        return len(self._tiles.rest) + (0 if self._merged is None else self._merged.n_frames)

    def add(self, frames: npt.NDArray[Any]) -> None:
        """Take a chunk of finite frames, an array of shape (n_frames, n_features)."""
        for tile in self._tiles.cut(frames):
            self._merged = self._with(tile)

    def _with(self, tile: FloatArray) -> Moments:
        moments = Moments.of(tile)
        return moments if self._merged is None else self._merged + moments

    def moments(self) -> Moments:
        """Return the moments of all frames so far; at least one is needed."""
        rest = self._tiles.rest
        if len(rest):
            return self._with(rest)
        if self._merged is None:
            raise InvalidInputError("no frames were added, so there is no mean; add at least one frame.")
        return self._merged


@dataclass(frozen=True, eq=False)
class LogGaussian:
    """Turns moments into vectors.

    With s the scales, the vector of mean m and covariance C is

        m / s,   and the upper triangle of log(C / (s s') + regularisation I)

    Parameters
    ----------
    scales : array of shape (n_features,)
        The typical standard deviation of each feature within a song.
    regularisation : float
        Added to every eigenvalue, so that a song in which a feature never varies has a logarithm.

    Examples
    --------
    >>> gaussian = LogGaussian(scales=np.array([2.0, 1.0]), regularisation=0.01)
    >>> moments = Moments(10, np.array([4.0, 3.0]), 10 * np.diag([4.0, 0.0]))
    >>> gaussian.mean(moments), gaussian.covariance(moments).round(3)
    (array([2., 3.]), array([ 0.01 ,  0.   , -4.605]))
    """

    scales: FloatArray
    regularisation: float

    def __post_init__(self) -> None:
        check_learned(self.scales, "scales", (None,), _MIN_SCALE)

    @classmethod
    def fit(cls, songs: Sequence[Moments], regularisation: float) -> Self:
        """Learn the scales: the root of the mean variance within songs."""
        if not songs:
            raise InvalidInputError("there are no songs to learn the spread of sounds from; give at least one.")
        variances = np.mean([np.diag(moments.covariance) for moments in songs], axis=0)
        return cls(np.sqrt(np.where(variances > MIN_VARIANCE, variances, 1.0)), regularisation)

    def mean(self, moments: Moments) -> FloatArray:
        """Return the scaled mean, an array of shape (n_features,)."""
        return np.asarray((moments.mean / self.scales).clip(-_MAX_MEAN, _MAX_MEAN), dtype=np.float64)

    def covariance(self, moments: Moments) -> FloatArray:
        """Return the logarithm of the scaled covariance, an array of shape (n_features * (n_features + 1) / 2,)."""
        scaled = moments.scatter / np.outer(moments.n_frames * self.scales, self.scales)
        eigenvalues, eigenvectors = np.linalg.eigh(scaled)
        # a covariance has no eigenvalue below 0; rounding may give it one, where others are far larger
        logarithms = np.log(np.maximum(eigenvalues, 0.0) + self.regularisation)
        rows, columns, factors = triangle(len(scaled))
        return np.asarray(((eigenvectors * logarithms) @ eigenvectors.T)[rows, columns] * factors, dtype=np.float64)


@lru_cache(maxsize=8)
def triangle(n_features: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
    """Return rows, columns and factors, each (n_features * (n_features + 1) / 2,), of the upper triangle as a vector.

    >>> [part.round(2).tolist() for part in triangle(2)]
    [[0, 0, 1], [0, 1, 1], [1.0, 1.41, 1.0]]
    """
    rows, columns = np.triu_indices(n_features)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))
