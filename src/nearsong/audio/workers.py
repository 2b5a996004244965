"""Files + a function -> its result for each file, computed in worker processes.

Decoders are large C libraries that read untrusted files. So each file is read in another process: if that process
crashes or takes too long, it is replaced, the file gets an error, and the scan continues. `map_audio_files` processes
many files and ends its workers; `AudioWorkers` keeps its workers for files that arrive one at a time.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import forkserver, resource_tracker
from typing import Any, Generic, Self, TypeVar

import pebble
import pebble.pool.process
from threadpoolctl import threadpool_limits

from nearsong.errors import (
    AudioError,
    AudioMemoryError,
    AudioTimeoutError,
    InvalidInputError,
    NearsongError,
    UnreadableAudioError,
)
from nearsong.executor import available_processors
from nearsong.process_files import prepare_process_files
from nearsong.validation import check_count, check_positive

Path = str | os.PathLike[str]
Result = TypeVar("Result")

_QUEUED_FILES = 3
"""Files queued per worker, so that no worker is idle and no file waits long."""

_ATTEMPTS = 2
"""Attempts to process a file if all workers end without having read it."""

_POLL_SECONDS = 0.5
"""Time between checks whether the workers are alive."""

MEMORY_BYTES = 2 << 30
"""Memory that a worker of `map_audio_files` may take beyond that of an idle one (docs/decisions/0022-limits.md)."""


class _MonotonicTime:
    """What pebble uses of `time`, by a clock that nobody sets: its limits would follow the time of day."""

    sleep = staticmethod(time.sleep)
    time = staticmethod(time.monotonic)


vars(pebble.pool.process)["time"] = _MonotonicTime

_IMPORTABLE = "the function and its results must be importable"


def map_audio_files(
    function: Callable[[Path], Result],
    paths: Iterable[Path],
    *,
    workers: int | None = None,
    timeout: float | None = 600.0,
    memory: int | None = MEMORY_BYTES,
    nice: int = 0,
) -> Iterator[tuple[Path, Result | AudioError]]:
    """Apply a function to many audio files in worker processes.

    Parameters
    ----------
    function : callable
        Takes a path; must be importable from a module (or a `functools.partial` of such a function), as must its
        result. An `AudioError` that it raises is the result of the file.
    paths : iterable of path-like
        May be infinite: only a few paths are read ahead.
    workers : int, optional
        Number of processes, by default one per processor. Each uses one thread.
    timeout : float or None, default=600
        Time limit per file in seconds; None for no limit.
    memory : int or None, default=2 GiB
        Bytes that a process may allocate after its start, as for `AudioWorkers`; None for no limit.
    nice : int, default=0
        Niceness of the workers, as for the command ``nice``.

    Yields
    ------
    path, result
        In order of completion. The result is an `AudioError` if the file could not be read, or if its process crashed
        or ran out of memory or time; a bad file never raises.

    Notes
    -----
    Workers start in a new interpreter. As always with `multiprocessing`, a script must call this under
    ``if __name__ == "__main__":``.
    """
    workers = available_processors() if workers is None else check_count(workers, "workers")
    if timeout is not None:
        timeout = check_positive(timeout, "timeout")
    if memory is not None:
        memory = check_count(memory, "memory")
    nice = check_count(nice, "nice", minimum=0)
    source = iter(paths)
    first = list(islice(source, 1))
    if not first:
        return  # without starting a process
    source = chain(first, source)
    pool = _new_pool(function, workers, nice, memory)
    running: dict[Future[Any], Path] = {}
    try:
        while True:
            for path in islice(source, workers * _QUEUED_FILES - len(running)):
                running[_schedule(pool, timeout, path)] = path
            if not running:
                break
            done, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            if not done and not pool.active:
                raise _no_workers("all of them have ended")
            for future in done:
                path = running.pop(future)
                yield path, _outcome(future, path, timeout)
    finally:
        for future in running:
            future.cancel()
        _end(pool)  # also when the caller stops early: running files are abandoned


class AudioWorkers(Generic[Result]):
    """Long-lived worker processes for files that arrive one at a time.

    They start with the first file, or with `warm`. Threads may share an instance.

    Parameters
    ----------
    function : callable
        Takes a path and the further arguments of `run`; must be importable from a module, as must its result. An
        `AudioError` that it raises is raised by `run`.
    workers : int, default=1
        Number of processes, each with one thread.
    timeout : float or None, default=60
        Time limit per file in seconds, without the wait for a process; None for no limit.
    memory : int, optional
        Bytes that a process may allocate after its start; None for no limit. Ignored where the system has no such
        limit.
    nice : int, default=0
        Niceness of the workers.

    Examples
    --------
    >>> from nearsong.audio import load_frames
    >>> from nearsong.audio.workers import AudioWorkers
    >>> with AudioWorkers(load_frames, timeout=30) as workers:
    ...     workers.run("there is no such.mp3")
    Traceback (most recent call last):
    nearsong.errors.UnreadableAudioError: there is no such.mp3: cannot be opened (No such file or directory); check \
the path.
    """

    def __init__(
        self,
        function: Callable[..., Result],
        *,
        workers: int = 1,
        timeout: float | None = 60.0,
        memory: int | None = None,
        nice: int = 0,
    ) -> None:
        self._function = function
        self._workers = check_count(workers, "workers")
        self._timeout = None if timeout is None else check_positive(timeout, "timeout")
        self._memory = None if memory is None else check_count(memory, "memory")
        self._nice = check_count(nice, "nice", minimum=0)
        self._lock = threading.Lock()
        self._pool: Any = None
        self._closed = False

    def warm(self) -> None:
        """Start the processes now, so that the first file does not wait for them."""
        pool = self._running_pool()
        ready = [pool.schedule(_ready, timeout=self._timeout) for _ in range(self._workers)]
        wait(ready)

    def run(self, path: Path, *arguments: Any) -> Result:
        """Return the result of the function for a file.

        Parameters
        ----------
        path : path-like
        *arguments
            Passed to the function after the path; they are pickled, so keep them small.

        Raises
        ------
        AudioError
            If the function raises one, or its process crashed or ran out of memory or time.
        """
        for _ in range(_ATTEMPTS):
            pool = self._running_pool()
            try:
                future = _schedule(pool, self._timeout, path, *arguments)
            except InvalidInputError:
                raise
            except NearsongError:
                continue  # the pool broke just now
            while not future.done():
                if not wait([future], timeout=_POLL_SECONDS).done and not pool.active:
                    future.cancel()  # no worker is left to finish it
            if future.cancelled() or isinstance(future.exception(), BrokenProcessPool):
                continue  # a process died without a file, for example for lack of memory
            outcome = _outcome(future, path, self._timeout)
            if isinstance(outcome, AudioError):
                raise outcome
            result: Result = outcome
            return result
        raise NearsongError(f"worker processes keep ending; {_IMPORTABLE}, and there must be enough memory.")

    def _running_pool(self) -> Any:
        with self._lock:
            if self._closed:
                raise NearsongError("these worker processes are closed; create new ones.")
            if self._pool is not None and not self._pool.active:
                _end(self._pool)
                self._pool = None
            if self._pool is None:
                self._pool = _new_pool(self._function, self._workers, self._nice, self._memory)
            return self._pool

    def close(self) -> None:
        """End the processes; files that are being read are abandoned."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _new_pool(function: Callable[..., Any], workers: int, nice: int, memory: int | None) -> Any:
    return pebble.ProcessPool(
        max_workers=workers,
        initializer=_start_worker,
        initargs=(function, nice, memory),
        context=_process_context(),
    )


def _end(pool: Any) -> None:
    pool.stop()
    pool.join()


def _process_context() -> Any:
    """Return the start method: a fork server without threads where available, else spawn; never a plain fork."""
    # a worker of Dask is a daemon of its nanny, and daemons may not have children, since these would outlive them;
    # those of this module end with their parent
    multiprocessing.current_process().daemon = False
    prepare_process_files()
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nearsong.audio.frames", "nearsong.audio.workers", "nearsong.audio.fork_server"])
    resource_tracker.ensure_running()  # the server would start it, and it unblocks Ctrl-C for its thread
    with _interrupts_ignored():  # Ctrl-C is for this process; the server and its children inherit that they ignore it
        forkserver.ensure_running()
    return context


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is threading.main_thread():
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)
    else:  # only the main thread may set handlers, but any thread may block a signal, and children inherit the mask
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_job: Callable[..., Any] | None = None
"""In a worker: the function to apply to each path."""


def _start_worker(function: Callable[..., Any], nice: int, memory: int | None) -> None:
    global _job
    _job = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and stops its workers
    threadpool_limits(limits=1)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
    # decoders write messages about damaged files to standard error
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory is not None:
        _limit_memory(memory)


def _end_with_parent() -> None:
    """Exit when the parent process ends: nothing else would stop a file that never finishes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(more: int) -> None:
    """Limit the address space of this process to its current size plus some bytes."""
    try:
        import resource  # not on Windows

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = now + more if hard == resource.RLIM_INFINITY else min(now + more, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _ready() -> None:
    """Do nothing; returns when a worker is running."""


def _apply(path: Path, *arguments: Any) -> tuple[Any, AudioError | None]:
    """Apply the function; exceptions are returned as an `AudioError`, which can be pickled."""
    assert _job is not None
    try:
        return _job(path, *arguments), None
    except AudioError as error:
        return None, error
    except MemoryError:
        return None, AudioMemoryError(path, "needs more memory than is available.")
    except BaseException as error:  # no failure of one file may end a scan
        return None, UnreadableAudioError(path, f"could not be processed ({type(error).__name__}: {error}).")


def _schedule(pool: Any, timeout: float | None, path: Path, *arguments: Any) -> "Future[Any]":
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"paths contains {path!r}, which is not a path.")
    try:
        future: Future[Any] = pool.schedule(_apply, args=[path, *arguments], timeout=timeout)
    except RuntimeError as error:
        raise _no_workers(error) from error
    return future


def _no_workers(reason: object) -> NearsongError:
    return NearsongError(
        f"worker processes cannot continue ({reason}); {_IMPORTABLE}, and a script must be a file and call this "
        'under `if __name__ == "__main__":`.'
    )


def _outcome(future: "Future[Any]", path: Path, timeout: float | None) -> Any:
    try:
        result, error = future.result()
    except TimeoutError:
        return AudioTimeoutError(path, f"took longer than {timeout} s to read and was skipped.")
    except pebble.ProcessExpired as expired:
        # libraries that are refused memory often end the process
        reason = f"crashed its decoder (exit code {expired.exitcode}), perhaps for lack of memory"
        return UnreadableAudioError(path, f"{reason}; convert it to another format.")
    except BrokenProcessPool as error:  # not caused by a file
        raise _no_workers(error) from error
    except Exception as problem:
        return UnreadableAudioError(path, f"could not be processed ({type(problem).__name__}: {problem}).")
    return result if error is None else error
