"""A queue of jobs: one at a time, each in a process of its own; their progress at any moment.

A library survives the end of such a process at any moment, and the next job continues where it was.
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
from typing import Any

from nearsong.web.http.problems import ApiError
from nearsong.web.jobs.job import Job, State, do_nothing
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.json.schemas import JobOut
from nearsong.web.settings import TOKEN_VARIABLE

MAX_PENDING_JOBS = 10
MAX_ENDED_JOBS = 50
"""Ended jobs that are still listed."""

GRACE_SECONDS = 3.0
"""How long a process may take to end when it is told to; then it is killed."""

MAX_STDERR_LINES = 40

log = logging.getLogger("nearsong.web")


class JobQueue:
    """Runs jobs one after the other.

    Parameters
    ----------
    address : str
        The library, as `Library.address`.
    command : sequence of str
        The program that runs a job.
    """

    def __init__(self, address: str, *, command: tuple[str, ...] = ()) -> None:
        self._address = address
        self.command = command or (sys.executable, "-P", "-m", "nearsong.web.jobs.process")
        self._changed = threading.Condition()
        self._jobs: dict[str, Job] = {}
        self._pending: deque[Job] = deque()
        self._running: tuple[Job, subprocess.Popen[bytes]] | None = None
        self._thread: threading.Thread | None = None
        self._is_closing = False

    # ---- reading

    @property
    def is_closing(self) -> bool:
        """Whether the queue takes no further jobs, and followers should leave."""
        return self._is_closing

    @property
    def is_full(self) -> bool:
        """Whether no further job can wait."""
        return len(self._pending) >= MAX_PENDING_JOBS

    @property
    def is_busy(self) -> bool:
        """Whether a job is running or pending."""
        with self._changed:
            return any(not job.has_ended for job in self._jobs.values())

    def gave_way(self, job_id: str) -> bool:
        """Return whether a job was stopped for one that a person started."""
        with self._changed:
            return job_id in self._jobs and self._jobs[job_id].gave_way

    def all(self) -> list[JobOut]:
        """Return all known jobs, newest first."""
        with self._changed:
            return [job.record() for job in reversed(self._jobs.values())]

    def spec(self, job_id: str) -> JobSpec:
        """Return what a job does."""
        with self._changed:
            return self._find(job_id).spec

    def get(self, job_id: str) -> JobOut:
        """Return a job."""
        return self.get_versioned(job_id)[0]

    def get_versioned(self, job_id: str) -> tuple[JobOut, int]:
        """Return a job and a number that increases with every change."""
        with self._changed:
            job = self._find(job_id)
            return job.record(), job.version

    def wait(self, job_id: str, seconds: float | None = None) -> JobOut:
        """Wait until a job has ended, or for some seconds, and return it."""
        with self._changed:
            job = self._find(job_id)
            self._changed.wait_for(lambda: job.has_ended, seconds)
            return job.record()

    # ---- changing

    def start(self) -> None:
        """Begin to follow the jobs of other services, of which this queue knows none."""

    def stop_accepting(self) -> None:
        """Accept and start no further jobs; the running one continues until :meth:`close`."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()

    def add(
        self,
        spec: JobSpec,
        *,
        reuse_running: bool = True,
        is_automatic: bool = False,
        on_end: Callable[[], None] = do_nothing,
    ) -> tuple[JobOut, bool]:
        """Add a job to the queue, unless the same is there already.

        A running automatic job is stopped for one that a person starts, except for one that is patient.

        Parameters
        ----------
        spec : JobSpec
        reuse_running : bool
            Whether an equal job that runs already will do; it may have started too early.
        is_automatic : bool
            Whether the service starts it by itself.
        on_end : callable
            Called once when the job has ended, whatever its state.

        Returns
        -------
        job : JobOut
        is_new : bool
            False if the same job was pending or running already.

        Raises
        ------
        ApiError
            503 if too many jobs are pending.
        """
        job = Job(id=secrets.token_hex(6), spec=spec, on_end=on_end, is_automatic=is_automatic)
        with self._changed:
            self._check_accepts()
            existing = self._same_job(spec, reuse_running)
            if existing is not None:
                return existing.record(), False
            if self.is_full:
                raise self._too_many()
            if not is_automatic and not spec.is_patient:
                self._stop_automatic()
            self._enqueue(job)
            return job.record(), True

    def cancel(self, job_id: str) -> None:
        """Cancel a job; what it has stored stays. A job that has ended is left alone."""
        with self._changed:
            job = self._find(job_id)
            if job.state == "pending":
                self._pending.remove(job)
                self._end(job, "cancelled")
            elif job.state == "running":
                self._stop(job)

    def forget(self, owner: str) -> None:
        """Cancel the jobs that an owner has, and forget what came of them."""
        with self._changed:
            for job in [job for job in self._jobs.values() if job.spec.owner == owner]:
                self.cancel(job.id)
                job.is_forgotten = True
                if job.has_ended:
                    del self._jobs[job.id]

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        with self._changed:
            self._is_closing = True
            while self._pending:
                self._end(self._pending.popleft(), "cancelled")
            for job in [job for job in self._jobs.values() if job.state == "running" and not job.is_elsewhere]:
                self._stop(job)
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    # ---- inside; the lock is held where a job changes

    def _check_accepts(self) -> None:
        if self._is_closing:
            raise ApiError(503, "the service is shutting down; try again when it is back.", "busy")

    def _too_many(self) -> ApiError:
        detail = f"{MAX_PENDING_JOBS} jobs are waiting already; try again when some are done."
        return ApiError(503, detail, "busy", {"Retry-After": "60"})

    def _enqueue(self, job: Job) -> None:
        self._jobs[job.id] = job
        self._pending.append(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_jobs, name="nearsong-jobs", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _find(self, job_id: str) -> Job:
        job = self._jobs.get(job_id)
        if job is None:
            raise ApiError(404, "job not found; only recent jobs are listed.", "no-such-job")
        return job

    def _same_job(self, spec: JobSpec, reuse_running: bool) -> Job | None:
        for job in self._jobs.values():
            is_active = not job.has_ended and not job.is_stopping
            if is_active and job.spec == spec and (reuse_running or job.state == "pending"):
                return job
        return None

    def _stop_automatic(self) -> None:
        """Stop automatic jobs, so that a person need not wait for them."""
        for job in [job for job in self._jobs.values() if job.is_automatic and not job.has_ended]:
            job.gave_way = True
            self.cancel(job.id)

    def _stop(self, job: Job) -> None:
        if job.is_stopping:
            return
        job.is_stopping = True
        self._update(job, stage="Stopping")
        if self._running is not None and self._running[0] is job:
            process = self._running[1]
            process.terminate()
            timer = threading.Timer(GRACE_SECONDS, process.kill)  # does nothing if the process has ended
            timer.daemon = True
            timer.start()

    def _end(self, job: Job, state: State, error: str | None = None) -> None:
        words = {"done": job.words, "cancelled": job.spec.stopped_words, "failed": error or ""}[state]
        self._update(job, state=state, error=error, ended=time.time(), stage="", words=words)
        ended = [job.id for job in self._jobs.values() if job.has_ended]
        for job_id in ended[: max(0, len(ended) - MAX_ENDED_JOBS)]:
            del self._jobs[job_id]
        if job.is_forgotten:
            self._jobs.pop(job.id, None)
        job.on_end()

    def _update(self, job: Job, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(job, name, value)
        job.version += 1
        self._changed.notify_all()

    def _run_jobs(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._is_closing)
                if self._is_closing:
                    return
                job = self._pending[0]
            if not self._may_start(job):
                continue
            with self._changed:
                if job.has_ended:  # it was cancelled meanwhile
                    continue
                self._pending.remove(job)
                first = job.spec.words_of(job.spec.first_stage)
                self._update(job, state="running", started=time.time(), stage=first)
            try:
                state, error = self._run(job)
            except Exception as problem:
                log.exception("a job could not be run")
                state, error = "failed", f"the job could not be started ({problem})."
            with self._changed:
                self._running = None
                self._end(job, state, error)

    def _may_start(self, job: Job) -> bool:
        """Say whether it is the turn of a pending job; may wait for it."""
        return True

    def _run(self, job: Job) -> tuple[State, str | None]:
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},
            start_new_session=True,  # a process group of its own: its workers end with it
        )
        stderr: deque[bytes] = deque(maxlen=MAX_STDERR_LINES)
        reader = threading.Thread(target=stderr.extend, args=(process.stderr,), daemon=True)
        # orphaned grandchildren would hold the pipes open, and reading would never end
        reaper = threading.Thread(target=_wait_for_group, args=(process,), daemon=True)
        reader.start()
        reaper.start()
        try:
            with self._changed:
                self._running = (job, process)
                if job.is_stopping:  # stopped before the process existed
                    process.kill()
            error = self._follow(job, process)
        except BaseException:
            process.kill()
            raise
        finally:
            reaper.join()
            reader.join()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
        return self._outcome(job, process.returncode, error, b"".join(stderr))

    def _follow(self, job: Job, process: "subprocess.Popen[bytes]") -> str | None:
        """Send a job to its process and read its events until it ends; return the error it reports."""
        assert process.stdin is not None
        assert process.stdout is not None
        request = {**job.spec.model_dump(mode="json"), "address": self._address, "automatic": job.is_automatic}
        with suppress(BrokenPipeError):  # it ended at once
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()  # stays open: when it closes, the process ends
        error = None
        for line in process.stdout:
            error = self._read_event(job, line) or error
        return error

    def _read_event(self, job: Job, line: bytes) -> str | None:
        """Apply an event of a process to its job; return the message of an error event."""
        try:
            ((event, value),) = json.loads(line).items()
        except ValueError:
            return None
        with self._changed:
            if event == "progress":
                stage, done, total = value
                words = "Stopping" if job.is_stopping else job.spec.words_of(stage)
                self._update(job, stage=words, done=done, total=total)
            elif event == "note":
                self._update(job, notes=[*job.notes, value])
            elif event in ("result", "words"):
                self._update(job, **{event: value})
        return str(value) if event == "error" else None

    def _outcome(self, job: Job, code: int, error: str | None, stderr: bytes) -> tuple[State, str | None]:
        if job.result is not None:
            return "done", None
        if job.is_stopping:
            return "cancelled", None
        if stderr.strip():
            log.error("%s ended with %s: %s", job.spec.kind, code, stderr.decode("utf-8", "replace"))
        if error is not None:
            return "failed", error
        reason = f"was killed ({_signal_name(-code)})" if code < 0 else f"ended with code {code}"
        return "failed", (
            f"the process {reason} before it was done, perhaps for lack of memory; start it again and it continues."
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _wait_for_group(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process has ended, then end what it started."""
    process.wait()
    if not hasattr(os, "killpg"):
        return
    deadline = time.monotonic() + GRACE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:  # workers notice by themselves, and clean up
            os.killpg(process.pid, 0)
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
