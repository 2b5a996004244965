"""Frames -> top-tau histograms of codewords, the paper's encoder (III-A, III-B); compared by square roots (PPK)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.encoding import Codewords, TopTauHistogram
from nearsong.encoding.non_negative import root
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import SongEncoder
from nearsong.model.encoders.sampled import features_of
from nearsong.model.encoders.sound_words import describe
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_count, check_vectors

MAX_CODEWORDS = 1024
"""The paper's best codebook size."""

MIN_CODEWORDS = 16

MIN_FRAMES_PER_CODEWORD = 60
"""A sample with fewer frames gets a smaller codebook."""

MAX_ROUNDING = 1e-6
"""Maximum difference of the sum of a histogram from 1."""

OUTGROWN_FACTOR = 4
"""A smaller codebook is learned again when the library has this many times the songs it was learned from."""


@dataclass(frozen=True, eq=False)
class Quantizer:
    """A codebook and tau, the number of codewords a frame counts for: turns frames into a histogram."""

    codebook: Codewords
    tau: int = 1

    def __post_init__(self) -> None:
        self.codebook.check_fitted()
        learned = [getattr(self.codebook, f"{name}_") for name in ("mean", "scale", "codewords", "counts")]
        # a copy, as the caller may continue to fit the codebook, and a metric is only valid for these codewords
        object.__setattr__(self, "codebook", Codewords.from_arrays(*learned))
        object.__setattr__(self, "_histogram", TopTauHistogram(self.codebook, self.tau))
        object.__setattr__(self, "tau", int(self.tau))

    @property
    def histogram(self) -> TopTauHistogram:
        """The transformer from frames to histograms."""
        histogram: TopTauHistogram = self._histogram  # type: ignore[attr-defined]
        return histogram

    @property
    def shares(self) -> FloatArray:
        """How often each codeword occurred when the codebook was learned; sums to 1."""
        counts, size = self.codebook.counts_, self.histogram.n_codewords
        occurrences = np.ones(size) if counts is None or counts.sum() == 0 else counts.astype(np.float64)
        return np.asarray(occurrences / occurrences.sum(), dtype=np.float64)


class _Histogram:
    """The histogram of one song."""

    def __init__(self, quantizer: Quantizer) -> None:
        self._counter = quantizer.histogram.counter()

    @property
    def n_frames(self) -> int:
        return self._counter.n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        self._counter.add(frames)

    def result(self) -> FloatArray:
        return self._counter.histogram()


@dataclass(frozen=True, eq=False)
class CodewordEncoder(SongEncoder):
    """Counts how large a share of a song each codeword has.

    Parameters
    ----------
    quantizer : Quantizer
        Codebook and tau.
    features : FrameFeatures
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong import Codebook
    >>> from nearsong.model import CodewordEncoder, Quantizer
    >>> frames = np.random.default_rng(0).normal(size=(300, 39))
    >>> encoder = CodewordEncoder(Quantizer(Codebook(8).fit(frames), tau=2))
    >>> encoder.encode(frames).shape
    (8,)
    """

    name: ClassVar[str] = "codewords"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 1.0
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType({"codewords": "typical sounds"})
    needs_sample: ClassVar[bool] = True
    has_shares: ClassVar[bool] = True

    quantizer: Quantizer
    features: DeltaMFCC = field(default_factory=DeltaMFCC)

    def __post_init__(self) -> None:
        if self.quantizer.histogram.n_features != self.features.n_features:
            raise InvalidInputError(
                f"the codebook is for frames of {self.quantizer.histogram.n_features} numbers and the features give "
                f"{self.features.n_features}; use a codebook learned from such frames."
            )

    @property
    def n_dimensions(self) -> int:
        """Codewords."""
        return int(self.quantizer.histogram.n_codewords)

    def start(self) -> _Histogram:
        """Return an empty accumulator for one song."""
        return _Histogram(self.quantizer)

    def labels(self) -> list[str]:
        """Describe the sound of each codeword in a few words."""
        return describe(self.quantizer.codebook, self.features)

    def typical_vector(self) -> FloatArray:
        """Return how often each codeword occurred when the codebook was learned; sums to 1."""
        return self.quantizer.shares

    # ---- learning

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn a codebook from frames: 1,024 codewords, or fewer if there are too few frames."""
        frames = np.concatenate(songs)
        size = codebook_size(len(frames))
        try:
            codebook = Codewords(size, random_state=seed).fit(frames)
        except InvalidInputError as error:  # silence, or hardly any sound
            n_distinct = len(np.unique(frames, axis=0))
            while size > n_distinct:
                size //= 2
            if size < MIN_CODEWORDS:
                raise InvalidInputError("There is too little sound to learn a codebook. Scan more music.") from error
            codebook = Codewords(size, random_state=seed).fit(frames)
        return cls(Quantizer(codebook), features_of(DeltaMFCC, features))

    def is_outgrown(self, n_fitted: int, n_songs: int) -> bool:
        """Return whether the codebook is small and there are several times the songs it was learned from."""
        return self.n_dimensions < MAX_CODEWORDS and OUTGROWN_FACTOR * n_fitted <= n_songs

    # ---- storing

    def parameters(self) -> dict[str, Any]:
        """Return tau."""
        return {"tau": self.quantizer.tau}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the codebook."""
        return self._codebook_arrays("mean", "scale", "codewords", "counts")

    def key_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the codebook without its counts, which do not affect histograms."""
        return self._codebook_arrays("mean", "scale", "codewords")

    def _codebook_arrays(self, *names: str) -> dict[str, npt.NDArray[Any]]:
        arrays = {name: getattr(self.quantizer.codebook, f"{name}_") for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder that parameters and arrays describe."""
        codebook = Codewords.from_arrays(arrays["mean"], arrays["scale"], arrays["codewords"], arrays.get("counts"))
        return cls(Quantizer(codebook, check_count(parameters["tau"], "tau")), features_of(DeltaMFCC, features))

    # ---- comparing

    def phi(self, vectors: FloatArray) -> FloatArray:
        """Return square roots: their inner product is the probability product kernel."""
        return root(check_vectors(vectors, "vectors"), "ProductKernelMap")

    def check(self, vectors: Any) -> FloatArray:
        """Return histograms if their shares are at least 0 and sum to 1, or raise."""
        rows = super().check(vectors)
        if rows.size and (rows.min() < 0 or np.abs(rows.sum(axis=1) - 1).max() > MAX_ROUNDING):
            raise InvalidInputError(
                "vectors has a row that is not a histogram: shares of at least 0 that sum to 1 are needed."
            )
        return rows

    def restore(self, stored: npt.NDArray[Any]) -> FloatArray:
        """Return histograms in double precision, normalised to sum to 1."""
        rows = super().check(stored)
        sums = rows.sum(axis=1, keepdims=True)
        if rows.min() < 0 or sums.min() <= 0:
            raise InvalidInputError("a song's histogram is empty or has a number below 0; scan again.")
        return np.asarray(rows / sums, dtype=np.float64)


def codebook_size(n_frames: int) -> int:
    """Return a power of two: the paper's 1,024, or less if there are too few frames for it.

    >>> [codebook_size(n) for n in (100, 5_000, 40_000, 500_000)]
    [16, 64, 512, 1024]
    """
    size = MAX_CODEWORDS
    while size > MIN_CODEWORDS and n_frames < size * MIN_FRAMES_PER_CODEWORD:
        size //= 2
    return size
