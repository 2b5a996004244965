"""Text tables (CSV, TSV and variants) -> blocks."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol

from nearsong.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.listens.columns import ColumnNames
from nearsong.listens.layouts import Layout
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile

MAX_LINES_PER_ROW = 20

_LINE_END = re.compile(r"\r\n|\r|\n")

_Rows = list[list[str]]
Columns = tuple[Sequence[Sequence[str]], Sequence[int]]
"""The columns of some rows, and the line of each row."""


class BadRows(Protocol):
    """Receives unusable rows; implemented by ``BlockBuilder``."""

    def bad(self, number: int, why: str) -> None:
        """Report a row by its line."""


def read_table(source: SourceFile, builder: BlockBuilder, user: str, layout: Layout) -> Iterator[ListenBlock]:
    """Read a table whose layout is known; rows that name no user are of ``user``."""
    builder.begin(source.name, layout.user or user)
    for fields, numbers in table_columns(source, builder, layout):
        if numbers:
            yield from builder.add(_batch(fields, numbers, layout.columns))
    builder.end()


def table_columns(source: SourceFile, bad_rows: BadRows, layout: Layout) -> Iterator[Columns]:
    """Yield the columns of a table, a few thousand rows at a time; unusable rows go to ``bad_rows``."""
    yield from (_quoted_columns if layout.quoted else _plain_columns)(source, bad_rows, layout)


def first_row(source: SourceFile, bad_rows: BadRows, layout: Layout) -> list[str]:
    """Return the fields of the first line; empty if that is blank or the file is empty."""
    if not layout.quoted:
        head = next(source.text_pieces(), "").partition("\n")[0].replace("\r", "")
        return head.split(layout.delimiter) if head else []
    try:
        return next(_csv_reader(source, layout), [])
    except csv.Error as error:
        bad_rows.bad(1, _quoting_advice(error, layout))
        return []


def _plain_columns(source: SourceFile, builder: BadRows, layout: Layout) -> Iterator[Columns]:
    """Yield the columns of a table in which quotes are ordinary characters."""
    line, to_skip = 1, layout.header_rows
    for piece in source.text_pieces():
        if layout.strict:
            piece = piece.replace("\r", "")  # within a name it would end the row
        elif "\r" in piece:
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
    """Return the columns of a text if every line has exactly the expected number of fields, else None.

    Splitting the whole text at once is much faster than splitting every line. A line end stays with the field after
    it; if all line ends are in the first column (every ``width``-th field), all lines have the same number of fields.
    """
    width, delimiter = layout.width, layout.delimiter
    fields = text.replace("\n", delimiter + "\n").split(delimiter)
    if len(fields) != width * n_lines:
        return None
    first = "".join(fields[::width]).split("\n")
    if len(first) != n_lines:
        return None
    return [first, *(fields[column::width] for column in range(1, width))]


def _quoted_columns(source: SourceFile, builder: BadRows, layout: Layout) -> Iterator[Columns]:
    """Yield the columns of a table with quoted fields."""
    reader = _csv_reader(source, layout)
    to_skip = layout.header_rows
    while to_skip:
        to_skip -= any(map(str.strip, next(reader, ["no rows"])))
    while True:
        first_line = reader.line_num + 1
        rows: _Rows = []
        try:
            rows.extend(islice(reader, BATCH_ROWS))
        except csv.Error as error:  # the rows read before stay in the list, and the reader continues at the next line
            yield _columns(rows, first_line, True, layout, builder)
            line = first_line + sum(map(_n_lines, rows)) if layout.strict else reader.line_num
            builder.bad(line, _quoting_advice(error, layout))
            continue
        if not rows:
            return
        yield _columns(rows, first_line, reader.line_num - first_line + 1 != len(rows), layout, builder)


def _columns(rows: _Rows, first_line: int, uneven: bool, layout: Layout, builder: BadRows) -> Columns:
    """Return the columns of the usable rows, and their line numbers.

    ``uneven`` means that rows may span several lines, so that line numbers have to be counted.
    """
    numbers: Sequence[int] = range(first_line, first_line + len(rows))
    if uneven or set(map(len, rows)) != {layout.width}:
        rows, numbers = _fitted(rows, first_line, layout, builder)
    if layout.dated_only:
        rows, numbers = _dated(rows, numbers, layout)
    return list(zip(*rows, strict=True)), numbers


def _fitted(rows: _Rows, first_line: int, layout: Layout, builder: BadRows) -> tuple[_Rows, list[int]]:
    """Return the rows with the right number of fields, padded if necessary, and their lines; report the others."""
    fitted: _Rows = []
    numbers: list[int] = []
    line, width = first_line, layout.width
    for row in rows:
        here = line
        line += 1
        if layout.quoted:
            line += _n_lines(row) - 1
        if row in ([], [""]) or (not layout.strict and not any(map(str.strip, row))):
            continue
        if layout.strict and len(row) != width:
            builder.bad(here, f"{len(row)} field(s) instead of {width}; quote fields that contain a separator.")
        if line - here > MAX_LINES_PER_ROW and not layout.strict:
            builder.bad(
                here, f"a quote opened here is closed only {line - here - 1} lines later; close or double it."
            )
            continue
        if len(row) > width and any(map(str.strip, row[width:])):
            builder.bad(
                here,
                f"{len(row)} fields where {width} are expected; "
                + (
                    f"put a field with {layout.delimiter!r} in quotes."
                    if layout.quoted
                    else "one of them contains a separator."
                ),
            )
            continue
        fitted.append((row + [""] * (width - len(row)))[:width])
        numbers.append(here)
    return fitted, numbers


def _csv_reader(source: SourceFile, layout: Layout) -> Any:
    lines = chain.from_iterable(io.StringIO(piece, newline="") for piece in source.text_pieces())
    return csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=not layout.strict, strict=layout.strict)


def _quoting_advice(error: csv.Error, layout: Layout) -> str:
    if layout.strict:
        return f"{error}; quote fields that contain quotes, doubled."
    return f"{error}; a quote above may not be closed."


def _n_lines(row: Sequence[str]) -> int:
    """Return the number of lines of a quoted row."""
    return 1 + sum(len(_LINE_END.findall(field)) for field in row)


def _dated(rows: _Rows, numbers: Sequence[int], layout: Layout) -> tuple[_Rows, Sequence[int]]:
    """Return the rows with a time; Last.fm's "now playing" has none."""
    column = layout.columns.time
    if column is None or all(row[column] for row in rows):
        return rows, numbers
    dated = [(row, number) for row, number in zip(rows, numbers, strict=True) if row[column].strip()]
    return [row for row, _ in dated], [number for _, number in dated]


def _batch(fields: Sequence[Sequence[str]], numbers: Sequence[int], columns: ColumnNames) -> Batch:
    return Batch(
        artist=fields[columns.artist],
        numbers=numbers,
        **{
            role: fields[column]
            for role in ("user", "title", "recording_mbid", "artist_mbid", "plays", "time")
            if (column := getattr(columns, role)) is not None
        },
    )
