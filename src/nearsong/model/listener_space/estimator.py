"""phi and listeners -> the listener space: songs embedded where listeners would, as a scikit-learn estimator."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.estimators import BaseEstimator, NotFittedError, TransformerMixin, clone
from nearsong.model.listener_space import storage
from nearsong.model.listener_space.balance import find_balance
from nearsong.model.listener_space.blocks import BlockSlice
from nearsong.model.listener_space.centroids import centroid_blocks
from nearsong.model.listener_space.checks import (
    check_held_out,
    check_listens,
    check_numbers,
    check_parts,
    check_song_artists,
)
from nearsong.model.listener_space.embedding import SpaceMaps
from nearsong.model.listener_space.learning import check_parameters, learn_maps
from nearsong.model.listener_space.rows import check_rows
from nearsong.model.listener_space.targets import Indices
from nearsong.types import FloatArray
from nearsong.validation import check_choice, check_count

KNOWN_BY = ("sound", "listeners", "balanced")
"""What the taste blocks of songs by training artists come from in a database."""


class ListenerSpace(TransformerMixin, BaseEstimator):
    """Embed songs where their listeners would, from sound alone.

    Ridge regression takes phi (n_songs, n_dimensions) to three targets of the training artists, which describe who
    listens to them: *neighbours* (Y), *listeners* (A) and *factors* (S), see `targets.py`. An embedding is::

        [sqrt(w_Y) u(F_Y + rho_Y m_Y), sqrt(w_A) u(F_A + rho_A m_A), sqrt(w_S) u(F_S + rho_S m_S),
         sqrt(w_sound) u(phi), sqrt(w_metric) L phi]

    with F the predicted target minus the mean target m, and u scaling to length 1. Each block is reduced to its
    leading axes. Plain Euclidean distance ranks; a squared distance is the sum over the blocks.

    Parameters
    ----------
    penalty : float or tuple of three, default=0.3
        Lambda of the ridge regressions, for all targets or each.
    part_share, part_penalty : float, default=0.3 and 0.03
        Share of regressions on each part of phi alone in the prediction, and their lambda, if ``fit`` is given parts.
    taste_weights : tuple of three floats, default=(0.7, 1.0, 0.5)
        Squared weights of neighbours, listeners and factors; 0 leaves a block out.
    popularity_shares : tuple of three floats, default=(1.0, 0.8, 1.0)
        rho: how much of the mean target is added, so how strongly popular artists come first.
    sound_weight, metric_weight : float, default=0.25 and 0.4
        Squared weights of sound, and of the metric that ``fit`` is given.
    own_entry, own_boost : float, default=1.0 and 100.0
        The entry of an artist with itself in *neighbours*, and what is added to it for songs of a database that are
        embedded by their listeners.
    centroid_share : float, default=0.95
        How far songs of a database are drawn to the mean of their artist's songs there, 0 to 1; at 1 an artist's
        songs are all in one point.
    centroid_songs : float, default=0.0
        Shrinkage: with n songs the share is ``centroid_share * (n - 1) / (n - 1 + centroid_songs)``.
    n_factors : int, default=12
        Singular vectors in *factors*.
    anchor_listeners, factor_listeners : int, default=10 and 3
        Listeners that an artist needs to be an anchor of *listeners* and of *factors*.
    taste_dimensions, sound_dimensions : int, default=16 and 32
        Dimensions of each taste block and of sound, at most.

    Attributes
    ----------
    blocks_ : tuple of BlockSlice
        Name, kind, columns and squared weight of each block of an embedding.
    artists_ : array of shape (n_artists,)
        The training artists, as columns of the listens.
    popularity_ : array of shape (n_columns,)
        Listeners of every artist in the listens; 0 for held-out ones.
    maps_ : SpaceMaps
        The fitted maps.
    n_features_in_ : int
        Dimensions of phi.

    Notes
    -----
    A song's embedding has the same bytes whichever songs are embedded with it and in whatever order; in a database
    it also depends on the other songs of its artist there. The last coordinate, *known*, is 0 except in databases
    with songs that are embedded by listeners: it makes up for the length that reducing takes from them.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> random = np.random.default_rng(0)
    >>> phi, song_artist = random.normal(size=(40, 8)), np.repeat(np.arange(10), 4)
    >>> plays = sp.csr_array(random.random((200, 12)) < 0.3)
    >>> space = ListenerSpace().fit(phi, song_artist, plays, held_out=[9])
    >>> [(block.name, block.stop - block.start) for block in space.blocks_]
    [('neighbours', 9), ('listeners', 9), ('factors', 11), ('sound', 8), ('known', 1)]
    >>> queries, database = space.transform(phi[:2]), space.transform_database(phi, song_artist)
    >>> queries.shape, database.shape
    ((2, 38), (40, 38))
    """

    def __init__(
        self,
        *,
        penalty: float | tuple[float, float, float] = 0.3,
        part_share: float = 0.3,
        part_penalty: float = 0.03,
        taste_weights: tuple[float, float, float] = (0.7, 1.0, 0.5),
        popularity_shares: tuple[float, float, float] = (1.0, 0.8, 1.0),
        sound_weight: float = 0.25,
        metric_weight: float = 0.4,
        own_entry: float = 1.0,
        own_boost: float = 100.0,
        centroid_share: float = 0.95,
        centroid_songs: float = 0.0,
        n_factors: int = 12,
        anchor_listeners: int = 10,
        factor_listeners: int = 3,
        taste_dimensions: int = 16,
        sound_dimensions: int = 32,
    ) -> None:
        self.penalty = penalty
        self.part_share, self.part_penalty = part_share, part_penalty
        self.taste_weights = taste_weights
        self.popularity_shares = popularity_shares
        self.sound_weight = sound_weight
        self.metric_weight = metric_weight
        self.own_entry = own_entry
        self.own_boost = own_boost
        self.centroid_share = centroid_share
        self.centroid_songs = centroid_songs
        self.n_factors = n_factors
        self.anchor_listeners = anchor_listeners
        self.factor_listeners = factor_listeners
        self.taste_dimensions = taste_dimensions
        self.sound_dimensions = sound_dimensions

    # ---- fitting

    def fit(
        self,
        phi: Any,
        song_artist: npt.ArrayLike,
        plays: Any,
        *,
        held_out: npt.ArrayLike | None = None,
        metric: npt.ArrayLike | None = None,
        parts: Iterable[slice] | None = None,
    ) -> Self:
        """Learn the space.

        Parameters
        ----------
        phi : array of shape (n_songs, n_dimensions)
            Songs; float32 and memory maps are read block by block.
        song_artist : array of int and shape (n_songs,)
            The column of each song's artist in ``plays``; -1 for none.
        plays : sparse or dense matrix of shape (n_listeners, n_columns)
            Non-zero where a listener plays an artist; artists without songs too, which serve as anchors.
        held_out : array of int, or of bool and shape (n_columns,), optional
            Artists that must not be used: neither their songs nor their listeners change a byte of the result.
        metric : array of shape (rank, n_dimensions), optional
            A learned metric's factor L over phi, for a further block.
        parts : iterable of slice, optional
            Columns of the parts that phi is made of, such as ``fusion.slices.values()``: see ``part_share``.
        """
        check_parameters(self.get_params(deep=False))
        rows, listens = check_rows(phi, "phi"), check_listens(plays)
        columns = check_song_artists(song_artist, len(rows), listens.shape[1])
        allowed = ~check_held_out(held_out, listens.shape[1])
        listens = sp.csc_array(listens @ sp.diags_array(allowed.astype(np.float64)))
        listens.eliminate_zeros()
        self.maps_ = learn_maps(
            rows,
            columns,
            listens,
            self.get_params(deep=False),
            metric=metric,
            parts=check_parts(parts, rows.shape[1]),
        )
        self.n_features_in_ = rows.shape[1]
        return self

    def fit_balance(
        self,
        phi: Any,
        song_artist: npt.ArrayLike,
        plays: Any,
        *,
        held_out: npt.ArrayLike | None = None,
        parts: Iterable[slice] | None = None,
        n_folds: int = 4,
        seed: int = 0,
    ) -> Self:
        """Learn how to compare songs embedded by listeners with songs embedded by sound.

        The training artists are divided into folds. Songs of a fold, embedded by a space that was fitted without it,
        are compared with known artists by listeners and with each other by sound; the means and deviations of the
        two kinds of squared distance in the taste blocks are then made equal.

        Parameters
        ----------
        phi, song_artist, plays, held_out, parts
            As for `fit`.
        n_folds : int, default=4
            Folds; a space is fitted for each.
        seed : int, default=0
            Seed of the division.
        """
        maps = self._fitted()
        rows, listens = check_rows(phi, "phi", self.n_features_in_), check_listens(plays)
        columns = check_song_artists(song_artist, len(rows), listens.shape[1])
        excluded = check_held_out(held_out, listens.shape[1])
        slices = check_parts(parts, rows.shape[1])

        def fit_without(fold: Indices) -> SpaceMaps:
            mask = excluded.copy()
            mask[fold] = True
            fitted: SpaceMaps = clone(self).fit(rows, columns, listens, held_out=mask, parts=slices).maps_
            return fitted

        balance = find_balance(
            fit_without,
            rows,
            columns,
            maps.artists,
            share=self.centroid_share,
            shrinkage=self.centroid_songs,
            n_folds=check_count(n_folds, "n_folds", minimum=2),
            seed=check_count(seed, "seed", minimum=0),
        )
        self.maps_ = maps.balanced(balance)
        return self

    # ---- embeddings

    def transform(self, phi: Any, song_artist: npt.ArrayLike | None = None) -> FloatArray:
        """Embed queries.

        Parameters
        ----------
        phi : array of shape (n_songs, n_dimensions)
            Songs, each on its own.
        song_artist : array of int and shape (n_songs,), optional
            Columns of the listens, -1 for none: taste blocks of training artists' songs are then taken from their
            listeners instead of the sound.

        Returns
        -------
        ndarray of shape (n_songs, n_embedding_dimensions)
        """
        maps = self._fitted()
        queries = maps.embed(check_rows(phi, "phi", self.n_features_in_))
        if song_artist is None:
            return queries
        return maps.with_listeners(queries, check_song_artists(song_artist, len(queries)))

    def transform_database(self, phi: Any, song_artist: npt.ArrayLike, *, known_by: str = "sound") -> FloatArray:
        """Embed the songs of a database, each drawn to the mean of its artist's songs there.

        Parameters
        ----------
        phi : array of shape (n_songs, n_dimensions)
            All songs of the database.
        song_artist : array of int and shape (n_songs,)
            Any number for each artist, -1 for songs on their own. With ``known_by`` other than "sound" they are
            columns of the listens; artists without a column get numbers above them.
        known_by : {"sound", "listeners", "balanced"}, default="sound"
            What the taste blocks of training artists' songs come from: the sound; their listeners, for databases
            of training artists only; or their listeners, with distances balanced for databases that also have
            songs of other artists (see `fit_balance`).

        Returns
        -------
        ndarray of shape (n_songs, n_embedding_dimensions)
        """
        maps = self._fitted()
        balanced = check_choice(known_by, "known_by", KNOWN_BY) == "balanced"
        if balanced and maps.balance is None:
            raise InvalidInputError(
                'known_by="balanced" needs a balance, and there is none yet; call fit_balance first.'
            )
        rows = check_rows(phi, "phi", self.n_features_in_)
        artists = check_song_artists(song_artist, len(rows))
        embeddings = np.empty((len(rows), maps.n_dimensions))
        for songs, part in centroid_blocks(rows, artists, self.centroid_share, self.centroid_songs):
            embeddings[songs] = maps.embed(part)
        if known_by == "sound":
            return embeddings
        return maps.database_with_listeners(embeddings, artists, balanced=balanced)

    # ---- answers

    def dial(self, embeddings: npt.ArrayLike, adventurousness: float) -> FloatArray:
        """Move queries away from what is popular, or with a negative number towards it.

        Parameters
        ----------
        embeddings : array of shape (n_songs, n_embedding_dimensions)
            From `transform`.
        adventurousness : float
            0 changes nothing; at 1 the mean target is taken out of the taste of a typical song (rho = 0).

        Returns
        -------
        ndarray of shape (n_songs, n_embedding_dimensions)
            The length of each block is unchanged, so the same index serves.
        """
        queries = self._check_embeddings(embeddings)
        check_numbers(adventurousness, "adventurousness", -100.0, 100.0)
        return queries.copy() if adventurousness == 0 else self._fitted().dial(queries, float(adventurousness))

    def block_distances(self, first: npt.ArrayLike, second: npt.ArrayLike) -> dict[str, FloatArray]:
        """Return each block's part (n_pairs,) of the squared distances of pairs (n_pairs, n_embedding_dimensions)."""
        difference = self._check_embeddings(first) - self._check_embeddings(second)
        return {block.name: np.square(difference[:, block.columns]).sum(axis=1) for block in self.blocks_}

    def artist_shares(self, first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
        """Divide the squared distances in the taste blocks among the artists that listeners play.

        Parameters
        ----------
        first, second : arrays of shape (n_pairs, n_embedding_dimensions)
            Pairs of embeddings.

        Returns
        -------
        ndarray of shape (n_pairs, n_columns)
            Shares of the artists in the listens; they add up to the squared distance in the taste blocks.
        """
        difference = self._check_embeddings(first) - self._check_embeddings(second)
        return self._fitted().anchor_sums(difference, difference)

    def artist_agreements(self, first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
        """Divide the inner products of the taste blocks among the artists: what the listeners of both songs play.

        Shapes are those of `artist_shares`; the entries add up to the inner products.
        """
        return self._fitted().anchor_sums(self._check_embeddings(first), self._check_embeddings(second))

    # ---- storing

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all fitted arrays by name, for `from_arrays`."""
        return storage.arrays_of(self._fitted())

    def parameters(self) -> dict[str, Any]:
        """Return everything beside the arrays as JSON can represent it, for `from_arrays`."""
        fitted = storage.parameters_of(self._fitted())
        return {"estimator": storage.as_json(self.get_params()), "fitted": fitted}

    @classmethod
    def from_arrays(cls, parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the space that `parameters` and `arrays` describe."""
        maps = storage.maps_from(parameters["fitted"], arrays)
        space = cls(**storage.from_json(parameters["estimator"]))
        check_parameters(space.get_params(deep=False))
        space.maps_, space.n_features_in_ = maps, maps.n_features
        return space

    # ---- fitted attributes and checks

    @property
    def blocks_(self) -> tuple[BlockSlice, ...]:
        """The blocks of an embedding."""
        return self._fitted().blocks

    @property
    def artists_(self) -> Indices:
        """The training artists (n_artists,)."""
        return self._fitted().artists

    @property
    def popularity_(self) -> Indices:
        """Listeners of every artist (n_columns,)."""
        return self._fitted().popularity

    @property
    def n_embedding_dimensions(self) -> int:
        """Columns of an embedding."""
        return self._fitted().n_dimensions

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "maps_")

    def _fitted(self) -> SpaceMaps:
        if not hasattr(self, "maps_"):
            raise NotFittedError("this ListenerSpace is not fitted yet; call fit first.")
        maps: SpaceMaps = self.maps_
        return maps

    def _check_embeddings(self, embeddings: Any) -> FloatArray:
        rows = check_rows(embeddings, "embeddings", self._fitted().n_dimensions)
        return np.asarray(rows, dtype=np.float64)
