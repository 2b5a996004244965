"""Files of listening histories -> histories in the library; a file that was imported before is skipped."""

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from nearsong.audio.tags import read_tags
from nearsong.errors import ListensError
from nearsong.library.listeners.read_ahead import ReadAhead
from nearsong.library.store import History, HistoryWriter, Store
from nearsong.listens import DEFAULT_USER, ListenBlock, ListenFile, RowCounts, find_listen_files, open_histories
from nearsong.listens.sources import FileNames
from nearsong.temporary import remove_leftovers
from nearsong.types import Note, Progress

__all__ = ["ImportedFile", "import_listens"]

MAX_ROWS_NOTED = 3
"""Unreadable rows that are noted one by one; beyond, their number."""


class _NoRowsError(ListensError):
    """A history that has no rows of its kind."""


@dataclass(frozen=True)
class ImportedFile:
    """Result of importing one history of a file; a file may hold several, of different kinds.

    Attributes
    ----------
    name : str
        Name of the history, by default the path of the file.
    state : str
        ``imported``; ``replaced``, if it replaced an earlier version of the same name; ``known``, if it was imported
        before; ``failed``.
    format, kind : str
        Format and kind of the history.
    rows, bad_rows : int
        Rows imported, and rows that could not be read.
    left_out : mapping of str to int
        Reason -> rows that were not used, such as podcasts.
    source : int or None
        Id of the history in the library.
    reason : str
        Error message, if it failed.
    path : str
        The file.
    """

    name: str
    state: str
    format: str = ""
    kind: str = ""
    rows: int = 0
    bad_rows: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    source: int | None = None
    reason: str = ""
    path: str = ""


def import_listens(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    user: str | None = None,
    name: str | None = None,
    progress: Progress = lambda stage, done, total: None,
    note: Note = lambda text: None,
    max_bytes: int | None = None,
    reads_songs: bool = True,
) -> list[ImportedFile]:
    """Read listening histories into the library.

    Parameters
    ----------
    store : Store
    paths : iterable of path-like
        Files and folders, of any mix of formats.
    format : str, optional
        Format of the files; by default detected for each file.
    user : str, optional
        The listener, whatever name a file has; by default that in the file, or else `DEFAULT_USER`. A file with
        listens of several users is refused if one is given.
    name : str, optional
        Name of the history, for a single file; a later import of the same name replaces it. By default its path.
    progress : callable
        Called with (stage, rows read, total); the total is an estimate, by the share of the files that is read.
    note : callable
        Called with a message about rows that cannot be read.
    max_bytes : int, optional
        What each archive may unpack to.
    reads_songs : bool, default=True
        Whether tags of files that a playlist names are read, where it gives no names.

    Returns
    -------
    list of ImportedFile
        One for each history, several where a file holds listens, counts and playlists.

    Raises
    ------
    ListensError
        If no file could be read. If some could, the others are reported as ``failed`` instead.
    """
    remove_leftovers(store.cache)
    files = find_listen_files([Path(path) for path in paths])
    if not files:
        raise ListensError("no listening history found; give CSV, TSV, Parquet, JSON, M3U or JSPF files.")
    store.listens.sweep()
    done: list[ImportedFile] = []
    failures: list[ListensError] = []
    how = _How(user, _Pace(progress, files), note, _names_in_tags if reads_songs else None)
    with _no_garbage_collection():
        for file in files:
            try:
                histories = open_histories(file, format, max_bytes)
                done.extend(_import_file(store, histories, name, how))
            except ListensError as error:
                failures.append(error)
                done.append(ImportedFile(str(file), "failed", reason=str(error), path=str(file)))
            how.pace.end_file(file)
    if len(failures) == len(files):
        raise failures[0]
    return done


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Do not search for garbage: names stay until the end, and looking at all of them takes a tenth of an import."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _How(NamedTuple):
    """How files are imported: for whom, who is told, and what looks up names of songs that a playlist gives none."""

    user: str | None
    pace: "_Pace"
    note: Note
    file_names: FileNames | None


def _import_file(store: Store, histories: Sequence[ListenFile], name: str | None, how: _How) -> list[ImportedFile]:
    """Import the histories of a file, one for each kind; those without rows do not matter if others have some."""
    path = histories[0].path
    formats = [history.format for history in histories]
    name = name or str(path.absolute())
    if how.user is not None and how.user != DEFAULT_USER:
        name = f"{name} ({how.user})"  # two people may use one path in turn
    done: list[ImportedFile] = []
    failures: list[ListensError] = []
    for number, history in enumerate(histories):
        how.pace.begin(path, len(histories))
        what = history.format if formats.count(history.format) == 1 else f"{history.format} {history.kind}"
        title = f"{name} ({history.kind})" if number else name
        try:
            fingerprint = _fingerprint(path, what, how.user)
            done.append(_import_history(store, history, title, fingerprint, how))
            how.pace.end_history(done[-1].rows)
        except _NoRowsError as error:
            failures.append(error)
        except ListensError as error:
            if not done:
                raise
            done.append(ImportedFile(title, "failed", history.format, history.kind, reason=str(error)))
    if not done:
        raise failures[0]
    return [replace(file, path=str(path)) for file in done]


def is_history_of(name: str, kind: str, user: str) -> bool:
    """Return whether a history has the name of one that was imported for a user.

    >>> is_history_of("/a.zip (ann) (playlists)", "playlists", "ann"), is_history_of("/ann.csv", "events", "ann")
    (True, False)
    """
    ends = (f" ({user}) ({kind})",) if user == kind else (f" ({user})", f" ({user}) ({kind})")
    return name.endswith(ends)


def _import_history(store: Store, history: ListenFile, name: str, fingerprint: str, how: _How) -> ImportedFile:
    sources = store.listens.histories()
    same = next((source for source in sources if source.fingerprint == fingerprint), None)
    if same is not None:
        return ImportedFile(name, "known", same.format, same.kind, same.rows, source=same.id)
    earlier = [source for source in sources if source.name == name]
    return _copy_rows(store, history, name, fingerprint, earlier, how)


def _copy_rows(
    store: Store,
    history: ListenFile,
    name: str,
    fingerprint: str,
    earlier: Sequence[History],
    how: _How,
) -> ImportedFile:
    bad_rows, counts = _BadRows(how.note), RowCounts()
    writer = store.listens.begin(name, fingerprint, history.format, history.kind)
    try:
        rows = _write_blocks(writer, history, name, how, bad_rows, counts)
        is_first = writer.finish(replaced=[source.id for source in earlier])
    except BaseException:  # Ctrl-C too: remove the unfinished history
        store.listens.abandon(writer)
        raise
    bad_rows.summarise(history.path.name)
    if not is_first:  # another import has stored the same file meanwhile
        same = next((source for source in store.listens.histories() if source.fingerprint == fingerprint), None)
        return ImportedFile(name, "known", history.format, history.kind, rows, source=same.id if same else None)
    state = "replaced" if earlier else "imported"
    return ImportedFile(
        name=name,
        state=state,
        format=history.format,
        kind=history.kind,
        rows=rows,
        bad_rows=bad_rows.count,
        left_out=dict(counts.left_out),
        source=writer.source_id,
    )


def _write_blocks(
    writer: HistoryWriter,
    history: ListenFile,
    name: str,
    how: _How,
    bad_rows: "_BadRows",
    counts: RowCounts,
) -> int:
    """Write all blocks of a history and return the number of its rows; the next block is read meanwhile."""
    rows = 0
    playlists = _PlaylistNames(name)
    position = how.pace.position

    def blocks(check: Callable[[], None]) -> Iterator[ListenBlock]:
        def on_progress(done: int, total: int) -> None:
            check()
            position.reach(done, total, counts.read)  # in the thread that counts the rows, after those of these bytes

        return history.blocks(bad_rows, how.user, on_progress, how.file_names, counts)

    with ReadAhead(blocks, how.pace.show) as ahead:
        for block in ahead:
            if history.kind == "playlists":  # two folders may each have a "favourites"
                block = replace(block, users=playlists.of(block.users))
            writer.add(block)
            rows += len(block)
            how.pace.show()
    if not rows:
        what = "".join(f"; {n:,} rows are left out: {reason}" for reason, n in counts.left_out.items())
        raise _NoRowsError(f"{history.path} has no listens, so nothing was imported{what}.")
    return rows


class _PlaylistNames:
    """The playlists of a history, with its name before them; a list that grows, as that of the blocks does."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._playlists: Sequence[str] = ()
        self._names: list[str] = []

    def of(self, playlists: Sequence[str]) -> list[str]:
        if playlists is not self._playlists:
            self._playlists, self._names = playlists, []
        self._names.extend(f"{self._name}: {playlist}" for playlist in playlists[len(self._names) :])
        return self._names


class _Position:
    """How far one history is read: its share of the bytes, and the rows in them, always of the same moment."""

    def __init__(self, n_bytes: float) -> None:
        self.n_bytes = n_bytes
        self.reached = (0.0, 0)

    def reach(self, done: int, total: int, rows: int) -> None:
        """Note both at once: another thread reads them."""
        self.reached = (min(1.0, done / max(total, 1)) * self.n_bytes, rows)


class _Pace:
    """Estimates the rows of all files from those read so far, and reports both.

    Each history of a file reads all of it, so that its bytes are divided among them.
    """

    def __init__(self, progress: Progress, files: Sequence[Path]) -> None:
        self._progress = progress
        self._bytes_of = {file: max(_size(file), 1) for file in files}
        self._bytes_of_files = 0
        self._bytes_before: float = 0
        self._rows_before = 0
        self.position = _Position(0)

    def begin(self, file: Path, n_histories: int) -> None:
        """Note that one of the histories of a file is read next."""
        self.position = _Position(self._bytes_of[file] / n_histories)

    def show(self) -> None:
        """Report how far the current history is read."""
        n_bytes, rows = self.position.reached
        rows += self._rows_before
        share = (self._bytes_before + n_bytes) / sum(self._bytes_of.values())
        self._progress("reading listens", rows, max(rows, round(rows / share)) if share else 0)

    def end_history(self, rows: int) -> None:
        """Note that the current history is done."""
        self._bytes_before += self.position.n_bytes
        self._rows_before += rows
        self.position = _Position(0)

    def end_file(self, file: Path) -> None:
        """Note that a file is done, whether it could be read or not."""
        self._bytes_of_files += self._bytes_of[file]
        self._bytes_before = self._bytes_of_files
        self.position = _Position(0)
        self.show()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _BadRows:
    """Counts unreadable rows and notes the first few."""

    def __init__(self, note: Note) -> None:
        self.count = 0
        self._note = note
        self._first: list[str] = []

    def __call__(self, text: str) -> None:
        self.count += 1
        if self.count <= MAX_ROWS_NOTED:
            self._first.append(text)

    def summarise(self, file_name: str) -> None:
        for text in self._first:
            self._note(text)
        if self.count > MAX_ROWS_NOTED:
            self._note(f"{file_name}: {self.count:,} rows could not be read and were skipped.")


def _names_in_tags(path: str) -> tuple[str, str]:
    tags = read_tags(path)
    return tags.artist, tags.title


def _fingerprint(path: Path, format: str, user: str | None) -> str:
    """Return a hash of a file and of how it is read; a user who is named replaces the one in the file."""
    owner = DEFAULT_USER if user is None else f"named {user}"
    digest = hashlib.sha256(f"{format}|{owner}|".encode())
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ListensError(f"{path}: cannot be read ({error.strerror}); check the path.") from error
    return digest.hexdigest()
