"""Frames -> Fisher vector: how a song's sounds differ from 16 typical ones of all songs (ours, not the paper's).

The 16 Gaussians of a mixture are learned from 60 random frames of each sampled song. For each of them the vector
says how the song's frames near it are shifted (means) and spread (variances), 624 numbers each; each part is taken to
its signed square root and to length 1, and its numbers to z-scores among the sampled songs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.baselines.mixture import fit_mixture
from nearsong.encoding import Codewords
from nearsong.encoding.fisher import ColumnScores, FisherVector, Whitening, signed_root
from nearsong.encoding.frames import check_frames
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import VectorPart
from nearsong.model.encoders.sampled import SampledEncoder, features_of
from nearsong.model.encoders.sound_words import describe
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_learned

N_COMPONENTS = 16
"""Gaussians of the mixture; fewer where the sampled songs have fewer different frames."""

SAMPLE_FRAMES = 60
"""Frames of each sampled song that the mixture is learned from."""

MAX_EM_ROUNDS = 60
"""Maximum number of EM steps."""

MIN_VARIANCE = 1e-3
"""Lower bound for the variance of a Gaussian, relative to that of all frames."""

MEANS_WEIGHT, VARIANCES_WEIGHT = 0.5, 1.5
"""Weights of the two parts, chosen on the validation artists of a data set."""

_SEED_LABEL = 11
"""Distinguishes the random numbers that choose frames from others of the same seed."""


class _FisherAccumulator:
    """The Fisher vector of one song."""

    def __init__(self, fisher: FisherVector, scores: ColumnScores) -> None:
        self._fisher, self._scores = fisher, scores
        self._sums = fisher.start()

    @property
    def n_frames(self) -> int:
        return self._sums.n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        self._sums.add(check_frames(frames, len(self._fisher.whitening.mean)))

    def result(self) -> FloatArray:
        return self._scores.transform(np.concatenate([signed_root(part) for part in self._sums.gradients()]))


@dataclass(frozen=True, eq=False)
class FisherEncoder(SampledEncoder):
    """Describes a song by how its frames differ from a mixture of Gaussians of all songs.

    Parameters
    ----------
    fisher : FisherVector
        The mixture.
    scores : ColumnScores
        The z-scores of the vector's numbers.
    features : DeltaMFCC
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> songs = np.random.default_rng(0).normal(size=(5, 300, 39))
    >>> FisherEncoder.fit(songs).encode(songs[0]).shape
    (1248,)
    """

    name: ClassVar[str] = "fisher"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.2
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"fisher_means": "kinds of sounds", "fisher_variances": "variety of sounds"}
    )

    fisher: FisherVector
    scores: ColumnScores
    features: DeltaMFCC = field(default_factory=DeltaMFCC)

    def __post_init__(self) -> None:
        check_learned(self.fisher.whitening.mean, "the mean of frames", (self.features.n_features,))
        check_learned(self.scores.mean, "the mean of songs", (2 * self.fisher.n_numbers,))

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """Shifts of the means, and changes of the variances."""
        n = self.fisher.n_numbers
        return (VectorPart("fisher_means", n, MEANS_WEIGHT), VectorPart("fisher_variances", n, VARIANCES_WEIGHT))

    def start(self) -> _FisherAccumulator:
        """Return an empty accumulator for one song."""
        return _FisherAccumulator(self.fisher, self.scores)

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn the mixture from some frames of each song, and the z-scores from the songs' vectors."""
        mfccs = features_of(DeltaMFCC, features)
        frames = [check_frames(song, mfccs.n_features) for song in songs if len(song)]
        fisher = fit_fisher_vector(frames, N_COMPONENTS, seed=seed)
        unscaled = cls(fisher, ColumnScores(np.zeros(2 * fisher.n_numbers), np.ones(2 * fisher.n_numbers)), mfccs)
        return cls(fisher, ColumnScores.fit(np.array([unscaled.encode_frames([song]) for song in frames])), mfccs)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return whitening, mixture and z-scores."""
        return fisher_arrays(self.fisher, self.scores)

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder that arrays describe."""
        return cls(*fisher_of(arrays), features_of(DeltaMFCC, features))

    def labels(self) -> list[str]:
        """Name the sound of each Gaussian, once for its mean and once for its variance."""
        whitening = self.fisher.whitening
        centres = whitening.restore(self.fisher.means) - whitening.mean
        counts = np.round(1e6 * self.fisher.weights).astype(np.int64)
        codebook = Codewords.from_arrays(whitening.mean, np.ones(len(whitening.mean)), centres, counts)
        words = describe(codebook, self.features)
        n_axes = self.fisher.means.shape[1]
        return [f"{sound} ({kind})" for kind in ("average", "variety") for sound in words for _ in range(n_axes)]


def fit_fisher_vector(
    songs: Sequence[npt.NDArray[Any]], n_components: int, *, n_axes: int | None = None, seed: int = 0
) -> FisherVector:
    """Learn whitening and mixture from 60 random frames of each song.

    Parameters
    ----------
    songs : sequence of arrays of shape (n_frames, n_features)
        At least one frame in all.
    n_components : int
        Gaussians; fewer where there are fewer different frames.
    n_axes : int, optional
        Axes of the largest variance that are used; by default all.
    seed : int
        Chooses the frames and the start of EM.
    """
    random = np.random.default_rng([seed, _SEED_LABEL])
    if not any(len(song) for song in songs):
        raise InvalidInputError("there are no frames to learn a mixture from; give at least one song.")
    frames = np.concatenate([song[np.sort(random.permutation(len(song))[:SAMPLE_FRAMES])] for song in songs])
    whitening = Whitening.fit(frames, n_axes)
    mixture = fit_mixture(
        whitening.transform(frames), n_components, seed=seed, max_iter=MAX_EM_ROUNDS, variance_floor=MIN_VARIANCE
    )
    return FisherVector(whitening, mixture.weights, mixture.means, mixture.variances)


def fisher_arrays(fisher: FisherVector, scores: ColumnScores) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a Fisher vector and of the z-scores of its numbers by name."""
    return {
        "mean": fisher.whitening.mean,
        "axes": fisher.whitening.axes,
        "weights": fisher.weights,
        "means": fisher.means,
        "variances": fisher.variances,
        "scores_mean": scores.mean,
        "scores_scale": scores.scale,
    }


def fisher_of(arrays: Arrays) -> tuple[FisherVector, ColumnScores]:
    """Return the Fisher vector and the z-scores that :func:`fisher_arrays` described."""
    whitening = Whitening(arrays["mean"], arrays["axes"])
    fisher = FisherVector(whitening, arrays["weights"], arrays["means"], arrays["variances"])
    return fisher, ColumnScores(arrays["scores_mean"], arrays["scores_scale"])
