"""A batch of files -> songs in the library, by a worker of a Dask cluster.

The files are read in a process of their own with limits on time and memory, as on one machine: a worker of Dask never
opens them. It keeps its connection to the library and the encoders for the next batch.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeVar

from nearsong.errors import DatabaseError
from nearsong.library.files.find import FoundFile
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.scanning.analyse_file import analyse_file
from nearsong.library.scanning.cluster.idle_workers import IdleWorkers
from nearsong.library.scanning.report import ScanReport
from nearsong.library.scanning.write_files import FileWriter, is_complete, is_same_file
from nearsong.library.store import KnownFile, Store
from nearsong.model import SongEncoder

PATIENCE_SECONDS = 300.0
"""How long a worker tries to reach a library that it has lost, before it gives up the batch."""

MAX_PAUSE_SECONDS = 10.0

_log = logging.getLogger("distributed.worker.nearsong")  # below Dask's, so that it is in the worker's log
_opening = threading.Lock()
_workers = IdleWorkers()
Found = TypeVar("Found")


@dataclass(frozen=True)
class LibraryAddress:
    """Where a library is. Dask shows the representation of what a task gets: the password is not in it."""

    name: str
    address: str = field(repr=False)


@dataclass(frozen=True)
class FileLimits:
    """Limits of the processes that read files: seconds a file may take, and niceness."""

    timeout: float | None
    nice: int


@dataclass(frozen=True, kw_only=True)
class FileBatch:
    """Files to analyse, and with what.

    Attributes
    ----------
    library : LibraryAddress
    files : tuple of FoundFile
    encoder_ids, complete : tuple of int
        The encoders to analyse with, and those that a complete song has vectors of.
    roots : tuple of str
    limits : FileLimits
    retry, keep_all : bool
        As for a scan.
    """

    library: LibraryAddress
    files: tuple[FoundFile, ...] = field(repr=False)
    encoder_ids: tuple[int, ...]
    complete: tuple[int, ...]
    roots: tuple[str, ...]
    limits: FileLimits
    retry: bool
    keep_all: bool


def analyse_batch(batch: FileBatch) -> ScanReport:
    """Analyse the files of a batch and write them in one transaction; return what was done.

    What is written already, since this batch was given to a worker that died after it, is not analysed again.
    """
    store = _patiently(partial(_opened, batch.library))
    known = _patiently(lambda: store.songs.known_at([file.path for file in batch.files]))
    report = ScanReport()
    pending = {file.path: file for file in batch.files if not _is_done(batch, file, known.get(file.path), report)}
    encoders = {number: _patiently(partial(_encoder, batch.library, number)) for number in batch.encoder_ids}
    _log.info("analysing %d files from %s", len(pending), batch.files[0].path)
    analyse = partial(analyse_file, encoders, batch.roots, keep_all=batch.keep_all)
    kind = (batch.library, batch.encoder_ids, batch.roots, batch.keep_all, batch.limits)
    read = _workers.map(kind, analyse, tuple(pending), timeout=batch.limits.timeout, nice=batch.limits.nice)
    results = [(pending[path], result) for path, result in read]
    writer = FileWriter(store, batch.roots, batch.complete)
    report.add(_patiently(lambda: writer.write(results)))
    _log.info("wrote %d files from %s", len(pending), batch.files[0].path)
    return report


def read_files(
    kind: str, function: Callable[..., Any], limits: FileLimits, paths: tuple[str, ...]
) -> list[tuple[str, Any]]:
    """Apply a function to files one after the other, in another process with limits; return all results.

    ``kind`` is the same for the same function and limits, and for no others.
    """
    return _workers.map(kind, function, paths, timeout=limits.timeout, nice=limits.nice)


def _is_done(batch: FileBatch, file: FoundFile, known: KnownFile | None, report: ScanReport) -> bool:
    """Return whether a file is stored as it is now, since it was given out; if so, report it."""
    if known is None or not is_same_file(known, file):
        return False
    if known.problem and not batch.retry:
        report.unreadable.append((file.path, known.problem))
        return True
    if known.set_aside and not batch.retry and not batch.keep_all:
        report.set_aside.append((file.path, known.set_aside))
        return True
    is_done = is_complete(known, batch.complete)
    report.unchanged += is_done
    return is_done


def _opened(library: LibraryAddress) -> Store:
    with _opening:  # threads of a worker share one
        return _store_at(library)


@lru_cache(maxsize=1)
def _store_at(library: LibraryAddress) -> Store:
    return Store(library.address, create=False)


@lru_cache(maxsize=8)
def _encoder(library: LibraryAddress, number: int) -> SongEncoder:
    """Return a stored encoder: another one would have another number."""
    encoder = stored_encoder(_opened(library), [number])
    encoder.check_installed()
    return encoder


def _patiently(do: Callable[[], Found]) -> Found:
    """Do something with a library, again and again while it cannot be reached."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.2
    while True:
        try:
            return do()
        except DatabaseError as error:
            if not error.transient or time.monotonic() > deadline:
                raise
            _log.warning("%s", error)
        time.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_SECONDS)
