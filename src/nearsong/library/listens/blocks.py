"""Columns of a listening history, as they were written -> blocks of numbers, and what cannot be used, said."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import ListensError
from nearsong.library.listens.times import parse_times
from nearsong.library.records import Heard, ListenBlock

BLOCK_ROWS = 250_000
BATCH_ROWS = 2_000  # few enough that their fields stay in the processor's cache
JUDGED_ROWS = 1_000
MOST_PLAYS = 1e9

OnBadRow = Callable[[str], None]
Key = tuple[str, str, str, str]

_MBID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Batch:
    """Some rows in columns, as they were written.

    Attributes
    ----------
    artist : sequence of n str
    numbers : sequence of n int
        The line or row each came from.
    user : sequence of n str, or None
        None if all rows are of the same user.
    title, recording_mbid, artist_mbid : sequence of n str, or None
    plays : sequence of n str or numbers, or None
        None for one each.
    time : sequence of n, or None
        Anything ``parse_time`` reads.
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
        Called with one line for every row that cannot be used.
    user : str
        Whose the rows are that name no user.
    """

    def __init__(self, on_bad_row: OnBadRow | None = None, user: str = "me") -> None:
        self._on_bad_row = on_bad_row
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []
        self._begin_block()
        self.begin("", user)

    def begin(self, name: str, user: str, unit: str = "line") -> None:
        """Start a file; what is wrong is told with its name, and rows without a user are this user's."""
        self._name, self._user, self._unit = name, user, unit
        self._n_rows = self._n_bad = 0
        self._first_bad = ""
        self._judged = False

    def bad(self, number: int, why: str) -> None:
        """Report a row that cannot be used."""
        self._count(1, 1, self._message(number, why))
        self._report(self._message(number, why))

    def add(self, batch: Batch) -> Iterator[ListenBlock]:
        """Take some rows, ``BATCH_ROWS`` at most; yield a block if they no longer fit into it."""
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
        self._count(
            n, len(unusable), first
        )  # first of all: a file that is something else fails before it is told row by row
        for message in chain([first] if first else [], messages):
            self._report(message)
        self._n_block += n - len(unusable)
        self._parts.append((user[usable], item[usable], plays[usable], time[usable]))

    def end(self) -> None:
        """End a file: if most of its rows were unusable it was not what it seemed to be."""
        if not self._judged:
            self._judge()

    def finish(self) -> Iterator[ListenBlock]:
        """Yield what is left."""
        yield from self._flush()

    def _count(self, n_rows: int, n_bad: int, first_bad: str) -> None:
        self._n_rows += n_rows
        self._n_bad += n_bad
        self._first_bad = self._first_bad or first_bad
        if not self._judged and self._n_rows >= JUDGED_ROWS:
            self._judge()

    def _judge(self) -> None:
        self._judged = True
        if 2 * self._n_bad > self._n_rows:
            raise ListensError(
                f"{self._name}: {self._n_bad} of the first {self._n_rows} rows cannot be used, so it is hardly a "
                f"listening history of this form; the first one: {self._first_bad}"
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
            yield ListenBlock(self._users.names, self._items.heard, user, item, plays, time)
        self._begin_block()


def clean(text: str) -> str:
    """Return a name without surrounding white space and without what no database takes (NUL, half a character)."""
    text = text.strip()
    if not text.isprintable():
        text = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text


def clean_mbid(text: str) -> str:
    """Return the first MBID in the text, maybe the last part of an address, in lower case; empty if there is none.

    >>> clean_mbid("https://musicbrainz.org/recording/B10BBBFC-CF9E-42E0-BE17-E2C3E1D2600D")
    'b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d'
    """
    if len(text) == 36 and text[8:24:5] == "----" and text.islower() and text.isascii():
        return text  # near enough, and much faster to tell
    match = _MBID.search(text.lower())
    return match.group() if match else ""


class _Users(dict[str, int]):
    """Numbers users as they come; -1 is nobody."""

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
    """Numbers what was played as it comes; -1 is something without an artist."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Heard] = []

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
            number = len(self.heard)
            self.heard.append(Heard(*key))
        self[key] = number
        return number


def _keys(batch: Batch) -> Iterable[Key]:
    nothing = repeat("")
    columns = (batch.title, batch.recording_mbid, batch.artist_mbid)
    return zip(batch.artist, *(nothing if column is None else column for column in columns), strict=False)


def _parse_plays(values: Sequence[Any]) -> npt.NDArray[np.float32]:
    """Return play counts; NaN where there is none."""
    try:
        plays = np.fromiter(map(float, values), np.float64, len(values))
    except (ValueError, TypeError, OverflowError):
        plays = np.fromiter(map(_number, values), np.float64, len(values))
    plays[~(plays <= MOST_PLAYS)] = np.nan
    return plays.astype(np.float32)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return np.nan


def _reason(batch: Batch, i: int, has_user: bool, has_artist: bool, has_plays: bool) -> str:
    """Say what is wrong with a row."""
    if not has_artist:
        return "no artist is named."
    if not has_user:
        return "no user is named."
    if not has_plays and batch.plays is not None:
        return f"plays is {_shown(batch.plays[i])}; a number above 0 and of at most {MOST_PLAYS:.0e} is needed."
    time = batch.time[i] if batch.time is not None else ""
    return f"the time is {_shown(time)}; seconds since 1970 or a form like 2023-01-31 12:34 is needed."


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
