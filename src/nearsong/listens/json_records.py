"""A JSON file of any length -> its records, one at a time -> blocks of listens.

Three shapes are supported: an array of records, one record per line (JSONL), and an object with an array of records
under a known name. Only one chunk of the file and one record are in memory.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nearsong.errors import ListensError
from nearsong.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.listens.columns import ColumnNames, find_columns
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

MAX_RECORD_CHARACTERS = 64 << 20

_ARRAY_START = re.compile(r"\[")
_NAMED_ARRAY_START = re.compile(r'"(scrobbles|listens|playlists)"\s*:\s*\[')
_PLAYLIST_START = re.compile(r'\{\s*"playlist"\s*:\s*\{')
_USERNAME = re.compile(r'"user_?name"\s*:\s*("(?:[^"\\]|\\.)*")', re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,]*")
_NEXT_OBJECT = re.compile(r"\s*\{")
_DECODER = json.JSONDecoder()
_ACTIONS = {action.name.lower(): action for action in Action}  # as `nearsong listens export` writes them


class ListenRow(NamedTuple):
    """The fields of a record, as in the file; ``user`` is empty if the record names none."""

    artist: str
    title: str = ""
    user: str = ""
    recording_mbid: str = ""
    artist_mbid: str = ""
    plays: Any = 1
    time: Any = None
    action: Action = Action.LISTEN


class LeftOut(str):
    """Why a record is not used, as in "podcasts"; counted, and shown after an import."""


NOW_PLAYING = LeftOut("now playing")
NOT_MUSIC = LeftOut("podcasts, audiobooks and videos")
NAMELESS = LeftOut("without artist or title")
NOT_PLAYED = LeftOut("never played")

Say = Callable[[Any], "ListenRow | LeftOut | list[ListenRow | LeftOut]"]
"""Converts a record to a row or several, or says why it is left out."""


@dataclass(frozen=True)
class Shape:
    """How a JSON file holds its records.

    Attributes
    ----------
    name : str
        ``"array"``, ``"lines"`` or ``"object"``.
    first : object
        The first record; for an ``"object"`` without an array of records the object itself, or None if it is larger
        than the first chunk.
    under : str
        For ``"object"``: the name of the array of records, empty if there is none.
    user : str
        For ``"object"``: the user named in it.
    """

    name: str
    first: Any
    under: str = ""
    user: str = ""

    @property
    def unit(self) -> str:
        """The unit of record numbers in messages."""
        return "line" if self.name == "lines" else "record"


def shape_of(source: SourceFile) -> Shape:
    """Detect the shape of a JSON file from its first chunk."""
    head = next((piece for piece in source.json_pieces() if piece.strip()), "").lstrip()
    if head.startswith("["):
        return Shape("array", next(array_items(source, _ARRAY_START), None))
    try:
        first, end = _DECODER.raw_decode(head)
    except (ValueError, RecursionError):
        first, end = None, 0
    if end and _NEXT_OBJECT.match(head, end):
        return Shape("lines", first)
    opened = None if _PLAYLIST_START.match(head) else _NAMED_ARRAY_START.search(head)
    if opened:
        user = _user_named(source, _USERNAME.search(head, 0, opened.start()))
        return Shape("object", next(array_items(source, _NAMED_ARRAY_START), None), opened.group(1), user)
    if isinstance(first, dict) and "\n" not in head[:end]:
        return Shape("lines", first)  # a single line
    return Shape("object", first)


def records(source: SourceFile, builder: BlockBuilder, shape: Shape) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file, each with its line number in JSONL, else its index from 1.

    A broken line of JSONL is reported as a bad row; a truncated file raises ``ListensError``.
    """
    if shape.name == "lines":
        yield from _lines(source, builder)
        return
    number = 0
    for item in array_items(source, _NAMED_ARRAY_START if shape.under else _ARRAY_START):
        for record in item if isinstance(item, list) else (item,):  # some exports nest records in pages
            number += 1
            yield number, record


def read_records(source: SourceFile, builder: BlockBuilder, user: str, say: Say) -> Iterator[ListenBlock]:
    """Read a file of listens; records that name no user are of ``user``.

    ``say`` converts a record to a row or several, or says why it is left out. It may raise ``KeyError``,
    ``TypeError`` and the like for a malformed record.
    """
    shape = shape_of(source)
    builder.begin(source.name, shape.user or user, shape.unit)
    yield from add_records(builder, shape.user or user, records(source, builder, shape), say)
    builder.end()


def add_records(
    builder: BlockBuilder, user: str, numbered: Iterable[tuple[int, Any]], say: Say
) -> Iterator[ListenBlock]:
    """Add numbered records of any source to blocks; those that name no user are of ``user``."""
    rows: list[ListenRow] = []
    numbers: list[int] = []
    for number, record in numbered:
        try:
            found = say(record)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError):
            builder.bad(number, "a field is missing or has an unexpected type.")
            continue
        for row in found if isinstance(found, list) else (found,):
            if isinstance(row, LeftOut):
                builder.leave_out(row)
                continue
            rows.append(row)
            numbers.append(number)
        while len(rows) >= BATCH_ROWS:
            yield from builder.add(batch_of(rows[:BATCH_ROWS], numbers[:BATCH_ROWS], user))
            rows, numbers = rows[BATCH_ROWS:], numbers[BATCH_ROWS:]
    if rows:
        yield from builder.add(batch_of(rows, numbers, user))


def batch_of(rows: Sequence[ListenRow], numbers: Sequence[int], user: str) -> Batch:
    """Convert rows to a batch of columns."""
    columns = dict(zip(ListenRow._fields, zip(*rows, strict=True), strict=True))
    users = [name or user for name in columns.pop("user")]
    actions = columns.pop("action")
    return Batch(numbers=numbers, user=users, action=actions if any(actions) else None, **columns)


def load_document(source: SourceFile) -> Any:
    """Parse a JSON file that is a single document, such as a playlist."""
    text = ""
    for piece in source.json_pieces():
        text += piece
        if len(text) > MAX_RECORD_CHARACTERS:
            raise ListensError(
                f"{source.name} is more than {MAX_RECORD_CHARACTERS >> 20} MB long, too much for one document."
            )
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise ListensError(
            f"{source.name} is truncated or invalid JSON ({error}); export or download it again."
        ) from error


def first_record(source: SourceFile, shape: Shape) -> dict[str, Any]:
    """Return the first record of a file, or the file itself if it is one object; raise if there is none."""
    first = shape.first
    if shape.name == "object" and first is None:
        first = load_document(source)
    while isinstance(first, list) and first:
        first = first[0]
    if not isinstance(first, dict) or not first:
        raise ListensError(f"{source.name} has no records, so there are no listens.")
    return first


class FlatRecords:
    """Converts records whose fields are named like the columns of a table."""

    def __init__(self) -> None:
        self._columns_of: dict[tuple[str, ...], ColumnNames | None] = {}

    def __call__(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a record, unless it is Last.fm's "now playing"."""
        if "@attr" in record and "date" not in record:
            return NOW_PLAYING
        names = tuple(record)
        if names not in self._columns_of:
            self._columns_of[names] = find_columns(names)
        columns = self._columns_of[names]
        if columns is None:
            raise KeyError("artist")
        values = list(record.values())

        def text(column: int | None) -> str:
            return "" if column is None else as_text(values[column])

        artist = values[columns.artist]
        artist_mbid = text(columns.artist_mbid)
        if isinstance(artist, dict):
            artist_mbid = artist_mbid or as_text(artist.get("mbid"))
        time = values[columns.time] if columns.time is not None else None
        if isinstance(time, dict):
            time = time.get("uts", time.get("#text"))
        recording = text(columns.recording_mbid) or as_text(record.get("mbid"))
        plays = values[columns.plays] if columns.plays is not None else 1
        action = _ACTIONS.get(as_text(record.get("action")).lower(), Action.LISTEN)
        return ListenRow(
            user=text(columns.user),
            artist=as_text(artist),
            title=text(columns.title),
            recording_mbid=recording,
            artist_mbid=artist_mbid,
            plays=record.get("stars", plays) if action is Action.RATING else plays,
            time=time,
            action=action,
        )


def as_text(value: Any) -> str:
    """Return a field as text: the first item of a list, the name of an object, empty for null and booleans.

    >>> as_text(311), as_text(None), as_text(["Ann", "Bob"]), as_text({"#text": "Ann"})
    ('311', '', 'Ann', 'Ann')
    """
    if isinstance(value, str):
        return value
    while isinstance(value, (list, dict)):
        value = (value[0] if value else None) if isinstance(value, list) else value.get("name", value.get("#text"))
    return "" if value is None or isinstance(value, bool) else str(value)


def _user_named(source: SourceFile, match: re.Match[str] | None) -> str:
    if match is None:
        return ""
    try:
        return str(_DECODER.decode(match.group(1)))
    except ValueError as error:
        raise ListensError(
            f"{source.name} is invalid JSON: its user name has a line break, another control character or a wrong "
            "escape in it; export or download it again."
        ) from error


def _lines(source: SourceFile, builder: BlockBuilder) -> Iterator[tuple[int, Any]]:
    number = 0
    for piece in source.text_pieces():
        ends_line = piece.endswith(("\n", "\r"))
        lines = piece.removesuffix("\n").split("\n")
        for i, line in enumerate(lines):
            number += 1
            if not line.strip():
                continue
            try:
                record = _DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                if not ends_line and i == len(lines) - 1:
                    raise ListensError(
                        f"{source.name} is truncated in line {number}; export or download it again."
                    ) from error
                builder.bad(number, f"not JSON ({error}).")
                continue
            yield number, record


def array_items(source: SourceFile, start: re.Pattern[str]) -> Iterator[Any]:
    """Yield the items of the array that begins where ``start`` ends, decoding each as soon as it is complete."""
    pieces = source.json_pieces()
    text = ""
    while not (opened := start.search(text)):
        more = _read_more(pieces, max(len(text), 1))
        if not more or len(text) > MAX_RECORD_CHARACTERS:
            raise ListensError(f"{source.name} has no list of records.")
        text += more
    at, line, n_items = opened.end(), 1, 0
    while True:
        gap = _SEPARATORS.match(text, at)
        at = gap.end() if gap else at
        if text.startswith("]", at):
            return
        try:
            item, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line += text.count("\n", 0, at)
            text, at = text[at:], 0
            more = _read_more(pieces, max(len(text), 1))
            if not more or len(text) > MAX_RECORD_CHARACTERS:
                raise ListensError(
                    f"{source.name} is truncated or invalid JSON in record {n_items + 1}, line {line}; "
                    "export or download it again."
                ) from error
            text += more
            continue
        yield item
        n_items += 1
        at = end


def _read_more(pieces: Iterator[str], at_least: int) -> str:
    """Return at least this many more characters: growing the text geometrically limits repeated decoding."""
    more = ""
    while len(more) < at_least and (piece := next(pieces, None)) is not None:
        more += piece
    return more
