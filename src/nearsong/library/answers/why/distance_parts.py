"""Two embeddings of a fused model -> exact parts of their squared distance: blocks, artists, aspects of sound.

An embedding is a row of blocks, so the squared distance is the sum over blocks. The block of sound is ``B' phi`` with
orthonormal columns B, so that for a difference e of two such blocks

    |e|^2 = |B e|^2 = sum over the dimensions j of phi of (B e)_j^2,

which is summed over the parts of the song vector (timbre, harmony, ...). The blocks of taste have such bases of
artists. Nothing is left over: the named parts add up to the squared distance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model import FusedProjector, SimilarityModel
from nearsong.model.encoders import PART_WORDS
from nearsong.model.listener_space import BlockSlice, ListenerSpace
from nearsong.types import FloatArray

KIND_WORDS = {
    "taste": "listeners' taste",
    "sound": "sound",
    "metric": "what listeners hear in the sound",
    "known": "who plays the artists",
}
"""Kind of a block -> how users read it."""


@dataclass(frozen=True)
class DistancePart:
    """A named part of a squared distance.

    Attributes
    ----------
    name : str
        Of a block, an artist or an aspect of sound.
    kind : str
        Kind of the block: taste, sound, metric or known.
    squared : float
        Its part of the squared distance.
    """

    name: str
    kind: str
    squared: float


@dataclass(frozen=True, eq=False)
class DistanceParts:
    """A squared distance and all its parts.

    Attributes
    ----------
    squared : float
        The squared distance.
    blocks : tuple of DistancePart
        They add up to it.
    aspects : tuple of DistancePart
        Aspects of sound, the largest first; they add up to the block of sound.
    artists : array of shape (n_columns,)
        Artists in the listens; they add up to the blocks of taste. Empty without a listener space.
    """

    squared: float
    blocks: tuple[DistancePart, ...]
    aspects: tuple[DistancePart, ...]
    artists: FloatArray

    def of_kind(self, kind: str) -> float:
        """Return the part of the blocks of a kind."""
        return float(sum(block.squared for block in self.blocks if block.kind == kind))

    def share(self, kind: str) -> float:
        """Return the share of a kind of block in the squared distance, 0 to 1; 0 for identical embeddings."""
        return self.of_kind(kind) / self.squared if self.squared > 0 else 0.0


def blocks_of(model: SimilarityModel) -> tuple[BlockSlice, ...]:
    """Return the blocks of a model's embeddings; none if the model is not fused."""
    if not isinstance(model.projector, FusedProjector):
        return ()
    space = model.projector.space
    if isinstance(space, ListenerSpace):
        return tuple(space.blocks_)
    return (BlockSlice("sound", "sound", 0, model.rank, 1.0),)


def listener_space_of(model: SimilarityModel) -> ListenerSpace | None:
    """Return a model's listener space, if it has one."""
    projector = model.projector
    is_learned = isinstance(projector, FusedProjector) and isinstance(projector.space, ListenerSpace)
    return projector.space if is_learned else None  # type: ignore[attr-defined]


def columns_of_kinds(model: SimilarityModel) -> dict[str, npt.NDArray[np.int64]]:
    """Return the columns of an embedding that the blocks of each kind have."""
    columns: dict[str, list[int]] = {}
    for block in blocks_of(model):
        columns.setdefault(block.kind, []).extend(range(block.start, block.stop))
    return {kind: np.array(numbers) for kind, numbers in columns.items()}


def distance_parts(model: SimilarityModel, query: npt.NDArray[Any], song: npt.NDArray[Any]) -> DistanceParts:
    """Divide the squared distance of two embeddings.

    Parameters
    ----------
    model : SimilarityModel
        With a fused projector.
    query, song : array of shape (rank,)
        Embeddings, of a query or as stored.
    """
    projector = model.projector
    if not isinstance(projector, FusedProjector):
        raise InvalidInputError(f"a model of kind {projector.kind!r} has no blocks; its dimensions are explained.")
    first, second = (np.asarray(row, dtype=np.float64) for row in (query, song))
    difference = first - second
    blocks = blocks_of(model)
    parts = tuple(
        DistancePart(block.name, block.kind, float(np.square(difference[block.columns]).sum())) for block in blocks
    )
    space = listener_space_of(model)
    artists = np.empty(0) if space is None else space.artist_shares(first[None], second[None])[0]
    return DistanceParts(float(np.square(difference).sum()), parts, _aspects(projector, difference), artists)


def _aspects(projector: FusedProjector, difference: FloatArray) -> tuple[DistancePart, ...]:
    """Divide the squared difference in the block of sound among the parts of phi, equal words together."""
    sums: dict[str, float] = {}
    squares = np.square(_sound_in_phi(projector, difference))
    ends = np.cumsum([0, *projector.fusion.sizes]).tolist()
    for name, (start, stop) in zip(projector.fusion.names, pairwise(ends), strict=True):
        words = PART_WORDS.get(name, name.replace("_", " "))
        sums[words] = sums.get(words, 0.0) + float(squares[start:stop].sum())
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple(DistancePart(words, "sound", squared) for words, squared in ordered)


def _sound_in_phi(projector: FusedProjector, row: FloatArray) -> FloatArray:
    """Return ``B e`` (n_dimensions,) of the block of sound of an embedding, or of a difference of two."""
    space = projector.space
    if not isinstance(space, ListenerSpace):
        return np.asarray(space.basis @ row)
    block = next((block for block in space.blocks_ if block.kind == "sound"), None)
    if block is None:
        return np.zeros(projector.fusion.n_dimensions)
    return np.asarray(space.maps_.sound @ row[block.columns] / np.sqrt(block.weight))


def artists_of_both(
    space: ListenerSpace, pair: Sequence[npt.NDArray[Any]], mean: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Return how much more than usual the likely listeners of both songs play each artist, (n_columns,).

    Parameters
    ----------
    space : ListenerSpace
    pair : two arrays of shape (rank,)
        Embeddings.
    mean : array of shape (rank,)
        The library's mean embedding: what is usual.

    Returns
    -------
    array of shape (n_columns,)
        The product of what both songs have above the mean, summed over the blocks of taste; 0 where one has less.
    """
    sums = np.zeros(len(space.maps_.popularity))
    first, second = (np.asarray(row, dtype=np.float64) - mean for row in pair)
    for block, columns in space.maps_.taste_slices():
        of_first, of_second = block.basis @ first[columns], block.basis @ second[columns]
        sums[block.anchors] += np.maximum(of_first, 0.0) * np.maximum(of_second, 0.0)
    return sums
