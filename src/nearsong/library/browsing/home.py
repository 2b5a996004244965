"""Albums, recommendations and a listener -> what a first page shows: to go on with, new, forgotten, unplayed."""

import time
from dataclasses import dataclass

import numpy as np

from nearsong.library.answers.filters import Filters
from nearsong.library.answers.recommending.for_you import Fit, in_rounds, recommended
from nearsong.library.answers.recommending.known_songs import KnownSongs
from nearsong.library.answers.recommending.recommender import Recommender
from nearsong.library.answers.recommending.records import Recommendation
from nearsong.library.browsing.album_list import AlbumBrowser
from nearsong.library.browsing.albums import Album
from nearsong.library.listeners.recorded.plays import checked_listener
from nearsong.library.records import Song
from nearsong.recommendation import Worth, best_rows
from nearsong.validation import check_count

FORGOTTEN_SECONDS = 60 * 86_400
"""How long ago a song was last played that counts as forgotten."""

MIN_FORGOTTEN_PLAYS = 3
"""Plays that make a song one that the listener liked; a heart does too."""

_HEART_PLAYS = 10.0  # what a heart is worth beside plays
_SONGS_PER_ARTIST = 2
_ANY_PLAY = 1e-9


@dataclass(frozen=True)
class Home:
    """What a first page shows a listener; any list may be empty.

    Attributes
    ----------
    listener : str
    played : list of Album
        What the listener played last.
    added : list of Album
        What was added last.
    for_you : list of Recommendation
        Songs near what the listener plays, the best of each artist before the second of any; if nothing is known
        of them, those that others play most.
    forgotten : list of Song
        What they loved or played much, but not lately.
    unplayed : list of Recommendation
        Near what they play, and never played by anybody.
    """

    listener: str
    played: list[Album]
    added: list[Album]
    for_you: list[Recommendation]
    forgotten: list[Song]
    unplayed: list[Recommendation]


def home(
    recommender: Recommender,
    albums: AlbumBrowser,
    listener: str,
    n: int = 12,
    *,
    at: float | None = None,
    plays_known: bool = True,
) -> Home:
    """Return what a first page shows.

    Parameters
    ----------
    recommender : Recommender
    albums : AlbumBrowser
        Of the same songs.
    listener : str
    n : int, default=12
        Albums or songs of each list at most.
    at : float, optional
        Now, in seconds since 1970.
    plays_known : bool, default=True
        Whether a song without plays was never played; if nobody can tell, ``unplayed`` is empty.
    """
    check_count(n, "n")
    name = checked_listener(listener)
    now = time.time() if at is None else float(at)
    known = recommender.known_songs(name, now, Worth())
    fit = Fit(recommender, known)  # for all lists: it takes longer than anything else
    unplayed: list[Recommendation] = []
    near: list[Recommendation] = []
    if (known.weights > 0).any():
        if plays_known:
            never = recommended(fit, name, n, Filters(fewer_plays=_ANY_PLAY)).songs
            unplayed = _artists_in_turn(recommender, [one for one in never if one.is_near])
        shown = {one.song.id for one in unplayed}
        found = recommended(fit, name, 2 * n, Filters()).songs
        near = _artists_in_turn(recommender, [one for one in found if one.song.id not in shown][:n])
    elif not known.weights.any():
        near = recommended(fit, name, n, Filters()).songs
    ids = recommender.space.ids
    played = {int(ids[row]): float(known.last_played[row]) for row in np.flatnonzero(known.last_played).tolist()}
    return Home(
        listener=name,
        played=albums.recent(played, n),
        added=list(albums.albums(sort="newest", limit=n).items),
        for_you=near,
        forgotten=_forgotten(recommender, known, n, now),
        unplayed=unplayed,
    )


def _artists_in_turn(recommender: Recommender, songs: list[Recommendation]) -> list[Recommendation]:
    """Return songs so that a row of few shows many artists: the first song of each comes before the second of any."""
    row_of, artists = recommender.space.row_of, recommender.space.artists
    of_song = artists[[row_of[one.song.id] for one in songs]]
    return [songs[at] for at in in_rounds(np.arange(len(songs)), of_song).tolist()]


def _forgotten(recommender: Recommender, known: KnownSongs, n: int, now: float) -> list[Song]:
    worth = known.plays + _HEART_PLAYS * known.is_loved
    is_old = (known.last_played > 0) & (known.last_played < now - FORGOTTEN_SECONDS)
    allowed = is_old & (worth >= MIN_FORGOTTEN_PLAYS) & (known.weights > 0)
    allowed &= recommender.recordings == np.arange(len(allowed))  # of copies the first
    rows = best_rows(worth, allowed, recommender.space.artists, n, per_artist=_SONGS_PER_ARTIST, only=False)
    return [recommender.space.songs[row] for row in rows.tolist()]
