"""Listens + what they mean in the library -> who listens to what: sparse matrices, listeners x artists and x songs.

A listener is a user, a session (a piece of one person's history, cut where nothing was played for a while) or a
playlist. Rows are read in portions of users, so that twenty million of them fit in memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.library.listens_once import Rows, each_once
from nearsong.library.matching import Matched
from nearsong.validation import check_choice, check_positive

KINDS = ("counts", "events", "playlists")
LISTENERS = ("auto", "users", "sessions", "playlists")

FEW_USERS = 10
"""With fewer users than this in all histories with times, their sessions are the listeners."""

PAPER_MIN_PLAYS = 10
"""Plays from which on a user listens to an artist, as in the paper."""

GAP_MINUTES = 30.0
"""A session ends when nothing was played for longer."""

PORTION = 4_000_000
"""Rows that are worked on at once; a user's rows stay together."""


@dataclass(frozen=True, eq=False)
class SourceListens:
    """Rows of a listening history, or some of them.

    Attributes
    ----------
    kind : str
        "counts" (so and so often), "events" (each listen with its time) or "playlists".
    user, name : ndarrays of int32 and shape (n,)
        Who played what: numbers from 0 on, the same in all sources. For playlists, which playlist has what.
    plays : ndarray of float32 and shape (n,)
        How often.
    time : ndarray of int64 and shape (n,)
        Seconds since 1970; 0 where it is not known.
    """

    kind: str
    user: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class Listening:
    """Who listens to what.

    Attributes
    ----------
    artist_plays, song_plays : csr_array of bool and shapes (n_listeners, n_artists) and (n_listeners, n_songs)
        Whether a listener listens to it. Every row has something in at least one of them.
    listeners : dict
        How many of the rows are "users", "sessions" and "playlists", in this order.
    how : str
        The same for a person.
    min_plays : dict
        From how many plays on a user listens to "artists" and "songs".
    song_play_counts : ndarray of float64 and shape (n_songs,)
        How often each song was played by anyone, be it from this file or a copy of it (`Matched.same_as`); an entry
        of a playlist counts as one.
    """

    artist_plays: sp.csr_array
    song_plays: sp.csr_array
    listeners: dict[str, int]
    how: str
    min_plays: dict[str, float]
    song_play_counts: npt.NDArray[np.float64]


class _Plan(NamedTuple):
    """Which kinds of listeners there are to be."""

    users: bool
    sessions: bool
    playlists: bool
    events_of_users: bool
    people: int  # who have events with times


def build_listening(
    sources: Iterable[SourceListens],
    matched: Matched,
    n_artists: int,
    n_songs: int,
    *,
    listeners: str = "auto",
    min_plays: float | None = None,
    gap_minutes: float = GAP_MINUTES,
) -> Listening:
    """Make the matrices of who listens to what.

    Parameters
    ----------
    sources : iterable of SourceListens
        One for each history.
    matched : Matched
        What every ``name`` of the sources means.
    n_artists, n_songs : int
        Of the catalogue.
    listeners : {"auto", "users", "sessions", "playlists"}
        What is to be a listener. "auto" takes everything: playlists; users; but where the histories with times are
        of fewer than `FEW_USERS` users, their sessions. The others take what their name says and leave the rest.
    min_plays : float, optional
        From how many plays on a user or session listens to something. By default 1 in a session, and for users 10
        as in the paper unless that leaves almost nothing: if fewer than half of the users who played two or more
        artists would keep two, as with lists of favourites, it is 1. Songs are treated likewise, apart from artists.
        Being in a playlist is always enough.
    gap_minutes : float
        A session ends when nothing was played for longer, be it in the library or not.

    Returns
    -------
    Listening

    Raises
    ------
    InvalidInputError
        If the sources have no listeners of the kind that is asked for.

    Notes
    -----
    The same name at the same second by the same user is one listen. So is, in another source, the same song within a
    minute however it is spelled; what is no song of the library is told by its spelling alone, and a service that
    notes when a song ended is not recognised beside one that notes when it began. Plays of one user in several
    sources are added up otherwise. A listen whose time is not known belongs to no session.
    """
    check_choice(listeners, "listeners", LISTENERS)
    gap = check_positive(gap_minutes, "gap_minutes") * 60
    if min_plays is not None:
        check_positive(min_plays, "min_plays")
    given = [source for source in sources if len(source)]
    _check(given, matched)
    plan = _plan(given, listeners)
    same_as = np.arange(n_songs) if matched.same_as is None else matched.same_as
    meaning = _meaning(matched, same_as)
    song_counts = np.zeros(n_songs)
    blocks: dict[str, list[tuple[sp.csr_array, sp.csr_array]]] = {"users": [], "sessions": [], "playlists": []}

    def add(kind: str, listener: npt.NDArray[np.integer], rows: Rows, n: int) -> None:
        artists = _summed(listener, matched.artist[rows.name], rows.plays, (n, n_artists))
        blocks[kind].append((artists, _summed(listener, matched.song[rows.name], rows.plays, (n, n_songs))))

    for n, counts, events in _portions([source for source in given if source.kind != "playlists"], meaning):
        for rows in (counts, events):
            _count_songs(song_counts, rows, matched)
        if plan.sessions:
            timed = events.at(events.time > 0)
            session = _sessions(timed, gap)
            add("sessions", session, timed, int(session[-1]) + 1 if len(session) else 0)
        if plan.users:
            rows = _joined([counts, events]) if plan.events_of_users else counts
            add("users", rows.user, rows, n)
    for n, entries, _ in _portions([source for source in given if source.kind == "playlists"], meaning):
        _count_songs(song_counts, entries, matched)
        if plan.playlists:
            add("playlists", entries.user, entries, n)
    copies_too = np.zeros(n_songs)
    np.add.at(copies_too, same_as, song_counts)
    return _listening(blocks, (n_artists, n_songs), min_plays, copies_too[same_as], plan.people, gap_minutes)


def _check(sources: Sequence[SourceListens], matched: Matched) -> None:
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


def _people(sources: Sequence[SourceListens]) -> int:
    """Return how many users have events with times."""
    seen = np.zeros(1 + max((int(source.user.max()) for source in sources), default=0), bool)
    for source in sources:
        if source.kind == "events":
            seen[source.user[(source.time > 0) & (source.plays > 0)]] = True
    return int(seen.sum())


def _plan(sources: Sequence[SourceListens], listeners: str) -> _Plan:
    """Choose what the listeners are, or say why they cannot be what was asked for."""
    kinds = sorted({source.kind for source in sources})
    came = f"only {' and '.join(kinds)} came" if kinds else "no listens came"
    people = _people(sources)
    if listeners == "auto":
        sessions = 0 < people < FEW_USERS
        return _Plan(users=True, sessions=sessions, playlists=True, events_of_users=not sessions, people=people)
    if listeners == "sessions" and not people:
        if "events" in kinds:
            came = "no listen has a time"
        raise InvalidInputError(f"listeners='sessions' needs listens with times, but {came}; choose auto or users.")
    if listeners == "playlists" and "playlists" not in kinds:
        raise InvalidInputError(f"listeners='playlists' needs playlists, but {came}; choose auto or users.")
    if listeners == "users" and kinds in ([], ["playlists"]):
        raise InvalidInputError(f"listeners='users' needs users' histories, but {came}; choose auto or playlists.")
    users = listeners == "users"
    return _Plan(users, listeners == "sessions", listeners == "playlists", events_of_users=users, people=people)


def _meaning(matched: Matched, same_as: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a number for what each name means: a song, or else a number of its own."""
    meaning = len(same_as) + np.arange(len(matched))
    found = matched.song >= 0
    meaning[found] = same_as[matched.song[found]]
    return meaning


def _portions(sources: Sequence[SourceListens], meaning: npt.NDArray[np.int64]) -> Iterator[tuple[int, Rows, Rows]]:
    """Give (number of users, rows that are no events, events each once and sorted), some users at a time."""
    if not sources:
        return
    largest = max(int(source.user.max()) for source in sources)
    rows_until = np.zeros(largest + 1, np.int64)
    for source in sources:
        rows_until += np.bincount(source.user, minlength=largest + 1)
    np.cumsum(rows_until, out=rows_until)
    cuts = np.searchsorted(rows_until, np.arange(PORTION, rows_until[-1], PORTION)) + 1
    edges = np.unique([0, *cuts, largest + 1]).tolist()
    for low, high in pairwise(edges):
        events = [source for source in sources if source.kind == "events"]
        others = [source for source in sources if source.kind != "events"]
        yield high - low, _users_between(others, low, high), each_once(_users_between(events, low, high), meaning)


def _users_between(sources: Sequence[SourceListens], low: int, high: int) -> Rows:
    """Return the rows of some users; plays that are none are left out."""
    pieces = []
    for number, source in enumerate(sources):
        wanted = source.plays > 0
        if low > 0:
            wanted &= source.user >= low
        wanted &= source.user < high
        numbers = np.broadcast_to(np.int32(number), len(source))  # takes no memory
        rows = Rows(source.user, source.name, source.plays, source.time, numbers).at(wanted)
        pieces.append(rows._replace(user=rows.user - np.int32(low)))
    return _joined(pieces)


def _joined(pieces: Sequence[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    kinds = (np.int32, np.int32, np.float32, np.int64, np.int32)
    columns = ([np.empty(0, kind), *(piece[place] for piece in pieces)] for place, kind in enumerate(kinds))
    return Rows(*(np.concatenate(column) for column in columns))


def _sessions(events: Rows, gap: float) -> npt.NDArray[np.int32]:
    """Return the number of each event's session; they are sorted by user and time."""
    begins = np.zeros(len(events.user), bool)
    begins[1:] = (events.user[1:] != events.user[:-1]) | (np.diff(events.time) > gap)
    return np.cumsum(begins, dtype=np.int32)


def _count_songs(counts: npt.NDArray[np.float64], rows: Rows, matched: Matched) -> None:
    song = matched.song[rows.name]
    found = song >= 0
    counts += np.bincount(song[found], weights=rows.plays[found], minlength=len(counts))


def _summed(
    listener: npt.NDArray[np.integer],
    unit: npt.NDArray[np.int64],
    plays: npt.NDArray[np.float32],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return listeners x units with plays added up."""
    found = unit >= 0
    places = (listener[found].astype(np.int32, copy=False), unit[found].astype(np.int32))
    return sp.csr_array(sp.coo_array((plays[found], places), shape=shape).tocsr())


# ---- from plays to who listens


def _listening(
    blocks: dict[str, list[tuple[sp.csr_array, sp.csr_array]]],
    n_units: tuple[int, int],
    min_plays: float | None,
    song_counts: npt.NDArray[np.float64],
    people: int,
    gap_minutes: float,
) -> Listening:
    """Decide from how many plays on a listener listens, and put all listeners together."""
    thresholds = {"artists": float(min_plays or 1), "songs": float(min_plays or 1)}
    listeners: dict[str, int] = {}
    done = []
    for kind, portions in blocks.items():
        both = []
        for place, unit in enumerate(("artists", "songs")):
            none = sp.csr_array(np.empty((0, n_units[place]), np.float32))
            plays = sp.csr_array(sp.vstack([none, *(portion[place] for portion in portions)]))
            least = 0.0 if kind == "playlists" else float(min_plays or 1)
            if kind == "users" and plays.nnz:
                least = thresholds[unit] = min_plays or _paper_or_any(plays)
            both.append(_at_least(plays, least))
        artists, songs = both
        anything = (np.diff(artists.indptr) > 0) | (np.diff(songs.indptr) > 0)
        listeners[kind] = int(anything.sum())
        done.append((artists[anything], songs[anything]))
    return Listening(
        artist_plays=sp.csr_array(sp.vstack([part[0] for part in done])),
        song_plays=sp.csr_array(sp.vstack([part[1] for part in done])),
        listeners=listeners,
        how=_how(listeners, thresholds, people, gap_minutes),
        min_plays=thresholds,
        song_play_counts=song_counts,
    )


def _paper_or_any(plays: sp.csr_array) -> float:
    """Return the paper's threshold, or 1 if it would leave almost nothing."""
    several = np.count_nonzero(np.diff(plays.indptr) >= 2)
    still = np.count_nonzero(np.diff(_at_least(plays, PAPER_MIN_PLAYS).indptr) >= 2)
    return PAPER_MIN_PLAYS if 0 < several <= 2 * still else 1


def _at_least(plays: sp.csr_array, least: float) -> sp.csr_array:
    """Return where plays are ``least`` or more."""
    enough = plays.data >= least
    until = np.concatenate([[0], np.cumsum(enough)])[plays.indptr]
    indices = plays.indices[enough]
    return sp.csr_array((np.ones(len(indices), bool), indices, until.astype(plays.indptr.dtype)), shape=plays.shape)


def _how(listeners: dict[str, int], thresholds: dict[str, float], people: int, gap_minutes: float) -> str:
    """Say who the listeners are."""
    said = []
    if n := listeners["users"]:
        least = thresholds["artists"]
        note = f" (who listen to an artist from {least:g} plays on)" if least > 1 else ""
        said.append(f"{n:,} user{'s' * (n > 1)}{note}")
    if n := listeners["sessions"]:
        whose = "one person's history" if people == 1 else f"the histories of {people:,} people"
        said.append(f"{whose}, split into {n:,} session{'s' * (n > 1)} at gaps of {gap_minutes:g} minutes")
    if n := listeners["playlists"]:
        said.append(f"{n:,} playlist{'s' * (n > 1)}")
    return "; ".join(said) or "no listeners"
