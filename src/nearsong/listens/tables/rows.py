"""A text table -> its rows, piece by piece: where their fields are, and which lines are no rows.

Every line that is not blank is a row that is read, left out or reported, or part of such a row. The result does not
depend on how the file is divided into chunks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nearsong.listens.layouts import Layout
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables.fields import (
    BLANK,
    MAX_ROW_BYTES,
    QUOTED,
    ROW,
    TOO_LONG,
    TOO_MANY,
    Lines,
    blank_fields,
    split_lines,
)
from nearsong.listens.tables.quoted import BadRowError, NeedsMoreLinesError, QuotedRows

_NOT_COMPILED = '" '
"""Delimiters, besides those of several bytes, that only the csv module handles."""


@dataclass(eq=False)
class Rows:
    """Rows of a table.

    Attributes
    ----------
    text : bytes
        UTF-8.
    starts, ends : arrays of shape (n_slots, n)
        Where the needed fields are in ``text``.
    numbers : array of shape (n,)
        The line of each row.
    reasons : dict of int to str
        Row -> why it cannot be read; its fields are empty.
    """

    text: bytes
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    reasons: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The text as an array."""
        return np.frombuffer(self.text, np.uint8)

    def texts(self, slot: int, rows: Sequence[int]) -> list[str]:
        """Return one field of some rows."""
        bounds = zip(self.starts[slot, rows].tolist(), self.ends[slot, rows].tolist(), strict=True)
        return [self.text[start:end].decode() for start, end in bounds]

    def dated(self, slot: int) -> tuple["Rows", int]:
        """Return the rows with a time, and the number of others; Last.fm's "now playing" has none."""
        without = blank_fields(self.data, self.starts[slot], self.ends[slot])
        without[list(self.reasons)] = False
        if not without.any():
            return self, 0
        used = np.flatnonzero(~without)
        row_of = dict(zip(used.tolist(), range(len(used)), strict=True))
        reasons = {row_of[row]: why for row, why in self.reasons.items()}
        rows = Rows(
            text=self.text,
            starts=self.starts[:, used],
            ends=self.ends[:, used],
            numbers=self.numbers[used],
            reasons=reasons,
        )
        return rows, int(without.sum())


class RowFinder:
    """Finds the rows of a table.

    Parameters
    ----------
    layout : Layout
    needed : sequence of int
        The columns to read, ascending; each gets a slot.
    cr_ends : bool
        Whether a CR alone ends a line.
    """

    def __init__(self, layout: Layout, needed: Sequence[int], cr_ends: bool) -> None:
        self._layout, self._needed, self._cr_ends = layout, needed, cr_ends
        self._slot_of = np.full(layout.width, -1, np.int32)
        self._slot_of[list(needed)] = range(len(needed))
        self._is_compiled = layout.delimiter.isascii() and layout.delimiter not in _NOT_COMPILED
        self._to_skip = layout.header_rows
        self._line = 1

    def rows(self, source: SourceFile) -> Iterator[Rows]:
        """Yield the rows of a file."""
        rest = b""
        for piece in source.line_pieces(self._cr_ends):
            piece = rest + piece
            rows, n_bytes = self._rows_of(piece, is_last=False)
            rest = piece[n_bytes:]
            yield rows
        if rest:
            yield self._rows_of(rest, is_last=True)[0]

    def _rows_of(self, piece: bytes, is_last: bool) -> tuple[Rows, int]:
        """Return the rows of some lines, and how many bytes of them were read."""
        layout = self._layout
        delimiter = ord(layout.delimiter) if self._is_compiled else 0
        lines = split_lines(piece, delimiter, layout.quoted, self._cr_ends, self._slot_of, len(self._needed))
        states = lines.states
        if not self._is_compiled:
            states[states != BLANK] = QUOTED
        if self._to_skip:
            header = np.flatnonzero(states != BLANK)[: self._to_skip]
            states[header] = BLANK
            self._to_skip -= len(header)
        text, n_lines, reasons = self._odd_lines(piece, lines, is_last)
        used = np.flatnonzero(states[:n_lines] < BLANK)
        is_all = len(used) == len(states)
        rows = Rows(
            text=text,
            starts=lines.starts if is_all else lines.starts[:, used],
            ends=lines.ends if is_all else lines.ends[:, used],
            numbers=self._line + used,
        )
        bad = np.searchsorted(used, list(reasons))
        rows.starts[:, bad] = rows.ends[:, bad] = 0
        rows.reasons = dict(zip(bad.tolist(), reasons.values(), strict=True))
        self._line += n_lines
        return rows, int(lines.line_starts[n_lines])

    def _odd_lines(self, piece: bytes, lines: Lines, is_last: bool) -> tuple[bytes, int, dict[int, str]]:
        """Handle lines that are not plain rows, one by one.

        Returns
        -------
        text : bytes
            The piece, and after it the fields of quoted rows.
        n_lines : int
            Lines that were read; the others need the next piece.
        reasons : dict of int to str
            Line -> why it cannot be read.
        """
        states, width = lines.states, self._layout.width
        quoted = QuotedRows(
            piece=piece,
            lines=lines,
            delimiter=self._layout.delimiter,
            width=width,
            has_quotes=self._layout.quoted,
            is_last=is_last,
        )
        reasons: dict[int, str] = {}
        added: list[bytes] = []
        size, next_line, n_lines = len(piece), 0, len(states)
        for line in np.flatnonzero(states >= TOO_MANY).tolist():
            if line < next_line:
                continue
            n_used, state = 1, states[line]
            states[line] = ROW
            try:
                if state == TOO_LONG:
                    raise BadRowError(f"longer than {MAX_ROW_BYTES >> 10} kB; it is no row of a table.")
                if state == TOO_MANY:
                    raise self._too_many(int(lines.n_fields[line]))
                row, n_used = quoted.read(line)
                if not any(map(str.strip, row)):
                    states[line] = BLANK
                elif any(map(str.strip, row[width:])):
                    raise self._too_many(len(row))
                for slot, column in enumerate(self._needed):
                    text = row[column].encode() if column < len(row) else b""
                    lines.starts[slot, line], lines.ends[slot, line] = size, size + len(text)
                    added.append(text)
                    size += len(text)
            except BadRowError as error:
                reasons[line] = str(error)
            except NeedsMoreLinesError:
                n_lines = line
                break
            next_line = line + n_used
            states[line + 1 : next_line] = BLANK
        return piece + b"".join(added), n_lines, reasons

    def _too_many(self, n_fields: int) -> BadRowError:
        layout = self._layout
        return BadRowError(
            f"{n_fields} fields where {layout.width} are expected; "
            + (
                f"put a field with {layout.delimiter!r} in quotes."
                if layout.quoted
                else "one of them contains a separator."
            )
        )
