"""Pages of a service, the newest first -> rows of a history, back to what is stored already.

Each page is stored together with the position after it, so whatever ends a pull, the next one goes on there. A page
below a time may end within a second; so the next one begins with that second again, and rows are stored once.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from nearsong.errors import ListensError
from nearsong.library.listeners.pull.position import EARLIEST_TIME, Gap, PullPosition
from nearsong.library.listeners.pull.services import ListenService
from nearsong.library.store import PulledHistory
from nearsong.listens.blocks import BATCH_ROWS, BlockBuilder
from nearsong.listens.json_records import LeftOut, ListenRow, batch_of
from nearsong.listens.records import ListenBlock
from nearsong.listens.times import parse_time
from nearsong.types import Note

MAX_PAGES = 100_000
"""Of one pull: ten million listens."""

SPARSE_ROWS = 3
MAX_SPARSE_PAGES = 1_000
"""Pages of at most `SPARSE_ROWS` rows that may follow each other; a server with more of them has no end."""

Reached = Callable[[int, int], None]
"""Called with the number of new rows and the time that a pull has come to, in seconds since 1970."""

WITHOUT_TIME = LeftOut("with a time before 1973")

READ_ERRORS = (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, RecursionError)
"""What a malformed record raises."""


class Walk:
    """Goes back in time through the listens of a service.

    Parameters
    ----------
    service : ListenService
    history : PulledHistory
        Where rows are stored.
    builder : BlockBuilder
        Collects and counts rows.
    note, reached : callable
        Called with lines for the user, and after each page.

    Attributes
    ----------
    n_new : int
        Rows that were stored.
    """

    def __init__(
        self, service: ListenService, history: PulledHistory, builder: BlockBuilder, note: Note, reached: Reached
    ) -> None:
        self._service, self._history, self._builder = service, history, builder
        self._note, self._reached = note, reached
        self.n_new = 0
        self._n_pages = self._n_sparse = self._largest_page = 0

    def run(self, position: PullPosition) -> PullPosition:
        """Fetch all gaps of a position; return the one after them, which has none."""
        while position.gaps:
            position = self._fill_gap(position)
        return position

    def _fill_gap(self, position: PullPosition) -> PullPosition:
        """Fetch the first gap of a position, page by page."""
        n_gaps, depth, previous = len(position.gaps), 0, None
        while len(position.gaps) == n_gaps:
            gap = position.gaps[0]
            records = self._service.listens(gap.after, gap.before, depth)
            self._count_page(records)
            rows = self._rows(records, gap.before)
            inside = [row for row in rows if row.time >= gap.after]
            before, depth = self._next(gap, rows, depth, is_repeated=records == previous, n_records=len(records))
            previous = records
            newest = min(int(time.time()), max((row.time for row in inside), default=0))
            position = position.reached(newest, before)
            self._store(inside, position)
            oldest = min((row.time for row in inside), default=gap.after)
            self._reached(self.n_new, max(oldest, EARLIEST_TIME))
        return position

    def _next(
        self, gap: Gap, rows: Sequence[ListenRow], depth: int, *, is_repeated: bool, n_records: int
    ) -> tuple[int | None, int]:
        """Return where the gap ends after a page, None if it is closed, and the depth of the next page."""
        if not rows:
            return None, 0
        oldest = min(row.time for row in rows)
        if oldest < gap.after:
            return None, 0
        if oldest + 1 != gap.before:
            return oldest + 1, 0
        if n_records < self._largest_page or is_repeated:
            return oldest, 0  # all of this second
        if depth < self._service.max_depth:
            return gap.before, depth + 1
        self._note(f"{self._service.host} has more listens in the second {oldest} than it lists; some are missing.")
        return oldest, 0

    def _rows(self, records: Sequence[Any], before: int | None) -> list[ListenRow]:
        """Return the rows of records, with times as numbers; others are counted, and may not be all."""
        rows, n_left_out = [], 0
        for number, record in enumerate(records, start=1):
            try:
                row = self._service.row(record)
                if not isinstance(row, LeftOut) and 0 <= float(row.time) < EARLIEST_TIME:
                    row = WITHOUT_TIME
                seconds = 0 if isinstance(row, LeftOut) else parse_time(row.time)
            except READ_ERRORS:
                self._builder.bad(number, "a field is missing or has an unexpected type.")
                continue
            if isinstance(row, LeftOut):
                self._builder.leave_out(row)
                n_left_out += 1
            elif seconds <= 0:
                self._builder.bad(number, "it has no valid time.")
            elif before is None or seconds < before:
                rows.append(row._replace(time=seconds, user=""))
        if not rows and len(records) > n_left_out:
            raise ListensError(
                f"{self._service.host} returns a page without listens of the time that was asked for; try again."
            )
        return rows

    def _store(self, rows: Sequence[ListenRow], position: PullPosition) -> None:
        blocks = blocks_of(self._builder, rows, position.listener)
        for block in blocks[:-1]:
            self.n_new += self._history.extend(block, self._history.position)
        self.n_new += self._history.extend(blocks[-1] if blocks else None, position.text)

    def _count_page(self, records: Sequence[Any]) -> None:
        self._n_pages += 1
        self._largest_page = max(self._largest_page, len(records))
        self._n_sparse = self._n_sparse + 1 if 0 < len(records) <= SPARSE_ROWS else 0
        if self._n_pages > MAX_PAGES or self._n_sparse > MAX_SPARSE_PAGES:
            raise ListensError(
                f"{self._service.host} has no end: {self._n_pages:,} pages so far; what was fetched is stored."
            )


def blocks_of(builder: BlockBuilder, rows: Sequence[ListenRow], listener: str) -> list[ListenBlock]:
    """Return rows as blocks of one listener."""
    blocks: list[ListenBlock] = []
    for start in range(0, len(rows), BATCH_ROWS):
        part = rows[start : start + BATCH_ROWS]
        blocks += builder.add(batch_of(part, range(start + 1, start + 1 + len(part)), listener))
    return [*blocks, *builder.finish()]
