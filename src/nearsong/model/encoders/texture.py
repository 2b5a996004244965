"""Frames -> how loudness and timbre change from one quarter of a second to the next (ours, not the paper's).

Windows of 22 frames with a hop of 11 have the mean and half the logarithm of the variance of each of 13 MFCCs. The
vector is the logarithm of the covariance of these 26 numbers over all windows of the song: 351 numbers.

Windows start at the start of the song; frames after the last full window are not used. A song of a single window, or
of none, has no covariance; it gets the vector of a song that never changes.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.encoding.frames import FrameTiles, check_frames
from nearsong.encoding.log_gaussian import LogGaussian, MomentAccumulator, Moments, triangle
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import VectorPart
from nearsong.model.encoders.sampled import SampledEncoder, features_of
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_learned

HOP_FRAMES = 11
"""Frames from the start of one window to the next; a window has twice as many."""

TILE_HOPS = 128
"""Hops that are computed together."""

MIN_VARIANCE = 1e-3
"""Lower bound for the variance of a coefficient in a window, so that silence has a logarithm."""

REGULARISATION = 1e-2
"""Added to the eigenvalues of a covariance, in units of the typical variance of a number within a song."""

WEIGHT = 0.4
"""Weight of the vector, chosen on the validation artists of a data set."""


class WindowAccumulator:
    """The moments of the windows of one song while its frames arrive.

    Parameters
    ----------
    n_features : int
        Numbers of a frame.
    n_mfcc : int
        The first of them that windows are made of.
    """

    def __init__(self, n_features: int, n_mfcc: int) -> None:
        self._n_features, self._n_mfcc = n_features, n_mfcc
        self._tiles = FrameTiles(TILE_HOPS * HOP_FRAMES, n_mfcc)
        self._moments = MomentAccumulator(2 * n_mfcc)
        self._last_hop = np.empty((2, 0, n_mfcc))  # of the tile before
        self._n_frames = 0

    @property
    def n_frames(self) -> int:
        """Frames so far."""
        return self._n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        """Take a chunk of frames, an array of shape (n_frames, n_features)."""
        rows = check_frames(frames, self._n_features)
        self._n_frames += len(rows)
        for tile in self._tiles.cut(rows[:, : self._n_mfcc]):
            hops = np.concatenate([self._last_hop, hop_moments(tile)], axis=1)
            self._moments.add(windows_of(hops))
            self._last_hop = hops[:, -1:]

    def moments(self) -> Moments:
        """Return the moments (2 * n_mfcc numbers) of all windows so far; no spread if there is no window."""
        if self._n_frames == 0:
            raise InvalidInputError("no frames were added, so there are no windows; add at least one frame.")
        moments = copy.deepcopy(self._moments)  # as more frames may come
        moments.add(windows_of(np.concatenate([self._last_hop, hop_moments(self._tiles.rest)], axis=1)))
        n_numbers = 2 * self._n_mfcc
        return moments.moments() if moments.n_frames else Moments(1, np.zeros(n_numbers), np.zeros([n_numbers] * 2))


@njit(cache=True, nogil=True)
def hop_moments(frames):  # type: ignore[no-untyped-def]
    """Return mean and variance of every 11 frames (n, n_mfcc), an array of shape (2, n // 11, n_mfcc)."""
    n_hops, n_mfcc = len(frames) // HOP_FRAMES, frames.shape[1]
    moments = np.zeros((2, n_hops, n_mfcc))
    for hop in range(n_hops):
        for i in range(hop * HOP_FRAMES, (hop + 1) * HOP_FRAMES):
            for j in range(n_mfcc):
                moments[0, hop, j] += frames[i, j] / HOP_FRAMES
        for i in range(hop * HOP_FRAMES, (hop + 1) * HOP_FRAMES):
            for j in range(n_mfcc):
                moments[1, hop, j] += (frames[i, j] - moments[0, hop, j]) ** 2 / HOP_FRAMES
    return moments


def windows_of(hops: FloatArray) -> FloatArray:
    """Return the windows (n_hops - 1, 2 * n_mfcc) of every two neighbours among moments of hops (2, n_hops, n_mfcc).

    A window has the mean and half the logarithm of the variance of each coefficient.
    """
    means, variances = hops
    window_means = (means[1:] + means[:-1]) / 2
    window_variances = (variances[1:] + variances[:-1]) / 2 + ((means[1:] - means[:-1]) / 2) ** 2
    return np.hstack([window_means, 0.5 * np.log(np.maximum(window_variances, MIN_VARIANCE))])


class _TextureAccumulator(WindowAccumulator):
    """The texture of one song."""

    def __init__(self, gaussian: LogGaussian, features: DeltaMFCC) -> None:
        super().__init__(features.n_features, features.n_mfcc)
        self._gaussian = gaussian

    def result(self) -> FloatArray:
        return self._gaussian.covariance(self.moments())


@dataclass(frozen=True, eq=False)
class TextureEncoder(SampledEncoder):
    """Describes a song by what changes together from window to window.

    Parameters
    ----------
    gaussian : LogGaussian
        Has the typical deviation of each number of a window within a song.
    features : DeltaMFCC
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> songs = np.random.default_rng(0).normal(size=(5, 300, 39))
    >>> TextureEncoder.fit(songs).encode(songs[0]).shape
    (351,)
    """

    name: ClassVar[str] = "texture"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.07
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType({"texture": "texture"})

    gaussian: LogGaussian
    features: DeltaMFCC = field(default_factory=DeltaMFCC)

    def __post_init__(self) -> None:
        check_learned(self.gaussian.scales, "scales", (2 * self.features.n_mfcc,))

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """One: pairs of numbers of a window."""
        n_numbers = 2 * self.features.n_mfcc
        return (VectorPart(self.name, n_numbers * (n_numbers + 1) // 2, WEIGHT),)

    def start(self) -> _TextureAccumulator:
        """Return an empty accumulator for one song."""
        return _TextureAccumulator(self.gaussian, self.features)

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn the typical deviation of each number of a window within a song."""
        mfccs = features_of(DeltaMFCC, features)
        moments = []
        for frames in filter(len, songs):
            accumulator = WindowAccumulator(mfccs.n_features, mfccs.n_mfcc)
            accumulator.add(frames)
            moments.append(accumulator.moments())
        long_enough = [windows for windows in moments if windows.n_frames > 1]
        return cls(LogGaussian.fit(long_enough or moments, REGULARISATION), mfccs)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the typical deviations."""
        return {"scales": self.gaussian.scales}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder that arrays describe."""
        return cls(LogGaussian(arrays["scales"], REGULARISATION), features_of(DeltaMFCC, features))

    def labels(self) -> list[str]:
        """Name groups of dimensions: development and liveliness of loudness and timbre, and which go together."""
        kinds = ["loudness", *["timbre"] * (self.features.n_mfcc - 1)]
        names = [f"{aspect} of {kind}" for aspect in ("development", "liveliness") for kind in kinds]
        rows, columns, _ = triangle(len(names))
        pairs = ((names[i], names[j]) for i, j in zip(rows, columns, strict=True))
        return [" with ".join(dict.fromkeys(pair)) for pair in pairs]
