"""Tables of text: CSV and its cousins -> blocks."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from nearsong.library.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.library.listens.columns import Columns
from nearsong.library.listens.layouts import Layout
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

MOST_LINES_A_ROW = 20

_LINE_END = re.compile(r"\r\n|\r|\n")

_Rows = list[list[str]]
_Columns = tuple[Sequence[Sequence[str]], Sequence[int]]  # the columns of some rows, and the rows' lines


def read_table(source: Source, builder: BlockBuilder, user: str, layout: Layout) -> Iterator[ListenBlock]:
    """Read a table.

    Parameters
    ----------
    source : Source
    builder : BlockBuilder
        Takes the rows.
    user : str
        Whose the rows are that name no user.
    layout : Layout
        As ``find_layout`` tells.

    Yields
    ------
    ListenBlock
    """
    builder.begin(source.name, layout.user or user)
    read = _quoted_columns if layout.quoted else _plain_columns
    for fields, numbers in read(source, builder, layout):
        if numbers:
            yield from builder.add(_batch(fields, numbers, layout.columns))
    builder.end()


def _plain_columns(source: Source, builder: BlockBuilder, layout: Layout) -> Iterator[_Columns]:
    """Yield rows in which quotes are letters, in columns."""
    line, to_skip = 1, layout.header_rows
    for piece in source.text_pieces():
        if "\r" in piece:
            piece = piece.replace("\r\n", "\n") if "\n" in piece else piece.replace("\r", "\n")
        while to_skip and piece:
            header, _, piece = piece.partition("\n")
            to_skip -= bool(header.strip())
            line += 1
        piece = piece.removesuffix("\n")
        n_lines = piece.count("\n") + 1
        fields = None if layout.dated_only else _even_columns(piece, n_lines, layout)
        if fields is not None:
            yield fields, range(line, line + n_lines)
        else:
            rows = [text.split(layout.delimiter) for text in piece.split("\n")]
            for start in range(0, n_lines, BATCH_ROWS):
                yield _columns(rows[start : start + BATCH_ROWS], line + start, False, layout, builder)
        line += n_lines


def _even_columns(text: str, n_lines: int, layout: Layout) -> list[list[str]] | None:
    """Return the columns of a text if each of its lines has all the fields and no more, else None.

    One split of the whole text is much faster than one of every line. A line end is kept with the field after it, and
    if the first column, which is every so-manieth field, has all the line ends, then all lines are equally wide.
    """
    width, delimiter = layout.width, layout.delimiter
    fields = text.replace("\n", delimiter + "\n").split(delimiter)
    if len(fields) != width * n_lines:
        return None
    first = "".join(fields[::width]).split("\n")
    if len(first) != n_lines:
        return None
    return [first, *(fields[place::width] for place in range(1, width))]


def _quoted_columns(source: Source, builder: BlockBuilder, layout: Layout) -> Iterator[_Columns]:
    """Yield rows with quoted fields, in columns."""
    lines = chain.from_iterable(io.StringIO(piece, newline="") for piece in source.text_pieces())
    reader = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True)
    to_skip = layout.header_rows
    while to_skip:
        to_skip -= any(map(str.strip, next(reader, ["no rows"])))
    while True:
        first_line = reader.line_num + 1
        rows: _Rows = []
        try:
            rows.extend(islice(reader, BATCH_ROWS))
        except csv.Error as error:  # what came before stays in the list, and the reader goes on at the next line
            yield _columns(rows, first_line, True, layout, builder)
            builder.bad(reader.line_num, f"{error}; is a quote opened and not closed above?")
            continue
        if not rows:
            return
        yield _columns(rows, first_line, reader.line_num - first_line + 1 != len(rows), layout, builder)


def _columns(rows: _Rows, first_line: int, uneven: bool, layout: Layout, builder: BlockBuilder) -> _Columns:
    """Return the columns of the rows that are of use, and their lines.

    ``uneven`` says that some rows may be on several lines, so that their numbers have to be counted.
    """
    numbers: Sequence[int] = range(first_line, first_line + len(rows))
    if uneven or set(map(len, rows)) != {layout.width}:
        rows, numbers = _fitted(rows, first_line, layout, builder)
    if layout.dated_only:
        rows, numbers = _dated(rows, numbers, layout)
    return list(zip(*rows, strict=True)), numbers


def _fitted(rows: _Rows, first_line: int, layout: Layout, builder: BlockBuilder) -> tuple[_Rows, list[int]]:
    """Return the rows that have the right number of fields, or can be given it, and their lines; tell of the rest."""
    kept: _Rows = []
    numbers: list[int] = []
    line, width = first_line, layout.width
    for row in rows:
        here = line
        line += 1
        if layout.quoted:
            line += sum(len(_LINE_END.findall(field)) for field in row)
        if not any(map(str.strip, row)):
            continue
        if line - here > MOST_LINES_A_ROW:
            builder.bad(
                here, f"a quote opened here is closed only {line - here - 1} lines later; close or double it."
            )
            continue
        if len(row) > width and any(map(str.strip, row[width:])):
            builder.bad(
                here,
                f"{len(row)} fields where {width} are expected; "
                + (
                    f"put a field with {layout.delimiter!r} in quotes." if layout.quoted else "one holds a separator."
                ),
            )
            continue
        kept.append((row + [""] * (width - len(row)))[:width])
        numbers.append(here)
    return kept, numbers


def _dated(rows: _Rows, numbers: Sequence[int], layout: Layout) -> tuple[_Rows, Sequence[int]]:
    """Return the rows with a time: what Last.fm says is playing now has none."""
    place = layout.columns.time
    if place is None or all(row[place] for row in rows):
        return rows, numbers
    dated = [(row, number) for row, number in zip(rows, numbers, strict=True) if row[place].strip()]
    return [row for row, _ in dated], [number for _, number in dated]


def _batch(fields: Sequence[Sequence[str]], numbers: Sequence[int], columns: Columns) -> Batch:
    return Batch(
        artist=fields[columns.artist],
        numbers=numbers,
        **{
            role: fields[place]
            for role in ("user", "title", "recording_mbid", "artist_mbid", "plays", "time")
            if (place := getattr(columns, role)) is not None
        },
    )
