"""Song vectors -> embeddings: the protocol of projectors, and the one made of learned metrics (paper III-C, IV-B)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model.encoders import SongEncoder
from nearsong.model.file_format import Arrays
from nearsong.model.projection import Projection
from nearsong.types import FloatArray
from nearsong.validation import check_vectors

Artists = npt.NDArray[np.int64]


class Projector(ABC):
    """Turns the vectors of an encoder into embeddings, whose Euclidean distance is dissimilarity.

    Attributes
    ----------
    kind : str
        Its name in model files.
    uses_artists : bool
        Whether the embedding of a song in a database depends on the other songs of its artist there.
    """

    kind: ClassVar[str]

    @property
    def uses_artists(self) -> bool:
        """Whether the embedding of a song in a database depends on the other songs of its artist there."""
        return False

    @property
    @abstractmethod
    def rank(self) -> int:
        """Length of an embedding."""

    @property
    @abstractmethod
    def is_zero(self) -> bool:
        """Whether all songs have the same embedding."""

    @abstractmethod
    def check(self, encoder: SongEncoder) -> None:
        """Raise if vectors of this encoder cannot be projected."""

    @abstractmethod
    def project(self, encoder: SongEncoder, vectors: FloatArray) -> FloatArray:
        """Return the embeddings (n_songs, rank) of songs by themselves, from vectors (n_songs, n_dimensions)."""

    def project_database(self, encoder: SongEncoder, vectors: FloatArray, artists: Artists) -> FloatArray:
        """Return the embeddings (n_songs, rank) of songs of a database.

        Parameters
        ----------
        encoder : SongEncoder
        vectors : array of shape (n_songs, n_dimensions)
            All songs of some artists.
        artists : array of int and shape (n_songs,)
            Any number for each artist; -1 for songs without one.
        """
        return self.project(encoder, vectors)

    # ---- storing

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return everything beside the arrays as JSON can represent it."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""

    @classmethod
    @abstractmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the projector that :meth:`parameters` and :meth:`arrays` describe."""


@dataclass(frozen=True, eq=False)
class MetricProjector(Projector):
    """Projections side by side: the squared distance is the weighted sum of theirs.

    Parameters
    ----------
    projections : sequence of Projection
        Metrics over the vectors of the encoders.
    """

    kind: ClassVar[str] = "metric"
    projections: Sequence[Projection]

    def __post_init__(self) -> None:
        if not self.projections:
            raise InvalidInputError("a model needs at least one projection; use SimilarityModel.learn.")
        object.__setattr__(self, "projections", tuple(self.projections))

    @property
    def rank(self) -> int:
        """Length of an embedding."""
        return sum(len(projection.factor) for projection in self.projections)

    @property
    def is_zero(self) -> bool:
        """Whether all songs have the same embedding."""
        return all(projection.is_zero for projection in self.projections)

    def check(self, encoder: SongEncoder) -> None:
        """Raise if a projection reads an encoder that is not there, or vectors of another length."""
        encoders = encoder.encoders
        for projection in self.projections:
            index = projection.encoder_index
            if not 0 <= index < len(encoders):
                raise InvalidInputError(f"a projection reads encoder {index}; there are {len(encoders)}, from 0 on.")
            if len(projection.mean) != encoders[index].n_dimensions:
                raise InvalidInputError("a projection and the encoder disagree on the length of a song vector.")

    def mapped(self, encoder: SongEncoder, vectors: FloatArray) -> list[FloatArray]:
        """Return, for each projection, the vectors it reads: those of its encoder, after ``phi``."""
        blocks = encoder.blocks(check_vectors(vectors, "encoded"))
        mapped = []
        for projection in self.projections:
            own, block = encoder.encoders[projection.encoder_index], blocks[projection.encoder_index]
            mapped.append(own.phi(block) if projection.applies_phi else block)
        return mapped

    def project(self, encoder: SongEncoder, vectors: FloatArray) -> FloatArray:
        """Return the embeddings (n_songs, rank)."""
        mapped = self.mapped(encoder, vectors)
        rows = [projection.project(rows) for projection, rows in zip(self.projections, mapped, strict=True)]
        return np.hstack(rows)

    # ---- storing

    def parameters(self) -> dict[str, Any]:
        """Return the numbers of each projection."""
        names = ("encoder_index", "applies_phi", "weight", "spread")
        return {
            "projections": [{name: getattr(projection, name) for name in names} for projection in self.projections]
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return mean, basis and factor of each projection."""
        return {
            f"projection{i}_{name}": getattr(projection, name)
            for i, projection in enumerate(self.projections)
            for name in ("mean", "basis", "factor")
        }

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the projector."""
        projections = []
        for i, facts in enumerate(parameters["projections"]):
            mean, basis, factor = (arrays[f"projection{i}_{name}"] for name in ("mean", "basis", "factor"))
            projections.append(Projection(mean=mean, basis=basis, factor=factor, **facts))
        return cls(projections)
