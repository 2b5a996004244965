"""Tasks -> their results, computed in processes on this machine or on a Dask cluster.

Each task runs with one BLAS thread wherever it runs, so results do not depend on the number of workers. If a worker
dies, its tasks are run again.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

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


def _on_cluster(function: Callable[[Any], Any], tasks: Sequence[Any], address: str) -> Iterator[tuple[Any, Any]]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InvalidInputError(f"a cluster needs Dask: {install_command('cluster')}") from error
    try:
        client: Any = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler found at {address!r} ({error}); check the address or start one with `dask scheduler`."
        ) from error
    with client, client.get_executor(retries=_MAX_FAILURES) as pool:
        pending = dict(enumerate(tasks))
        for index, result in _completed(pool, function, pending):
            yield pending[index], result


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
