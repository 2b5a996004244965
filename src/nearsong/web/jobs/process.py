"""Runs one job: ``python -m nearsong.web.jobs.process``, started by `nearsong.web.jobs.queue`.

Input is one line of JSON on standard input: the job and the library's address, which may be a URL with a password and
so is no argument that a list of processes shows. Output are lines of JSON on standard output:
``{"progress": [stage, done, total]}``, ``{"note": text}``, and at the end ``{"words": text}`` and
``{"result": {...}}``, or ``{"error": text}``. The process ends when standard input closes, since nobody wants the
result any more.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from nearsong.errors import NearsongError, disk_words, is_disk_full

NICENESS = 5
"""Jobs yield the processor to requests."""

AUTOMATIC_NICENESS = 15
"""Automatic jobs yield it to all other programs as well."""

PROGRESS_SECONDS = 0.1
"""Shortest time between two progress lines of a stage, except its first and last."""

MAX_NOTES = 100
MAX_LINE_CHARACTERS = 2000
GRACE_SECONDS = 5.0


class ProgressWriter:
    """Writes the lines that the service reads.

    Attributes
    ----------
    shown : callable
        Turns notes and errors into what people may see.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._stage = ""
        self._last = 0.0
        self._notes = 0
        self.shown: Callable[[str], str] = str

    def write(self, event: str, value: Any) -> None:
        """Write one line."""
        with self._lock:
            self._stream.write(json.dumps({event: value}) + "\n")
            self._stream.flush()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report how far a stage is."""
        now = time.monotonic()
        if stage != self._stage or now - self._last >= PROGRESS_SECONDS or (total and done >= total):
            self._stage, self._last = stage, now
            self.write("progress", [stage, int(done), int(total)])

    def note(self, text: str) -> None:
        """Report something the user should know."""
        self._notes += 1
        if self._notes <= MAX_NOTES:
            self.write("note", one_line(self.shown(text)))

    def error(self, text: str) -> None:
        """Report why the job failed."""
        self.write("error", one_line(self.shown(text)))


def one_line(text: str) -> str:
    """Return a text as one line of limited length."""
    return " ".join(text.split())[:MAX_LINE_CHARACTERS]


def main() -> int:
    """Run the job that standard input describes."""
    # child processes must neither hold the service's pipe nor write into it
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    is_automatic = request.pop("automatic", False)
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(os, "nice"):
        os.nice(AUTOMATIC_NICENESS if is_automatic else NICENESS)
    threading.Thread(target=_end_with_service, daemon=True).start()
    writer = ProgressWriter(stream)
    try:
        _limit_memory(request["kind"])
        run(request, writer)
    except BrokenPipeError:  # the service has ended
        return 1
    except Exception as error:
        writer.error(error_words(error))
    else:
        return 0
    return 1


def error_words(error: Exception) -> str:
    """Return why a job failed; what is not for everybody goes to standard error, which the service logs.

    That is where a database is and what its driver says, and the traceback of an unexpected error.
    """
    if isinstance(error, NearsongError):
        from nearsong.web.http.problems import words_of  # loaded by now, unless the job could not start

        return words_of(error)
    if isinstance(error, MemoryError):
        return "not enough memory; try a smaller file or fewer songs."
    if isinstance(error, OSError) and is_disk_full(error):
        print(error, file=sys.stderr)
        return disk_words(error)
    traceback.print_exc()
    return f"unexpected error ({type(error).__name__}: {error})"


def run(request: dict[str, Any], writer: ProgressWriter) -> None:
    """Run a job on its library and write the result."""
    from nearsong.library import Library  # takes a second, at low priority
    from nearsong.web.jobs.registry import JOBS

    address = request.pop("address")
    job = JOBS[request["kind"]].model_validate(request)
    writer.shown = job.shown
    writer.progress(job.first_stage, 0, 0)
    with Library.open(address, create=False) as library:
        result = job.run(library, writer)
    writer.write("words", job.result_words(result))
    writer.write("result", result)


def _limit_memory(kind: str) -> None:
    """Limit the memory of this process to what a kind of job may take, where the system can."""
    from nearsong.web.jobs.registry import JOBS

    max_bytes = JOBS[kind].max_memory_bytes
    try:
        import resource  # Unix only
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if max_bytes is not None and (hard == resource.RLIM_INFINITY or hard > max_bytes):
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, hard))


def _stop(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)  # transactions roll back on the way out


def _end_with_service() -> None:
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
