"""Files -> whatever a function makes of each, in worker processes that a bad file cannot take down with it.

Decoders are large C programs that read what strangers made. Here each file is read in another process: if that
process crashes or takes too long, it is replaced and the file gets an error, and the scan goes on.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from multiprocessing import forkserver
from typing import Any, TypeVar

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
    pool: Any = pebble.ProcessPool(
        max_workers=workers,
        initializer=_start_worker,
        initargs=(function, nice),
        context=_process_context(),
    )
    running: dict[Future[Any], Path] = {}
    try:
        while True:
            for path in islice(source, workers * _IN_FLIGHT - len(running)):
                running[_schedule(pool, path, timeout)] = path
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                path = running.pop(future)
                yield path, _outcome(future, path, timeout)
    finally:
        for future in running:
            future.cancel()
        pool.stop()  # on the way out of an interrupted scan too: what runs is abandoned
        pool.join()


def _process_context() -> Any:
    """Return how processes start: from a server without threads where there is one, never as a copy of this one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nearsong.audio.frames", "nearsong.audio.workers"])
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C is for this process: the server, and whoever it starts, is born deaf to it
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)
    return context


_job: Callable[[Path], Any] | None = None
"""In a worker: what to do with each path."""


def _start_worker(function: Callable[[Path], Any], nice: int) -> None:
    global _job
    _job = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    threadpool_limits(limits=1)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
    # decoders write their opinion of damaged files to standard error
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _apply(path: Path) -> tuple[Any, AudioError | None]:
    """Do the job; whatever it raises goes back as an error that is known to survive the way."""
    assert _job is not None
    try:
        return _job(path), None
    except AudioError as error:
        return None, error
    except MemoryError:
        return None, UnreadableAudioError(path, "reading it takes more memory than there is.")
    except BaseException as error:  # one file's failure, whatever it is, must not end a scan
        return None, UnreadableAudioError(path, f"could not be processed ({type(error).__name__}: {error}).")


def _schedule(pool: Any, path: Path, timeout: float | None) -> "Future[Any]":
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"paths holds {path!r}, which is no path; give names of files.")
    try:
        future: Future[Any] = pool.schedule(_apply, args=[path], timeout=timeout)
    except RuntimeError as error:
        raise NearsongError(
            f"worker processes cannot go on ({error}); the function and its results must be importable, and a script "
            'must call this under `if __name__ == "__main__":`.'
        ) from error
    return future


def _outcome(future: "Future[Any]", path: Path, timeout: float | None) -> Any:
    try:
        result, error = future.result()
    except TimeoutError:
        return AudioTimeoutError(path, f"took longer than {timeout} s to read; it was left out.")
    except pebble.ProcessExpired as expired:
        return UnreadableAudioError(
            path, f"its decoder crashed (exit code {expired.exitcode}); convert it to another format."
        )
    except Exception as problem:
        return UnreadableAudioError(path, f"could not be processed ({type(problem).__name__}: {problem}).")
    return result if error is None else error
