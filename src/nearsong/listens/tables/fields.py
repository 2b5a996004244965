"""Bytes of whole lines -> where the fields of each line are, in one compiled pass.

A line is what ends with LF, CR LF or, where a table is written so, CR. Quoted fields without quotes in them are read
here; every other use of quotes leaves the line to the csv module.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

ROW, LOOSE_QUOTE, BLANK, TOO_MANY, QUOTED, TOO_LONG = range(6)
"""States of a line: a row; a row with a quote inside an unquoted field; white space; too many fields; a row for the
csv module; longer than `MAX_ROW_BYTES`."""

MAX_ROW_BYTES = 1 << 17
"""Longer lines are no rows; the csv module takes no longer fields either."""

_LF, _CR, _SPACE, _QUOTE = 10, 13, 32, 34


@dataclass(eq=False)
class Lines:
    """Lines of a piece of a table, and their fields.

    Attributes
    ----------
    line_starts : array of shape (n + 1,)
        Where each line begins, and where the last ends.
    states : array of shape (n,)
    n_fields : array of shape (n,)
    starts, ends : arrays of shape (n_slots, n)
        Where the needed fields of each line begin and end; equal for a field that is missing.
    """

    line_starts: npt.NDArray[np.int64]
    states: npt.NDArray[np.int8]
    n_fields: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def split_lines(
    piece: bytes, delimiter: int, quoted: bool, cr_ends: bool, slot_of: npt.NDArray[np.int32], n_slots: int
) -> Lines:
    """Split bytes into lines and fields.

    Parameters
    ----------
    piece : bytes
    delimiter : int
        The byte between fields.
    quoted : bool
        Whether fields may be quoted.
    cr_ends : bool
        Whether a CR alone ends a line.
    slot_of : array of int, one for each column
        The slot of a column that is needed, or -1.
    n_slots : int

    Returns
    -------
    Lines
    """
    data = np.frombuffer(piece, np.uint8)
    most = 1 + int(np.count_nonzero(data == _LF)) + (int(np.count_nonzero(data == _CR)) if cr_ends else 0)
    lines = Lines(
        line_starts=np.empty(most + 1, np.int64),
        states=np.empty(most, np.int8),
        n_fields=np.empty(most, np.int32),
        starts=np.zeros((n_slots, most), np.int64),
        ends=np.zeros((n_slots, most), np.int64),
    )
    n = _split(
        data,
        delimiter,
        quoted,
        cr_ends,
        slot_of,
        lines.line_starts,
        lines.states,
        lines.n_fields,
        lines.starts,
        lines.ends,
    )
    return Lines(
        line_starts=lines.line_starts[: n + 1],
        states=lines.states[:n],
        n_fields=lines.n_fields[:n],
        starts=lines.starts[:, :n],
        ends=lines.ends[:, :n],
    )


def blank_fields(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which fields have nothing but white space."""
    found = np.empty(len(starts), np.bool_)
    _blank_fields(data, starts, ends, found)
    return found


@njit(cache=True, nogil=True)
def _is_blank(data, start, end) -> Any:  # type: ignore[no-untyped-def]
    for at in range(start, end):
        byte = data[at]
        if not (byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31):  # the white space of str.strip
            return False
    return True


@njit(cache=True, nogil=True)
def _blank_fields(data, starts, ends, found) -> None:  # type: ignore[no-untyped-def]
    for i in range(starts.size):
        found[i] = _is_blank(data, starts[i], ends[i])


@njit(cache=True, nogil=True)
def _ends_line(data, at, cr_ends) -> Any:  # type: ignore[no-untyped-def]
    """Return the length of the line end here, or 0."""
    byte = data[at]
    if byte == _LF:
        return 1
    if byte != _CR:
        return 0
    if at + 1 < data.size and data[at + 1] == _LF:
        return 2
    return 1 if cr_ends else 0


@njit(cache=True, nogil=True, inline="always")
def _quoted_field(data, at, delimiter, cr_ends) -> Any:  # type: ignore[no-untyped-def]
    """Return where the quoted field that begins here is closed; -1 if it is not a simple one."""
    while at < data.size and data[at] != _QUOTE:
        if data[at] == _LF or data[at] == _CR:
            return -1
        at += 1
    if at == data.size:
        return -1
    after = at + 1
    if after < data.size and data[after] != delimiter and not _ends_line(data, after, cr_ends):
        return -1
    return at


@njit(cache=True, nogil=True, inline="always")
def _field_end(data, at, delimiter, cr_ends, to_line_end) -> Any:  # type: ignore[no-untyped-def]
    """Return where the field, or the line, that begins here ends, and whether there is a quote in it."""
    is_loose = False
    while at < data.size:
        byte = data[np.uint64(at)]  # with an unsigned index numba omits its check for a negative one
        if byte == delimiter:
            if not to_line_end:
                break
        elif byte > _QUOTE:  # nearly all are
            pass
        elif byte in (_LF, _CR):
            if _ends_line(data, at, cr_ends):
                break
        elif byte == _QUOTE:
            is_loose = True
        at += 1
    return at, is_loose


@njit(cache=True, nogil=True, inline="always")
def _next_field(data, at, delimiter, quoted, cr_ends, state) -> Any:  # type: ignore[no-untyped-def]
    """Return where the content of the field here begins and ends, where the field itself ends, and the state."""
    first = at
    if quoted:
        while first < data.size and data[first] == _SPACE:
            first += 1
        if first < data.size and data[first] == _QUOTE:
            first += 1
            closed = _quoted_field(data, first, delimiter, cr_ends)
            if closed >= 0:
                return first, closed, closed + 1, state
            state = QUOTED
    end, is_loose = _field_end(data, at, delimiter, cr_ends, state == QUOTED)
    if is_loose and state == ROW:
        state = LOOSE_QUOTE
    return first, end, end, state


@njit(cache=True, nogil=True, inline="always")
def _end_state(state, has_content, n_bytes) -> Any:  # type: ignore[no-untyped-def]
    """Return the state of a line when all of it was read."""
    if n_bytes > MAX_ROW_BYTES:
        return TOO_LONG
    return state if has_content or state == QUOTED else BLANK


@njit(cache=True, nogil=True)
def _split(  # type: ignore[no-untyped-def]
    data, delimiter, quoted, cr_ends, slot_of, line_starts, states, n_fields, starts, ends
) -> Any:
    at = line = 0
    width = slot_of.size
    while at < data.size:
        line_starts[line] = at
        state, column, has_content, end_length = ROW, 0, False, 0
        while True:
            first, last, at, state = _next_field(data, at, delimiter, quoted, cr_ends, state)
            if column < width:
                slot = slot_of[column]
                if slot >= 0:
                    starts[slot, line] = first
                    ends[slot, line] = last
                has_content = has_content or not _is_blank(data, first, last)
            elif not _is_blank(data, first, last):
                has_content = True
                state = state if state == QUOTED else TOO_MANY
            column += 1
            end_length = _ends_line(data, at, cr_ends) if at < data.size else 0
            if end_length or at >= data.size:
                break
            at += 1  # the delimiter
        states[line] = _end_state(state, has_content, at - line_starts[line])
        n_fields[line] = column
        at += end_length
        line += 1
    line_starts[line] = data.size
    return line
