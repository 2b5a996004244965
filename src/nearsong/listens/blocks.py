"""Columns of a listening history as raw text -> numeric blocks; unusable rows are reported."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import ListensError
from nearsong.listens.records import ListenBlock, TrackName
from nearsong.listens.times import parse_times

BLOCK_ROWS = 250_000
BATCH_ROWS = 2_000  # small enough to stay in the CPU cache
CHECKED_ROWS = 1_000
MAX_PLAYS = 1e9

OnBadRow = Callable[[str], None]
Key = tuple[str, str, str, str]

_MBID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


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
    """

    artist: Sequence[str]
    numbers: Sequence[int]
    user: Sequence[str] | None = None
    title: Sequence[str] | None = None
    recording_mbid: Sequence[str] | None = None
    artist_mbid: Sequence[str] | None = None
    plays: Sequence[Any] | None = None
    time: Sequence[Any] | None = None


class BlockBuilder:
    """Collects rows into blocks of at most ``BLOCK_ROWS``, each with its own dictionary of users and names.

    Parameters
    ----------
    on_bad_row : callable or None
        Called with a one-line message for every unusable row.
    """

    def __init__(self, on_bad_row: OnBadRow | None = None) -> None:
        self._on_bad_row = on_bad_row
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []
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

    def add(self, batch: Batch) -> Iterator[ListenBlock]:
        """Add at most ``BATCH_ROWS`` rows; yield the current block first if they do not fit into it."""
        n = len(batch.artist)
        if self._n_block + n > BLOCK_ROWS:
            yield from self._flush()
        if batch.user is None:
            user = np.full(n, self._users[self._user], np.int32)
        else:
            user = np.fromiter(map(self._users.__getitem__, batch.user), np.int32, n)
        item = np.fromiter(map(self._items.__getitem__, _keys(batch)), np.int32, n)
        plays = np.ones(n, np.float32) if batch.plays is None else _parse_plays(batch.plays)
        time = np.zeros(n, np.int64) if batch.time is None else parse_times(batch.time)
        usable = (user >= 0) & (item >= 0) & (plays > 0) & (time >= 0)
        unusable = np.flatnonzero(~usable)
        messages = (
            self._message(
                batch.numbers[i], _reason(batch, i, bool(user[i] >= 0), bool(item[i] >= 0), bool(plays[i] > 0))
            )
            for i in unusable.tolist()
        )
        first = next(messages, "")
        # before the reports: a file of another format fails at once instead of being reported row by row
        self._count(n, len(unusable), first)
        for message in chain([first] if first else [], messages):
            self._report(message)
        self._n_block += n - len(unusable)
        self._parts.append((user[usable], item[usable], plays[usable], time[usable]))

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

    def _begin_block(self) -> None:
        self._users, self._items, self._n_block = _Users(), _Items(), 0
        self._parts.clear()

    def _flush(self) -> Iterator[ListenBlock]:
        if self._n_block:
            user, item, plays, time = map(np.concatenate, zip(*self._parts, strict=True))
            yield ListenBlock(
                users=self._users.names, tracks=self._items.tracks, user=user, item=item, plays=plays, time=time
            )
        self._begin_block()


def clean(text: str) -> str:
    """Return a name stripped of white space and of characters that no database stores (NUL, lone surrogates)."""
    text = text.strip()
    if not text.isprintable():
        text = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text


def clean_mbid(text: str) -> str:
    """Return the first MBID in the text, which may be a URL, in lower case; empty if there is none.

    >>> clean_mbid("https://musicbrainz.org/recording/B10BBBFC-CF9E-42E0-BE17-E2C3E1D2600D")
    'b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d'
    """
    if len(text) == 36 and text[8:24:5] == "----" and text.islower() and text.isascii():
        return text  # a cheap check that is good enough
    match = _MBID.search(text.lower())
    return match.group() if match else ""


class _Users(dict[str, int]):
    """Numbers users in order of appearance; -1 for an empty name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, label: str) -> int:
        name = clean(label)
        if not name:
            number = -1
        elif name != label:
            number = self[name]
        else:
            number = len(self.names)
            self.names.append(name)
        self[label] = number
        return number


class _Items(dict[Key, int]):
    """Numbers track names in order of appearance; -1 for a track without an artist."""

    def __init__(self) -> None:
        super().__init__()
        self.tracks: list[TrackName] = []

    def __missing__(self, key: Key) -> int:
        artist, title, recording, artist_mbid = key
        cleaned = (
            clean(artist),
            title and clean(title),
            recording and clean_mbid(recording),
            artist_mbid and clean_mbid(artist_mbid),
        )
        if not cleaned[0]:
            number = -1
        elif cleaned != key:
            number = self[cleaned]
        else:
            number = len(self.tracks)
            self.tracks.append(TrackName(*key))
        self[key] = number
        return number


def _keys(batch: Batch) -> Iterable[Key]:
    empty = repeat("")
    columns = (batch.title, batch.recording_mbid, batch.artist_mbid)
    return zip(batch.artist, *(empty if column is None else column for column in columns), strict=False)


def _parse_plays(values: Sequence[Any]) -> npt.NDArray[np.float32]:
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


def _reason(batch: Batch, i: int, has_user: bool, has_artist: bool, has_plays: bool) -> str:
    """Return why a row is unusable."""
    if not has_artist:
        return "the artist is missing."
    if not has_user:
        return "the user is missing."
    if not has_plays and batch.plays is not None:
        return f"plays is {_shown(batch.plays[i])}; a number above 0 and of at most {MAX_PLAYS:.0e} is needed."
    time = batch.time[i] if batch.time is not None else ""
    return f"the time is {_shown(time)}; seconds since 1970 or a date such as 2023-01-31 12:34 is needed."


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
