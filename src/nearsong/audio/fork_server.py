"""Loaded by the fork server alone: a process whose pool is closed while it starts ends without a word.

A pool removes its locks before it ends its processes, and one that is just starting would print that it cannot find
them.
"""

import sys
from types import TracebackType


def _say_unless_closed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    is_lock = isinstance(error, FileNotFoundError) and error.filename is None  # a file would be named
    if not is_lock:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say_unless_closed
