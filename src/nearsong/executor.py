"""Tasks -> their results, computed in processes on this machine or on a Dask cluster.

Each task runs with one BLAS thread wherever it runs, so results do not depend on the number of workers. If a worker
dies, its tasks are run again.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeVar

from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError, NearsongError, install_command
from nearsong.process_files import prepare_process_files
from nearsong.validation import check_count

Task = TypeVar("Task")
Result = TypeVar("Result")

_MAX_FAILURES = 3
"""How often in a row all workers may die without finishing a task."""


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Apply a function to every task, in parallel.

    Parameters
    ----------
    function : callable
        Takes one task; must be importable from a module, or a `functools.partial` of such a function.
    tasks : sequence
        Arguments of the function; they are pickled, so keep them small.
    jobs : int, optional
        Number of processes, by default one per processor. With 1 the tasks run in this process.
    cluster : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``, whose workers run the tasks. They need nearsong and
        the same folders at the same paths.

    Yields
    ------
    task, result
        In order of completion. Exceptions of the function are raised here.

    Examples
    --------
    >>> from nearsong.executor import run_tasks
    >>> sorted(run_tasks(abs, [3, -1, -2], jobs=1))
    [(-2, 2), (-1, 1), (3, 3)]
    """
    if cluster is not None:
        yield from _on_cluster(function, tasks, cluster)
        return
    jobs = available_processors() if jobs is None else check_count(jobs, "jobs")
    if jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, _with_one_thread(function, task)
        return
    yield from _in_processes(function, tasks, jobs)


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_one_thread(function: Callable[[Any], Any], task: Any) -> Any:
    with threadpool_limits(limits=1):
        return function(task)


def _in_processes(function: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    prepare_process_files()
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    pending = dict(enumerate(tasks))
    failures = 0
    while pending:
        try:
            with ProcessPoolExecutor(jobs, mp_context=context) as pool:
                for index, result in _completed(pool, function, pending):
                    task = pending.pop(index)
                    failures = 0
                    yield task, result
        except BrokenProcessPool as error:
            failures += 1
            if failures == _MAX_FAILURES:
                raise NearsongError(
                    f"worker processes died {failures} times in a row without finishing a task, perhaps for lack of "
                    "memory; try fewer --jobs."
                ) from error


def _connect(address: str) -> Any:
    """Return a client of the Dask scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InvalidInputError(f"a cluster needs Dask: {install_command('cluster')}") from error
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler found at {address!r} ({error}); check the address or start one with `dask scheduler`."
        ) from error


def _on_cluster(function: Callable[[Any], Any], tasks: Sequence[Any], address: str) -> Iterator[tuple[Any, Any]]:
    client = _connect(address)
    with client, client.get_executor(retries=_MAX_FAILURES) as pool:
        pending = dict(enumerate(tasks))
        for index, result in _completed(pool, function, pending):
            yield pending[index], result


class ClusterCalls:
    """Calls of functions on the workers of a Dask cluster; what several calls share is sent there once.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://host:8786``. Its workers need nearsong, and nothing else.
    """

    def __init__(self, address: str) -> None:
        self._client = _connect(address)
        self._sent: list[tuple[object, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._sent.clear()
        self._client.close()

    def run(self, calls: Sequence[partial[Result]], on_done: Callable[[], None]) -> list[Result]:
        """Return the results of calls in their order; what a killed worker had is done again by others.

        Parameters
        ----------
        calls : sequence of partial
            Of functions that a module has; objects among their arguments are sent to all workers, and only once.
        on_done : callable
            Called after each of them.
        """
        results: dict[int, Result] = {}
        failures = 0
        while len(results) < len(calls):
            pending = {index: call for index, call in enumerate(calls) if index not in results}
            try:
                for index, result in self._finished(pending):
                    results[index] = result
                    failures = 0
                    on_done()
            except CancelledError as error:  # no worker that is left has what was sent
                failures += 1
                self._sent.clear()
                if failures == _MAX_FAILURES:
                    raise NearsongError(
                        f"the workers of the cluster were lost {failures} times in a row without finishing anything, "
                        "perhaps for lack of memory; look at their logs."
                    ) from error
        return [results[index] for index in range(len(calls))]

    def _finished(self, pending: Mapping[int, "partial[Any]"]) -> Iterator[tuple[int, Any]]:
        with self._client.get_executor(retries=_MAX_FAILURES) as pool:
            indices = {
                pool.submit(_call_with_one_thread, call.func, *map(self._reference, call.args)): index
                for index, call in pending.items()
            }
            try:
                for future in as_completed(indices):
                    yield indices[future], future.result()
            finally:
                for future in indices:
                    future.cancel()

    def _reference(self, argument: object) -> object:
        """Return what stands for an argument in a call: itself, or what all workers have of it."""
        if isinstance(argument, str | int | float):
            return argument
        for sent, reference in self._sent:
            if sent is argument:
                return reference
        # in a list: of a dictionary Dask would send the values, under the keys that it has
        reference = self._client.scatter([argument], broadcast=True, hash=False)[0]
        self._sent.append((argument, reference))
        return reference


@contextmanager
def calls_on(cluster: str | None) -> Iterator[ClusterCalls | None]:
    """Connect to the scheduler at an address, if there is one."""
    if cluster is None:
        yield None
        return
    with ClusterCalls(cluster) as calls:
        yield calls


def _call_with_one_thread(function: Callable[..., Any], *arguments: object) -> Any:
    with threadpool_limits(limits=1):
        return function(*arguments)


def _completed(pool: Executor, function: Callable[[Any], Any], pending: dict[int, Any]) -> Iterator[tuple[int, Any]]:
    indices: dict[Future[Any], int] = {
        pool.submit(_with_one_thread, function, task): index for index, task in pending.items()
    }
    try:
        for future in as_completed(indices):
            yield indices[future], future.result()
    finally:
        for future in indices:
            future.cancel()
