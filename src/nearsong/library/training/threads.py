"""Tasks in threads, with progress; Ctrl-C ends them."""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from nearsong.executor import available_processors
from nearsong.types import Progress

Result = TypeVar("Result")

_MAX_THREADS = 4  # beyond, threads contend for the GIL
_POLL_SECONDS = 0.2  # seconds between checks for an interrupt


class Steps:
    """Reports the progress of the stage ``learning``."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total
        progress("learning", 0, total)

    def step(self) -> None:
        """Report one more completed step."""
        self._done += 1
        self._progress("learning", self._done, self._total)

    def finish(self) -> None:
        """Report that all steps are complete."""
        self._progress("learning", self._total, self._total)


class StopSignal:
    """Tells tasks that they should end."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask all tasks to end."""
        self._event.set()

    def check(self) -> None:
        """Raise if the task should end."""
        if self._event.is_set():
            raise CancelledError

    def __reduce__(self) -> tuple[type["StopSignal"], tuple[()]]:
        """Make a new one where a task is sent to: a signal reaches the threads of one process."""
        return StopSignal, ()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit BLAS to one thread, so that results do not depend on the machine, and silence warnings of the fits."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zero metrics and unconverged fits: validation rejects them
        yield


def run_in_threads(
    tasks: Sequence[Callable[[], Result]], stop: StopSignal, on_done: Callable[[], None]
) -> list[Result]:
    """Run tasks, most of whose time is spent in compiled code that releases the GIL; return their results in order.

    Unlike processes, threads start at once and make no demands on the calling program. Ctrl-C, and an error in a
    task, end all of them as soon as they look at the signal.
    """
    with one_thread_each(), ThreadPoolExecutor(min(available_processors(), _MAX_THREADS)) as pool:
        futures = [pool.submit(task) for task in tasks]
        pending = set(futures)
        try:
            while pending:
                # with a timeout, because an unbounded wait cannot be interrupted on every system
                done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    on_done()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
