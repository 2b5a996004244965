"""Frames -> histograms with a codebook that is known to the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.errors import InvalidInputError
from nearsong.validation import check_vectors


@dataclass(frozen=True, eq=False)
class Encoder:
    """A codebook and how many codewords a frame counts for: what makes histograms."""

    codebook: Codebook
    tau: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "_histogram", TopTauHistogram(self.codebook, self.tau))

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
        return histograms
