"""Listens + matched track names -> who listens to what: sparse matrices, listeners x artists and listeners x songs.

A listener is a user, a session (a part of one person's history between two pauses) or a playlist.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.deduplicate import HistoryListens, ListenRows, joined, portions
from nearsong.library.listeners.matching import Matched, TrackNameColumns
from nearsong.library.listeners.same_track import Names, named_tracks
from nearsong.library.listeners.thresholds import KindPlays, Listening, listening_of
from nearsong.validation import check_choice, check_positive

KINDS = ("counts", "events", "playlists")
LISTENERS = ("auto", "users", "sessions", "playlists")

MIN_USERS = 10
"""With fewer users than this in the histories with times, sessions are the listeners instead of users."""

GAP_MINUTES = 30.0
"""A pause longer than this ends a session."""


class _Plan(NamedTuple):
    """Which kinds of listeners to build."""

    users: bool
    sessions: bool
    playlists: bool
    events_of_users: bool
    people: int  # users with timed events


def build_listening(
    sources: Iterable[HistoryListens],
    matched: Matched,
    n_artists: int,
    n_songs: int,
    *,
    listeners: str = "auto",
    min_plays: float | None = None,
    gap_minutes: float = GAP_MINUTES,
    outside: npt.NDArray[np.int64] | None = None,
    names: Names | None = None,
) -> Listening:
    """Build the matrices listeners x artists and listeners x songs.

    Parameters
    ----------
    sources : iterable of HistoryListens
        One for each history.
    matched : Matched
        The match of every ``name`` in the sources.
    n_artists, n_songs : int
        Size of the catalogue.
    listeners : {"auto", "users", "sessions", "playlists"}
        What counts as a listener. "auto" uses playlists and users; if the histories with times have fewer than
        `MIN_USERS` users, it uses their sessions instead. The other values use only listeners of that kind.
    min_plays : float, optional
        Plays that make a user or session a listener of an artist or song. By default 1 for sessions, and for users 10
        as in the paper, unless fewer than half of the users who played two or more artists would keep two (as in
        lists of favourites); then 1. Songs get a threshold of their own by the same rule. An entry in a playlist is
        always enough.
    gap_minutes : float
        A longer pause ends a session; tracks that are not in the library count as activity.
    outside : array of int and shape (n_names,), optional
        The number, from 0, of each name's artist if the library does not have it; -1 for other names. Only for
        ``all_plays``.
    names : sequence of TrackName, or TrackNameColumns, optional
        The track names, by which listens to tracks outside the library are compared; without them, each name is a
        track of its own.

    Raises
    ------
    InvalidInputError
        If the sources have no listeners of the requested kind.

    Notes
    -----
    Rows with the same user, name and second are one listen. So are listens to the same track within a minute in two
    sources, whatever the spelling; a source that records end times is not recognised as a duplicate of one that
    records start times. All other plays of a user are added up. Listens without a time belong to no session.
    """
    check_choice(listeners, "listeners", LISTENERS)
    gap = check_positive(gap_minutes, "gap_minutes") * 60
    if min_plays is not None:
        check_positive(min_plays, "min_plays")
    given = [source for source in sources if len(source)]
    _check(given, matched)
    plan = _plan(given, listeners)
    counts = _PlayCounts(matched, n_artists, n_songs, outside, names)
    tracks_of = partial(named_tracks, matched, names)
    people = [source for source in given if source.kind != "playlists"]
    playlists = [source for source in given if source.kind == "playlists"]
    for n, totals, events in portions(people, len(matched), tracks_of):
        counts.add_songs(totals)
        counts.add_songs(events)
        if plan.sessions:
            timed = events.at(events.time > 0)
            session = _sessions(timed, gap)
            counts.add("sessions", session, timed, int(session[-1]) + 1 if len(session) else 0)
        if plan.users:
            rows = joined([totals, events]) if plan.events_of_users else totals
            counts.add("users", rows.user, rows, n)
    for n, entries, _ in portions(playlists, len(matched), tracks_of):
        counts.add_songs(entries)
        if plan.playlists:
            counts.add("playlists", entries.user, entries, n)
    return listening_of(
        counts.blocks,
        counts.of_nobody(),
        min_plays,
        song_counts=counts.of_songs_and_copies(),
        titled_share=counts.titled_share,
        people=plan.people,
        gap_minutes=gap_minutes,
    )


def artist_counts(
    sources: Iterable[HistoryListens], matched: Matched, n_artists: int, names: Names | None = None
) -> Iterator[sp.csr_array]:
    """Yield how often users played artists, (n_users, n_artists), some users at a time and each listen once.

    Arguments are as of :func:`build_listening`. A user without listens may have an empty row.
    """
    given = [source for source in sources if len(source)]
    _check(given, matched)
    for n, totals, events in portions(given, len(matched), partial(named_tracks, matched, names)):
        rows = joined([totals, events])
        yield _summed(rows.user, matched.artist[rows.name], rows.plays, (n, n_artists))


class _PlayCounts:
    """Accumulates plays per listener and artist, per listener and song, and in total per song."""

    def __init__(
        self,
        matched: Matched,
        n_artists: int,
        n_songs: int,
        outside: npt.NDArray[np.int64] | None,
        names: Names | None,
    ) -> None:
        self._matched, self._n_artists, self._n_songs = matched, n_artists, n_songs
        self._outside = np.full(len(matched), -1, np.int64) if outside is None else outside
        self.n_outside = int(self._outside.max(initial=-1)) + 1
        self._same_as = np.arange(n_songs) if matched.same_as is None else matched.same_as
        self._of_songs = np.zeros(n_songs)
        self._has_title = _has_title(names, matched)
        self._n_matched = self._n_titled = 0.0
        self.blocks: dict[str, list[KindPlays]] = {"users": [], "sessions": [], "playlists": []}

    def add(self, kind: str, listener: npt.NDArray[np.integer], rows: ListenRows, n: int) -> None:
        """Add the plays of n listeners of a kind."""
        artists = _summed(listener, self._matched.artist[rows.name], rows.plays, (n, self._n_artists))
        songs = _summed(listener, self._matched.song[rows.name], rows.plays, (n, self._n_songs))
        outside = _summed(listener, self._outside[rows.name], rows.plays, (n, self.n_outside))
        self.blocks[kind].append(KindPlays(artists, songs, outside))

    def of_nobody(self) -> KindPlays:
        """Return matrices without listeners."""
        widths = self._n_artists, self._n_songs, self.n_outside
        return KindPlays(*(sp.csr_array(np.empty((0, n), np.float32)) for n in widths))

    def add_songs(self, rows: ListenRows) -> None:
        """Add to the total plays of songs, and to those that name a title."""
        song = self._matched.song[rows.name]
        is_matched = song >= 0
        is_known = is_matched | (self._matched.artist[rows.name] >= 0)
        self._n_matched += float(rows.plays[is_known].sum(dtype=np.float64))
        self._n_titled += float(rows.plays[is_known & self._has_title[rows.name]].sum(dtype=np.float64))
        self._of_songs += np.bincount(song[is_matched], weights=rows.plays[is_matched], minlength=self._n_songs)

    @property
    def titled_share(self) -> float:
        """The share of matched plays that name a title; 0 without any."""
        return self._n_titled / self._n_matched if self._n_matched else 0.0

    def of_songs_and_copies(self) -> npt.NDArray[np.float64]:
        """Return the total plays of each song, including its copies."""
        totals = np.zeros(self._n_songs)
        np.add.at(totals, self._same_as, self._of_songs)
        return totals[self._same_as]


def _has_title(names: Names | None, matched: Matched) -> npt.NDArray[np.bool_]:
    """Return which names are of a song, (n_names,): they match one or have a title."""
    is_song = matched.song >= 0
    if names is None:
        return is_song
    titles = names.title if isinstance(names, TrackNameColumns) else [name.title for name in names]
    has_title: npt.NDArray[np.bool_] = np.fromiter(map(bool, titles), np.bool_, len(matched))
    return np.logical_or(is_song, has_title)


def _check(sources: Sequence[HistoryListens], matched: Matched) -> None:
    for source in sources:
        check_choice(source.kind, "kind", KINDS)
        lengths = {len(source.user), len(source.name), len(source.plays), len(source.time)}
        if len(lengths) != 1:
            raise InvalidInputError(f"a source has columns of {sorted(lengths)} rows; all need the same.")
        if source.user.min() < 0:
            raise InvalidInputError(f"a source has user {source.user.min()}; users are numbered from 0 on.")
        low, high = int(source.name.min()), int(source.name.max())
        if low < 0 or high >= len(matched):
            wrong = low if low < 0 else high
            raise InvalidInputError(f"a source has name {wrong}, but {len(matched)} names were matched; match all.")


def _people(sources: Sequence[HistoryListens]) -> int:
    """Return the number of users with timed events."""
    seen = np.zeros(1 + max((int(source.user.max()) for source in sources), default=0), bool)
    for source in sources:
        if source.kind == "events":
            seen[source.user[(source.time > 0) & (source.plays > 0)]] = True
    return int(seen.sum())


def _plan(sources: Sequence[HistoryListens], listeners: str) -> _Plan:
    """Choose the kinds of listeners; raise if the requested kind is not in the sources."""
    kinds = sorted({source.kind for source in sources})
    reason = f"there are only {' and '.join(kinds)}" if kinds else "there are no listens"
    people = _people(sources)
    if listeners == "auto":
        sessions = 0 < people < MIN_USERS
        return _Plan(users=True, sessions=sessions, playlists=True, events_of_users=not sessions, people=people)
    if listeners == "sessions" and not people:
        if "events" in kinds:
            reason = "no listen has a time"
        raise InvalidInputError(f"listeners='sessions' needs listens with times, but {reason}; choose auto or users.")
    if listeners == "playlists" and "playlists" not in kinds:
        raise InvalidInputError(f"listeners='playlists' needs playlists, but {reason}; choose auto or users.")
    if listeners == "users" and kinds in ([], ["playlists"]):
        raise InvalidInputError(f"listeners='users' needs users' histories, but {reason}; choose auto or playlists.")
    users = listeners == "users"
    return _Plan(users, listeners == "sessions", listeners == "playlists", events_of_users=users, people=people)


def _sessions(events: ListenRows, gap: float) -> npt.NDArray[np.int32]:
    """Return the session number of each event; events are sorted by user and time."""
    begins = np.zeros(len(events.user), bool)
    begins[1:] = (events.user[1:] != events.user[:-1]) | (np.diff(events.time) > gap)
    return np.cumsum(begins, dtype=np.int32)


def _summed(
    listener: npt.NDArray[np.integer],
    unit: npt.NDArray[np.int64],
    plays: npt.NDArray[np.float32],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return the matrix listeners x units with plays added up; units below 0 are left out."""
    is_matched = unit >= 0
    coordinates = (listener[is_matched].astype(np.int32, copy=False), unit[is_matched].astype(np.int32))
    return sp.csr_array(sp.coo_array((plays[is_matched], coordinates), shape=shape).tocsr())
