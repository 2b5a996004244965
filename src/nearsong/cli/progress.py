"""Progress of long commands: bars on a terminal, a line every tenth elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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

from nearsong.cli.common import shown

SHOWN_NOTES = 8
"""Notes that are printed as they come; the rest is counted."""


def progress_bars(console: Console) -> Progress:
    """Return bars with counts, pace and time left."""
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(),
        TextColumn("passed,"),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("left"),
        TextColumn("[yellow]{task.fields[trouble]}"),
        console=console,
        disable=not console.is_terminal,  # lines instead, from Stages
    )


class Stages:
    """Turns (stage, done, total) into bars, one a stage; into a line every tenth where there is no terminal."""

    def __init__(self, bars: Progress, unit: str = "") -> None:
        self._bars = bars
        self._unit = unit
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._began: dict[str, tuple[float, int]] = {}
        self.notes = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is; a total of 0 is one that is not known."""
        if stage not in self._tasks:
            # what an earlier run did is not counted in the pace
            self._tasks[stage] = self._bars.add_task(stage, total=total or None, completed=done, pace="", trouble="")
            self._began[stage] = (time.monotonic(), done)
        self._bars.update(self._tasks[stage], completed=done, pace=self._pace(stage, done), trouble=self._trouble())
        tenth = 10 * done // total if total else 0
        if not self._bars.console.is_terminal and self._tenths.get(stage) != tenth:
            self._tenths[stage] = tenth
            print(f"{stage}: {done:,} of {total:,}" if total else f"{stage} ...", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Show something the user should know."""
        self.notes += 1
        if self.notes <= SHOWN_NOTES:
            self._bars.console.print(f"note: {shown(text)}", soft_wrap=True, highlight=False, markup=False)
        elif self.notes == SHOWN_NOTES + 1:
            self._bars.console.print("note: there is more of this; it is counted and not shown.", highlight=False)

    def _pace(self, stage: str, done: int) -> str:
        start, before = self._began[stage]
        seconds = time.monotonic() - start
        if not self._unit or seconds < 1 or done <= before:
            return ""
        return f"{(done - before) / seconds:,.1f} {self._unit}/s"

    def _trouble(self) -> str:
        return f"{self.notes} note{'s' if self.notes != 1 else ''}" if self.notes else ""


@contextmanager
def showing(unit: str = "") -> Iterator[Any]:
    """Show the progress of a command on standard error; gives a :class:`Stages`."""
    with progress_bars(Console(stderr=True)) as bars:
        yield Stages(bars, unit)
