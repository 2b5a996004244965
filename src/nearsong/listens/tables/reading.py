"""Text tables (CSV, TSV and variants) -> blocks.

Bytes are read in chunks of whole lines. Compiled loops find the fields, number distinct texts and read usual numbers
and times; only lines with quotes in unusual positions, and unusual numbers, are handled one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.listens.blocks import BlockBuilder, NumberedBatch, parse_plays
from nearsong.listens.layouts import Layout
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables.names import TableNames, names_of_table
from nearsong.listens.tables.numbers import UNUSUAL, Fields, plain_numbers, usual_times
from nearsong.listens.tables.rows import RowFinder, Rows
from nearsong.listens.times import parse_times

_ROLES = ("user", "artist", "title", "recording_mbid", "artist_mbid", "plays", "time")


def read_table(source: SourceFile, builder: BlockBuilder, user: str, layout: Layout) -> Iterator[ListenBlock]:
    """Read a table whose layout is known; rows that name no user are of ``user``."""
    builder.begin(source.name, layout.user or user)
    columns = {role: column for role in _ROLES if (column := getattr(layout.columns, role)) is not None}
    needed = sorted(set(columns.values()))
    slots = {role: needed.index(column) for role, column in columns.items()}
    finder = RowFinder(layout, needed, source.has_cr_lines() or layout.quoted)
    names = names_of_table(slots, builder)
    for rows in finder.rows(source):
        if layout.dated_only and "time" in slots:
            rows, n_without = rows.dated(slots["time"])
            builder.leave_out("now playing", n_without)
        if len(rows):
            yield from builder.reserve(len(rows))
            builder.add_numbered(_numbered(rows, slots, names))
    builder.end()


def table_rows(source: SourceFile, builder: BlockBuilder, layout: Layout) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield line and fields of each row, for tables whose columns have other meanings; bad rows are reported."""
    finder = RowFinder(layout, range(layout.width), source.has_cr_lines() or layout.quoted)
    for rows in finder.rows(source):
        for row, why in rows.reasons.items():
            builder.bad(int(rows.numbers[row]), why)
        used = [row for row in range(len(rows)) if row not in rows.reasons]
        columns = [rows.texts(slot, used) for slot in range(layout.width)]
        yield from zip(rows.numbers[used].tolist(), zip(*columns, strict=True), strict=True)


def _numbered(rows: Rows, slots: dict[str, int], names: TableNames) -> NumberedBatch:
    plays, time = slots.get("plays"), slots.get("time")
    return NumberedBatch(
        user=names.users(rows),
        item=names.items(rows),
        plays=None if plays is None else _values(rows, plays, np.float32, plain_numbers, parse_plays),
        time=None if time is None else _values(rows, time, np.int64, usual_times, parse_times),
        numbers=rows.numbers,
        reasons=rows.reasons,
        plays_text=lambda row: "" if plays is None else rows.texts(plays, [row])[0],
        time_text=lambda row: "" if time is None else rows.texts(time, [row])[0],
    )


def _values(
    rows: Rows,
    slot: int,
    kind: type[np.generic],
    compiled: Callable[[npt.NDArray[np.uint8], Fields, Fields], npt.NDArray[np.int64]],
    slower: Callable[[Sequence[str]], npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Return a column of numbers, unusual ones by the slower function."""
    found = compiled(rows.data, rows.starts[slot], rows.ends[slot])
    values = found.astype(kind)
    unusual = np.flatnonzero(found == UNUSUAL)
    if len(unusual):
        values[unusual] = slower(rows.texts(slot, unusual.tolist()))
    return values
