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
_END = 255  # is in no text in UTF-8
_EACH_BYTE = np.uint64(0x0101010101010101)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)


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
    marks, kinds = np.empty(len(piece) + 3, np.int32), np.empty(len(piece) + 3, np.uint8)
    n_marks = _find_marks(data, np.frombuffer(piece, "<u8", len(piece) // 8), delimiter, marks, kinds)
    most = 1 + int(np.count_nonzero(kinds[:n_marks] == _LF) + np.count_nonzero(kinds[:n_marks] == _CR))
    lines = Lines(
        line_starts=np.empty(most + 1, np.int64),
        states=np.empty(most, np.int8),
        n_fields=np.empty(most, np.int32),
        starts=np.zeros((n_slots, most), np.int64),
        ends=np.zeros((n_slots, most), np.int64),
    )
    n = _split(
        data,
        marks,
        kinds,
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


@njit(cache=True, nogil=True, inline="always")
def _equal_bytes(word, byte) -> Any:  # type: ignore[no-untyped-def]
    """Return the highest bit of each of eight bytes that equals the given one."""
    other = word ^ (_EACH_BYTE * np.uint64(byte))
    return ~(((other & _LOW_BITS) + _LOW_BITS) | other) & ~_LOW_BITS


@njit(cache=True, nogil=True)
def _find_marks(data, words, delimiter, marks, kinds) -> Any:  # type: ignore[no-untyped-def]
    """Find delimiters, line ends and quotes, eight bytes at a time; return how many there are."""
    n = 0
    for i in range(words.size):
        word = words[i]
        bits = (
            _equal_bytes(word, delimiter)
            | _equal_bytes(word, _LF)
            | _equal_bytes(word, _CR)
            | _equal_bytes(word, _QUOTE)
        )
        while bits:
            below = (bits - np.uint64(1)) & ~bits & _EACH_BYTE  # a bit for each byte up to the first that was found
            at = 8 * i - 1 + np.int64((below * _EACH_BYTE) >> np.uint64(56))
            marks[n], kinds[n] = at, data[at]
            n += 1
            bits &= bits - np.uint64(1)
    for i in range(8 * words.size, data.size):
        if data[i] == delimiter or data[i] in (_LF, _CR, _QUOTE):
            marks[n], kinds[n] = i, data[i]
            n += 1
    marks[n : n + 3], kinds[n : n + 3] = data.size, _END
    return n


@njit(cache=True, nogil=True)
def _ends_line(marks, kinds, k, cr_ends) -> Any:  # type: ignore[no-untyped-def]
    """Return the length of the line end at a mark, or 0."""
    if kinds[k] == _CR:
        return 2 if kinds[k + 1] == _LF and marks[k + 1] == marks[k] + 1 else np.int64(cr_ends)
    return np.int64(kinds[k] == _LF)


@njit(cache=True, nogil=True)
def _closing_quote(marks, kinds, k, delimiter, cr_ends) -> Any:  # type: ignore[no-untyped-def]
    """Return the mark that closes the quoted field in which mark ``k`` is the first; -1 if it is not a simple one."""
    while kinds[k] == delimiter:
        k += 1
    if kinds[k] != _QUOTE:
        return -1
    if marks[k + 1] == marks[k] + 1 and (
        kinds[k + 1] in (delimiter, _END) or _ends_line(marks, kinds, k + 1, cr_ends)
    ):
        return k
    return -1


@njit(cache=True, nogil=True)
def _odd_field(data, marks, kinds, k, at, delimiter, quoted, cr_ends, state) -> Any:  # type: ignore[no-untyped-def]
    """Return where the content of the field here begins and ends, the mark that ends it, and the line's state."""
    if quoted and kinds[k] == _QUOTE:
        while data[at] == _SPACE:
            at += 1
        if at == marks[k]:
            at += 1
            closed = _closing_quote(marks, kinds, k + 1, delimiter, cr_ends)
            if closed >= 0:
                return at, marks[closed], closed + 1, state
            state = QUOTED
    while kinds[k] != _END and not _ends_line(marks, kinds, k, cr_ends):
        if kinds[k] == delimiter and state != QUOTED:
            break
        if kinds[k] == _QUOTE and state == ROW:
            state = LOOSE_QUOTE
        k += 1
    return at, marks[k], k, state


@njit(cache=True, nogil=True, inline="always")
def _is_simply_quoted(kind, second, third, gap, delimiter) -> Any:  # type: ignore[no-untyped-def]
    """Return whether three marks are the two quotes of a field and its end, as nearly always; 1 is the least gap."""
    return kind == _QUOTE and second == _QUOTE and gap == 1 and third in (delimiter, _LF)


@njit(cache=True, nogil=True, inline="always")
def _is_odd(kind, cr_ends) -> Any:  # type: ignore[no-untyped-def]
    return kind == _QUOTE or (kind == _CR and not cr_ends)


@njit(cache=True, nogil=True, inline="always")
def _end_state(state, has_content, n_bytes) -> Any:  # type: ignore[no-untyped-def]
    """Return the state of a line when all of it was read."""
    if n_bytes > MAX_ROW_BYTES:
        return TOO_LONG
    return state if has_content or state == QUOTED else BLANK


@njit(cache=True, nogil=True, inline="always")
def _end_length(kind, following, distance) -> Any:  # type: ignore[no-untyped-def]
    """Return the length of a line end: two bytes for CR LF."""
    return 2 if kind == _CR and following == _LF and distance == 1 else 1


@njit(cache=True, nogil=True)
def _split(  # type: ignore[no-untyped-def]
    data, marks, kinds, delimiter, quoted, cr_ends, slot_of, line_starts, states, n_fields, starts, ends
) -> Any:
    at = k = line = 0
    width = slot_of.size
    while at < data.size:
        line_starts[line] = at
        state, column, has_content = ROW, 0, False
        while True:
            first, last = at, marks[k]
            gap = marks[k + 2] - marks[k + 1] + last - first
            if quoted and _is_simply_quoted(kinds[k], kinds[k + 1], kinds[k + 2], gap, delimiter):
                k += 2
                first, last = at + 1, marks[k] - 1
            elif _is_odd(kinds[k], cr_ends):
                first, last, k, state = _odd_field(data, marks, kinds, k, at, delimiter, quoted, cr_ends, state)
            if column < width and slot_of[column] >= 0:
                starts[slot_of[column], line] = first
                ends[slot_of[column], line] = last
            if first < last and (data[first] > _SPACE or not _is_blank(data, first, last)):
                has_content = True
                if column >= width and state != QUOTED:
                    state = TOO_MANY
            column += 1
            if kinds[k] != delimiter:
                break
            at = marks[k] + 1
            k += 1
        states[line] = _end_state(state, has_content, marks[k] - line_starts[line])
        n_fields[line] = column
        end_length = _end_length(kinds[k], kinds[k + 1], marks[k + 1] - marks[k])
        at = marks[k] + end_length
        k += end_length
        line += 1
    line_starts[line] = data.size
    return line
