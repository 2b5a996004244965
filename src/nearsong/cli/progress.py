"""Progress of long commands: bars on a terminal, a line for every tenth elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from nearsong.cli.common import print_line
from nearsong.names import count

MAX_PRINTED_NOTES = 8
"""Notes that are printed; further ones are only counted."""


def progress_bars(console: Console) -> Progress:
    """Return bars with counts, pace and time left."""
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("left"),
        TextColumn("[yellow]{task.fields[notes]}"),
        console=console,
        disable=not console.is_terminal,  # StageProgress prints lines instead
    )


class StageProgress:
    """Shows (stage, done, total) as one bar for each stage, or as lines where there is no terminal."""

    def __init__(self, bars: Progress, unit: str = "") -> None:
        self._bars = bars
        self._unit = unit
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._started: dict[str, tuple[float, int]] = {}
        self._n_notes = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update a stage; a total of 0 is an unknown one."""
        if stage not in self._tasks:
            # what an earlier run did is not counted in the pace
            self._tasks[stage] = self._bars.add_task(stage, total=total or None, completed=done, pace="", notes="")
            self._started[stage] = (time.monotonic(), done)
        notes = count(self._n_notes, "note") if self._n_notes else ""
        self._bars.update(
            self._tasks[stage], completed=done, total=total or None, pace=self._pace(stage, done), notes=notes
        )  # a total may be an estimate, which changes
        tenth = 10 * done // total if total else 0
        if not self._bars.console.is_terminal and self._tenths.get(stage) != tenth:
            self._tenths[stage] = tenth
            print(f"{stage}: {done:,} of {total:,}" if total else f"{stage} ...", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print a note for the user."""
        self._n_notes += 1
        if self._n_notes <= MAX_PRINTED_NOTES:
            print_line(self._bars.console, f"note: {text}")
        elif self._n_notes == MAX_PRINTED_NOTES + 1:
            print_line(self._bars.console, "note: further notes are not shown.")

    def _pace(self, stage: str, done: int) -> str:
        start, done_before = self._started[stage]
        seconds = time.monotonic() - start
        if not self._unit or seconds < 1 or done <= done_before:
            return ""
        return f"{(done - done_before) / seconds:,.1f} {self._unit}/s"


@contextmanager
def show_progress(unit: str = "") -> Iterator[StageProgress]:
    """Show the progress of a command on standard error."""
    with progress_bars(Console(stderr=True, highlight=False)) as bars:
        yield StageProgress(bars, unit)
