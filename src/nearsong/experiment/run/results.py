"""Rows of results <-> an append-only file that stays valid when the process is killed.

One JSON object per line. The rows of a task are written together and end with a ``done`` row; rows of a task without
one (an interrupted write) are ignored, and an incomplete last line is removed before the next write.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nearsong.errors import InvalidInputError

Row = dict[str, Any]


class ResultsFile:
    """The results of a run.

    Parameters
    ----------
    path : Path
        The file; created when first written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = ResultsFile(Path(folder) / "results.jsonl")
    ...     results.append("first", [{"kind": "pick", "auc": 0.75}], seconds=1.0)
    ...     with results.path.open("a") as file:
    ...         _ = file.write('{"kind": "pick", "task": "sec')  # killed while writing
    ...     results.rows(), results.finished_tasks()
    ([{'kind': 'pick', 'auc': 0.75, 'task': 'first'}], {'first'})
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, task: str, rows: Iterable[Row], **costs: float) -> None:
        """Append the rows of a finished task, and what it cost, such as ``seconds``."""
        lines = [{**row, "task": task} for row in rows]
        lines.append({"kind": "done", "task": task, **costs})
        text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        with self.path.open("ab+") as file:
            self._remove_incomplete_line(file)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def finished_tasks(self) -> set[str]:
        """Return the keys of the finished tasks."""
        return _finished(self._lines())

    def rows(self) -> list[Row]:
        """Return the rows of finished tasks."""
        lines = self._lines()
        finished = _finished(lines)
        return [row for row in lines if row.get("kind") != "done" and row["task"] in finished]

    def _lines(self) -> list[Row]:
        if not self.path.exists():
            return []
        complete = self.path.read_bytes().split(b"\n")[:-1]  # anything after the last line break is incomplete
        lines = []
        for number, line in enumerate(complete, 1):
            try:
                row = json.loads(line)
                row["task"]
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidInputError(f"{self.path}, line {number} is not a result; delete the line.") from error
            lines.append(row)
        return lines

    @staticmethod
    def _remove_incomplete_line(file: Any) -> None:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return
        keep = size
        while keep:
            step = min(keep, 1 << 16)
            file.seek(keep - step)
            line_end = file.read(step).rfind(b"\n")
            if line_end >= 0:
                keep = keep - step + line_end + 1
                break
            keep -= step
        if keep < size:
            file.truncate(keep)


def _finished(lines: Iterable[Row]) -> set[str]:
    return {row["task"] for row in lines if row.get("kind") == "done"}
