"""Time on one core: of the wall, or of the processor; and the processor time of a server."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

from threadpoolctl import threadpool_limits


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and those it starts, to one core."""
    if not hasattr(os, "sched_setaffinity"):
        with threadpool_limits(limits=1):
            yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        os.sched_setaffinity(0, cores)


def wall(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def cpu(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def server_seconds(pid: int | None) -> float:
    """Return the processor seconds of a process and its children, those that have ended and those that run; Linux."""
    if pid is None:
        return 0.0
    running = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = sum(_ticks(pid)) + sum(sum(_ticks(int(process))[:2]) for process in running)
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    """Return user and system time of a process, and those of its children that have ended."""
    try:
        return [int(number) for number in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]
    except (FileNotFoundError, ProcessLookupError):  # it ended just now
        return [0, 0, 0, 0]
