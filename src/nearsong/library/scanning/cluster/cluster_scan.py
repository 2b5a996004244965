"""Files of a scan -> batches that the workers of a Dask cluster read, analyse and write, some at a time.

A batch is one transaction of its worker. Whatever dies, what is written stays written; a batch that was not is done
again, by another worker or by the next scan (docs/decisions/0036-scan-on-a-cluster.md).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Self, TypeVar
from uuid import uuid4

from nearsong.errors import InvalidInputError, UnreadableAudioError
from nearsong.library.files.find import FoundFile
from nearsong.library.scanning.cluster.batch import FileBatch, FileLimits, LibraryAddress, analyse_batch, read_files
from nearsong.library.scanning.cluster.tasks import ClusterTasks, LostTaskError
from nearsong.library.scanning.report import ScanOptions, ScanReport
from nearsong.library.store import Store
from nearsong.names import count
from nearsong.types import Note

BATCH_FILES = 32
"""Files of a batch, ..."""

MIN_BATCHES = 8
"""... or fewer, so that each thread of the workers has some batches to take."""

READ_FILES = 8
"""Files whose samples or tags are read in one task, and returned by it."""

Item = TypeVar("Item")


class ClusterScan:
    """Does the work of a scan on a cluster.

    Parameters
    ----------
    store : Store
        In PostgreSQL, at an address that the workers can reach as well.
    options : ScanOptions
    address : str
        Of the Dask scheduler.
    note : callable
        Called with a line for the user.

    Raises
    ------
    InvalidInputError
        If the library is in SQLite, or there is no scheduler.
    """

    def __init__(self, store: Store, options: ScanOptions, address: str, note: Note) -> None:
        if store.folder is not None:
            raise InvalidInputError(
                f"the library {store.name} is a file of this machine, and the workers of a cluster write to it "
                "themselves; use one in PostgreSQL: --library postgresql://user@host/name."
            )
        self._library = LibraryAddress(store.name, store.address)
        self._options, self._note = options, note
        self._limits = FileLimits(timeout=options.timeout, nice=options.nice)
        self._tasks = ClusterTasks(address, note)

    def map_files(
        self, function: Callable[..., Any], paths: Iterable[str], **_limits: object
    ) -> Iterator[tuple[str, Any]]:
        """Do what :func:`nearsong.audio.map_audio_files` does, in worker processes of the cluster's workers."""
        read = partial(read_files, uuid4().hex, function, self._limits)
        for files, results in self._tasks.run("nearsong-read", read, _parts(paths, READ_FILES)):
            if isinstance(results, LostTaskError):
                yield from ((path, UnreadableAudioError(path, f"was not read: {results}.")) for path in files)
            else:
                yield from results

    def analyse(
        self,
        files: Sequence[FoundFile],
        encoder_ids: Collection[int],
        complete: Collection[int],
        roots: Sequence[str],
    ) -> Iterator[tuple[int, ScanReport]]:
        """Analyse files with some encoders and write them; yield the number of files and a report for each batch.

        Parameters
        ----------
        files : sequence of FoundFile
        encoder_ids : collection of int
            The encoders to analyse with.
        complete : collection of int
            Those that a complete song has vectors of.
        roots : sequence of str
            The scanned folders.
        """
        threads = max(1, self._tasks.threads())
        size = min(BATCH_FILES, max(1, len(files) // (MIN_BATCHES * threads)))
        batches = (
            FileBatch(
                library=self._library,
                files=part,
                encoder_ids=tuple(encoder_ids),
                complete=tuple(sorted(complete)),
                roots=tuple(roots),
                limits=self._limits,
                retry=self._options.retry,
                keep_all=self._options.keep_all,
            )
            for part in _parts(files, size)
        )
        for batch, report in self._tasks.run("nearsong-scan", analyse_batch, batches):
            if isinstance(report, LostTaskError):
                self._note(f"{count(len(batch.files), 'file')} not analysed: {report}. The next scan tries again.")
                report = ScanReport()
            yield len(batch.files), report

    def close(self) -> None:
        """Leave the cluster."""
        self._tasks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _parts(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Divide items into parts of some size, the last perhaps smaller; only as many are taken as are needed."""
    source = iter(items)
    while part := tuple(islice(source, size)):
        yield part
