"""A queue of jobs that several services on one database share: one runs at a time over all of them.

Each job runs where it was started, since an uploaded file is only there. Its progress is a row that all services
read, and a thread of each service carries both ways what has changed: several times a second while a job is active.
A service that was killed renews its heartbeat no longer; the others take its jobs as ended some seconds later.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from nearsong.errors import DatabaseError, NearsongError
from nearsong.library import JobRow, SharedState
from nearsong.web.jobs.job import Job, State, do_nothing
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.queue import MAX_ENDED_JOBS, MAX_PENDING_JOBS, JobQueue
from nearsong.web.jobs.registry import JOBS
from nearsong.web.json.schemas import JobOut

ACTIVE_POLL_SECONDS = 0.25
"""How often services tell each other of changes while a job is active."""

IDLE_POLL_SECONDS = 1.0
"""How often they look otherwise; a request for a job that is not known looks at once."""

ALIVE_SECONDS = 12.0
"""A service takes jobs of others as ended when it has renewed its own heartbeat for longer than one lasts: if the
database could not be reached, none of them could renew theirs."""

ORPHANED = "the service that ran it has ended before it was done; start it again and it continues."

PROGRESS = ("stage", "done", "total", "started", "ended", "notes", "error", "result", "words")
"""What of a job changes while it runs."""

log = logging.getLogger("nearsong.web")


class SharedJobQueue(JobQueue):
    """Runs the jobs that were started here, and knows those of other services.

    Parameters
    ----------
    address : str
        The library.
    shared : SharedState
    command : sequence of str
        The program that runs a job.
    """

    def __init__(self, address: str, shared: SharedState, *, command: tuple[str, ...] = ()) -> None:
        super().__init__(address, command=command)
        self._shared, self._table = shared, shared.jobs
        self._versions: dict[str, int] = {}  # of the rows that were read
        self._unwritten: dict[str, Job] = {}
        self._sharing = threading.Lock()
        self._wake = threading.Event()
        self._has_left = False
        self._alive_since: float | None = None
        self._follower: threading.Thread | None = None

    # ---- life

    def start(self) -> None:
        """Begin to follow the jobs of other services, and to show that this one is alive."""
        self._follower = threading.Thread(target=self._follow_others, name="nearsong-shared-jobs", daemon=True)
        self._follower.start()

    def close(self) -> None:
        """Cancel the jobs that were started here, wait until they have ended, and tell the other services."""
        super().close()
        self._has_left = True
        self._wake.set()
        if self._follower is not None:
            self._follower.join()
        with suppress(NearsongError):  # then it will look as if it had been killed
            self.share()

    def _follow_others(self) -> None:
        logged = ""
        while not self._has_left:
            try:
                self._show_alive()
                self.share()
                logged = ""
            except Exception as error:  # the database may be back a second later
                self._alive_since = None
                if str(error) != logged:
                    is_unexpected = not isinstance(error, NearsongError)
                    level = logging.ERROR if is_unexpected else logging.WARNING
                    log.log(level, "jobs cannot be shared with other services: %s", error, exc_info=is_unexpected)
                logged = str(error)
            self._wake.wait(ACTIVE_POLL_SECONDS if self.is_busy else IDLE_POLL_SECONDS)
            self._wake.clear()

    def _show_alive(self) -> None:
        self._shared.heartbeat.hold()
        now = time.monotonic()
        self._alive_since = now if self._alive_since is None else self._alive_since
        if now - self._alive_since > ALIVE_SECONDS and self._others_are_active():
            self._table.end_orphans(ORPHANED)

    def _others_are_active(self) -> bool:
        with self._changed:
            return any(job.is_elsewhere and not job.has_ended for job in self._jobs.values())

    # ---- both ways

    def share(self) -> None:
        """Write what has changed here, and read what has changed elsewhere."""
        with self._sharing:
            self._write_changes()
            versions = self._table.versions()
            with self._changed:
                changed = [job_id for job_id, version in versions.items() if self._versions.get(job_id) != version]
            rows = self._table.rows(changed) if changed else []
            with self._changed:
                for row in rows:
                    self._read_row(row)
                for job_id in self._versions.keys() - versions.keys():  # forgotten, or too long ago
                    if job_id in self._jobs and (self._jobs[job_id].is_elsewhere or self._jobs[job_id].has_ended):
                        del self._jobs[job_id]
                self._versions = {**versions, **{row.id: row.version for row in rows}}
                self._changed.notify_all()

    def _write_changes(self) -> None:
        has_ended = False
        with self._changed:
            unwritten, self._unwritten = self._unwritten, {}
            changes = [
                (job, job.state, {name: getattr(job, name) for name in PROGRESS}) for job in unwritten.values()
            ]
        try:
            for job, state, progress in changes:
                self._table.write(job.id, state, progress)
                has_ended |= job.has_ended
                if job.is_forgotten and job.has_ended:
                    self._table.remove(job.id)
        except DatabaseError:
            with self._changed:
                self._unwritten = unwritten | self._unwritten  # the next time
            raise
        if has_ended:
            self._table.trim(MAX_ENDED_JOBS)

    def _read_row(self, row: JobRow) -> None:
        job = self._jobs.get(row.id)
        if row.service == self._shared.service:
            if job is not None and not job.has_ended:
                self._read_own(job, row)
            return
        if row.is_forgotten:
            self._jobs.pop(row.id, None)
            return
        if job is None:
            kind = json.loads(row.spec)["kind"]
            if kind not in JOBS:  # a newer service may have other kinds
                return
            spec = JOBS[kind].model_validate_json(row.spec)
            job = Job(id=row.id, spec=spec, is_automatic=row.is_automatic, is_elsewhere=True, number=row.number)
            self._jobs[row.id] = job
        for name in PROGRESS:
            setattr(job, name, row.progress[name])
        job.state = cast(State, row.state)
        job.is_stopping, job.gave_way = row.is_stopping, row.gave_way
        job.version += 1

    def _read_own(self, job: Job, row: JobRow) -> None:
        """Do what another service asks of a job that runs here, or that it took as ended."""
        job.gave_way |= row.gave_way
        job.is_forgotten |= row.is_forgotten
        if row.is_stopping or row.has_ended:
            super().cancel(job.id)

    def _update(self, job: Job, **changes: Any) -> None:
        super()._update(job, **changes)
        self._unwritten[job.id] = job
        if "state" in changes:
            self._wake.set()

    # ---- starting

    def add(
        self,
        spec: JobSpec,
        *,
        reuse_running: bool = True,
        is_automatic: bool = False,
        on_end: Callable[[], None] = do_nothing,
    ) -> tuple[JobOut, bool]:
        """Add a job to the queue of all services, unless one of them has the same; as `JobQueue.add`."""
        self._check_accepts()
        job = Job(id=secrets.token_hex(6), spec=spec, on_end=on_end, is_automatic=is_automatic)
        row = JobRow(
            id=job.id,
            owner=spec.owner,
            spec=spec.model_dump_json(),
            state=job.state,
            progress={name: getattr(job, name) for name in PROGRESS},
            is_automatic=is_automatic,
        )
        found = self._table.add(
            row,
            reuse_running=reuse_running,
            stops_automatic=not is_automatic and not spec.is_patient,
            max_pending=MAX_PENDING_JOBS,
        )
        if found is None:
            raise self._too_many()
        job_id, job.number = found
        self._wake.set()
        if job_id != job.id:
            return self.get(job_id), False
        with self._changed:
            self._enqueue(job)
            return job.record(), True

    def _may_start(self, job: Job) -> bool:
        """Say whether it is the turn of a pending job over all services."""
        with suppress(DatabaseError):  # it may be back soon
            if self._table.claim(job.id):
                return True
        with self._changed:
            self._changed.wait_for(lambda: job.has_ended or self._is_closing, ACTIVE_POLL_SECONDS)
        return False

    # ---- reading, as if all ran here

    @property
    def is_full(self) -> bool:
        """Whether no further job can wait."""
        with self._changed:
            return sum(job.state == "pending" for job in self._jobs.values()) >= MAX_PENDING_JOBS

    def all(self) -> list[JobOut]:
        """Return all known jobs, newest first; while the database cannot be reached, as they were."""
        with suppress(DatabaseError):
            self.share()
        with self._changed:
            return [job.record() for job in sorted(self._jobs.values(), key=lambda job: -job.number)]

    def spec(self, job_id: str) -> JobSpec:
        """Return what a job does."""
        self._look_for(job_id)
        return super().spec(job_id)

    def get(self, job_id: str) -> JobOut:
        """Return a job."""
        self._look_for(job_id)
        return super().get(job_id)

    def _look_for(self, job_id: str) -> None:
        """Read what other services have, if a job is not known: it may have been started a moment ago."""
        with self._changed:
            is_known = job_id in self._jobs
        if not is_known:
            self.share()

    # ---- stopping

    def cancel(self, job_id: str) -> None:
        """Cancel a job, wherever it runs."""
        self._look_for(job_id)
        with self._changed:
            is_elsewhere = self._find(job_id).is_elsewhere
            if not is_elsewhere:
                super().cancel(job_id)
        if is_elsewhere:
            self._table.stop(job_id)
        self._wake.set()

    def forget(self, owner: str) -> None:
        """Cancel the jobs that an owner has, wherever they run, and forget what came of them."""
        self._table.forget(owner)
        with self._changed:
            for job in [job for job in self._jobs.values() if job.is_elsewhere and job.spec.owner == owner]:
                del self._jobs[job.id]
            super().forget(owner)
