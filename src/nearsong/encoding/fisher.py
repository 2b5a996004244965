"""Frames of a song, in chunks -> Fisher vector: how the song would change a mixture of Gaussians of all music.

A mixture of K diagonal Gaussians (weights p, means m, variances v) describes whitened frames z of many songs. With
responsibilities r of the n frames of a song, its Fisher vector (Perronnin and Dance, 2007; Perronnin, Sanchez and
Mensink, 2010) has for each Gaussian k and axis

    G1 = sum_i r_ik (z_i - m_k) / sqrt(v_k) / (n sqrt(p_k))
    G2 = sum_i r_ik ((z_i - m_k)^2 / v_k - 1) / (n sqrt(2 p_k))

that is, how the frames near a Gaussian are shifted and spread compared with it. Log densities are linear in
[z, z^2], so that they, and the sums over frames, are matrix products, in tiles of fixed size and double precision.
Logarithms are to the base 2: a power then costs a polynomial and an addition to the exponent bits.
"""

from dataclasses import dataclass
from math import factorial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.encoding.frames import FrameTiles
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_learned

TILE_FRAMES = 160
"""Frames of a tile: products so small that a BLAS does not divide them among threads."""

_MIN_EIGENVALUE = 1e-6
"""Added to the variance of every axis, so that features that never vary are not divided by 0."""

_MIN_DEVIATION = 1e-9
"""Numbers that differ less among songs are equal but for rounding."""

_MIN_WEIGHT, _MIN_VARIANCE = 1e-100, 1e-9
"""Lower bounds of a mixture, beyond which logarithms and quotients overflow."""

_MAX_ROUNDING = 1e-6
"""Maximum difference of the sum of weights from 1."""

_ROUNDING = 1.5 * 2.0**52
"""Adding it to a number leaves the nearest integer in the low bits."""

_MIN_EXPONENT = -1000.0
"""2^-1000 vanishes when added to 1; far smaller numbers are denormal and slow."""

_POWERS = tuple(float(np.log(2.0) ** n) / factorial(n) for n in range(14))
"""Coefficients of 2^f = 1 + ln(2) f + (ln(2) f)^2 / 2! + ...; the remainder is below 1e-17 for |f| <= 1/2."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """Turns frames x into z = (x - mean) axes, whose components are uncorrelated and have variance 1.

    Parameters
    ----------
    mean : array of shape (n_features,)
        Of the frames it was fitted on.
    axes : array of shape (n_features, n_axes)
        Principal axes, the one of the largest variance first, each divided by the root of its variance.
    """

    mean: FloatArray
    axes: FloatArray

    def __post_init__(self) -> None:
        check_learned(self.mean, "the mean of frames", (None,))
        check_learned(self.axes, "axes", (len(self.mean), None))
        if not self.axes.any(axis=0).all():
            raise InvalidInputError("axes has a column of zeros; every axis needs a direction.")

    @classmethod
    def fit(cls, frames: npt.NDArray[Any], n_axes: int | None = None) -> Self:
        """Return the whitening of frames (n_frames, n_features) to the ``n_axes`` axes along which they vary most."""
        rows = np.asarray(frames, dtype=np.float64)
        mean = rows.mean(axis=0)
        variances, vectors = np.linalg.eigh(np.cov(rows.T, bias=True).reshape(len(mean), len(mean)))
        largest_first = np.argsort(variances)[::-1][:n_axes]
        vectors, variances = vectors[:, largest_first], np.maximum(variances[largest_first], 0.0)
        # an axis has no direction; the one in which its largest coefficient is positive is taken everywhere
        peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
        return cls(mean, vectors * np.where(peaks < 0, -1.0, 1.0) / np.sqrt(variances + _MIN_EIGENVALUE))

    def transform(self, frames: npt.NDArray[Any]) -> FloatArray:
        """Return whitened frames, an array of shape (n_frames, n_axes)."""
        return np.asarray((frames - self.mean) @ self.axes, dtype=np.float64)

    def restore(self, whitened: FloatArray) -> FloatArray:
        """Return frames (n, n_features) that :meth:`transform` maps to whitened ones (n, n_axes)."""
        return np.asarray(whitened @ np.linalg.pinv(self.axes) + self.mean, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FisherVector:
    """A mixture of Gaussians of whitened frames, and the Fisher vectors of songs under it.

    Parameters
    ----------
    whitening : Whitening
        From frames to the axes of the mixture.
    weights : array of shape (n_components,)
        Positive, summing to 1.
    means, variances : arrays of shape (n_components, n_axes)
        Of each Gaussian.

    Examples
    --------
    >>> whitening = Whitening(mean=np.zeros(1), axes=np.eye(1))
    >>> fisher = FisherVector(whitening, np.ones(1), np.zeros((1, 1)), np.ones((1, 1)))
    >>> accumulator = fisher.start()
    >>> accumulator.add(np.array([[1.0], [3.0]]))
    >>> [part.round(3).tolist() for part in accumulator.gradients()]  # mean 2, mean square 5
    [[2.0], [2.828]]
    """

    whitening: Whitening
    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    def __post_init__(self) -> None:
        shape = (len(self.weights), self.whitening.axes.shape[1])
        check_learned(self.weights, "the weights of a mixture", (None,), _MIN_WEIGHT)
        check_learned(self.means, "the means of a mixture", shape)
        check_learned(self.variances, "the variances of a mixture", shape, _MIN_VARIANCE)
        if abs(float(self.weights.sum()) - 1.0) > _MAX_ROUNDING:
            raise InvalidInputError("the weights of a mixture do not sum to 1.")
        # log2(p) - sum((z - m)^2 / v + log v) / 2 ln 2 = coefficients [z, z^2] + constants
        coefficients = np.hstack([self.means / self.variances, -0.5 / self.variances])
        spread = np.log(self.variances) + self.means**2 / self.variances
        constants = np.log(self.weights) - 0.5 * spread.sum(axis=1)
        object.__setattr__(self, "_coefficients", coefficients / np.log(2.0))
        object.__setattr__(self, "_constants", constants / np.log(2.0))

    @property
    def n_numbers(self) -> int:
        """Length of each of the two gradients: Gaussians times axes."""
        return int(self.means.size)

    def start(self) -> "FisherAccumulator":
        """Return an empty accumulator for one song."""
        return FisherAccumulator(self)

    def statistics(self, frames: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums over frames (n, n_features) of r, (n_components,), and of r z and r z^2 side by side."""
        n_axes = self.means.shape[1]
        powers = np.empty((2 * n_axes, len(frames)))  # [z, z^2], a column a frame: sums over Gaussians are over rows
        np.matmul(self.whitening.axes.T, (frames - self.whitening.mean).T, out=powers[:n_axes])
        np.square(powers[:n_axes], out=powers[n_axes:])
        coefficients: FloatArray = self._coefficients  # type: ignore[attr-defined]
        constants: FloatArray = self._constants  # type: ignore[attr-defined]
        shares = coefficients @ powers
        to_responsibilities(shares, constants)
        return shares.sum(axis=1), shares @ powers.T


@njit(cache=True, nogil=True, fastmath={"contract"})
def to_responsibilities(scores, constants):  # type: ignore[no-untyped-def]
    """Replace log2 densities (n_components, n_frames), to which constants (n_components,) are added, by shares.

    The shares of the Gaussians in a frame are proportional to their densities and sum to 1.
    """
    n_components, n_frames = scores.shape
    peaks = scores[0] + constants[0]
    totals = np.zeros(n_frames)
    for k in range(1, n_components):
        for i in range(n_frames):
            score = scores[k, i] + constants[k]
            peaks[i] = score if score > peaks[i] else peaks[i]
    for k in range(n_components):
        for i in range(n_frames):
            share = _exp2(scores[k, i] + constants[k] - peaks[i])
            scores[k, i] = share
            totals[i] += share
    for k in range(n_components):
        for i in range(n_frames):
            scores[k, i] /= totals[i]


@njit(cache=True, nogil=True, inline="always")
def _exp2(x):  # type: ignore[no-untyped-def]
    """Return 2^x for x of at most 0, with 2^-1000 for anything smaller."""
    x = max(x, _MIN_EXPONENT)
    shifted = x + _ROUNDING
    integer = np.float64(shifted).view(np.int64)
    f = x - (shifted - _ROUNDING)
    power = _POWERS[13]
    for n in range(12, -1, -1):
        power = _POWERS[n] + f * power
    return np.int64(np.float64(power).view(np.int64) + (integer << np.int64(52))).view(np.float64)


class FisherAccumulator:
    """The sums of one song while its frames arrive."""

    def __init__(self, fisher: FisherVector) -> None:
        self._fisher = fisher
        self._tiles = FrameTiles(TILE_FRAMES, len(fisher.whitening.mean))
        self._n_in_tiles = 0
        self._counts = np.zeros(len(fisher.weights))
        self._sums = np.zeros((len(fisher.weights), 2 * fisher.means.shape[1]))

    @property
    def n_frames(self) -> int:
        """Frames so far."""
        return self._n_in_tiles + len(self._tiles.rest)

    def add(self, frames: npt.NDArray[Any]) -> None:
        """Take a chunk of finite frames, an array of shape (n_frames, n_features)."""
        for tile in self._tiles.cut(frames):
            counts, sums = self._fisher.statistics(tile)
            self._counts += counts
            self._sums += sums
            self._n_in_tiles += len(tile)

    def gradients(self) -> tuple[FloatArray, FloatArray]:
        """Return G1 and G2 of all frames so far, each (n_components * n_axes,); at least one frame is needed."""
        if self.n_frames == 0:
            raise InvalidInputError("no frames were added, so there is no Fisher vector; add at least one frame.")
        counts, sums = self._counts, self._sums
        if len(self._tiles.rest):
            rest = self._fisher.statistics(self._tiles.rest)
            counts, sums = counts + rest[0], sums + rest[1]
        fisher = self._fisher
        firsts, squares = np.hsplit(sums, 2)
        counts, weights = counts[:, None], fisher.weights[:, None]
        shifts = (firsts - counts * fisher.means) / np.sqrt(fisher.variances)
        spreads = (squares - 2 * fisher.means * firsts + counts * fisher.means**2) / fisher.variances - counts
        n_frames = self.n_frames
        return (
            (shifts / (n_frames * np.sqrt(weights))).ravel(),
            (spreads / (n_frames * np.sqrt(2 * weights))).ravel(),
        )


def signed_root(vector: FloatArray) -> FloatArray:
    """Return the square root of each number with its sign, to length 1; a vector of zeros stays as it is.

    It reduces the weight of the few sounds that a song has much more of than others have.

    >>> signed_root(np.array([-9.0, 16.0])).round(3)
    array([-0.6,  0.8])
    """
    roots = np.sign(vector) * np.sqrt(np.abs(vector))
    length = np.linalg.norm(roots)
    return np.asarray(roots / length if length > 0 else roots, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Turns each number of a vector into its z-score among sampled songs.

    Parameters
    ----------
    mean, scale : arrays of shape (n_dimensions,)
        Of each number over the sampled songs; the scale is 1 where they are equal.

    Examples
    --------
    >>> scores = ColumnScores.fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scores.transform(np.array([4.0, 6.0]))
    array([2., 1.])
    """

    mean: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        check_learned(self.mean, "the mean of songs", (None,))
        check_learned(self.scale, "the scale of songs", self.mean.shape, _MIN_DEVIATION)

    @classmethod
    def fit(cls, vectors: FloatArray) -> Self:
        """Return the z-scores of vectors, an array of shape (n_songs, n_dimensions)."""
        deviations = vectors.std(axis=0)
        return cls(vectors.mean(axis=0), np.where(deviations > _MIN_DEVIATION, deviations, 1.0))

    def transform(self, vectors: FloatArray) -> FloatArray:
        """Return the z-scores of a vector (n_dimensions,) or of several (n, n_dimensions)."""
        return np.asarray((vectors - self.mean) / self.scale, dtype=np.float64)
