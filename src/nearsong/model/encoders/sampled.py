"""What encoders share whose numbers are measured in units that are learned from sampled songs."""

from typing import ClassVar, TypeVar

from nearsong.audio import Chroma, DeltaMFCC, FrameFeatures, MelLevels
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import SongEncoder

OUTGROWN_SONGS, OUTGROWN_FACTOR = 100, 4
"""What was learned from fewer songs is learned again when the library has this many times as many."""

_SPOKEN_NAMES = {DeltaMFCC.name: "MFCCs", Chroma.name: "chroma", MelLevels.name: "mel levels"}

Features = TypeVar("Features", bound=FrameFeatures)


class SampledEncoder(SongEncoder):
    """An encoder that learns from sampled songs, and whose vectors have parts and are stored in half precision.

    Attributes
    ----------
    reads : type of FrameFeatures
        The features whose frames it reads.
    """

    needs_sample: ClassVar[bool] = True
    storage_dtype: ClassVar[str] = "float16"
    reads: ClassVar[type[FrameFeatures]] = DeltaMFCC

    @property
    def n_dimensions(self) -> int:
        """Those of all parts."""
        return sum(part.n_dimensions for part in self.parts)

    @classmethod
    def default_features(cls) -> FrameFeatures:
        """Return the features it reads."""
        return cls.reads()

    def is_outgrown(self, n_fitted: int, n_songs: int) -> bool:
        """Return whether it was learned from few songs and there are several times as many."""
        return n_fitted < OUTGROWN_SONGS and OUTGROWN_FACTOR * n_fitted <= n_songs


def features_of(kind: type[Features], features: FrameFeatures | None) -> Features:
    """Return features that are known to be of a kind, by default with its usual parameters; raise if they are not.

    >>> features_of(Chroma, None).name
    'chroma'
    """
    if features is None:
        return kind()
    if not isinstance(features, kind):
        name = _SPOKEN_NAMES.get(kind.name, kind.name)
        raise InvalidInputError(f"the encoder reads {name}, not the features {features.name!r}.")
    return features
