"""Plays through the page and players -> a listening history like any other.

Every play is stored immediately. Training, and the service periodically, converts all plays, and the hearts, ratings
and skips of songs, into one history, so that code that reads histories needs no special case.
"""

import hashlib
import re
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.store import PLAYED, History, Play, Reaction, Store
from nearsong.listens.records import DEFAULT_USER as DEFAULT_USER
from nearsong.listens.records import Action, ListenBlock, TrackName
from nearsong.names import MAX_TEXT_LENGTH, clean_text, visible_name

HISTORY_NAME = "played with nearsong"
"""Name of the history."""

SAME_PLAY_SECONDS = 30
"""The same song by the same listener within this time is one play, reported twice."""

MAX_CLOCK_SKEW_SECONDS = 600
"""Seconds that a player's clock may be ahead."""

YEAR_2000 = 946_684_800

MAX_PLAYS_PER_REQUEST = 1_000
MAX_NAME_LENGTH = 200
BLOCK_ROWS = 250_000
MBID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

_Extent = tuple[tuple[int, int], tuple[int, int]]
"""Of plays and reactions: the newest id, and how many there are up to it."""

Played = TypeVar("Played")


class PlayLog:
    """Records plays and turns them into a listening history."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, song_id: int, listener: str = DEFAULT_USER, at: float | None = None) -> bool:
        """Record one play.

        Parameters
        ----------
        song_id : int
        listener : str
        at : float, optional
            Start of the play in seconds since 1970; by default now.

        Returns
        -------
        bool
            Whether it is new: the same song by the same listener within `SAME_PLAY_SECONDS` is one play.

        Raises
        ------
        InvalidInputError
            If the time cannot be right, or the listener has no name.
        NoSuchSongError
            If the song is not in the library.
        """
        return self.record_all([(song_id, at)], listener) == 1

    def record_all(self, played: Sequence[tuple[int, float | None]], listener: str = DEFAULT_USER) -> int:
        """Record several songs and the start of each; return how many plays are new.

        Errors are those of :meth:`record`, raised after all valid plays are stored: one removed song must not cost an
        offline player its other plays, and repeating the request adds nothing twice.
        """
        name, valid, first_error = _valid(played, listener, _same)
        n_added = self._store.plays.add(name, valid, SAME_PLAY_SECONDS)
        if first_error is not None:
            raise first_error
        return n_added

    def record_named(self, played: Sequence[tuple[TrackName, float | None]], listener: str = DEFAULT_USER) -> int:
        """Record plays by name and the start of each; return how many are new.

        The songs may not be in the library: plays count for them once they are. One that was also reported for the
        song itself, or under another spelling, within `SAME_PLAY_SECONDS` is one play.

        Raises
        ------
        InvalidInputError
            If a time cannot be right, or a name is empty; raised after all valid plays are stored.
        """
        name, valid, first_error = _valid(played, listener, checked_track)
        n_added = self._store.plays.add_named(name, valid, SAME_PLAY_SECONDS)
        if first_error is not None:
            raise first_error
        return n_added

    def count_of(self, listener: str) -> int:
        """Return the number of plays of a listener."""
        return self._store.plays.count(visible_name(listener))

    def latest(
        self, listener: str, n: int = 25, *, after: int | None = None, before: int | None = None
    ) -> list[Play]:
        """Return plays of a listener, the latest first.

        Parameters
        ----------
        listener : str
        n : int
            At most so many: the latest, or the earliest if only ``after`` is given.
        after, before : int, optional
            Only plays that began after or before a time, in seconds since 1970.
        """
        return self._store.plays.between(visible_name(listener), after, before, n)

    def count(self) -> int:
        """Return the number of plays."""
        return self._store.plays.count()

    def counts(self) -> dict[Action, int]:
        """Return how many plays, skips, hearts and ratings of songs are recorded."""
        return {Action.LISTEN: self.count(), **self._store.reactions.counts()}

    def pending(self) -> int:
        """Return how many more rows the history would have; below 0 after hearts were removed."""
        return sum(self.counts().values()) - sum(history.rows for history in self._histories())

    def recorded(self, listener: str | None = None) -> Iterator[Reaction]:
        """Yield all plays, then all hearts, ratings and skips of songs, of one listener or of all."""
        plays = (Reaction(play.listener, Action.LISTEN, play.time, 0, play.track) for play in self._store.plays.all())
        name = None if listener is None else visible_name(listener)
        for row in chain(plays, self._store.reactions.all()):
            if name is None or row.listener == name:
                yield row

    def update_history(self) -> bool:
        """Replace the history of plays by one of all that is recorded; return whether it changed."""
        listens = self._store.listens
        listens.sweep()
        while True:
            extent = self._extent()
            blocks = list(_blocks(self.recorded()))
            fingerprint = _fingerprint(blocks)
            earlier = self._histories()
            if not blocks:  # the last heart was removed
                if earlier:
                    listens.remove([history.id for history in earlier], played=False)
                return bool(earlier)
            if [history.fingerprint for history in earlier] == [fingerprint]:
                return False
            writer = listens.begin(HISTORY_NAME, fingerprint, PLAYED, "events")
            try:
                if self._extent(extent) != extent:  # from here on, deleting plays deletes this history too
                    raise LibraryError("plays were deleted in the meantime; try again.")
                for block in blocks:
                    writer.add(block)
                return writer.finish(alone=True)
            except BaseException as error:  # Ctrl-C too: remove the unfinished history
                listens.abandon(writer)
                if not isinstance(error, LibraryError) or self._extent(extent) == extent:
                    raise  # otherwise plays were deleted; there may be new ones by now

    def clear(self) -> None:
        """Delete all plays, hearts, ratings and skips, and their history."""
        self._store.listens.remove((), played=True)

    def _extent(self, known: _Extent | None = None) -> _Extent:
        """Return what is recorded, or how much is left of what was known; plays that are added change nothing."""
        plays, reactions = ((None, 0), (None, 0)) if known is None else known
        return self._store.plays.extent(plays[0]), self._store.reactions.extent(reactions[0])

    def _histories(self) -> list[History]:
        return [history for history in self._store.listens.histories() if history.format == PLAYED]


def _valid(
    played: Sequence[tuple[Played, float | None]], listener: str, check: Callable[[Played], Played]
) -> tuple[str, list[tuple[Played, int]], InvalidInputError | None]:
    """Return the name of the listener, the plays that can be stored, and why the first of the others cannot."""
    name = checked_listener(listener)
    if len(played) > MAX_PLAYS_PER_REQUEST:
        raise InvalidInputError(
            f"{len(played):,} plays in one request; send at most {MAX_PLAYS_PER_REQUEST:,} at a time."
        )
    now = time.time()
    valid: list[tuple[Played, int]] = []
    first_error: InvalidInputError | None = None
    for item, at in played:
        try:
            valid.append((check(item), checked_time(at, now)))
        except InvalidInputError as error:
            first_error = first_error or error
    return name, valid, first_error


def _same(song: int) -> int:
    return song


def checked_track(track: TrackName) -> TrackName:
    r"""Return the name of a played track as it is stored, or raise ``InvalidInputError``; no invalid MBIDs.

    >>> checked_track(TrackName(" Bj\u00f6rk\n", "J\u00f3ga\x00", "B1A9C0E9-D987-4042-AE91-78D6A3267D69", "1"))
    TrackName(artist='Björk', title='Jóga', recording_mbid='b1a9c0e9-d987-4042-ae91-78d6a3267d69', artist_mbid='')
    """
    artist, title = _checked_name(track.artist, "artist"), _checked_name(track.title, "title")
    return TrackName(artist, title, _checked_mbid(track.recording_mbid), _checked_mbid(track.artist_mbid))


def _checked_name(text: str, what: str) -> str:
    name = clean_text(text[: 2 * MAX_TEXT_LENGTH])  # as tags are, so that both compare
    if not visible_name(name):
        raise InvalidInputError(f"a play has no {what}; send the names of artist and title.")
    return name


def _checked_mbid(text: str) -> str:
    mbid = text.strip().lower()
    return mbid if MBID.fullmatch(mbid) else ""


def checked_listener(text: str) -> str:
    """Return the name of a listener as it is stored, or raise ``InvalidInputError``."""
    name = visible_name(text)
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise InvalidInputError(f"a listener's name needs 1 to {MAX_NAME_LENGTH} characters; got {len(name)}.")
    return name


def checked_time(at: float | None, now: float) -> int:
    """Return the start of a play, or raise ``InvalidInputError`` if it cannot be right."""
    start = now if at is None else at
    if not YEAR_2000 <= start <= now + MAX_CLOCK_SKEW_SECONDS:
        reason = "in the future" if start > now else "before the year 2000"
        raise InvalidInputError(f"a play at {start:.15g} s since 1970 is {reason}; check the clock.")
    return int(start)


def _blocks(recorded: Iterator[Reaction]) -> Iterator[ListenBlock]:
    while True:
        users: dict[str, int] = {}
        tracks: dict[TrackName, int] = {}
        columns = array("i"), array("i"), array("q"), array("b"), array("b")
        for row in islice(recorded, BLOCK_ROWS):  # compact columns: millions of records would not fit
            columns[0].append(users.setdefault(row.listener, len(users)))
            columns[1].append(tracks.setdefault(row.track, len(tracks)))
            columns[2].append(row.time)
            columns[3].append(row.action)
            columns[4].append(row.stars or 1)
        if not users:
            return
        user, item, start, action, plays = (np.array(column) for column in columns)
        yield ListenBlock(
            users=list(users),
            tracks=list(tracks),
            user=user.astype(np.int32),
            item=item.astype(np.int32),
            plays=plays.astype(np.float32),
            time=start,
            action=action.astype(np.int8) if action.any() else None,
        )


def _fingerprint(blocks: Sequence[ListenBlock]) -> str:
    digest = hashlib.sha256(f"{PLAYED}|".encode())
    for block in blocks:
        digest.update(repr((block.users, block.tracks)).encode())
        actions = () if block.action is None else (block.action, block.plays)
        for column in (block.user, block.item, block.time, *actions):
            digest.update(column.tobytes())
    return digest.hexdigest()
