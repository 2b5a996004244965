"""Plays through the page and players -> a listening history like any other.

Every play is stored immediately. Training, and the service periodically, converts all plays into one history, so that
code that reads histories needs no special case.
"""

import hashlib
import time
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.listeners.importing import DEFAULT_USER
from nearsong.library.store import PLAYED, History, Play, Store
from nearsong.listens.records import ListenBlock, TrackName

HISTORY_NAME = "played with nearsong"
"""Name of the history."""

SAME_PLAY_SECONDS = 30
"""The same song by the same listener within this time is one play, reported twice."""

MAX_CLOCK_SKEW_SECONDS = 600
"""Seconds that a player's clock may be ahead."""

YEAR_2000 = 946_684_800

MIN_PLAYS_TO_TRAIN = 100
"""With fewer plays than this and no other listens, training is not suggested yet."""

MAX_PLAYS_PER_REQUEST = 1_000
MAX_NAME_LENGTH = 200
BLOCK_ROWS = 250_000

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: controls, format characters (text direction among them), surrogates, separators."""


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
        name = _visible_name(listener)
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise InvalidInputError(f"a listener's name needs 1 to {MAX_NAME_LENGTH} characters; got {len(name)}.")
        if len(played) > MAX_PLAYS_PER_REQUEST:
            raise InvalidInputError(
                f"{len(played):,} plays in one request; send at most {MAX_PLAYS_PER_REQUEST:,} at a time."
            )
        now = time.time()
        valid: list[tuple[int, int]] = []
        first_error: InvalidInputError | None = None
        for song, at in played:
            try:
                valid.append((song, _checked_time(at, now)))
            except InvalidInputError as error:
                first_error = first_error or error
        n_added = self._store.plays.add(name, valid, SAME_PLAY_SECONDS)
        if first_error is not None:
            raise first_error
        return n_added

    def count(self) -> int:
        """Return the number of plays."""
        return self._store.plays.count()

    def pending(self) -> int:
        """Return the number of plays that are not in the history yet."""
        return self.count() - sum(history.rows for history in self._histories())

    def update_history(self) -> bool:
        """Replace the history of plays by one of all plays; return whether it changed."""
        plays, listens = self._store.plays, self._store.listens
        listens.sweep()
        while True:
            first = plays.first()
            blocks = list(_blocks(plays.all()))
            fingerprint = _fingerprint(blocks)
            if not blocks or [history.fingerprint for history in self._histories()] == [fingerprint]:
                return False
            writer = listens.begin(HISTORY_NAME, fingerprint, PLAYED, "events")
            try:
                if plays.first() != first:  # from here on, deleting the plays deletes this history too
                    raise LibraryError("all plays were deleted in the meantime; try again.")
                for block in blocks:
                    writer.add(block)
                return writer.finish(alone=True)
            except BaseException as error:  # Ctrl-C too: remove the unfinished history
                listens.abandon(writer)
                if not isinstance(error, LibraryError) or plays.first() == first:
                    raise  # otherwise the plays were deleted; there may be new ones by now

    def clear(self) -> None:
        """Delete all plays and their history."""
        self._store.listens.remove((), played=True)

    def _histories(self) -> list[History]:
        return [history for history in self._store.listens.histories() if history.format == PLAYED]


def _visible_name(text: str) -> str:
    r"""Return a name in composed Unicode (NFC) without invisible characters.

    >>> _visible_name(" Zoe\u0301 \x1b[31m\u202e ") == "Zo\u00e9 [31m"
    True
    """
    visible = "".join(
        " " if unicodedata.category(letter) in _INVISIBLE else letter for letter in unicodedata.normalize("NFC", text)
    )
    return " ".join(visible.split())


def _checked_time(at: float | None, now: float) -> int:
    """Return the start of a play, or raise ``InvalidInputError`` if it cannot be right."""
    start = now if at is None else at
    if not YEAR_2000 <= start <= now + MAX_CLOCK_SKEW_SECONDS:
        reason = "in the future" if start > now else "before the year 2000"
        raise InvalidInputError(f"a play at {start:.15g} s since 1970 is {reason}; check the clock.")
    return int(start)


def _blocks(plays: Iterator[Play]) -> Iterator[ListenBlock]:
    while True:
        users: dict[str, int] = {}
        tracks: dict[TrackName, int] = {}
        columns = array("i"), array("i"), array("q")
        for play in islice(plays, BLOCK_ROWS):  # compact columns: millions of Play objects would not fit
            columns[0].append(users.setdefault(play.listener, len(users)))
            columns[1].append(tracks.setdefault(play.track, len(tracks)))
            columns[2].append(play.time)
        if not users:
            return
        user, item, start = (np.array(column) for column in columns)
        yield ListenBlock(
            users=list(users),
            tracks=list(tracks),
            user=user.astype(np.int32),
            item=item.astype(np.int32),
            plays=np.ones(len(user), np.float32),
            time=start,
        )


def _fingerprint(blocks: Sequence[ListenBlock]) -> str:
    digest = hashlib.sha256(f"{PLAYED}|".encode())
    for block in blocks:
        digest.update(repr((block.users, block.tracks)).encode())
        for column in (block.user, block.item, block.time):
            digest.update(column.tobytes())
    return digest.hexdigest()
