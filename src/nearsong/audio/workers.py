"""Files -> whatever a function makes of each, in worker processes that a bad file cannot take down with it.

Decoders are large C programs that read what strangers made. Here each file is read in another process: if that
process crashes or takes too long, it is replaced and the file gets an error, and the scan goes on. `map_audio_files`
is for many files and ends its processes; `AudioWorkers` stays, for one file now and then.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import forkserver
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import pebble
from threadpoolctl import threadpool_limits

from nearsong.errors import (
    AudioError,
    AudioTimeoutError,
    InvalidInputError,
    NearsongError,
    UnreadableAudioError,
)
from nearsong.executor import available_processors
from nearsong.validation import check_count, check_positive

Path = str | os.PathLike[str]
Result = TypeVar("Result")

_IN_FLIGHT = 3
"""Files handed out for each worker, so that none waits for the next and none is handed out long before its turn."""

_ATTEMPTS = 2
"""Times that a file is handed out if all processes end without having read it."""

_LOOK_SECONDS = 0.5
"""How often to look whether the processes are still there."""

_IMPORTABLE = "the function and its results must be importable"


def map_audio_files(
    function: Callable[[Path], Result],
    paths: Iterable[Path],
    *,
    workers: int | None = None,
    timeout: float | None = 600.0,
    nice: int = 0,
) -> Iterator[tuple[Path, Result | AudioError]]:
    """Apply a function to many audio files in worker processes.

    Parameters
    ----------
    function : callable
        Takes a path; must be importable from a module (or a `functools.partial` of such a function), as must
        its result. An `AudioError` it raises is that file's result.
    paths : iterable of path-like
        May be endless: only a few are taken ahead of the results.
    workers : int, optional
        Processes; by default one a processor. Each uses one thread.
    timeout : float or None, default=600
        Seconds a file may take before its process is stopped; None for no limit.
    nice : int, default=0
        How far the workers stand back for other programs, as for the command ``nice``.

    Yields
    ------
    path, result
        As they are done, in any order. The result is an `AudioError` if the file could not be read, the process
        crashed on it or ran out of memory or time: it never raises for a file's sake.

    Notes
    -----
    Workers start in a fresh interpreter. As always with :mod:`multiprocessing`, a script that calls this must do
    so under ``if __name__ == "__main__":``.
    """
    workers = available_processors() if workers is None else check_count(workers, "workers")
    if timeout is not None:
        timeout = check_positive(timeout, "timeout")
    nice = check_count(nice, "nice", minimum=0)
    source = iter(paths)
    pool = _new_pool(function, workers, nice)
    running: dict[Future[Any], Path] = {}
    try:
        while True:
            for path in islice(source, workers * _IN_FLIGHT - len(running)):
                running[_schedule(pool, timeout, path)] = path
            if not running:
                break
            done, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if not done and not pool.active:
                raise _no_workers("all of them have ended")
            for future in done:
                path = running.pop(future)
                yield path, _outcome(future, path, timeout)
    finally:
        for future in running:
            future.cancel()
        _end(pool)  # on the way out of an interrupted scan too: what runs is abandoned


class AudioWorkers(Generic[Result]):
    """Worker processes that stay, for files that come one at a time.

    They start when the first file comes, or with :meth:`warm`. Threads may share one.

    Parameters
    ----------
    function : callable
        Takes a path and whatever else :meth:`run` is given; must be importable from a module, as must its result.
        An `AudioError` it raises is raised by :meth:`run`.
    workers : int, default=1
        Processes, each of one thread: files read at the same time.
    timeout : float or None, default=60
        Seconds a file may take before its process is stopped; waiting for a process does not count.
    memory : int, optional
        Bytes a process may take beyond what it has when it starts; None for no limit. Where the system knows no such
        limit there is none.
    nice : int, default=0
        How far the workers stand back for other programs.

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
        """Start the processes now, so that the first file does not wait for them; what is running stays."""
        pool = self._running_pool()
        ready = [pool.schedule(_ready, timeout=self._timeout) for _ in range(self._workers)]
        wait(ready)

    def run(self, path: Path, *arguments: Any) -> Result:
        """Return what the function makes of a file.

        Parameters
        ----------
        path : path-like
        *arguments
            Given to the function after the path; small, because they travel.

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
                continue  # it broke just now
            while not future.done():
                if not wait([future], timeout=_LOOK_SECONDS).done and not pool.active:
                    future.cancel()  # nobody is left who could finish it
            if future.cancelled() or isinstance(future.exception(), BrokenProcessPool):
                continue  # a process died while it had no file; want of memory does that
            outcome = _outcome(future, path, self._timeout)
            if isinstance(outcome, AudioError):
                raise outcome
            result: Result = outcome
            return result
        raise NearsongError(f"worker processes cannot be kept alive; {_IMPORTABLE}, and memory must not be short.")

    def _running_pool(self) -> Any:
        with self._lock:
            if self._closed:
                raise NearsongError("these worker processes are closed; make new ones.")
            if self._pool is not None and not self._pool.active:
                _end(self._pool)
                self._pool = None
            if self._pool is None:
                self._pool = _new_pool(self._function, self._workers, self._nice, self._memory)
            return self._pool

    def close(self) -> None:
        """End the processes; a file that is being read is given up."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _new_pool(function: Callable[..., Any], workers: int, nice: int, memory: int | None = None) -> Any:
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
    """Return how processes start: from a server without threads where there is one, never as a copy of this one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nearsong.audio.frames", "nearsong.audio.workers"])
    with _deaf_to_interrupts():  # Ctrl-C is for this process: the server, and whoever it starts, is born deaf to it
        forkserver.ensure_running()
    return context


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
    else:  # only the main thread may say what a signal does, but any may leave it unheard, and hand that on
        unheard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unheard)


_job: Callable[..., Any] | None = None
"""In a worker: what to do with each path."""


def _start_worker(function: Callable[..., Any], nice: int, memory: int | None) -> None:
    global _job
    _job = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    threadpool_limits(limits=1)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
    # decoders write their opinion of damaged files to standard error
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory is not None:
        _limit_memory(memory)


def _end_with_parent() -> None:
    """End when the process that gives the work is no more: nobody else would stop a file that takes for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(more: int) -> None:
    """Let this process take no more than some bytes of address space beyond what it has."""
    try:
        import resource  # not everywhere

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = now + more if hard == resource.RLIM_INFINITY else min(now + more, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _ready() -> None:
    """Do nothing, in a worker that is there."""


def _apply(path: Path, *arguments: Any) -> tuple[Any, AudioError | None]:
    """Do the job; whatever it raises goes back as an error that is known to survive the way."""
    assert _job is not None
    try:
        return _job(path, *arguments), None
    except AudioError as error:
        return None, error
    except MemoryError:
        return None, UnreadableAudioError(path, "reading it takes more memory than there is.")
    except BaseException as error:  # one file's failure, whatever it is, must not end a scan
        return None, UnreadableAudioError(path, f"could not be processed ({type(error).__name__}: {error}).")


def _schedule(pool: Any, timeout: float | None, path: Path, *arguments: Any) -> "Future[Any]":
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"paths holds {path!r}, which is no path; give names of files.")
    try:
        future: Future[Any] = pool.schedule(_apply, args=[path, *arguments], timeout=timeout)
    except RuntimeError as error:
        raise _no_workers(error) from error
    return future


def _no_workers(reason: object) -> NearsongError:
    return NearsongError(
        f"worker processes cannot go on ({reason}); {_IMPORTABLE}, and a script must be a file and call this under "
        '`if __name__ == "__main__":`.'
    )


def _outcome(future: "Future[Any]", path: Path, timeout: float | None) -> Any:
    try:
        result, error = future.result()
    except TimeoutError:
        return AudioTimeoutError(path, f"took longer than {timeout} s to read; it was left out.")
    except pebble.ProcessExpired as expired:
        return UnreadableAudioError(
            path, f"its decoder crashed (exit code {expired.exitcode}); convert it to another format."
        )
    except BrokenProcessPool as error:  # no file's fault
        raise _no_workers(error) from error
    except Exception as problem:
        return UnreadableAudioError(path, f"could not be processed ({type(problem).__name__}: {problem}).")
    return result if error is None else error
