"""The fitted maps of a listener space: phi -> embeddings, block by block, and what is read from them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from nearsong.model.listener_space.blocks import BlockSlice, TasteBlock
from nearsong.model.listener_space.ordered_products import PackedMatrix, ordered_product
from nearsong.model.listener_space.rows import Rows, lengths, row_blocks
from nearsong.model.listener_space.targets import Indices
from nearsong.types import FloatArray


@dataclass(frozen=True)
class Balance:
    """How songs embedded by listeners are made comparable with songs embedded by sound.

    A squared taste distance d to a song embedded by its listeners counts as ``gain * d + shift``. In the space this
    is the song's taste times ``gain``, and a coordinate of its own.

    Attributes
    ----------
    gain : float
        Ratio of the deviations of the two kinds of distance.
    shift : float
        What makes their means equal.
    query_length : float
        Mean squared length of the taste blocks of queries.
    """

    gain: float
    shift: float
    query_length: float


@dataclass(frozen=True, eq=False, kw_only=True)
class SpaceMaps:
    """Everything that embeds a song.

    Attributes
    ----------
    taste : tuple of TasteBlock
        Targets.
    sound : array of shape (n_dimensions, n_sound)
        Leading axes of phi times the root of the weight.
    metric : array of shape (n_dimensions, rank)
        The metric's map, scaled; no columns without a metric.
    artists : array of shape (n_artists,)
        Training artists, ascending.
    popularity : array of shape (n_columns,)
        Listeners of every artist in the listens.
    sound_weight, metric_weight : float
        Squared weights.
    """

    taste: tuple[TasteBlock, ...]
    sound: FloatArray
    metric: FloatArray
    artists: Indices
    popularity: Indices
    sound_weight: float
    metric_weight: float
    balance: Balance | None = None

    @cached_property
    def blocks(self) -> tuple[BlockSlice, ...]:
        """Where each block is in an embedding."""
        sizes = [(block.name, "taste", block.n_dimensions, block.weight) for block in self.taste]
        sizes.append(("sound", "sound", self.sound.shape[1], self.sound_weight))
        sizes.append(("metric", "metric", self.metric.shape[1], self.metric_weight))
        sizes.append(("known", "known", 1, 1.0))
        blocks, start = [], 0
        for name, kind, size, weight in sizes:
            if size:
                blocks.append(BlockSlice(name, kind, start, start + size, weight))
                start += size
        return tuple(blocks)

    @cached_property
    def _packed(self) -> PackedMatrix:
        return PackedMatrix.of(np.hstack([*(block.matrix for block in self.taste), self.sound, self.metric]))

    @property
    def is_zero(self) -> bool:
        """Whether sound makes no difference to an embedding."""
        return not any(matrix.any() for matrix in (*(block.matrix for block in self.taste), self.sound, self.metric))

    @property
    def n_features(self) -> int:
        """Dimensions of phi."""
        return len(self.sound)

    @property
    def n_dimensions(self) -> int:
        """Columns of an embedding."""
        return self.blocks[-1].stop

    def taste_slices(self) -> list[tuple[TasteBlock, slice]]:
        """Return the taste blocks with their columns."""
        return [(block, at.columns) for block, at in zip(self.taste, self.blocks, strict=False)]

    def embed(self, rows: Rows) -> FloatArray:
        """Embed rows (n_songs, n_features) of any length, song by song: (n_songs, n_dimensions)."""
        embeddings = np.zeros((len(rows), self.n_dimensions))
        n_sound = self.sound.shape[1]
        end = sum(block.n_dimensions for block in self.taste)
        for start, part in row_blocks(rows):
            linear = ordered_product(part, self._packed)
            out = embeddings[start : start + len(part)]
            first = 0
            for block, columns in self.taste_slices():
                out[:, columns] = block.embed(linear[:, first : first + block.n_coordinates])
                first += block.n_coordinates
            sizes = lengths(part)
            unit = linear[:, first : first + n_sound] / np.where(sizes > 0, sizes, 1.0)[:, None]
            out[:, end : end + n_sound] = unit
            out[:, end + n_sound : -1] = linear[:, first + n_sound :]
        return embeddings

    def codes_of(self, artists: Indices) -> Indices:
        """Return the number of each training artist (n_songs,), -1 for others."""
        near = np.searchsorted(self.artists, artists).clip(max=len(self.artists) - 1)
        return np.where(self.artists[near] == artists, near, -1)

    def with_listeners(self, queries: FloatArray, artists: Indices) -> FloatArray:
        """Return queries (n_songs, n_dimensions) whose training artists (n_songs,) stand where listeners put them."""
        queries, codes = queries.copy(), self.codes_of(artists)
        songs = np.flatnonzero(codes >= 0)
        for block, columns in self.taste_slices():
            queries[songs, columns] = block.known_queries[codes[songs]]
        return queries

    def database_with_listeners(self, embeddings: FloatArray, artists: Indices, *, balanced: bool) -> FloatArray:
        """Return a database (n_songs, n_dimensions) whose training artists stand where listeners put them."""
        embeddings, codes = embeddings.copy(), self.codes_of(artists)
        songs = np.flatnonzero(codes >= 0)
        balance = self.balance if balanced else None
        gain = 1.0 if balance is None else balance.gain
        missing, base = self._missing_squares(balance)
        for block, columns in self.taste_slices():
            embeddings[songs, columns] = gain * block.known[codes[songs]]
        embeddings[:, -1] = np.sqrt(base)
        embeddings[songs, -1] = np.sqrt(missing + base)[codes[songs]]
        return embeddings

    def _missing_squares(self, balance: Balance | None) -> tuple[FloatArray, float]:
        """Return the squares of the last coordinate for training artists (n_artists,), and for all other songs.

        With |q|^2 the length of a query, x a song by listeners, |x|^2 what is left of its length W after reducing::

            gain (|q|^2 - 2 q.x + W) + shift = |q - gain x|^2 + missing
            missing = (gain - 1) |q|^2 + gain W + shift - gain^2 |x|^2
        """
        squares = sum(np.square(block.known).sum(axis=1) for block in self.taste)
        total = sum(block.weight for block in self.taste)
        if balance is None:
            return np.maximum(total - squares, 0.0), 0.0
        gain = balance.gain
        missing = (gain - 1.0) * balance.query_length + gain * total + balance.shift - gain**2 * squares
        # a square cannot be negative: what all songs have more of changes no ranking
        return missing, max(0.0, -float(np.min(missing)))

    def dial(self, queries: FloatArray, adventurousness: float) -> FloatArray:
        """Move the taste of queries (n_songs, n_dimensions) away from popularity, at unchanged length."""
        queries = queries.copy()
        for block, columns in self.taste_slices():
            part = np.ascontiguousarray(queries[:, columns])
            moved = part - adventurousness * block.popularity
            sizes = lengths(moved)
            queries[:, columns] = moved * (lengths(part) / np.where(sizes > 0, sizes, 1.0))[:, None]
        return queries

    def anchor_sums(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Divide the inner products of the taste blocks of pairs among all artists: (n_pairs, n_columns).

        A block's basis V has orthonormal columns, so ``a.b = (V a).(V b)``: a sum over anchors.
        """
        sums = np.zeros((len(first), len(self.popularity)))
        for block, columns in self.taste_slices():
            sums[:, block.anchors] += (first[:, columns] @ block.basis.T) * (second[:, columns] @ block.basis.T)
        return sums

    def balanced(self, balance: Balance | None) -> Self:
        """Return the same maps with a balance."""
        return replace(self, balance=balance)
