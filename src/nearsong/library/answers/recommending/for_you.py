"""A listener -> songs for them: near what they play and like, away from what they skip, nothing they know."""

import time

import numpy as np
import numpy.typing as npt

from nearsong.caching import cached_property
from nearsong.library.answers.filters import FilterContext, Filters
from nearsong.library.answers.recommending.known_songs import Ints, KnownSongs, Mask
from nearsong.library.answers.recommending.recommender import Recommender
from nearsong.library.answers.recommending.records import ForYou, Recommendation
from nearsong.library.answers.seeds import seed_of_song
from nearsong.library.listeners.recorded.plays import checked_listener
from nearsong.listens import DEFAULT_USER
from nearsong.recommendation import BANDWIDTH, Taste, Worth, best_rows, nearest_liked
from nearsong.types import FloatArray
from nearsong.validation import check_count

SONGS_PER_ARTIST = 3
"""Songs by one artist, unless there are too few others."""

POPULAR_INSTEAD = "Nothing that {} played is known yet, so these are the songs that are played most here."
POPULAR_IN_HISTORIES_INSTEAD = (
    "Nothing that {} played is known yet, so these are the songs that are played most in the imported histories."
)
POPULAR_ARTISTS_INSTEAD = (
    "Nothing that {} played is known yet, so these are songs by the artists that most people here listen to."
)
NOTHING_YET = "Nothing that {} played is known yet: play some songs, or import a listening history."
ONLY_DISLIKED = "So far {} only skipped songs or rated them low, so these are songs unlike those."
TOO_FEW = "Only {} of {} songs: no others are new to {} and pass the filters."


def for_you(
    recommender: Recommender,
    listener: str,
    n: int,
    filters: Filters,
    *,
    include_played: bool = False,
    at: float | None = None,
    worth: Worth | None = None,
) -> ForYou:
    """Return songs for a listener.

    Parameters
    ----------
    recommender : Recommender
    listener : str
    n : int
        Songs at most.
    filters : Filters
        ``new_artists`` leaves out all artists of songs that the listener likes.
    include_played : bool, default=False
        Whether songs that the listener knows may be recommended too, but those they dislike.
    at : float, optional
        Now, in seconds since 1970.
    worth : Worth, optional
        What plays, hearts and skips are worth.
    """
    name = checked_listener(listener)
    known = recommender.known_songs(name, time.time() if at is None else float(at), worth or Worth())
    return recommended(Fit(recommender, known, include_played=include_played), name, n, filters)


class Fit:
    """How well every song fits a listener; several lists may be made of it.

    Parameters
    ----------
    recommender : Recommender
    known : KnownSongs
        Of the listener.
    include_played : bool, default=False
        Whether songs that the listener knows may be recommended too, but those they dislike.

    Attributes
    ----------
    ranked : array of bool and shape (n_songs,)
        The songs that may be recommended.
    """

    def __init__(self, recommender: Recommender, known: KnownSongs, *, include_played: bool = False) -> None:
        self.recommender, self.known = recommender, known
        unwanted = known.weights < 0 if include_played else known.is_known | (known.weights < 0)
        self.ranked: Mask = ~recommender.copies_of(unwanted)

    @cached_property
    def scores(self) -> tuple[FloatArray, Taste, Ints]:
        """Scores of all songs, the taste, and the rows of its points; something must be known of the listener."""
        return self.recommender.scores(self.known, self.ranked)


def recommended(fit: Fit, name: str, n: int, filters: Filters) -> ForYou:
    """Return the songs that fit a listener best, as :func:`for_you` does."""
    check_count(n, "n")
    recommender, known = fit.recommender, fit.known
    space = recommender.space
    allowed = fit.ranked & _allowed(recommender, known, filters)
    if not known.weights.any():
        return _popular(recommender, name, n, filters, allowed)
    scores, taste, points = fit.scores
    rows = _best(recommender, scores, allowed, n, filters)
    because = _nearest_others(space.embeddings[rows], taste, rows, points)
    near = _is_near(recommender, rows, points[because])
    songs = [
        Recommendation(
            song=space.songs[row],
            score=float(scores[row]),
            because=space.songs[points[point]] if point >= 0 else None,
            is_near=is_near and point >= 0,
        )
        for row, point, is_near in zip(rows.tolist(), because.tolist(), near.tolist(), strict=True)
    ]
    notes = [] if (known.weights > 0).any() else [ONLY_DISLIKED.format(_in_words(name))]
    if len(songs) < n:
        notes.append(TOO_FEW.format(len(songs), n, _in_words(name)))
    return ForYou(name, songs, known.n_plays, notes)


def _nearest_others(embeddings: npt.NDArray[np.floating], taste: Taste, rows: Ints, points: Ints) -> Ints:
    """Return for each song the nearest liked point of the taste, but never the song itself; -1 for none.

    Songs of an artist whom a history names without titles are liked, and may be recommended.
    """
    nearest = nearest_liked(embeddings, taste)
    for at in np.flatnonzero((nearest >= 0) & (points[nearest] == rows)).tolist():
        others = Taste(taste.points, np.where(points == rows[at], 0.0, taste.weights))
        nearest[at] = nearest_liked(embeddings[[at]], others)[0]
    return nearest


def _is_near(recommender: Recommender, rows: Ints, others: Ints) -> Mask:
    """Return whether each song is nearer to the other than where the pull of a liked song has fallen to 1/e."""
    embeddings = recommender.space.embeddings
    squares = np.square(embeddings[rows].astype(np.float64) - embeddings[others]).sum(axis=1)
    near: Mask = squares <= BANDWIDTH * recommender.typical
    return near


def _allowed(recommender: Recommender, known: KnownSongs, filters: Filters) -> Mask:
    """Return a mask of the songs that pass the filters: of each recording the first copy."""
    space = recommender.space
    allowed = filters.allowed(FilterContext(space, plays=recommender.plays))
    if filters.new_artists:
        liked = [space.songs[row] for row in np.flatnonzero(known.weights > 0).tolist()]
        seeds = [seed_of_song(space, song) for song in liked]
        allowed &= Filters(new_artists=True).allowed(FilterContext(space, seeds))
    allowed &= recommender.recordings == np.arange(len(allowed))
    return allowed


def _best(recommender: Recommender, scores: FloatArray, allowed: Mask, n: int, filters: Filters) -> Ints:
    per_artist = 1 if filters.one_per_artist else SONGS_PER_ARTIST
    artists = recommender.space.artists
    return best_rows(scores, allowed, artists, n, per_artist=per_artist, only=filters.one_per_artist)


def _popular(recommender: Recommender, listener: str, n: int, filters: Filters, allowed: Mask) -> ForYou:
    """Return the songs that everybody plays most; then those of the artists with most listeners.

    A history may name artists without titles, so that no song of them has plays.
    """
    plays, listeners = recommender.plays(), recommender.artist_listeners()
    popularity = plays + listeners / (listeners.max(initial=0.0) + 1.0)  # less than one play
    rows = _best(recommender, popularity, allowed & (popularity > 0), n * SONGS_PER_ARTIST, filters)
    if not plays[rows].all():  # the songs of an artist are equal then
        rows = in_rounds(rows, recommender.space.artists[rows])
    rows = rows[:n]
    most = float(popularity.max(initial=0.0)) or 1.0
    songs = [Recommendation(recommender.space.songs[row], float(popularity[row] / most)) for row in rows.tolist()]
    popular = POPULAR_INSTEAD if recommender.has_recorded_plays() else POPULAR_IN_HISTORIES_INSTEAD
    note = popular if plays[rows].all() else POPULAR_ARTISTS_INSTEAD
    note = note if songs else NOTHING_YET
    return ForYou(listener, songs, 0, [note.format(_in_words(listener))])


def in_rounds(rows: Ints, artists: npt.NDArray[np.integer]) -> Ints:
    """Return rows, each with its artist, so that the first of each artist comes before the second of any."""
    _, of_row = np.unique(artists, return_inverse=True)
    earlier = [np.count_nonzero(of_row[:at] == artist) for at, artist in enumerate(of_row.tolist())]
    return rows[np.argsort(earlier, kind="stable")]


def _in_words(listener: str) -> str:
    """Return how a note names a listener; somebody without an account is the reader."""
    return "you" if listener == DEFAULT_USER else listener
