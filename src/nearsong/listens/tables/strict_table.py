"""A CSV or tab-separated file, gzipped or not -> its header and columns; the first wrong row is an error.

Used for data sets: unlike the import of a listening history, an experiment must not skip unusable rows.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.sources import SourceFile

BATCH_ROWS = 2_000  # small enough to stay in the CPU cache

Columns = tuple[Sequence[Sequence[str]], Sequence[int]]
"""The columns of some rows, and the line of each row."""

_LINE_END = re.compile(r"\r\n|\r|\n")


class StrictTable:
    """A table in which every row has all fields, in UTF-8.

    Parameters
    ----------
    source : SourceFile
    tabs : bool
        Whether fields are separated by tabs and quotes have no special meaning; otherwise fields are separated by
        commas and may be quoted.

    Attributes
    ----------
    first_row : list of str
        Usually the header; empty if the file or its first line is empty.

    Raises
    ------
    ListensError
        With file and line, at the first invalid row.
    """

    def __init__(self, source: SourceFile, tabs: bool) -> None:
        self._source, self._tabs = source, tabs
        self.first_row = self._first_row()

    def columns(self, width: int, header_rows: int = 1) -> Iterator[Columns]:
        """Yield the columns of a few thousand rows at a time, and the line of each row."""
        read = self._tabbed_columns if self._tabs else self._quoted_columns
        for fields, numbers in read(width, header_rows):
            if numbers:
                yield fields, numbers

    def _first_row(self) -> list[str]:
        if self._tabs:
            head = next(self._source.text_pieces(), "").partition("\n")[0].replace("\r", "")
            return head.split("\t") if head else []
        try:
            return next(self._reader(), [])
        except csv.Error as error:
            raise self._error(1, _quoting_advice(error)) from error

    def _tabbed_columns(self, width: int, to_skip: int) -> Iterator[Columns]:
        """Yield the columns of a table in which quotes are ordinary characters."""
        line = 1
        for piece in self._source.text_pieces():
            piece = piece.replace("\r", "")  # within a name it would end the row
            while to_skip and piece:
                header, _, piece = piece.partition("\n")
                to_skip -= bool(header.strip())
                line += 1
            piece = piece.removesuffix("\n")
            n_lines = piece.count("\n") + 1
            fields = even_columns(piece, n_lines, width)
            if fields is not None:
                yield fields, range(line, line + n_lines)
            else:
                rows = [text.split("\t") for text in piece.split("\n")]
                yield self._checked(rows, range(line, line + n_lines), width)
            line += n_lines

    def _quoted_columns(self, width: int, to_skip: int) -> Iterator[Columns]:
        """Yield the columns of a table with quoted fields."""
        reader = self._reader()
        while to_skip:
            to_skip -= any(map(str.strip, next(reader, ["no rows"])))
        while True:
            line = reader.line_num + 1
            rows: list[list[str]] = []
            failure: csv.Error | None = None
            try:
                rows.extend(islice(reader, BATCH_ROWS))  # those before an error stay in the list
            except csv.Error as error:
                failure = error
            if not rows and failure is None:
                return
            numbers = []
            for row in rows:
                numbers.append(line)
                line += 1 + sum(len(_LINE_END.findall(field)) for field in row)
            yield self._checked(rows, numbers, width)
            if failure is not None:
                raise self._error(line, _quoting_advice(failure)) from failure

    def _checked(self, rows: list[list[str]], numbers: Sequence[int], width: int) -> Columns:
        """Return the columns of the rows that are not blank, or raise if one has another number of fields."""
        used = [(row, number) for row, number in zip(rows, numbers, strict=True) if row not in ([], [""])]
        for row, number in used:
            if len(row) != width:
                why = f"{len(row)} field(s) instead of {width}; quote fields that contain a separator."
                raise self._error(number, why)
        return list(zip(*(row for row, _ in used), strict=True)), [number for _, number in used]

    def _reader(self) -> Any:
        lines = chain.from_iterable(io.StringIO(piece, newline="") for piece in self._source.text_pieces())
        return csv.reader(lines, strict=True)

    def _error(self, number: int, why: str) -> ListensError:
        return ListensError(f"{self._source.name}, line {number}: {why}")


def even_columns(text: str, n_lines: int, width: int) -> list[list[str]] | None:
    """Return the columns of a text if every line has exactly the expected number of fields, else None.

    Splitting the whole text at once is much faster than splitting every line. A line end stays with the field after
    it; if all line ends are in the first column (every ``width``-th field), all lines have the same number of fields.
    """
    fields = text.replace("\n", "\t\n").split("\t")
    if len(fields) != width * n_lines:
        return None
    first = "".join(fields[::width]).split("\n")
    if len(first) != n_lines:
        return None
    return [first, *(fields[column::width] for column in range(1, width))]


def _quoting_advice(error: csv.Error) -> str:
    return f"{error}; quote fields that contain quotes, doubled."
