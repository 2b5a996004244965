"""A table whose columns have a meaning of their own -> records, one for each row, like those of JSON."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.columns import ColumnNames, plain_name
from nearsong.listens.json_records import Say, add_records, read_records
from nearsong.listens.layouts import Layout
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables import table_rows

MAX_HEADER_CHARACTERS = 65_536
MAX_COMMENT_LINES = 100

_DELIMITERS = (",", ";", "\t", "|")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Header:
    """The header of a table.

    Attributes
    ----------
    names : tuple of str
        The names of the columns, as they are written.
    delimiter : str
        Separates them: the one that makes most columns.
    n_rows : int
        Lines before the data that are not blank: comments and the header.
    """

    names: tuple[str, ...]
    delimiter: str
    n_rows: int


def header_of(source: SourceFile) -> Header:
    """Read the header of a table: the first line that is neither blank nor a comment."""
    head = next((piece for piece in source.text_pieces() if piece.strip()), "")[:MAX_HEADER_CHARACTERS]
    lines = list(islice((line for line in _LINE_END.split(head) if line.strip()), MAX_COMMENT_LINES))
    n_comments = next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)
    line = lines[n_comments] if lines else ""
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        names = []
    return Header(tuple(name.strip() for name in names), delimiter, n_comments + 1)


def table_records(
    source: SourceFile, builder: BlockBuilder, header: Header, key: Callable[[str], str] = plain_name
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and fields of each row, by ``key`` of the columns' names; the first of equal ones counts."""
    layout = Layout(
        format="tsv" if header.delimiter == "\t" else "csv",
        columns=ColumnNames(artist=0),
        width=len(header.names),
        delimiter=header.delimiter,
        quoted=header.delimiter != "\t",
        header_rows=header.n_rows,
    )
    index_of: dict[str, int] = {}
    for index, name in enumerate(header.names):
        index_of.setdefault(key(name), index)
    for number, row in table_rows(source, builder, layout):
        yield number, {name: row[index] for name, index in index_of.items()}


def read_table_records(source: SourceFile, builder: BlockBuilder, user: str, say: Say) -> Iterator[ListenBlock]:
    """Read a table; ``say`` gets the fields of a row by the plain names of their columns."""
    builder.begin(source.name, user)
    yield from add_records(builder, user, table_records(source, builder, header_of(source)), say)
    builder.end()


def read_json_or_table(source: SourceFile, builder: BlockBuilder, user: str, say: Say) -> Iterator[ListenBlock]:
    """Read a history that comes as JSON or as a table; ``say`` gets the fields by their names as they are written."""
    head = next(source.utf8_chunks(), b"").lstrip()
    if head.startswith((b"{", b"[")):
        yield from read_records(source, builder, user, say)
        return
    builder.begin(source.name, user)
    rows = table_records(source, builder, header_of(source), str.strip)
    yield from add_records(builder, user, rows, say)
    builder.end()
