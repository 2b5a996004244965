"""A JSON file of any length -> its records, one after the other, and what they say -> blocks.

Three shapes hold records: an array of them, one on every line (JSONL), and an object with an array of them under a
known name. No more than one piece of the file and one record are in memory.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nearsong.errors import ListensError
from nearsong.library.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.library.listens.columns import Columns, find_columns
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

LONGEST_RECORD = 64 << 20

_ARRAY_START = re.compile(r"\s*\[")
_NAMED_ARRAY_START = re.compile(r'"(scrobbles|listens|playlists)"\s*:\s*\[')
_PLAYLIST_START = re.compile(r'\{\s*"playlist"\s*:\s*\{')
_USERNAME = re.compile(r'"user_?name"\s*:\s*("(?:[^"\\]|\\.)*")', re.IGNORECASE)
_GAP = re.compile(r"[\s,]*")
_NEXT_OBJECT = re.compile(r"\s*\{")
_DECODER = json.JSONDecoder()

# What a record says: user (empty if it names none), artist, title, recording MBID, artist MBID, plays, time.
Said = tuple[str, str, str, str, str, Any, Any]


@dataclass(frozen=True)
class Shape:
    """How a JSON file holds its records.

    Attributes
    ----------
    name : str
        ``"array"``, ``"lines"`` or ``"object"``.
    first : object
        The first record; for an ``"object"`` without an array of records the object itself, None if it is long.
    under : str
        For ``"object"``: the name of the array of records, empty if there is none.
    user : str
        For ``"object"``: the user it names.
    """

    name: str
    first: Any
    under: str = ""
    user: str = ""

    @property
    def unit(self) -> str:
        """What the records' numbers count."""
        return "line" if self.name == "lines" else "record"


def shape_of(source: Source) -> Shape:
    """Look at the beginning of a JSON file."""
    head = next((piece for piece in source.json_pieces() if piece.strip()), "").lstrip()
    if head.startswith("["):
        return Shape("array", next(_array_items(source, _ARRAY_START), None))
    try:
        first, end = _DECODER.raw_decode(head)
    except (ValueError, RecursionError):
        first, end = None, 0
    if end and _NEXT_OBJECT.match(head, end):
        return Shape("lines", first)
    opened = None if _PLAYLIST_START.match(head) else _NAMED_ARRAY_START.search(head)
    if opened:
        user = _user_named(source, _USERNAME.search(head, 0, opened.start()))
        return Shape("object", next(_array_items(source, _NAMED_ARRAY_START), None), opened.group(1), user)
    if isinstance(first, dict) and "\n" not in head[:end]:
        return Shape("lines", first)  # of one line
    return Shape("object", first)


def records(source: Source, builder: BlockBuilder, shape: Shape) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file with their numbers: lines in JSONL, else the how-manieth they are.

    A broken line of JSONL is a bad row; a file that is cut raises ``ListensError``.
    """
    if shape.name == "lines":
        yield from _lines(source, builder)
        return
    number = 0
    for item in _array_items(source, _NAMED_ARRAY_START if shape.under else _ARRAY_START):
        for record in item if isinstance(item, list) else (item,):  # some exports have pages of records
            number += 1
            yield number, record


def read_records(
    source: Source, builder: BlockBuilder, user: str, say: Callable[[Any], Said | None]
) -> Iterator[ListenBlock]:
    """Read a file of listens.

    Parameters
    ----------
    source : Source
    builder : BlockBuilder
        Takes the rows.
    user : str
        Whose the records are that name no user.
    say : callable
        A record -> what it says, or None if it is no listen to music; it may stumble over a record of another form.

    Yields
    ------
    ListenBlock
    """
    shape = shape_of(source)
    builder.begin(source.name, shape.user or user, shape.unit)
    said: list[Said] = []
    numbers: list[int] = []
    for number, record in records(source, builder, shape):
        try:
            row = say(record)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError):
            builder.bad(number, "a field is missing or not of the usual form.")
            continue
        if row is None:
            continue
        said.append(row)
        numbers.append(number)
        if len(said) == BATCH_ROWS:
            yield from builder.add(batch_of(said, numbers, shape.user or user))
            said, numbers = [], []
    if said:
        yield from builder.add(batch_of(said, numbers, shape.user or user))
    builder.end()


def batch_of(said: Sequence[Said], numbers: Sequence[int], user: str) -> Batch:
    """Return what records say in columns."""
    users, artists, titles, recordings, artist_mbids, plays, times = zip(*said, strict=True)
    return Batch(artists, numbers, [name or user for name in users], titles, recordings, artist_mbids, plays, times)


def load_whole(source: Source) -> Any:
    """Return the one value of a JSON file that is a document, such as a playlist."""
    text = ""
    for piece in source.json_pieces():
        text += piece
        if len(text) > LONGEST_RECORD:
            raise ListensError(
                f"{source.name} is more than {LONGEST_RECORD >> 20} MB long, too much for one document."
            )
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise ListensError(f"{source.name} is cut or broken JSON ({error}); export or download it again.") from error


class FlatRecords:
    """Says what a record says whose fields are named like a table's columns."""

    def __init__(self) -> None:
        self._columns_of: dict[tuple[str, ...], Columns | None] = {}

    def __call__(self, record: Any) -> Said | None:
        """Return what the record says; None if Last.fm says it is playing now."""
        if "@attr" in record and "date" not in record:
            return None
        names = tuple(record)
        if names not in self._columns_of:
            self._columns_of[names] = find_columns(names)
        columns = self._columns_of[names]
        if columns is None:
            raise KeyError("artist")
        values = list(record.values())

        def text(place: int | None) -> str:
            return "" if place is None else as_text(values[place])

        artist = values[columns.artist]
        artist_mbid = text(columns.artist_mbid)
        if isinstance(artist, dict):
            artist_mbid = artist_mbid or as_text(artist.get("mbid"))
        time = values[columns.time] if columns.time is not None else None
        if isinstance(time, dict):
            time = time.get("uts", time.get("#text"))
        recording = text(columns.recording_mbid) or as_text(record.get("mbid"))
        plays = values[columns.plays] if columns.plays is not None else 1
        return text(columns.user), as_text(artist), text(columns.title), recording, artist_mbid, plays, time


def as_text(value: Any) -> str:
    """Return what a field says as text: the first of several, the name of an object, nothing for nothing.

    >>> as_text(311), as_text(None), as_text(["Ann", "Bob"]), as_text({"#text": "Ann"})
    ('311', '', 'Ann', 'Ann')
    """
    if isinstance(value, str):
        return value
    while isinstance(value, (list, dict)):
        value = (value[0] if value else None) if isinstance(value, list) else value.get("name", value.get("#text"))
    return "" if value is None or isinstance(value, bool) else str(value)


def _user_named(source: Source, found: re.Match[str] | None) -> str:
    if found is None:
        return ""
    try:
        return str(_DECODER.decode(found.group(1)))
    except ValueError as error:
        raise ListensError(
            f"{source.name} is broken JSON: its user name has a line break, another control character or a wrong "
            "escape in it; export or download it again."
        ) from error


def _lines(source: Source, builder: BlockBuilder) -> Iterator[tuple[int, Any]]:
    number = 0
    for piece in source.text_pieces():
        whole = piece.endswith(("\n", "\r"))
        lines = piece.removesuffix("\n").split("\n")
        for i, line in enumerate(lines):
            number += 1
            if not line.strip():
                continue
            try:
                record = _DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                if not whole and i == len(lines) - 1:
                    raise ListensError(
                        f"{source.name} breaks off in line {number}; nothing of it should be used: export or "
                        "download it again."
                    ) from error
                builder.bad(number, f"not JSON ({error}).")
                continue
            yield number, record


def _array_items(source: Source, start: re.Pattern[str]) -> Iterator[Any]:
    """Yield the items of the array that begins where ``start`` ends, decoding each as soon as it is there whole."""
    pieces = source.json_pieces()
    text = ""
    while not (opened := start.search(text)):
        piece = next(pieces, None)
        if piece is None or len(text) > LONGEST_RECORD:
            raise ListensError(f"{source.name} has no records where they should be.")
        text += piece
    at, line, n_items = opened.end(), 1, 0
    while True:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if text.startswith("]", at):
            return
        try:
            item, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line += text.count("\n", 0, at)
            text, at = text[at:], 0
            more = _read_more(pieces, max(len(text), 1))
            if not more or len(text) > LONGEST_RECORD:
                raise ListensError(
                    f"{source.name} is cut or broken JSON in record {n_items + 1}, line {line}; nothing of it should "
                    "be used: export or download it again."
                ) from error
            text += more
            continue
        yield item
        n_items += 1
        at = end


def _read_more(pieces: Iterator[str], at_least: int) -> str:
    """Return so much more text that decoding a long record again and again costs little."""
    more = ""
    while len(more) < at_least and (piece := next(pieces, None)) is not None:
        more += piece
    return more
