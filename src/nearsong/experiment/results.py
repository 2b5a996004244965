"""Rows of results <-> an append-only file that survives being killed at any moment.

One JSON object a line. The rows of a task are written in one go and end with a ``done`` row; rows of a task without
one (the write was cut off) do not count, and a torn last line is cut away before more is written.
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
        The file; it need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = ResultsFile(Path(folder) / "results.jsonl")
    ...     results.append("first", [{"kind": "pick", "auc": 0.75}], seconds=1.0)
    ...     with results.path.open("a") as file:
    ...         _ = file.write('{"kind": "pick", "task": "sec')  # killed while writing
    ...     results.rows(), results.done()
    ([{'kind': 'pick', 'auc': 0.75, 'task': 'first'}], {'first'})
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, task: str, rows: Iterable[Row], seconds: float) -> None:
        """Write the rows of a task that is finished."""
        lines = [{**row, "task": task} for row in rows]
        lines.append({"kind": "done", "task": task, "seconds": seconds})
        text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        with self.path.open("ab+") as file:
            self._cut_torn_line(file)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def done(self) -> set[str]:
        """Return the tasks that are finished."""
        return {row["task"] for row in self._lines() if row.get("kind") == "done"}

    def rows(self) -> list[Row]:
        """Return the rows of finished tasks."""
        lines = self._lines()
        done = {row["task"] for row in lines if row.get("kind") == "done"}
        return [row for row in lines if row.get("kind") != "done" and row["task"] in done]

    def _lines(self) -> list[Row]:
        if not self.path.exists():
            return []
        whole = self.path.read_bytes().split(b"\n")[:-1]  # what follows the last line break is torn
        lines = []
        for number, line in enumerate(whole, 1):
            try:
                row = json.loads(line)
                row["task"]
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidInputError(f"{self.path}, line {number}: is not a result; delete the line.") from error
            lines.append(row)
        return lines

    @staticmethod
    def _cut_torn_line(file: Any) -> None:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return
        keep = size
        while keep:
            step = min(keep, 1 << 16)
            file.seek(keep - step)
            place = file.read(step).rfind(b"\n")
            if place >= 0:
                keep = keep - step + place + 1
                break
            keep -= step
        if keep < size:
            file.truncate(keep)
