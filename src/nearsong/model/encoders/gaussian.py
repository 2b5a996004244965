"""Frames -> mean and covariance of a song's frames: one Gaussian per song, as a vector (ours, not the paper's).

The vector holds the mean of each feature and the logarithm of the covariance matrix, both in units of what is usual
within a song: 39 + 780 numbers. Means and covariances are parts of their own, as means say less about taste.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.encoding.frames import check_frames
from nearsong.encoding.log_gaussian import LogGaussian, MomentAccumulator, triangle
from nearsong.model.encoders.base import VectorPart
from nearsong.model.encoders.sampled import SampledEncoder, features_of
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_learned

REGULARISATION = 1e-3
"""Added to the eigenvalues of a covariance, in units of the typical variance of a feature within a song."""

MEANS_WEIGHT = 0.11
"""Weight of the means relative to the covariance, chosen on the validation artists of a data set."""


class _GaussianAccumulator:
    """The Gaussian of one song."""

    def __init__(self, gaussian: LogGaussian) -> None:
        self._gaussian = gaussian
        self._moments = MomentAccumulator(len(gaussian.scales))

    @property
    def n_frames(self) -> int:
        return self._moments.n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        self._moments.add(check_frames(frames, len(self._gaussian.scales)))

    def result(self) -> FloatArray:
        moments = self._moments.moments()
        return np.concatenate([self._gaussian.mean(moments), self._gaussian.covariance(moments)])


@dataclass(frozen=True, eq=False)
class GaussianEncoder(SampledEncoder):
    """Describes a song by the mean and covariance of its frames.

    Parameters
    ----------
    gaussian : LogGaussian
        Has the typical deviation of each feature within a song.
    features : DeltaMFCC
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> songs = np.random.default_rng(0).normal(size=(5, 300, 39))
    >>> encoder = GaussianEncoder.fit(songs)
    >>> vector = encoder.encode(songs[0])
    >>> vector.shape, bool(np.allclose(vector[:39], songs[0].mean(axis=0) / encoder.gaussian.scales))
    ((819,), True)
    """

    name: ClassVar[str] = "gaussian"
    version: ClassVar[int] = 2
    cost: ClassVar[float] = 0.12
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"gaussian_means": "timbre", "gaussian_covariance": "how timbre varies"}
    )

    gaussian: LogGaussian
    features: DeltaMFCC = field(default_factory=DeltaMFCC)

    def __post_init__(self) -> None:
        check_learned(self.gaussian.scales, "scales", (self.features.n_features,))

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """Means, and covariances."""
        d = self.features.n_features
        return (
            VectorPart("gaussian_means", d, MEANS_WEIGHT),
            VectorPart("gaussian_covariance", d * (d + 1) // 2, 1.0),
        )

    def start(self) -> _GaussianAccumulator:
        """Return an empty accumulator for one song."""
        return _GaussianAccumulator(self.gaussian)

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn the typical deviation of each feature within a song."""
        mfccs = features_of(DeltaMFCC, features)
        moments = []
        for frames in filter(len, songs):
            accumulator = MomentAccumulator(mfccs.n_features)
            accumulator.add(check_frames(frames, mfccs.n_features))
            moments.append(accumulator.moments())
        return cls(LogGaussian.fit(moments, REGULARISATION), mfccs)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the typical deviations."""
        return {"scales": self.gaussian.scales}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder that arrays describe."""
        return cls(LogGaussian(arrays["scales"], REGULARISATION), features_of(DeltaMFCC, features))

    def labels(self) -> list[str]:
        """Name groups of dimensions: average, variation and covariation of loudness, timbre and movement."""
        n_mfcc = self.features.n_mfcc
        kinds = ["loudness", *["timbre"] * (n_mfcc - 1), *["movement"] * (2 * n_mfcc)]
        return [*(f"average {kind}" for kind in kinds), *covariance_labels(kinds)]


def covariance_labels(kinds: Sequence[str]) -> list[str]:
    """Describe the upper triangle of a covariance of features of some kinds, (n_features,), for users.

    >>> covariance_labels(["loudness", "timbre"])
    ['variation of loudness', 'how loudness and timbre vary together', 'variation of timbre']
    """
    rows, columns, _ = triangle(len(kinds))
    pairs = [(kinds[i], kinds[j]) for i, j in zip(rows, columns, strict=True)]
    return [f"variation of {a}" if a == b else f"how {a} and {b} vary together" for a, b in pairs]
