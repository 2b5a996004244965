"""Song vectors of several encoders -> phi -> embeddings: by sound alone, or where listeners would put a song."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, Union

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model.encoders import SongEncoder
from nearsong.model.file_format import Arrays
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space.ordered_products import PackedMatrix, ordered_product
from nearsong.model.projector import Artists, Projector
from nearsong.reduction.principal_components import PrincipalComponents
from nearsong.types import FloatArray
from nearsong.validation import check_learned

if TYPE_CHECKING:
    from nearsong.model.listener_space import ListenerSpace

MAX_SOUND_DIMENSIONS = 128
"""Dimensions of an embedding by sound alone, at most."""

SOUND_VARIANCE_SHARE = 0.95
"""Share of the variance of phi that an embedding by sound alone retains."""


@dataclass(frozen=True, eq=False)
class SoundSpace:
    """Embeds songs by sound alone: the principal components of phi.

    Attributes
    ----------
    basis : array of shape (n_dimensions, rank)
        Orthonormal columns.
    """

    basis: FloatArray

    def __post_init__(self) -> None:
        check_learned(self.basis, "the basis of a sound space", (None, None))
        object.__setattr__(self, "_packed", PackedMatrix.of(self.basis))

    @classmethod
    def fit(cls, phi: FloatArray) -> Self:
        """Return the space of songs (n_songs, n_dimensions)."""
        if np.ptp(phi, axis=0).max(initial=0.0) == 0:
            raise InvalidInputError(
                f"{len(phi)} song(s) all sound the same; at least two different songs are needed."
            )
        components = PrincipalComponents.fit(phi, SOUND_VARIANCE_SHARE).components
        return cls(np.ascontiguousarray(components[:MAX_SOUND_DIMENSIONS].T, dtype=np.float64))

    def transform(self, phi: FloatArray) -> FloatArray:
        """Return the embeddings (n_songs, rank) of songs (n_songs, n_dimensions)."""
        packed: PackedMatrix = self._packed  # type: ignore[attr-defined]
        return ordered_product(phi, packed)


@dataclass(frozen=True, eq=False)
class FusedProjector(Projector):
    """Joins the parts of song vectors to phi, and embeds phi in a space.

    Parameters
    ----------
    fusion : Fusion
        Centres, weights and joins the parts.
    space : SoundSpace or ListenerSpace
        By sound alone, or fitted to listeners.
    """

    kind: ClassVar[str] = "fused"
    fusion: Fusion
    space: Union[SoundSpace, "ListenerSpace"]

    @property
    def rank(self) -> int:
        """Length of an embedding."""
        if not isinstance(self.space, SoundSpace):
            return int(self.space.maps_.n_dimensions)
        return int(self.space.basis.shape[1])

    @property
    def is_zero(self) -> bool:
        """Whether all songs have the same embedding."""
        if not isinstance(self.space, SoundSpace):
            return bool(self.space.maps_.is_zero)
        return not self.space.basis.any()

    @property
    def uses_artists(self) -> bool:
        """Whether songs of a database are drawn to the mean of their artist's songs."""
        return not isinstance(self.space, SoundSpace) and self.space.centroid_share > 0

    def check(self, encoder: SongEncoder) -> None:
        """Raise if the encoder's parts are not those that were fused."""
        parts = tuple((part.name, part.n_dimensions) for part in encoder.parts)
        own = tuple(zip(self.fusion.names, self.fusion.sizes, strict=True))
        if parts != own:
            raise InvalidInputError("a fusion and the encoder disagree on the parts of a song vector.")
        width = self.space.n_features_in_ if not isinstance(self.space, SoundSpace) else len(self.space.basis)
        if width != self.fusion.n_dimensions:
            raise InvalidInputError("a fusion and its space disagree on the length of phi.")

    def phi(self, encoder: SongEncoder, vectors: FloatArray) -> FloatArray:
        """Return phi (n_songs, n_dimensions) of song vectors; a block that a song does not have is NaN."""
        return self.fusion.transform(encoder.phi(np.asarray(vectors, dtype=np.float64)))

    def project(self, encoder: SongEncoder, vectors: FloatArray) -> FloatArray:
        """Return the embeddings (n_songs, rank) of songs by themselves."""
        return self.space.transform(self.phi(encoder, vectors))

    def project_database(self, encoder: SongEncoder, vectors: FloatArray, artists: Artists) -> FloatArray:
        """Return the embeddings (n_songs, rank) of songs of a database, drawn to their artist's mean."""
        phi = self.phi(encoder, vectors)
        if not isinstance(self.space, SoundSpace):
            return self.space.transform_database(phi, artists)
        return self.space.transform(phi)

    # ---- storing

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of fusion and space."""
        listeners = self.space.parameters() if not isinstance(self.space, SoundSpace) else None
        return {"fusion": self.fusion.parameters(), "listener_space": listeners}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of fusion and space."""
        space = self.space.arrays() if not isinstance(self.space, SoundSpace) else {"basis": self.space.basis}
        return {f"fusion_{name}": array for name, array in self.fusion.arrays().items()} | {
            f"space_{name}": array for name, array in space.items()
        }

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the projector."""
        fusion = Fusion.from_arrays(parameters["fusion"], _with_prefix(arrays, "fusion_"))
        own = _with_prefix(arrays, "space_")
        facts = parameters["listener_space"]
        if facts is None:
            return cls(fusion, SoundSpace(own["basis"]))
        from nearsong.model.listener_space import ListenerSpace  # loads scikit-learn where it is installed

        return cls(fusion, ListenerSpace.from_arrays(facts, own))


def _with_prefix(arrays: Arrays, prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
