"""Artists, songs and listeners -> the songs that the last fit learns from, and how many are left out, and why."""

import numpy as np
import numpy.typing as npt

from nearsong.library.training.coverage.records import Count, Coverage

Indices = npt.NDArray[np.int64]


def by_turn(song_artist: Indices, songs: Indices, seed: int) -> tuple[Indices, Indices]:
    """Return songs in random order, every artist's first before any artist's second, and the turn of each.

    Parameters
    ----------
    song_artist : array of shape (n_all_songs,)
        The artist of every song.
    songs : array of shape (n_songs,)
        Those to order.
    seed : int
        Of the order.

    Examples
    --------
    >>> songs, turns = by_turn(np.array([7, 7, 7, 8]), np.arange(4), seed=0)
    >>> turns
    array([0, 0, 1, 2])
    """
    shuffled = np.random.default_rng([seed, 23]).permutation(songs)
    order = np.argsort(song_artist[shuffled], kind="stable")
    of_artist = song_artist[shuffled][order]
    turns = np.empty(len(shuffled), dtype=np.int64)
    turns[order] = np.arange(len(shuffled)) - np.searchsorted(of_artist, of_artist, side="left")
    in_turn = np.argsort(turns, kind="stable")
    return shuffled[in_turn], turns[in_turn]


def first_songs(song_artist: Indices, songs: Indices, *, n_songs: int, songs_an_artist: int, seed: int) -> Indices:
    """Return at most ``n_songs`` of the songs, ascending; every artist gets one before any gets a second.

    Fewer of the same songs are a part of more of them.
    """
    ordered, turns = by_turn(song_artist, songs, seed)
    return np.sort(ordered[turns < songs_an_artist][:n_songs])


def songs_to_read(
    song_artist: Indices,
    listeners: Indices,
    is_played: npt.NDArray[np.bool_],
    *,
    min_listeners: int,
    n_songs: int,
    songs_an_artist: int,
    seed: int,
) -> Indices:
    """Choose the songs whose vectors a training needs: those of artists with enough listeners, some of each.

    Parameters
    ----------
    song_artist : array of shape (n_songs,)
        The artist of each song of the library, -1 if unknown.
    listeners : array of shape (n_artists,)
        Listeners of each artist.
    is_played : array of shape (n_songs,)
        Songs that somebody played, which come first: training with songs as the unit needs them.
    min_listeners, n_songs, songs_an_artist, seed : int
        Limits, and the seed of the choice.

    Returns
    -------
    ndarray of shape (n_chosen,)
        Rows, ascending.
    """
    enough = np.append(listeners >= min_listeners, False)[song_artist]
    played, other = np.flatnonzero(enough & is_played), np.flatnonzero(enough & ~is_played)
    n_played = np.bincount(song_artist[played], minlength=len(listeners))
    first, turns = by_turn(song_artist, played, seed)
    second, later = by_turn(song_artist, other, seed + 1)
    songs = np.concatenate([first, second])
    turns = np.concatenate([turns, later + n_played[song_artist[second]]])
    in_turn = np.argsort(turns, kind="stable")
    return np.sort(songs[in_turn][turns[in_turn] < songs_an_artist][:n_songs])


def cover(
    songs_of_artist: Indices,
    listeners: Indices,
    used: Indices,
    ranked: Indices,
    *,
    n_unknown: int,
    min_listeners: int,
) -> Coverage:
    """Count what is used and what is left out.

    Parameters
    ----------
    songs_of_artist, listeners : arrays of shape (n_artists,)
        Songs in the library and listeners of each artist.
    used, ranked : arrays of shape (n_used,) and (n_ranked,)
        The artist of each song that is learned from, and of those that MLR ranks.
    n_unknown : int
        Songs whose artist is unknown.
    min_listeners : int
        Listeners that an artist needs.
    """
    n_used = np.bincount(used, minlength=len(listeners))
    with_songs, is_used = songs_of_artist > 0, n_used > 0

    def left(chosen: npt.NDArray[np.bool_]) -> Count:
        return Count(int((chosen & with_songs).sum()), int(songs_of_artist[chosen].sum()))

    unplayed = left(~is_used & (listeners == 0))
    return Coverage(
        min_listeners=min_listeners,
        used=Count(int(is_used.sum()), len(used)),
        ranked=Count(len(np.unique(ranked)), len(ranked)),
        library=Count(int(with_songs.sum()), int(songs_of_artist.sum()) + n_unknown),
        left_out={
            "unplayed": Count(unplayed.artists, unplayed.songs + n_unknown),
            "few_listeners": left(~is_used & (listeners > 0) & (listeners < min_listeners)),
            "not_reached": left(~is_used & (listeners >= max(1, min_listeners))),
            "further": Count(0, int((songs_of_artist - n_used)[is_used].sum())),
        },
    )
