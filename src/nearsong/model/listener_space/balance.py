"""Training artists in folds -> how distances to songs embedded by listeners compare with those by sound."""

from collections.abc import Callable

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space.centroids import with_centroids
from nearsong.model.listener_space.embedding import Balance, SpaceMaps
from nearsong.model.listener_space.rows import Rows
from nearsong.model.listener_space.targets import Indices
from nearsong.types import FloatArray


def find_balance(
    fit_without: Callable[[Indices], SpaceMaps],
    rows: Rows,
    song_artist: Indices,
    artists: Indices,
    *,
    share: float,
    shrinkage: float,
    n_folds: int,
    seed: int,
) -> Balance:
    """Compare both kinds of distance for songs whose artists are held out.

    Parameters
    ----------
    fit_without : callable
        Fits a space without some of the training artists.
    rows : array of shape (n_songs, n_dimensions)
        phi.
    song_artist : array of shape (n_songs,)
        Columns of the listens.
    artists : array of shape (n_artists,)
        The training artists.
    share, shrinkage : float
        Of centroids.
    n_folds, seed : int
        The folds.
    """
    if len(artists) < 3 * n_folds:
        raise InvalidInputError(
            f"{len(artists)} training artists cannot be divided into {n_folds} folds of 3 or more; use fewer folds."
        )
    order = np.random.default_rng([seed, 17]).permutation(len(artists))
    by_listeners, by_sound, query_squares = [], [], []
    for part in np.array_split(order, n_folds):
        fold = np.sort(artists[part])
        maps = fit_without(fold)
        songs = np.flatnonzero(np.isin(song_artist, fold))
        phi, fold_artists = np.asarray(rows[songs], dtype=np.float64), song_artist[songs]
        taste = slice(0, sum(block.n_dimensions for block in maps.taste))
        queries = maps.embed(phi)[:, taste]
        database = maps.embed(with_centroids(phi, fold_artists, share, shrinkage))[:, taste]
        known = np.hstack([block.known for block in maps.taste])
        total = sum(block.weight for block in maps.taste)
        squares = np.square(queries).sum(axis=1)
        query_squares.append(squares)
        by_listeners.append((squares[:, None] - 2.0 * queries @ known.T + total).ravel())
        between = squares[:, None] - 2.0 * queries @ database.T + np.square(database).sum(axis=1)
        by_sound.append(between[fold_artists[:, None] != fold_artists])
    return _matched(np.concatenate(by_listeners), np.concatenate(by_sound), np.concatenate(query_squares))


def _matched(by_listeners: FloatArray, by_sound: FloatArray, query_squares: FloatArray) -> Balance:
    spread = float(by_listeners.std())
    gain = float(by_sound.std()) / spread if spread > 0 else 1.0
    shift = float(by_sound.mean()) - gain * float(by_listeners.mean())
    return Balance(gain=gain, shift=shift, query_length=float(query_squares.mean()))
