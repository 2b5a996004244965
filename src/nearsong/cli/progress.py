"""Progress of long commands: one line a stage on a terminal, a line for every tenth elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nearsong.cli.common import format_duration, notices, print_line
from nearsong.names import count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task, TaskID

MAX_PRINTED_NOTES = 8
"""Notes that are printed; further ones are only counted."""


def progress_bars(console: "Console") -> "Progress":
    """Return bars with counts, pace and time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class Time(ProgressColumn):
        """How long a stage has taken and, as soon as its pace is known, how long it will still take."""

        max_refresh = 0.5

        def render(self, task: "Task") -> Text:
            """Return the words for a stage."""
            elapsed = format_duration((task.finished_time if task.finished else task.elapsed) or 0.0)
            if task.finished:
                return Text(f"done in {elapsed}", style="progress.elapsed")
            left = task.time_remaining
            return Text(elapsed if left is None else f"{elapsed}, about {format_duration(left)} left")

    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        Time(),
        TextColumn("[yellow]{task.fields[notes]}"),
        console=console,
        disable=not console.is_terminal,  # StageProgress prints lines instead
    )


class StageProgress:
    """Shows (stage, done, total) as one bar for each stage, or as lines where there is no terminal.

    Attributes
    ----------
    reached : dict of str to int
        What is done of each stage.
    """

    def __init__(self, bars: "Progress", unit: str = "") -> None:
        self._bars = bars
        self._unit = unit
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._started: dict[str, tuple[float, int]] = {}
        self._n_notes = 0
        self.reached: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update a stage; a total of 0 is an unknown one. A stage is over when the next one begins."""
        if stage not in self._tasks:
            self.finish()
            # what an earlier run did is not counted in the pace
            self._tasks[stage] = self._bars.add_task(stage, total=total or None, completed=done, pace="", notes="")
            self._started[stage] = (time.monotonic(), done)
        self.reached[stage] = done
        notes = count(self._n_notes, "note") if self._n_notes else ""
        self._bars.update(
            self._tasks[stage], completed=done, total=total or None, pace=self._pace(stage, done), notes=notes
        )  # a total may be an estimate, which changes
        tenth = 10 * done // total if total else 0
        if not self._bars.console.is_terminal and self._tenths.get(stage) != tenth:
            self._tenths[stage] = tenth
            line = f"{stage}: {done:,} of {total:,}{self._left(stage, done, total)}" if total else f"{stage} ..."
            print(line, file=sys.stderr, flush=True)

    def finish(self) -> None:
        """End the bars of all stages so far: one whose length was not known would pulse for ever."""
        for stage, task in self._tasks.items():
            done = max(1, self.reached[stage])
            self._bars.update(task, completed=done, total=done, pace="")

    def note(self, text: str) -> None:
        """Print a note for the user."""
        self._n_notes += 1
        if self._n_notes <= MAX_PRINTED_NOTES:
            print_line(self._bars.console, f"note: {text}")
        elif self._n_notes == MAX_PRINTED_NOTES + 1:
            print_line(self._bars.console, "note: further notes are not shown.")

    def _left(self, stage: str, done: int, total: int) -> str:
        """Return the time left at the pace so far; empty at the ends of a stage, and while the pace is not known."""
        start, done_before = self._started[stage]
        seconds = time.monotonic() - start
        if seconds < 1 or not done_before < done < total:
            return ""
        return f", about {format_duration(seconds * (total - done) / (done - done_before))} left"

    def _pace(self, stage: str, done: int) -> str:
        start, done_before = self._started[stage]
        seconds = time.monotonic() - start
        if not self._unit or seconds < 1 or done <= done_before:
            return ""
        return f"{(done - done_before) / seconds:,.1f} {self._unit}/s"


@contextmanager
def show_progress(unit: str = "") -> Iterator[StageProgress]:
    """Show the progress of a command on standard error."""
    with progress_bars(notices()) as bars:
        progress = StageProgress(bars, unit)
        yield progress
        progress.finish()  # not after an error: a bar that stands still shows how far it came
