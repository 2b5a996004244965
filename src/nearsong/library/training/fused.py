"""Song vectors and a split -> phi of all songs as its training songs define it, in few coordinates.

Everything that is learned in a split is a linear map of phi, part by part, that depends on the training songs only,
so it sees no more of a song than what lies in their span. Songs are therefore kept in orthonormal bases of that span,
one for each part; lengths are those of phi itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.model import CodewordEncoder, SimilarityModel, SongEncoder
from nearsong.model.encoders import VectorPart, joined
from nearsong.model.encoders.registry import OPTIONAL_ENCODERS
from nearsong.model.fusion import Fusion
from nearsong.model.held_out import Indices
from nearsong.model.listener_space.centroids import with_centroids
from nearsong.types import FloatArray


def fused_members(encoder: SongEncoder) -> list[int]:
    """Return which of the joined encoders are fused: all but codewords, which say less, unless they are all."""
    others = [i for i, member in enumerate(encoder.encoders) if not isinstance(member, CodewordEncoder)]
    return others or list(range(len(encoder.encoders)))


def codeword_member(encoder: SongEncoder) -> int | None:
    """Return which of the joined encoders is of codewords; None if none is, or several are."""
    found = [i for i, member in enumerate(encoder.encoders) if isinstance(member, CodewordEncoder)]
    return found[0] if len(found) == 1 else None


def members_joined(encoder: SongEncoder, numbers: Sequence[int]) -> SongEncoder:
    """Return some of the joined encoders as one."""
    return joined([encoder.encoders[number] for number in numbers])


def columns_of(encoder: SongEncoder, numbers: Sequence[int]) -> Indices:
    """Return the columns (n_columns,) of some of the joined encoders."""
    ends = np.cumsum([0] + [member.n_dimensions for member in encoder.encoders]).tolist()
    bounds = list(pairwise(ends))
    return np.concatenate([np.arange(*bounds[number]) for number in numbers])


def vectors_for(model: SimilarityModel, encoder: SongEncoder, vectors: FloatArray) -> FloatArray:
    """Return the columns of vectors (n_songs, n_dimensions) of some encoders that a model reads."""
    keys = [member.key for member in encoder.encoders]
    missing = [member.name for member in model.encoder.encoders if member.key not in keys]
    if missing:
        raise InvalidInputError(
            f"the model needs vectors of the encoder {missing[0]}; analyse the songs with it first."
        )
    return vectors[:, columns_of(encoder, [keys.index(member.key) for member in model.encoder.encoders])]


def has_pretrained(encoder: SongEncoder) -> bool:
    """Return whether an encoder learned elsewhere is among several."""
    names = {member.name for member in encoder.encoders}
    return bool(names & OPTIONAL_ENCODERS.keys()) and bool(names - OPTIONAL_ENCODERS.keys())


def weighted_parts(encoder: SongEncoder, pretrained_ratio: float | None) -> list[VectorPart]:
    """Return the parts of a vector; those of each pretrained encoder together weigh a multiple of all others.

    Parameters
    ----------
    encoder : SongEncoder
        Encoders that are fused.
    pretrained_ratio : float or None
        The multiple; None leaves the weights as the encoders have them.
    """
    if pretrained_ratio is None or not has_pretrained(encoder):
        return list(encoder.parts)
    others = [member for member in encoder.encoders if member.name not in OPTIONAL_ENCODERS]
    total = sum(part.weight for member in others for part in member.parts)
    parts: list[VectorPart] = []
    for member in encoder.encoders:
        scale = 1.0
        if member.name in OPTIONAL_ENCODERS:
            scale = pretrained_ratio * total / sum(part.weight for part in member.parts)
        parts += [replace(part, weight=scale * part.weight) for part in member.parts]
    return parts


@dataclass(frozen=True, eq=False)
class FusedSongs:
    """All songs of a training set in the span of a split's training songs.

    Attributes
    ----------
    coordinates : array of shape (n_songs, n_coordinates)
        phi in orthonormal bases of the span.
    parts : tuple of slice
        The coordinates of each part.
    lengths : array of shape (n_songs,)
        Length of phi, 1 or 0.
    artists : array of shape (n_songs,)
        A number for each artist and database: songs of an artist are drawn together within their database.
    drawn_lengths : mapping of float to array of shape (n_songs,)
        Lengths of phi after songs are drawn to their artist's mean, by share.
    pretrained_ratio : float or None
        Weight of pretrained encoders.
    """

    coordinates: FloatArray
    parts: tuple[slice, ...]
    lengths: FloatArray
    artists: Indices
    drawn_lengths: Mapping[float, FloatArray]
    pretrained_ratio: float | None

    def drawn(self, share: float) -> FloatArray:
        """Return the coordinates (n_songs, n_coordinates) of songs drawn to their artist's mean."""
        return with_centroids(self.coordinates, self.artists, share)


def fuse_songs(
    mapped: FloatArray,
    encoder: SongEncoder,
    training: Indices,
    artists: Indices,
    *,
    shares: Sequence[float],
    pretrained_ratio: float | None = None,
) -> FusedSongs:
    """Return all songs as the training songs of a split define phi.

    Parameters
    ----------
    mapped : array of shape (n_songs, n_dimensions)
        Song vectors after the encoders' own ``phi``.
    encoder : SongEncoder
        The encoders that are fused.
    training : array of shape (n_training,)
        Rows of the training songs.
    artists : array of shape (n_songs,)
        As in `FusedSongs`.
    shares : sequence of float
        Shares of centroids that will be asked for.
    pretrained_ratio : float, optional
        As in `weighted_parts`.
    """
    fusion = Fusion.fit(mapped[training], weighted_parts(encoder, pretrained_ratio))
    phi = fusion.transform(mapped)
    drawn = {share: _lengths(with_centroids(phi, artists, share)) for share in shares}
    blocks = [_in_span(phi[:, columns], training) for columns in fusion.slices.values()]
    ends = np.cumsum([0] + [block.shape[1] for block in blocks]).tolist()
    return FusedSongs(
        coordinates=np.hstack(blocks),
        parts=tuple(slice(*bounds) for bounds in pairwise(ends)),
        lengths=_lengths(phi),
        artists=artists,
        drawn_lengths=drawn,
        pretrained_ratio=pretrained_ratio,
    )


def _in_span(rows: FloatArray, training: Indices) -> FloatArray:
    """Return the coordinates of rows (n_songs, n_dimensions) in the span of the training songs, if it is less."""
    if len(training) >= rows.shape[1]:
        return rows
    return np.asarray(rows @ np.linalg.qr(rows[training].T)[0], dtype=np.float64)


def _lengths(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float64)
