"""What every format of listening histories offers: how a file is recognised, of what kind it is, how it is read.

A format is one ``ListenFormat`` in the module of its service or player, and one line in
``nearsong.listens.formats.registry``. Detection walks the registry.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearsong.caching import cached_property
from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.columns import ColumnNames, plain_name
from nearsong.listens.formats.table_records import header_of
from nearsong.listens.json_records import Shape, first_record, shape_of
from nearsong.listens.layouts import Layout, find_layout
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile, decode_lines

HEAD_BYTES = 65_536
SQLITE_MARK = b"SQLite format 3\0"

Reader = Callable[[SourceFile, BlockBuilder, str], Iterator[ListenBlock]]
"""Reads a source into blocks; rows that name no user are of the given one."""

_TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".dat")


class Beginning:
    """What formats are recognised by: the start of a file. Each part is computed when a format asks for it.

    Parameters
    ----------
    source : SourceFile

    Attributes
    ----------
    source : SourceFile
    ending : str
        The extension in small letters, without ``.gz``.
    head : bytes
        The first chunk, as UTF-8 if it is text.
    """

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.ending = Path(source.file_name.lower().removesuffix(".gz")).suffix
        self.head = next(source.utf8_chunks(), b"")

    @property
    def is_text(self) -> bool:
        """Whether it may be text: neither Parquet nor anything with a NUL."""
        return not self.head.startswith(b"PAR1") and b"\0" not in self.head[:HEAD_BYTES]

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a database of SQLite."""
        return self.head.startswith(SQLITE_MARK)

    @cached_property
    def text(self) -> str:
        """The first letters, without leading white space; empty if it is not text."""
        return decode_lines(self.head[:HEAD_BYTES]).lstrip() if self.is_text else ""

    @property
    def looks_like_json(self) -> bool:
        """Whether the text starts as JSON does; an artist's name may do so too, as [dunkelbunt] does."""
        return self.text.startswith(("{", "["))

    @cached_property
    def _json(self) -> tuple[Shape | None, dict[str, Any], ListensError | None]:
        if not self.looks_like_json:
            return None, {}, None
        try:
            shape = shape_of(self.source)
            return shape, first_record(self.source, shape), None
        except ListensError as error:
            return None, {}, error

    @property
    def shape(self) -> Shape | None:
        """How it holds its records, if it is JSON."""
        return self._json[0]

    @property
    def record(self) -> dict[str, Any]:
        """Its first record, if it is JSON; otherwise empty."""
        return self._json[1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its fields or columns, as they are written."""
        if self.record:
            return tuple(self.record)
        return () if not self.is_text or self.looks_like_json else header_of(self.source).names

    @cached_property
    def _plain_names(self) -> frozenset[str]:
        return frozenset(map(plain_name, self.names))

    def has_names(self, names: Iterable[str]) -> bool:
        """Return whether all of these fields or columns are there; case and punctuation make no difference."""
        return self._plain_names.issuperset(map(plain_name, names))

    @cached_property
    def _table(self) -> tuple[Layout | None, ListensError | None]:
        if not self.is_text or (self.looks_like_json and (self.record or self.ending not in _TABLE_ENDINGS)):
            return None, None
        try:
            return find_layout(self.source), None
        except ListensError as error:
            return None, error

    @property
    def layout(self) -> Layout | None:
        """Its layout, if it is a table with a known header or without one."""
        return self._table[0]

    @property
    def error(self) -> ListensError | None:
        """Why it can be read neither as JSON nor as a table."""
        return self._table[1] or self._json[2]


@dataclass(frozen=True)
class ListenFormat:
    """A format of listening histories.

    Attributes
    ----------
    name : str
        Its name in options, reports and the API.
    read : callable
        Reads a source into blocks.
    kind : str
        ``"events"``, ``"counts"`` or ``"playlists"``; empty if the columns decide.
    matches : callable
        Recognises a file by its beginning.
    needs : tuple of str
        Fields or columns that it is recognised by; the nearest format to a refused file is found by them.
    also : tuple of str
        Formats as which the same file is read too: an iTunes library holds counts and playlists.
    instead_of : tuple of str
        Formats that tell of the same plays: files of these are left out where one of this is in the same zip.
    endings : tuple of str
        How names of its files end, without those of text tables and JSON.
    columns : callable or None
        For tables that a header describes: a source -> its columns and their names.
    refusal : callable
        What to do about a file of this program that cannot be read, as a sentence; empty if it is none.
    """

    name: str
    read: Reader
    kind: str = ""
    matches: Callable[[Beginning], bool] = lambda beginning: False
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    instead_of: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    columns: Callable[[SourceFile], tuple[ColumnNames, Sequence[str]]] | None = None
    refusal: Callable[[Beginning], str] = lambda beginning: ""


def with_names(*names: str) -> Callable[[Beginning], bool]:
    """Return a test for fields of the first record or columns of the header, by their names as a program writes them.

    A table that somebody made may have ``end_time`` where a service writes ``endTime``.
    """
    return lambda beginning: set(names) <= set(beginning.names)
