"""Tasks that say which stage they are in, to be killed: forks of one process that has imported nearsong."""

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from torture.attack import BrokenError
from torture.processes import PATIENCE_SECONDS
from torture.warm.start import WarmStart


@functools.cache
def _warm_start() -> WarmStart:
    """Return what all victims are forked from; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    warm = WarmStart(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(warm.close)
    return warm


def _open_pipe(path: Path) -> IO[str]:
    """Make a named pipe and open it for reading, before there is a process that writes."""
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return open(descriptor, encoding="utf-8", errors="replace")


class Victim:
    """A task of `torture.victim` in a process group of its own, whose stages can be followed.

    Parameters
    ----------
    task : mapping
        As the module reads it.
    module : str
        Another module with the interface of `torture.victim`.
    """

    def __init__(self, task: Mapping[str, Any], module: str = "torture.victim") -> None:
        warm = _warm_start()
        folder = warm.new_folder()
        streams = [_open_pipe(folder / name) for name in ("stdout", "stderr")]
        self._command = warm.start_in(folder, json.dumps(dict(task)), module=module)
        self.pid = self._command.pid
        self.stage = "starting"
        self.done = 0
        self.first_done: dict[str, int] = {}
        self.stage_seconds: dict[str, float] = {}
        self._stage_began = time.monotonic()
        self.result: Any = None
        self._changed = threading.Condition()
        self._stderr: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, args=(streams[0],), daemon=True),
            threading.Thread(target=self._read_errors, args=(streams[1],), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with contextlib.suppress(ValueError), self._changed:
                    event = json.loads(line)
                    self._begin(event.get("stage", self.stage))
                    self.done = event.get("done", 0)
                    self.first_done.setdefault(self.stage, self.done)
                    self.result = event.get("result", self.result)
        with self._changed:
            self._begin("ended")

    def _begin(self, stage: str) -> None:
        if stage != self.stage:
            now = time.monotonic()
            self.stage_seconds[self.stage] = self.stage_seconds.get(self.stage, 0.0) + now - self._stage_began
            self.stage, self._stage_began = stage, now
        self._changed.notify_all()

    def _read_errors(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._stderr.append(line)
                del self._stderr[:-40]

    def wait_for_stage(self, stage: str, done: int = 0, later: Collection[str] = ()) -> bool:
        """Wait until a stage has come so far; return False if the process has ended or is beyond it."""

        def has_come() -> bool:
            passed = self.stage != stage and (stage in self.stage_seconds or self.stage in later)
            return passed or self.stage == "ended" or (self.stage == stage and self.done >= done)

        with self._changed:
            if not self._changed.wait_for(has_come, PATIENCE_SECONDS):
                stage_now = self.stage
                self.kill()
                raise BrokenError(f"hung in the stage {stage_now!r}")
            return self.stage == stage

    def kill(self, *, whole_group: bool = True) -> str:
        """Kill the process, or its whole group, with SIGKILL; return the stage that it was in."""
        with self._changed:
            stage = self.stage
        with contextlib.suppress(ProcessLookupError):
            if whole_group:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)
        self._command.wait_for_code()
        if not whole_group:  # its workers see that it is gone and end by themselves
            for thread in self._threads:
                thread.join(PATIENCE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for thread in self._threads:
            thread.join(10)
        return stage

    def wait(self) -> Any:
        """Wait until the task is done and return its result; raise if it failed."""
        code = self._command.wait_for_code(PATIENCE_SECONDS)
        if code is None:
            stage = self.kill()
            raise BrokenError(f"hung in the stage {stage!r}")
        for thread in self._threads:
            thread.join(10)
        if code:
            raise BrokenError(f"exit code {code}: {''.join(self._stderr)[-500:].strip()}")
        return self.result

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._command.has_ended


@contextlib.contextmanager
def all_ended(victims: Sequence[Victim]) -> Iterator[None]:
    """Kill what still runs when a block ends."""
    try:
        yield
    finally:
        for victim in victims:
            if not victim.has_ended:
                victim.kill()
