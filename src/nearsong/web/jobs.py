"""Scans, trainings, maps and imports, one at a time, each in a process of its own; how far they are, at any moment.

``Jobs(place)``: where the library is, as `Library.place` says. `close` ends what runs. A library survives the end of
such a process at any moment, and the next one goes on where it was.
"""

import json
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from nearsong.web.problems import ApiError
from nearsong.web.schemas import JobOut
from nearsong.web.settings import TOKEN_VARIABLE

State = Literal["waiting", "running", "done", "failed", "cancelled"]

MOST_WAITING = 10
REMEMBERED = 50
"""Finished jobs that can still be asked about."""

GRACE_SECONDS = 3.0
"""How long a process may take to end when it is asked to."""

STAGES = {
    "looking for music": "Looking for music",
    "learning the codebook": "Getting to know the sounds",
    "hearing songs": "Listening to songs",
    "placing songs": "Finding each song's place",
    "reading listens": "Reading listening histories",
    "looking them up": "Looking for their songs in the library",
    "reading songs": "Reading what songs sound like",
    "learning": "Learning from listeners",
    "index": "Preparing quick answers",
    "map": "Drawing the map",
}
"""What a stage is called for people."""

_ENDED = ("done", "failed", "cancelled")

log = logging.getLogger("nearsong.web")


def _nothing() -> None:
    """Have nothing to tidy up."""


@dataclass
class Job:
    """Work, and how far it is.

    Attributes
    ----------
    version : int
        Goes up with every change.
    """

    id: str
    kind: str
    spec: dict[str, Any]
    state: State = "waiting"
    stage: str = "Waiting for its turn"
    done: int = 0
    total: int = 0
    started: float | None = None
    ended: float | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    result: dict[str, Any] | None = None
    version: int = 0
    stopping: bool = False
    tidy: Callable[[], None] = _nothing

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will change."""
        return self.state in _ENDED

    def record(self) -> JobOut:
        """Return it as the API tells it."""
        return JobOut(
            id=self.id,
            kind=self.kind,
            state=self.state,
            stage=self.stage,
            done=self.done,
            total=self.total,
            started=self.started,
            ended=self.ended,
            notes=list(self.notes),
            error=self.error,
            result=self.result,
        )


class Jobs:
    """Runs jobs one after the other.

    Parameters
    ----------
    place : str
        The library.
    command : sequence of str
        What to start for a job.
    """

    def __init__(self, place: str, *, command: tuple[str, ...] = ()) -> None:
        self._place = place
        self._command = command or (sys.executable, "-P", "-m", "nearsong.web.job_process")
        self._changed = threading.Condition()
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._running: tuple[Job, subprocess.Popen[bytes]] | None = None
        self._thread: threading.Thread | None = None
        self._closing = False

    # ---- what can be asked

    @property
    def are_closing(self) -> bool:
        """Whether no further job is taken, and nobody need follow one any longer."""
        return self._closing

    def all(self) -> list[JobOut]:
        """Return all jobs that are known, the newest first."""
        with self._changed:
            return [job.record() for job in reversed(self._jobs.values())]

    def get(self, job_id: str) -> JobOut:
        """Return a job."""
        return self.look(job_id)[0]

    def look(self, job_id: str) -> tuple[JobOut, int]:
        """Return a job and a number that goes up when it changes."""
        with self._changed:
            job = self._find(job_id)
            return job.record(), job.version

    def wait(self, job_id: str, seconds: float | None = None) -> JobOut:
        """Return a job when it has ended, or after some seconds."""
        with self._changed:
            job = self._find(job_id)
            self._changed.wait_for(lambda: job.has_ended, seconds)
            return job.record()

    @property
    def is_full(self) -> bool:
        """Whether no further job may wait."""
        return len(self._waiting) >= MOST_WAITING

    # ---- what can be done

    def stop_taking(self) -> None:
        """Take and begin no further jobs; the one that runs goes on until :meth:`close`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def add(
        self, kind: str, spec: dict[str, Any], *, anew: bool = False, tidy: Callable[[], None] = _nothing
    ) -> tuple[JobOut, bool]:
        """Let a job wait for its turn.

        Parameters
        ----------
        kind : str
        spec : dict
            What it needs beside the library, as JSON can hold it.
        anew : bool
            Whether one that runs already does not serve: it may have begun too early.
        tidy : callable
            Called once when the job has ended, however it did.

        Returns
        -------
        job : JobOut
        is_new : bool
            False if the same work was waiting or running already.

        Raises
        ------
        ApiError
            503 if too many wait.
        """
        with self._changed:
            if self._closing:
                raise ApiError(503, "the service is about to end; start it again first.", "busy")
            for job in self._jobs.values():
                same = (job.kind, job.spec) == (kind, spec) and not job.has_ended and not job.stopping
                if same and not (anew and job.state == "running"):
                    return job.record(), False
            if self.is_full:
                detail = f"{len(self._waiting)} jobs wait already; try again when some are done."
                raise ApiError(503, detail, "busy", {"Retry-After": "60"})
            job = Job(secrets.token_hex(6), kind, spec, tidy=tidy)
            self._jobs[job.id] = job
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="nearsong-jobs", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return job.record(), True

    def cancel(self, job_id: str) -> None:
        """End a job; the library keeps what was done. One that has ended stays as it is."""
        with self._changed:
            job = self._find(job_id)
            if job.state == "waiting":
                self._waiting.remove(job)
                self._end(job, "cancelled")
            elif job.state == "running":
                self._stop(job)

    def close(self) -> None:
        """End all jobs, and wait until they have."""
        with self._changed:
            self._closing = True
            while self._waiting:
                self._end(self._waiting.popleft(), "cancelled")
            for job in [job for job in self._jobs.values() if job.state == "running"]:
                self._stop(job)
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    # ---- inside

    def _find(self, job_id: str) -> Job:
        job = self._jobs.get(job_id)
        if job is None:
            raise ApiError(404, "there is no such job; it may have ended long ago.", "no-such-job")
        return job

    def _stop(self, job: Job) -> None:
        if job.stopping:
            return
        job.stopping = True
        self._touch(job, stage="Stopping")
        if self._running is not None and self._running[0] is job:
            process = self._running[1]
            process.terminate()
            timer = threading.Timer(GRACE_SECONDS, process.kill)  # which leaves one that has ended alone
            timer.daemon = True
            timer.start()

    def _end(self, job: Job, state: State, error: str | None = None) -> None:
        self._touch(job, state=state, error=error, ended=time.time(), stage="")
        ended = [one.id for one in self._jobs.values() if one.has_ended]
        for old in ended[: max(0, len(ended) - REMEMBERED)]:
            del self._jobs[old]
        job.tidy()

    def _touch(self, job: Job, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(job, name, value)
        job.version += 1
        self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                job = self._waiting.popleft()
                self._touch(job, state="running", started=time.time(), stage="Starting")
            try:
                state, error = self._run(job)
            except Exception as problem:
                log.exception("a job could not be run")
                state, error = "failed", f"it could not be started ({problem})."
            with self._changed:
                self._running = None
                self._end(job, state, error)

    def _run(self, job: Job) -> tuple[State, str | None]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},  # of no use to it
            start_new_session=True,  # a group of its own: its workers end with it
        )
        last_words: deque[bytes] = deque(maxlen=40)
        listener = threading.Thread(target=last_words.extend, args=(process.stderr,), daemon=True)
        # those that it leaves behind may hold its pipes; without them reading comes to an end
        watcher = threading.Thread(target=_wait_for_all, args=(process,), daemon=True)
        listener.start()
        watcher.start()
        try:
            with self._changed:
                self._running = (job, process)
                if job.stopping:  # before there was a process to stop
                    process.kill()
            error = self._follow(job, process)
        except BaseException:
            process.kill()
            raise
        finally:
            watcher.join()
            listener.join()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
        return self._outcome(job, process.returncode, error, b"".join(last_words))

    def _follow(self, job: Job, process: "subprocess.Popen[bytes]") -> str | None:
        """Tell a process what to do, and listen until it has ended; return the error that it tells of."""
        assert process.stdin is not None
        assert process.stdout is not None
        spec = {**job.spec, "kind": job.kind, "place": self._place}
        with suppress(BrokenPipeError):  # it ended at once
            process.stdin.write(json.dumps(spec).encode() + b"\n")
            process.stdin.flush()  # and it stays open: its end tells that nobody wants the work any more
        error = None
        for line in process.stdout:
            error = self._heard(job, line) or error
        return error

    def _heard(self, job: Job, line: bytes) -> str | None:
        """Take what a process says; return its error if it is one."""
        try:
            ((what, value),) = json.loads(line).items()
        except ValueError:
            return None
        with self._changed:
            if what == "progress":
                stage, done, total = value
                words = "Stopping" if job.stopping else STAGES.get(stage, stage[:1].upper() + stage[1:])
                self._touch(job, stage=words, done=done, total=total)
            elif what == "note":
                self._touch(job, notes=[*job.notes, value])
            elif what == "result":
                self._touch(job, result=value)
        return str(value) if what == "error" else None

    def _outcome(self, job: Job, code: int, error: str | None, last_words: bytes) -> tuple[State, str | None]:
        if job.result is not None:
            return "done", None
        if job.stopping:
            return "cancelled", None
        if last_words.strip():
            log.error("%s ended with %s: %s", job.kind, code, last_words.decode("utf-8", "replace"))
        if error is not None:
            return "failed", error
        how = f"was killed ({_signal_name(-code)})" if code < 0 else f"ended with code {code}"
        return "failed", (
            f"its process {how} before it was done, perhaps because memory was short; what it had done is kept, so "
            "start it again."
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _wait_for_all(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of a process, and see that all end that it has started."""
    process.wait()
    if not hasattr(os, "killpg"):
        return
    deadline = time.monotonic() + GRACE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:  # they notice by themselves, and tidy up
            os.killpg(process.pid, 0)
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
