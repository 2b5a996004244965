"""Vectors that a user brings: looked up and not computed from sound; songs without one have NaN."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model.encoders.base import SongEncoder, VectorPart
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_count

VECTORS_WEIGHT = 4.56
"""Weight in squared distances: that of all the parts that are fitted to a library."""


class NoFrames(FrameFeatures):
    """Features without frames, for encoders that do not read any."""

    name: ClassVar[str] = "none"

    def __init__(self) -> None:
        self.sample_rate = SAMPLE_RATE
        self.n_features = 1
        self.min_samples = 1
        self.seconds_a_frame = 1.0

    def parameters(self) -> dict[str, int]:
        """Return the parameters: none."""
        return {}

    def start(self) -> "_EmptyStream":
        """Return a stream without frames."""
        return _EmptyStream()


class _EmptyStream:
    def add(self, samples: Samples) -> Frames:
        return np.empty((0, 1), np.float32)

    def finish(self) -> Frames:
        return np.empty((0, 1), np.float32)


class VectorsEncoder(SongEncoder):
    """Looks up vectors that you computed elsewhere.

    Parameters
    ----------
    n_dimensions : int
        Length of a vector.
    digest : str
        Hash of the table they come from.
    source : str
        Name of its file, for lists.
    """

    name: ClassVar[str] = "vectors"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.0
    licence: ClassVar[str] = "of the vectors"
    is_optional: ClassVar[bool] = True
    reads_audio: ClassVar[bool] = False

    def __init__(self, n_dimensions: int, digest: str, source: str) -> None:
        self.features = NoFrames()
        self._n_dimensions = check_count(n_dimensions, "n_dimensions")
        self._digest, self.source = digest, source

    @classmethod
    def default_features(cls) -> FrameFeatures:
        """Return features without frames."""
        return NoFrames()

    @classmethod
    def check_available(cls) -> None:
        """Raise: there is nothing to look up until a file is given."""
        raise EncoderNotInstalledError("The encoder vectors needs a file. Run: nearsong encoders add vectors FILE")

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Raise as :meth:`check_available` does; ``nearsong encoders add vectors FILE`` makes such an encoder."""
        raise EncoderNotInstalledError("The encoder vectors needs a file. Run: nearsong encoders add vectors FILE")

    @property
    def n_dimensions(self) -> int:
        """Length of a vector."""
        return self._n_dimensions

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """One part, which weighs as much as all that is fitted to a library."""
        return (VectorPart(self.name, self._n_dimensions, VECTORS_WEIGHT),)

    def start(self) -> "_MissingVector":
        """Return an accumulator whose result is NaN: a song that was not looked up has no vector."""
        return _MissingVector(self._n_dimensions)

    def check(self, vectors: Any) -> FloatArray:
        """Return vectors (n, n_dimensions) in double precision; rows of NaN, of songs without one, are possible."""
        rows = np.asarray(vectors, np.float64)
        super().check(without_missing(rows))
        return rows

    def labels(self) -> None:
        """Return None: nobody knows what the dimensions mean."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return length, hash and the file's name."""
        return {"n_dimensions": self._n_dimensions, "digest": self._digest, "source": self.source}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the stored encoder."""
        return cls(parameters["n_dimensions"], str(parameters["digest"]), str(parameters["source"]))


def without_missing(rows: FloatArray) -> FloatArray:
    """Return vectors (n, n_dimensions) with rows of NaN, of songs without a vector, replaced by 0."""
    return np.where(np.isnan(rows).all(axis=-1, keepdims=True), 0.0, rows)


class _MissingVector:
    """The vector of a song that was not looked up."""

    def __init__(self, n_dimensions: int) -> None:
        self._n_dimensions = n_dimensions

    @property
    def n_frames(self) -> int:
        return 0

    def add(self, frames: npt.ArrayLike) -> None:
        raise InvalidInputError("vectors that a user brings are looked up; they cannot be computed from frames.")

    def result(self) -> FloatArray:
        return np.full(self._n_dimensions, np.nan)
