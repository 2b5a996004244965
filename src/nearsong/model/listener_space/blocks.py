"""Targets and ridge responses -> the blocks of an embedding: maps from phi, their bases, popularity directions.

A taste block holds the predicted target y(x) = F(x) + rho m at length 1, with F the ridge prediction of T - m and m
the mean target. y is computed in coordinates that are rotated so that the first k hold most of the artists'
predictions; all of them measure its length, the first k are the embedding.
"""

from dataclasses import dataclass

import numpy as np

from nearsong.model.listener_space.ridge import ArtistRidge, leading_axes
from nearsong.model.listener_space.rows import lengths, to_unit_length
from nearsong.model.listener_space.targets import Indices, Target
from nearsong.types import FloatArray


@dataclass(frozen=True)
class BlockSlice:
    """Where a block of an embedding is.

    Attributes
    ----------
    name : str
        "neighbours", "listeners" or "factors" for taste; "sound", "metric" or "known".
    kind : str
        "taste", "sound", "metric" or "known".
    start, stop : int
        Its columns.
    weight : float
        Its squared weight.
    """

    name: str
    kind: str
    start: int
    stop: int
    weight: float

    @property
    def columns(self) -> slice:
        """Its columns as a slice."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, eq=False, kw_only=True)
class TasteBlock:
    """A map from sound to one target.

    Attributes
    ----------
    name : str
        The target.
    weight : float
        Squared weight of the block.
    matrix : array of shape (n_dimensions, n_coordinates)
        phi to coordinates.
    offset : array of shape (n_coordinates,)
        Added to them.
    basis : array of shape (n_anchors, k)
        Orthonormal columns: back from the first k coordinates to anchors.
    anchors : array of shape (n_anchors,)
        Columns of the listens.
    popularity : array of shape (k,)
        How an embedding of typical length changes when rho falls to 0, with opposite sign.
    known, known_queries : arrays of shape (n_artists, k)
        The training artists where listeners put them, as songs of a database and as queries.
    """

    name: str
    weight: float
    matrix: FloatArray
    offset: FloatArray
    basis: FloatArray
    anchors: Indices
    popularity: FloatArray
    known: FloatArray
    known_queries: FloatArray

    @property
    def n_coordinates(self) -> int:
        """Coordinates in which the length is measured."""
        return len(self.offset)

    @property
    def n_dimensions(self) -> int:
        """Coordinates that are part of the embedding."""
        return int(self.basis.shape[1])

    def embed(self, linear: FloatArray) -> FloatArray:
        """Return the block (n_songs, k) of songs, given phi times the matrix (n_songs, n_coordinates)."""
        coordinates = linear + self.offset
        sizes = lengths(coordinates)
        scales = np.sqrt(self.weight) / np.where(sizes > 0, sizes, 1.0)
        return np.asarray(coordinates[:, : self.n_dimensions] * scales[:, None])


def taste_block(
    target: Target,
    ridge: ArtistRidge,
    linear: FloatArray,
    artists: Indices,
    *,
    weight: float,
    popularity_share: float,
    own_boost: float,
    n_dimensions: int,
    n_coordinates: int,
) -> TasteBlock:
    """Fit the block of one target.

    Parameters
    ----------
    target : Target
        Of the training artists.
    ridge : ArtistRidge
        Their songs.
    linear : array of shape (n_dimensions, n_coordinates)
        The ridge regression of the target's coordinates less their mean.
    artists : array of shape (n_artists,)
        Columns of the training artists in the listens.
    weight : float
        Squared weight of the block.
    popularity_share : float
        rho, the share of the mean target that is added to predictions.
    own_boost : float
        Added to the own entry of an artist that listeners put into a database.
    n_dimensions, n_coordinates : int
        The most of each.
    """
    mean = target.coordinates.mean(axis=0)
    predicted = ridge.artist_means @ linear + popularity_share * mean
    unit = to_unit_length(predicted)
    rotation, _ = leading_axes(unit.T @ unit, min(n_coordinates, unit.shape[1]))
    if rotation.shape[1] < min(n_coordinates, unit.shape[1]):  # coordinates no artist uses still have lengths
        rotation = _completed(rotation, min(n_coordinates, unit.shape[1]))
    matrix = linear @ rotation / ridge.spread
    offset = popularity_share * (mean @ rotation) - ridge.mean @ matrix
    rotation = rotation[:, :n_dimensions]
    basis = target.basis.rotated(rotation)
    root = np.sqrt(weight)
    true = target.coordinates - (1.0 - popularity_share) * mean
    queries = root * to_unit_length(true) @ rotation
    typical = float(lengths(predicted).mean())
    return TasteBlock(
        name=target.name,
        weight=weight,
        matrix=np.ascontiguousarray(matrix),
        offset=offset,
        basis=basis,
        anchors=target.anchors,
        popularity=root * (popularity_share or 1.0) / typical * (mean @ rotation) if typical > 0 else 0.0 * basis[0],
        known=queries if own_boost == 0 else root * _boosted(target, artists, popularity_share, rotation, own_boost),
        known_queries=queries,
    )


def _boosted(target: Target, artists: Indices, share: float, rotation: FloatArray, boost: float) -> FloatArray:
    """Return unit targets (n_artists, k), less the popularity that is not added, with own entries raised."""
    mean = target.coordinates.mean(axis=0)
    true = target.coordinates - (1.0 - share) * mean
    rows = np.searchsorted(target.anchors, artists).clip(max=len(target.anchors) - 1)
    boosts = np.where(target.anchors[rows] == artists, boost, 0.0)  # artists beyond the anchors have no own entry
    axes = target.basis.rotated(np.hstack([rotation, mean[:, None]]))[rows]
    own_entries = target.own_entry - (1.0 - share) * axes[:, -1]
    # |t + b e|^2 = |t|^2 + 2 b t_own + b^2
    sizes = np.sqrt(np.square(true).sum(axis=1) + 2.0 * boosts * own_entries + boosts**2)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return np.asarray((true @ rotation + boosts[:, None] * axes[:, :-1]) / sizes[:, None])


def _completed(axes: FloatArray, n_axes: int) -> FloatArray:
    """Extend orthonormal columns (n, k) to n_axes of them."""
    complete = np.linalg.qr(np.hstack([axes, np.eye(len(axes), n_axes - axes.shape[1])]))[0]
    return np.hstack([axes, complete[:, axes.shape[1] : n_axes]])
