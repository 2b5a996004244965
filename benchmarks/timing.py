"""Time on one core: of the wall, or of the processor."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
