"""Rules and the clock -> automatic jobs in the service's queue, and a record of what came of them.

Everything it knows is in the library: when each task last succeeded, what runs now, how often it failed. A service
that is killed goes on where it was, since jobs survive being killed and a task counts when it has ended.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from nearsong import clock
from nearsong.errors import NearsongError
from nearsong.library import (
    AutomaticRun,
    AutomationState,
    Library,
    PlannedTask,
)
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.pull import Pull
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.jobs.scan import Scan
from nearsong.web.jobs.train import Train
from nearsong.web.json.schemas import JobOut
from nearsong.web.service.automation.folder_watch import FolderWatch

log = logging.getLogger("nearsong.web")

POLL_SECONDS = 1.0
"""How often the clock is read."""

LOOK_SECONDS = 20.0
"""How often the library is asked what is due, by the clock."""

FIRST_LOOK_SECONDS = 120.0
"""Nothing starts by itself so soon after the service."""

RETRY_SECONDS = 900.0
"""A task that failed is tried again after this time, then after twice as long, and so on."""

MAX_RETRY_SECONDS = 86_400.0

STOPPED_SECONDS = 86_400.0
"""A task that a person stopped is not started again for this long."""

GAVE_WAY_SECONDS = 300.0
"""A task that gave way to a person's job waits this long after it was stopped."""

CLOSE_SECONDS = 5.0

JOBS: dict[str, Callable[[], JobSpec]] = {"scan": Scan, "pull": Pull, "train": Train}

INTERRUPTED = {
    "scan": "The service ended during a scan; it will go on.",
    "pull": "The service ended during a pull; it will go on.",
    "train": "The service ended during a training; it will start again.",
}


class Automation:
    """Starts tasks when they are due.

    Parameters
    ----------
    library : Library
    jobs : JobQueue
    is_running : bool
        Whether anything may be started; False with ``--no-automatic``.
    now : callable
        Returns the time in seconds since 1970.
    on_run : callable
        Called with the task and the state of a run that has ended.
    is_turn : callable
        Says whether this service is the one, of all that have the library, that does something by itself.
    """

    def __init__(
        self,
        library: Library,
        jobs: JobQueue,
        *,
        is_running: bool = True,
        now: Callable[[], float] = clock.now,
        on_run: Callable[[str, str], None] = lambda task, state: None,
        is_turn: Callable[[], bool] = lambda: True,
    ) -> None:
        self.is_running = is_running
        self._library, self._jobs, self._now, self._on_run = library, jobs, now, on_run
        self._is_turn = is_turn
        self._watch = FolderWatch(now)
        self._begun = now()
        self._next_look = 0.0
        self._job: tuple[str, str, str] | None = None  # task, id of the job, digest of the folders before it
        self._is_first = True
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- life

    def start(self) -> None:
        """Start to look for what is due."""
        if not self.is_running:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="nearsong-automation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no longer; a running job is stopped by the queue, and its task runs again after the next start."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            self._thread = None

    def _run(self) -> None:
        logged = ""
        while not self._stop.wait(POLL_SECONDS):
            try:
                self.look()
                logged = ""
            except (NearsongError, OSError) as error:  # the library may be back a second later
                if str(error) != logged:
                    log.warning("automatic tasks have to wait: %s", error)
                logged = str(error)
            except Exception:
                if logged != "unexpected":
                    log.exception("automatic tasks have to wait")
                logged = "unexpected"

    # ---- one look

    def look(self) -> None:
        """Record what has ended, and start what is due; at most one task at a time."""
        if not self._is_turn():
            self._job, self._is_first = None, True  # if its turn comes, the service before it was killed
            return
        now = self._now()
        if self._job is not None:
            self._record_ended(now)
        if now < self._next_look or self._job is not None or self._jobs.is_closing:
            return
        self._next_look = now + LOOK_SECONDS
        state = self._recovered(now) if self._is_first else self._library.automation.state()
        if now - self._begun < FIRST_LOOK_SECONDS:
            return
        settings = self._library.automation.settings()
        if not settings.is_on:
            return
        files_at = None
        if settings.watch and (folders := self._library.folders):
            state = self._with_first_digest(state, folders)
            files_at = self._watch.files_at(folders, state.folders)
        planned = self._library.automation.plan(now, files_at)
        state = self._with_waiting(state, planned, now)
        due = next((each for each in planned if each.at <= now), None)
        if due is not None and not self._jobs.is_busy:
            self._start(due.task, state)

    def _recovered(self, now: float) -> AutomationState:
        """Return the state; if the service was killed during a task, the task has ended."""
        self._is_first = False
        state = self._library.automation.state()
        if not state.running:
            return state
        run = AutomaticRun(time=now, task=state.running, state="stopped", words=INTERRUPTED[state.running])
        self._on_run(run.task, run.state)
        return self._write(replace(state, running="").with_run(run))

    def _with_first_digest(self, state: AutomationState, folders: list[str]) -> AutomationState:
        """Return the state with a digest of the folders, to compare later ones with."""
        return state if state.folders else self._write(replace(state, folders=self._watch.digest(folders)))

    def _with_waiting(self, state: AutomationState, planned: list[PlannedTask], now: float) -> AutomationState:
        """Return the state with the tasks that wait for the quiet hours, since when."""
        ready = {each.task for each in planned if each.ready <= now < each.at}
        waiting = {task: state.waiting.get(task, now) for task in sorted(ready)}
        return state if waiting == state.waiting else self._write(replace(state, waiting=waiting))

    def _start(self, task: str, state: AutomationState) -> None:
        before = self._watch.digest(self._library.folders) if task == "scan" else state.folders
        self._write(replace(state, running=task))
        try:
            job, _ = self._jobs.add(JOBS[task](), is_automatic=True)
        except ApiError:  # it is shutting down
            self._write(replace(state, running=""))
            return
        self._job = (task, job.id, before)

    # ---- what came of it

    def _record_ended(self, now: float) -> None:
        assert self._job is not None
        task, job_id, before = self._job
        try:
            job = self._jobs.get(job_id)
        except ApiError:  # forgotten
            job = None
        if job is not None and job.ended is None:
            return
        if self._jobs.is_closing:  # it is redone after the next start
            return
        state = _after(self._library.automation.state(), task, job, now, gave_way=self._jobs.gave_way(job_id))
        if task == "scan" and job is not None and job.state == "done":
            state = replace(state, folders=before)
        self._write(state)
        self._job = None
        self._on_run(task, state.runs[0].state)

    def _write(self, state: AutomationState) -> AutomationState:
        return self._library.automation.write(state)


def _after(state: AutomationState, task: str, job: JobOut | None, now: float, *, gave_way: bool) -> AutomationState:
    """Return the state after a task has ended."""
    done, failures, retry_at = dict(state.done), dict(state.failures), dict(state.retry_at)
    result = "stopped" if job is None or job.state == "cancelled" else job.state
    words = "" if job is None else job.words
    if result == "done":
        done[task] = now
        failures.pop(task, None)
        retry_at.pop(task, None)
    elif result == "failed":
        failures[task] = failures.get(task, 0) + 1
        retry_at[task] = now + min(RETRY_SECONDS * 2 ** (failures[task] - 1), MAX_RETRY_SECONDS)
    else:
        retry_at[task] = now + (GAVE_WAY_SECONDS if gave_way else STOPPED_SECONDS)
        words = "Stopped for a job that somebody started; it will run later." if gave_way else "Stopped by an admin."
    waiting = {other: since for other, since in state.waiting.items() if other != task}
    run = AutomaticRun(time=now, task=task, state=result, words=words)
    changed = replace(state, done=done, failures=failures, retry_at=retry_at, waiting=waiting, running="")
    return changed.with_run(run)
