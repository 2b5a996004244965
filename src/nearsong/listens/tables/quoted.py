"""Lines with quotes -> one row at a time, by the csv module.

A quote that is not closed costs its own line and no other: a field may span lines only if closing it within
`MAX_LINES_PER_ROW` lines gives a row of the right width, and no line before that is such a row by itself.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nearsong.listens.tables.fields import LOOSE_QUOTE, MAX_ROW_BYTES, QUOTED, ROW, Lines

MAX_LINES_PER_ROW = 20


class NeedsMoreLinesError(Exception):
    """A row may go on after the last line that was read."""


class BadRowError(Exception):
    """A line is not a row; the message says why."""


@dataclass(frozen=True)
class QuotedRows:
    """The lines of a piece of a table, some of which need the csv module.

    Attributes
    ----------
    piece : bytes
        UTF-8.
    lines : Lines
    delimiter : str
    width : int
        Fields of a row.
    has_quotes : bool
        Whether quotes have a meaning.
    is_last : bool
        Whether the file ends with this piece.
    """

    piece: bytes
    lines: Lines
    delimiter: str
    width: int
    has_quotes: bool
    is_last: bool

    def read(self, line: int) -> tuple[list[str], int]:
        """Return the fields of the row that begins in a line, and the number of its lines.

        Raises
        ------
        BadRowError
            If the line is not a row.
        NeedsMoreLinesError
            If that depends on lines of the next piece.
        """
        feed = _Feed(iter([self._text(line)]))
        try:
            row = next(self._reader(feed))
        except csv.Error as error:
            raise BadRowError(f"{error}; a quote above may not be closed.") from error
        if not feed.is_exhausted:
            return row, 1
        feed = _Feed(self._following(line))
        try:
            row = next(self._reader(feed, strict=True))
        except csv.Error as error:
            raise BadRowError("a quote is opened here and not closed; close or double it.") from error
        if len(row) != self.width:
            raise BadRowError("a quote is opened here and not closed; close or double it.")
        return row, feed.n_lines

    def _following(self, line: int) -> Iterator[str]:
        """Yield the lines that a row may consist of."""
        starts, n_lines = self.lines.line_starts, len(self.lines.states)
        for number in range(line, line + MAX_LINES_PER_ROW):
            if number >= n_lines:
                if not self.is_last:
                    raise NeedsMoreLinesError
                return
            if number > line and self._is_complete(number):
                return
            if starts[number + 1] - starts[line] > MAX_ROW_BYTES:
                return
            yield self._text(number)

    def _is_complete(self, line: int) -> bool:
        """Return whether a line is a row of the right width by itself, with every quote in order."""
        state = self.lines.states[line]
        if state == ROW:
            return bool(self.lines.n_fields[line] == self.width)
        if state not in (QUOTED, LOOSE_QUOTE):
            return False
        text = self._text(line)
        if text.count('"') % 2:
            return False
        try:
            row = next(self._reader([text], strict=True))
        except csv.Error:
            return False
        return len(row) == self.width

    def _reader(self, lines: Iterable[str], strict: bool = False) -> Iterator[list[str]]:
        if not self.has_quotes:
            return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True, strict=strict)

    def _text(self, line: int) -> str:
        starts = self.lines.line_starts
        return self.piece[starts[line] : starts[line + 1]].decode()


class _Feed:
    """Lines for the csv module; it asks for one more than there are if a quote is open."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.n_lines = 0
        self.is_exhausted = False

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except StopIteration:
            self.is_exhausted = True
            raise
        self.n_lines += 1
        return line
