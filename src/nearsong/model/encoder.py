"""Frames -> histograms with a codebook that is known to the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.errors import InvalidInputError
from nearsong.validation import check_vectors


@dataclass(frozen=True, eq=False)
class Encoder:
    """A codebook and how many codewords a frame counts for: what makes histograms."""

    codebook: Codebook
    tau: int = 1

    def __post_init__(self) -> None:
        check_is_fitted(self.codebook, "codewords_")
        learned = [getattr(self.codebook, f"{name}_") for name in ("mean", "scale", "codewords", "counts")]
        # a copy: the codebook may go on learning, and the metric belongs to the codewords as they are now
        object.__setattr__(self, "codebook", Codebook.from_arrays(*learned))
        object.__setattr__(self, "_histogram", TopTauHistogram(self.codebook, self.tau))
        object.__setattr__(self, "tau", int(self.tau))

    @property
    def histogram(self) -> TopTauHistogram:
        """The encoder at work."""
        found: TopTauHistogram = self._histogram  # type: ignore[attr-defined]
        return found

    def same_as(self, other: "Encoder") -> bool:
        """Say whether two encoders make the same histograms of everything."""
        pairs = [
            (getattr(self.codebook, name), getattr(other.codebook, name))
            for name in ("mean_", "scale_", "codewords_")
        ]
        return self.tau == other.tau and all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def histograms_of(self, songs: Any) -> npt.NDArray[np.float64]:
        """Return histograms (songs x V): as they came, checked, or made of frames (a sequence of 2-D arrays)."""
        if not (isinstance(songs, np.ndarray) and songs.ndim == 2):
            return self.histogram.transform(songs)
        histograms = check_vectors(songs, "songs")
        if histograms.shape[1] != self.histogram.n_codewords:
            raise InvalidInputError(
                f"songs has {histograms.shape[1]} columns and the codebook {self.histogram.n_codewords} codewords; "
                "give histograms made with it, or a list of frames."
            )
        if histograms.min() < 0 or np.abs(histograms.sum(axis=1) - 1).max() > 1e-6:
            raise InvalidInputError(
                "songs has a row that is no histogram: shares of at least 0 that sum to 1 are needed."
            )
        return histograms
