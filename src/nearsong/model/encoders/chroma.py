"""Chroma -> harmony: which chords and chord changes a song has, in whatever key.

Each chroma frame and those after it become 30 numbers that stay the same when the music is transposed:

- the magnitudes 1 to 6 of the Fourier transform over the twelve pitch classes: how far the sounding pitch classes are
  concentrated, or form tritones, augmented triads, diminished sevenths, fifths (magnitude 5) or whole tones;
- the circular cross-correlations with the next frame (93 ms later) and the fourth (0.37 s later): the intervals from
  each sounding pitch class to each that follows.

A major and a minor triad have the same intervals, so that only the chords around them tell them apart.

The vector has two parts: the mean and the logarithm of the covariance of these frames, and their Fisher vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio import Chroma, FrameFeatures, Frames
from nearsong.audio.chroma import N_PITCH_CLASSES
from nearsong.encoding.fisher import ColumnScores, FisherVector, signed_root
from nearsong.encoding.frames import check_frames
from nearsong.encoding.log_gaussian import LogGaussian, MomentAccumulator
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import VectorPart
from nearsong.model.encoders.fisher import fisher_arrays, fisher_of, fit_fisher_vector
from nearsong.model.encoders.gaussian import covariance_labels
from nearsong.model.encoders.sampled import SampledEncoder, features_of
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_learned

LAGS = (1, 4)
"""Distances in frames between chroma frames that are correlated."""

MAX_LAG = max(LAGS)

N_HARMONY = N_PITCH_CLASSES // 2 + len(LAGS) * N_PITCH_CLASSES
"""Numbers of a key-invariant frame."""

REGULARISATION = 1e-2
"""Added to the eigenvalues of the scaled covariance."""

N_AXES, N_COMPONENTS = 20, 8
"""Principal axes and Gaussians of the mixture."""

_WEIGHTS = (0.4, 0.4)
"""Squared weights of the two parts beside other encoders, chosen by validation."""

_KINDS = (
    *["chords"] * (N_PITCH_CLASSES // 2),
    *["quick changes of harmony"] * N_PITCH_CLASSES,
    *["slow changes of harmony"] * N_PITCH_CLASSES,
)
"""What each number of a key-invariant frame describes."""

_angles = -2 * np.pi * np.outer(np.arange(1, N_PITCH_CLASSES // 2 + 1), np.arange(N_PITCH_CLASSES)) / N_PITCH_CLASSES
_COS, _SIN = np.cos(_angles), np.sin(_angles)


def key_invariant(chroma: npt.ArrayLike) -> FloatArray:
    """Return what stays of chroma frames when the music is transposed.

    Parameters
    ----------
    chroma : array of shape (n_frames, 12)
        Scaled to length 1 here, so that only the proportions of a frame matter; silence is zero.

    Returns
    -------
    array of shape (n_frames - 4, 30)
        Six magnitudes and two times twelve correlations; none of fewer than five frames.

    Examples
    --------
    >>> chroma = np.random.default_rng(0).random((9, 12))
    >>> higher = np.roll(chroma, 3, axis=1)
    >>> key_invariant(chroma).shape, bool(np.allclose(key_invariant(chroma), key_invariant(higher)))
    ((5, 30), True)
    """
    frames = check_frames(chroma, N_PITCH_CLASSES)
    return np.asarray(_key_invariant(frames, _COS, _SIN), dtype=np.float64)


class _HarmonyStatistics:
    """Moments and, with a mixture, Fisher statistics of key-invariant frames."""

    def __init__(self, fisher: FisherVector | None) -> None:
        self.moments = MomentAccumulator(N_HARMONY)
        self.fisher = None if fisher is None else fisher.start()

    def add(self, harmony: FloatArray) -> None:
        self.moments.add(harmony)
        if self.fisher is not None:
            self.fisher.add(harmony)

    def fisher_vector(self) -> FloatArray:
        """Return the Fisher vector, to length 1."""
        assert self.fisher is not None
        return signed_root(np.concatenate(self.fisher.gradients()))


class _HarmonyAccumulator:
    """The state of one song while its chroma frames arrive."""

    def __init__(self, encoder: "ChromaEncoder") -> None:
        self._encoder = encoder
        self._statistics = _HarmonyStatistics(encoder.fisher)
        self._pending: Frames = np.empty((0, N_PITCH_CLASSES), dtype=np.float32)
        self._n_frames = 0

    @property
    def n_frames(self) -> int:
        return self._n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        rows = check_frames(frames, N_PITCH_CLASSES)
        self._n_frames += len(rows)
        window = np.concatenate([self._pending, rows])
        if len(window) > MAX_LAG:
            self._statistics.add(key_invariant(window))
        self._pending = window[-MAX_LAG:].copy()

    def result(self) -> FloatArray:
        if self._n_frames == 0:
            raise InvalidInputError("no frames were added, so there is no harmony; add at least one frame.")
        if self._n_frames > MAX_LAG:
            return self._encoder.vector(self._statistics)
        statistics = _HarmonyStatistics(self._encoder.fisher)
        statistics.add(key_invariant(_lengthened(self._pending)))
        return self._encoder.vector(statistics)


def _lengthened(chroma: Frames) -> Frames:
    """Return the frames (n, 12) of a song of few with its last one repeated: it is thought to go on as it ends."""
    return np.concatenate([chroma, chroma[-1:].repeat(MAX_LAG, axis=0)]) if len(chroma) <= MAX_LAG else chroma


@dataclass(frozen=True, eq=False)
class ChromaEncoder(SampledEncoder):
    """Describes the harmony of a song, whatever its key.

    Parameters
    ----------
    gaussian : LogGaussian
        The scales of key-invariant frames.
    fisher : FisherVector
        A mixture of Gaussians of such frames of many songs.
    scores : ColumnScores
        Mean and scale of each number of the Fisher vector among sampled songs.
    features : Chroma
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> songs = [np.random.default_rng(i).random((100, 12)) for i in range(8)]
    >>> encoder = ChromaEncoder.fit(songs)
    >>> [(part.name, part.n_dimensions) for part in encoder.parts]
    [('chroma_gaussian', 495), ('chroma_fisher', 320)]
    >>> bool(np.allclose(encoder.encode(songs[0]), encoder.encode(np.roll(songs[0], 5, axis=1))))
    True
    """

    name: ClassVar[str] = "chroma"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.08
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"chroma_gaussian": "harmony", "chroma_fisher": "kinds of chords"}
    )
    reads: ClassVar[type[FrameFeatures]] = Chroma

    gaussian: LogGaussian
    fisher: FisherVector
    scores: ColumnScores
    features: Chroma = field(default_factory=Chroma)

    def __post_init__(self) -> None:
        check_learned(self.gaussian.scales, "scales", (N_HARMONY,))
        check_learned(self.fisher.whitening.mean, "the mean of frames", (N_HARMONY,))
        check_learned(self.scores.mean, "the mean of songs", (2 * self.fisher.n_numbers,))

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """The Gaussian and the Fisher vector."""
        sizes = (N_HARMONY + N_HARMONY * (N_HARMONY + 1) // 2, 2 * self.fisher.n_numbers)
        names = ("chroma_gaussian", "chroma_fisher")
        return tuple(VectorPart(*facts) for facts in zip(names, sizes, _WEIGHTS, strict=True))

    def start(self) -> _HarmonyAccumulator:
        """Return an empty accumulator for one song."""
        return _HarmonyAccumulator(self)

    def vector(self, statistics: _HarmonyStatistics) -> FloatArray:
        """Return the vector (n_dimensions,) of a song from its statistics."""
        moments = statistics.moments.moments()
        pieces = [self.gaussian.mean(moments), self.gaussian.covariance(moments)]
        return np.concatenate([*pieces, self.scores.transform(statistics.fisher_vector())])

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn typical spreads and a mixture of Gaussians from the chroma of sampled songs."""
        harmonies = [key_invariant(_lengthened(check_frames(song, N_PITCH_CLASSES))) for song in songs if len(song)]
        if not harmonies:
            raise InvalidInputError("there are no songs to learn typical harmonies from; give at least one.")
        gaussian = LogGaussian.fit([_statistics(harmony).moments.moments() for harmony in harmonies], REGULARISATION)
        fisher = fit_fisher_vector(harmonies, N_COMPONENTS, n_axes=N_AXES, seed=seed)
        vectors = np.array([_statistics(harmony, fisher).fisher_vector() for harmony in harmonies])
        return cls(gaussian, fisher, ColumnScores.fit(vectors), features_of(Chroma, features))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that was learned."""
        return {"scales": self.gaussian.scales, **fisher_arrays(self.fisher, self.scores)}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder with stored arrays."""
        gaussian = LogGaussian(arrays["scales"], REGULARISATION)
        return cls(gaussian, *fisher_of(arrays), features_of(Chroma, features))

    def labels(self) -> list[str]:
        """Name groups of dimensions: chords and changes of harmony, their means, and how they vary together."""
        averages = [f"average {kind}" for kind in _KINDS]
        return [*averages, *covariance_labels(_KINDS), *["typical harmonies"] * (2 * self.fisher.n_numbers)]


def _statistics(harmony: FloatArray, fisher: FisherVector | None = None) -> _HarmonyStatistics:
    statistics = _HarmonyStatistics(fisher)
    statistics.add(harmony)
    return statistics


@njit(cache=True, nogil=True)
def _key_invariant(frames, cosines, sines):  # type: ignore[no-untyped-def]
    n_magnitudes, n_classes = cosines.shape
    n_frames = max(0, len(frames) - MAX_LAG)
    unit = np.zeros(frames.shape)
    for t in range(len(frames)):
        square = 0.0
        for i in range(n_classes):
            square += np.float64(frames[t, i]) * np.float64(frames[t, i])
        if square > 0:
            for i in range(n_classes):
                unit[t, i] = frames[t, i] / np.sqrt(square)
    result = np.zeros((n_frames, N_HARMONY))
    for t in range(n_frames):
        for k in range(n_magnitudes):
            re, im = 0.0, 0.0
            for i in range(n_classes):
                re += cosines[k, i] * unit[t, i]
                im += sines[k, i] * unit[t, i]
            result[t, k] = np.sqrt(re * re + im * im)
        for pair in range(len(LAGS)):
            first = n_magnitudes + pair * n_classes
            later = unit[t + LAGS[pair]]
            for i in range(n_classes):
                strength = unit[t, i]
                for interval in range(n_classes):
                    result[t, first + interval] += strength * later[(i + interval) % n_classes]
    return result
