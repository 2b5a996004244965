"""Tasks -> their results, in processes on this machine or on a Dask cluster; the only door to both.

The same function, the same tasks, the same results: each task runs with one BLAS thread wherever it runs, so the
numbers do not depend on how many others run beside it. A worker that dies costs time, not results.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError, NearsongError
from nearsong.validation import check_count

Task = TypeVar("Task")
Result = TypeVar("Result")

_ATTEMPTS = 3
"""Times in a row that all workers may die without finishing a task."""


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Apply a function to every task.

    Parameters
    ----------
    function : callable
        Importable from a module, or a `functools.partial` of such a function.
    tasks : sequence
        What it takes, one at a time; small, because it travels.
    jobs : int, optional
        Processes on this machine; by default one a processor. With 1 the tasks run in this process.
    cluster : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``; its workers run the tasks. They need nearsong and
        must see the same folders under the same names.

    Yields
    ------
    task, result
        As they are done, in any order. An exception that the function raises is raised here.

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
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_one_thread(function: Callable[[Any], Any], task: Any) -> Any:
    with threadpool_limits(limits=1):
        return function(task)


def _in_processes(function: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    left = dict(enumerate(tasks))
    deaths = 0
    while left:
        try:
            with ProcessPoolExecutor(jobs, mp_context=context) as pool:
                for place, result in _completed(pool, function, left):
                    task = left.pop(place)
                    deaths = 0
                    yield task, result
        except BrokenProcessPool as error:
            deaths += 1
            if deaths == _ATTEMPTS:
                raise NearsongError(
                    f"worker processes died {deaths} times in a row without finishing anything; perhaps memory is "
                    "short: try fewer --jobs."
                ) from error


def _on_cluster(function: Callable[[Any], Any], tasks: Sequence[Any], address: str) -> Iterator[tuple[Any, Any]]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InvalidInputError("a cluster needs Dask: pip install 'nearsong[cluster]'.") from error
    try:
        client: Any = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler answers at {address!r} ({error}); start one (`dask scheduler`) or check it."
        ) from error
    with client, client.get_executor(retries=_ATTEMPTS) as pool:
        left = dict(enumerate(tasks))
        for place, result in _completed(pool, function, left):
            yield left[place], result


def _completed(pool: Executor, function: Callable[[Any], Any], left: dict[int, Any]) -> Iterator[tuple[int, Any]]:
    places: dict[Future[Any], int] = {
        pool.submit(_with_one_thread, function, task): place for place, task in left.items()
    }
    try:
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        for future in places:
            future.cancel()
