"""A Dask scheduler's address -> tasks run by its workers, a few more at a time than they have threads.

Dask gives the tasks of a worker that dies to others. If the scheduler itself is lost, so are the tasks that are not
finished: they are run again when the command is. Keys and representations of tasks are shown in logs and on Dask's
dashboard, so nothing secret may be in them.
"""

import logging
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Self, TypeVar
from uuid import uuid4

from nearsong.errors import InvalidInputError, NearsongError, install_command
from nearsong.types import Note, no_note

Task = TypeVar("Task")
Result = TypeVar("Result")

QUEUED_TASKS = 2
"""Tasks per thread of the workers: one that runs, and one that waits for it."""

CONNECT_SECONDS = 10
_POLL_SECONDS = 1.0
_CLOSE_SECONDS = 3
_PATIENCE_SECONDS = 5.0
"""Seconds without a worker after which it is said that there is none."""


class LostTaskError(NearsongError):
    """A task was given up since the workers that ran it died, one after the other."""


class ClusterTasks:
    """A connection to a Dask scheduler.

    Parameters
    ----------
    address : str
        Such as ``tcp://host:8786``.
    note : callable
        Called with a line for the user.

    Raises
    ------
    InvalidInputError
        If Dask is not installed, or there is no scheduler.
    """

    def __init__(self, address: str, note: Note = no_note) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise InvalidInputError(f"a cluster needs Dask: {install_command('cluster')}.") from error
        # what it says about lost connections is said here, in one line
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            self._client: Any = Client(address, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"no Dask scheduler found at {address!r} ({error}); check the address or start one with "
                "`dask scheduler`."
            ) from error
        self._address, self._note = address, note

    def threads(self) -> int:
        """Return how many tasks the workers can run at the same time now."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError) as error:
            raise self._lost() from error

    def run(
        self, name: str, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result | LostTaskError]]:
        """Apply a function to tasks, which may be infinitely many; yield them with results in order of completion.

        Parameters
        ----------
        name : str
            Of these tasks on the dashboard.
        function : callable
            Takes a task; must be importable from a module of nearsong. What it raises is raised here.
        tasks : iterable
            They are pickled, so keep them small.

        Yields
        ------
        task, result
            The result is a `LostTaskError` if worker after worker died with the task.

        Raises
        ------
        NearsongError
            If the scheduler is lost, or the workers cannot import the function.
        """
        source = iter(tasks)
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: dict[str, tuple[Any, Any]] = {}
        check = _WorkerCheck(self._note)
        prefix = f"{name}-{uuid4().hex}"
        n_given = 0
        try:
            while True:
                threads = self.threads()
                check.look(threads)
                for task in islice(source, max(0, QUEUED_TASKS * max(1, threads) - len(running))):
                    n_given += 1
                    future = self._client.submit(function, task, key=f"{prefix}-{n_given}", pure=False)
                    running[future.key] = task, future
                    future.add_done_callback(finished.put)
                if not running:
                    return
                try:
                    done = finished.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                task, future = running.pop(done.key)
                result = self._result(future)
                del future, done  # with its last reference the scheduler forgets it
                yield task, result
        finally:
            self._give_up([future for _, future in running.values()])

    def close(self) -> None:
        """End the connection; tasks that run are finished by their workers, and what they return is dropped."""
        self._client.close(timeout=_CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._lost()
        error = future.exception() if future.status == "error" else None
        if error is None:
            return future.result()
        if isinstance(error, KilledWorker):
            return LostTaskError("worker after worker died with it, perhaps for lack of memory")
        if isinstance(error, NearsongError):
            raise error
        if isinstance(error, ImportError):
            raise NearsongError(
                f"the workers at {self._address} cannot import what they need ({error}); install the same nearsong "
                "there, with the same extras."
            ) from error
        raise error

    def _lost(self) -> NearsongError:
        return NearsongError(
            f"the Dask scheduler at {self._address} was lost; what the workers have stored is kept. Start it again, "
            "with its workers, and then the same command: it goes on from there."
        )

    def _give_up(self, futures: list[Any]) -> None:
        if futures and self._client.status == "running":
            self._client.cancel(futures)


class _WorkerCheck:
    """Says once that there are no workers."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._since: float | None = None
        self._was_noted = False

    def look(self, threads: int) -> None:
        now = time.monotonic()
        if threads:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since > _PATIENCE_SECONDS and not self._was_noted:
            self._was_noted = True
            self._note("The scheduler has no workers; this command waits until one is started: dask worker ADDRESS")
