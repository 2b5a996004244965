"""How listening histories are imported: for whom, who is told how far it is, and which rows were unreadable."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nearsong.listens.sources import FileNames
from nearsong.types import Note, Progress

MAX_ROWS_NOTED = 3
"""Unreadable rows that are noted one by one; beyond, their number."""


class How(NamedTuple):
    """How files are imported: for whom, who is told, and what looks up names of songs that a playlist gives none."""

    user: str | None
    pace: "Pace"
    note: Note
    file_names: FileNames | None


class Position:
    """How far one history is read: its share of the bytes, and the rows in them, always of the same moment."""

    def __init__(self, n_bytes: float) -> None:
        self.n_bytes = n_bytes
        self.reached = (0.0, 0)

    def reach(self, done: int, total: int, rows: int) -> None:
        """Note both at once: another thread reads them."""
        self.reached = (min(1.0, done / max(total, 1)) * self.n_bytes, rows)


class Pace:
    """Estimates the rows of all files from those read so far, and reports both.

    Each history of a file reads all of it, so that its bytes are divided among them.
    """

    def __init__(self, progress: Progress, files: Sequence[Path]) -> None:
        self._progress = progress
        self._bytes_of = {file: max(_size(file), 1) for file in files}
        self._bytes_of_files = 0
        self._bytes_before: float = 0
        self._rows_before = 0
        self.position = Position(0)

    def begin(self, file: Path, n_histories: int) -> None:
        """Note that one of the histories of a file is read next."""
        self.position = Position(self._bytes_of[file] / n_histories)

    def show(self) -> None:
        """Report how far the current history is read."""
        n_bytes, rows = self.position.reached
        rows += self._rows_before
        share = (self._bytes_before + n_bytes) / sum(self._bytes_of.values())
        self._progress("reading listens", rows, max(rows, round(rows / share)) if share else 0)

    def end_history(self, rows: int) -> None:
        """Note that the current history is done."""
        self._bytes_before += self.position.n_bytes
        self._rows_before += rows
        self.position = Position(0)

    def end_files(self, files: Sequence[Path]) -> None:
        """Note that files are done, whether they could be read or not."""
        self._bytes_of_files += sum(self._bytes_of[file] for file in files)
        self._bytes_before = self._bytes_of_files
        self.position = Position(0)
        self.show()


class BadRows:
    """Counts unreadable rows and notes the first few."""

    def __init__(self, note: Note) -> None:
        self.count = 0
        self._note = note
        self._first: list[str] = []

    def __call__(self, text: str) -> None:
        """Count an unreadable row."""
        self.count += 1
        if self.count <= MAX_ROWS_NOTED:
            self._first.append(text)

    def summarise(self, file_name: str) -> None:
        """Note the first few, and the number of all."""
        for text in self._first:
            self._note(text)
        if self.count > MAX_ROWS_NOTED:
            self._note(f"{file_name}: {self.count:,} rows could not be read and were skipped.")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
