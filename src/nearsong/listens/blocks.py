"""Columns of a listening history as raw text -> numeric blocks; unusable rows are reported."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import ListensError
from nearsong.listens.numbering import Key, TrackNumbers, UserNumbers
from nearsong.listens.records import ListenBlock
from nearsong.listens.times import parse_times

BLOCK_ROWS = 250_000
BATCH_ROWS = 2_000  # small enough to stay in the CPU cache
CHECKED_ROWS = 1_000
MAX_NAMES = 1_000_000
"""Users and track names that blocks share; beyond, they are numbered anew."""
MAX_NAME_CHARACTERS = 1 << 26
MAX_PLAYS = 1e9

OnBadRow = Callable[[str], None]
_Why = Callable[[int, bool, bool, bool], str]
"""Row, and whether it has a user, an artist and plays -> why it is unusable."""


@dataclass(frozen=True)
class Batch:
    """Rows in columns, with fields as in the file.

    Attributes
    ----------
    artist : sequence of n str
    numbers : sequence of n int
        Line or record numbers, for messages.
    user : sequence of n str, or None
        None if all rows belong to the file's user.
    title, recording_mbid, artist_mbid : sequence of n str, or None
    plays : sequence of n str or numbers, or None
        None for one play per row.
    time : sequence of n, or None
        Any notation that ``parse_time`` accepts.
    action : sequence of n Action, or None
        None if all rows are listens.
    """

    artist: Sequence[str]
    numbers: Sequence[int]
    user: Sequence[str] | None = None
    title: Sequence[str] | None = None
    recording_mbid: Sequence[str] | None = None
    artist_mbid: Sequence[str] | None = None
    plays: Sequence[Any] | None = None
    time: Sequence[Any] | None = None
    action: Sequence[int] | None = None


@dataclass(frozen=True, eq=False)
class NumberedBatch:
    """Rows in columns, with the numbers that ``BlockBuilder`` gives users and tracks.

    Attributes
    ----------
    user, item : arrays of n int
        Numbers of users (None: all rows are of the file's user) and of tracks; -1 where the name is missing.
    plays, time : arrays of n numbers, or None
        As in a block; unusable values are negative or not a number.
    numbers : array of n int
        Line numbers, for messages.
    reasons : mapping of int to str
        Row -> why it cannot be read.
    plays_text, time_text : callable
        Row -> the field as in the file, for messages.
    """

    user: npt.NDArray[np.int32] | None
    item: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32] | None
    time: npt.NDArray[np.int64] | None
    numbers: npt.NDArray[np.int64]
    reasons: Mapping[int, str]
    plays_text: Callable[[int], str]
    time_text: Callable[[int], str]


@dataclass
class RowCounts:
    """What became of the rows of a file: each is read, left out for a reason, or unreadable.

    Attributes
    ----------
    read : int
        Rows in blocks.
    left_out : Counter of str
        Reason -> rows that are no listens to music, or tell nothing: podcasts, "now playing".
    bad : int
        Rows that cannot be read.
    """

    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    bad: int = 0

    @property
    def total(self) -> int:
        """All rows of the file."""
        return self.read + self.left_out.total() + self.bad


class BlockBuilder:
    """Collects rows into blocks of at most ``BLOCK_ROWS``, which share their lists of users and track names.

    Parameters
    ----------
    on_bad_row : callable or None
        Called with a one-line message for every unusable row.
    counts : RowCounts, optional
        Where the rows are counted.

    Attributes
    ----------
    numbering : int
        Changes when users and track names are numbered anew, since there were very many of them.
    table_names : object
        What the reader of tables keeps from one table of a zip to the next.
    """

    def __init__(self, on_bad_row: OnBadRow | None = None, counts: RowCounts | None = None) -> None:
        self._on_bad_row = on_bad_row
        self.counts = RowCounts() if counts is None else counts
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []
        self.numbering = 0
        self.table_names: object = None
        self._begin_names()
        self._begin_block()
        self.begin("", "me")

    def begin(self, name: str, user: str, unit: str = "line") -> None:
        """Start a file: messages use this name and unit, rows without a user get this user."""
        self._name, self._user, self._unit = name, user, unit
        self._n_rows = self._n_bad = 0
        self._first_bad = ""
        self._is_checked = False

    def bad(self, number: int, why: str) -> None:
        """Report an unusable row."""
        self._count(1, 1, self._message(number, why))
        self._report(self._message(number, why))

    def leave_out(self, reason: str, n_rows: int = 1) -> None:
        """Count rows that are readable but not used."""
        self.counts.left_out[reason] += n_rows

    def add(self, batch: Batch) -> Iterator[ListenBlock]:
        """Add at most ``BATCH_ROWS`` rows; yield the current block first if they do not fit into it."""
        n = len(batch.artist)
        yield from self.reserve(n)
        user = None if batch.user is None else np.fromiter(map(self._users.__getitem__, batch.user), np.int32, n)
        item = np.fromiter(map(self._items.__getitem__, _keys(batch)), np.int32, n)
        plays = None if batch.plays is None else parse_plays(batch.plays)
        time = None if batch.time is None else parse_times(batch.time)
        action = None if batch.action is None else np.array(batch.action, np.int8)

        def why(i: int, has_user: bool, has_artist: bool, has_plays: bool) -> str:
            shown_plays = None if batch.plays is None else batch.plays[i]
            return _reason(has_user, has_artist, has_plays, shown_plays, "" if batch.time is None else batch.time[i])

        columns = _Columns(user=user, item=item, plays=plays, time=time, action=action)
        self._add(columns, batch.numbers, why, exactly=False)

    def add_numbered(self, batch: NumberedBatch) -> None:
        """Add rows after ``reserve`` for them; their names have the current numbers."""

        def why(i: int, has_user: bool, has_artist: bool, has_plays: bool) -> str:
            if i in batch.reasons:
                return batch.reasons[i]
            return _reason(has_user, has_artist, has_plays, batch.plays_text(i), batch.time_text(i))

        columns = _Columns(user=batch.user, item=batch.item, plays=batch.plays, time=batch.time, action=None)
        self._add(columns, batch.numbers, why, exactly=True)

    def reserve(self, n_rows: int) -> Iterator[ListenBlock]:
        """Yield the current block if it has no room for more rows or names."""
        n_names = len(self._users.names) + len(self._items.tracks)
        n_characters = self._users.n_characters + self._items.n_characters
        if n_names > MAX_NAMES or n_characters > MAX_NAME_CHARACTERS:
            yield from self._flush()
            self._begin_names()
        elif self._n_block + n_rows > BLOCK_ROWS:
            yield from self._flush()

    def user_numbers(self, labels: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the numbers of users by their names as they are written, each given once; -1 for an empty one."""
        self._users.add_new(labels)
        return np.fromiter(map(self._users.__getitem__, labels), np.int32, len(labels))

    def track_numbers(self, keys: Sequence[Key]) -> npt.NDArray[np.int32]:
        """Return the numbers of tracks by artist, title and MBIDs as written, each once; -1 without an artist."""
        self._items.add_new(keys)
        return np.fromiter(map(self._items.__getitem__, keys), np.int32, len(keys))

    def _add(
        self, columns: "_Columns", numbers: Sequence[int] | npt.NDArray[np.int64], why: _Why, exactly: bool
    ) -> None:
        user, item, plays, time, action = columns.filled(self._users, self._user)
        n = len(item)
        usable = (user >= 0) & (item >= 0) & (plays > 0) & (time >= 0)
        unusable = np.flatnonzero(~usable)
        messages = (
            self._message(int(numbers[i]), why(i, bool(user[i] >= 0), bool(item[i] >= 0), bool(plays[i] > 0)))
            for i in unusable.tolist()
        )
        first = next(messages, "")
        # before the reports: a file of another format fails at once instead of being reported row by row
        n_first = CHECKED_ROWS - self._n_rows
        if exactly and not self._is_checked and 0 < n_first < n:  # the same rows, however many came at once
            n_bad = int(np.searchsorted(unusable, n_first))
            self._count(n_first, n_bad, first)
            self._count(n - n_first, len(unusable) - n_bad, first)
        else:
            self._count(n, len(unusable), first)
        for message in chain([first] if first else [], messages):
            self._report(message)
        self._n_block += n - len(unusable)
        self.counts.read += n - len(unusable)
        self._parts.append((user[usable], item[usable], plays[usable], time[usable], action[usable]))

    def end(self) -> None:
        """End a file; raise ``ListensError`` if most of its rows were unusable."""
        if not self._is_checked:
            self._check_bad_rows()

    def finish(self) -> Iterator[ListenBlock]:
        """Yield the last block, if any rows are left."""
        yield from self._flush()

    def _count(self, n_rows: int, n_bad: int, first_bad: str) -> None:
        self._n_rows += n_rows
        self._n_bad += n_bad
        self.counts.bad += n_bad
        self._first_bad = self._first_bad or first_bad
        if not self._is_checked and self._n_rows >= CHECKED_ROWS:
            self._check_bad_rows()

    def _check_bad_rows(self) -> None:
        self._is_checked = True
        if 2 * self._n_bad > self._n_rows:
            raise ListensError(
                f"{self._name}: {self._n_bad} of the first {self._n_rows} rows are invalid, so this is probably "
                f"another format; the first: {self._first_bad}"
            )

    def _message(self, number: int, why: str) -> str:
        return f"{self._name}, {self._unit} {number}: {why}"

    def _report(self, message: str) -> None:
        if self._on_bad_row is not None:
            self._on_bad_row(message)

    def _begin_names(self) -> None:
        self._users, self._items = UserNumbers(), TrackNumbers()
        self.numbering += 1

    def _begin_block(self) -> None:
        self._n_block = 0
        self._parts.clear()

    def _flush(self) -> Iterator[ListenBlock]:
        if self._n_block:
            user, item, plays, time, action = map(np.concatenate, zip(*self._parts, strict=True))
            yield ListenBlock(
                users=self._users.names,
                tracks=self._items.tracks,
                user=user,
                item=item,
                plays=plays,
                time=time,
                action=action if action.any() else None,
            )
        self._begin_block()


@dataclass(frozen=True, eq=False)
class _Columns:
    """Rows as numbers; None for a column that the file does not have."""

    user: npt.NDArray[np.int32] | None
    item: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32] | None
    time: npt.NDArray[np.int64] | None
    action: npt.NDArray[np.int8] | None

    def filled(self, users: "UserNumbers", user: str) -> tuple[npt.NDArray[Any], ...]:
        """Return all columns."""
        n = len(self.item)
        return (
            np.full(n, users[user], np.int32) if self.user is None else self.user,
            self.item,
            np.ones(n, np.float32) if self.plays is None else self.plays,
            np.zeros(n, np.int64) if self.time is None else self.time,
            np.zeros(n, np.int8) if self.action is None else self.action,
        )


def _keys(batch: Batch) -> Iterable[Key]:
    empty = repeat("")
    columns = (batch.title, batch.recording_mbid, batch.artist_mbid)
    return zip(batch.artist, *(empty if column is None else column for column in columns), strict=False)


def parse_plays(values: Sequence[Any]) -> npt.NDArray[np.float32]:
    """Return play counts; NaN for values that are not numbers or above `MAX_PLAYS`."""
    try:
        plays = np.fromiter(map(float, values), np.float64, len(values))
    except (ValueError, TypeError, OverflowError):
        plays = np.fromiter(map(_number, values), np.float64, len(values))
    plays[~(plays <= MAX_PLAYS)] = np.nan
    return plays.astype(np.float32)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return np.nan


def _reason(has_user: bool, has_artist: bool, has_plays: bool, plays: Any, time: Any) -> str:
    """Return why a row is unusable."""
    if not has_artist:
        return "the artist is missing."
    if not has_user:
        return "the user is missing."
    if not has_plays:
        return f"plays is {_shown(plays)}; a number above 0 and of at most {MAX_PLAYS:.0e} is needed."
    return f"the time is {_shown(time)}; seconds since 1970 or a date such as 2023-01-31 12:34 is needed."


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
