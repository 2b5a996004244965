"""Files of listening histories -> histories in the library; a file that was imported before is skipped."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearsong.audio.tags import read_tags
from nearsong.errors import ListensError
from nearsong.library.store import History, HistoryWriter, Store
from nearsong.listens import ListenFile, find_listen_files, open_listens
from nearsong.temporary import remove_leftovers
from nearsong.types import Note, Progress

Count = Callable[[int], None]

DEFAULT_USER = "me"
"""The listener of histories that name none."""

MAX_ROWS_NOTED = 3
"""Unreadable rows that are noted one by one; beyond, their number."""


@dataclass(frozen=True)
class ImportedFile:
    """Result of importing one file.

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
    source : int or None
        Id of the history in the library.
    reason : str
        Error message, if it failed.
    """

    name: str
    state: str
    format: str = ""
    kind: str = ""
    rows: int = 0
    bad_rows: int = 0
    source: int | None = None
    reason: str = ""


def import_listens(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    user: str = DEFAULT_USER,
    name: str | None = None,
    progress: Progress = lambda stage, done, total: None,
    note: Note = lambda text: None,
) -> list[ImportedFile]:
    """Read listening histories into the library.

    Parameters
    ----------
    store : Store
    paths : iterable of path-like
        Files and folders, of any mix of formats.
    format : str, optional
        Format of the files; by default detected for each file.
    user : str
        The listener of rows that name no user.
    name : str, optional
        Name of the history, for a single file; a later import of the same name replaces it. By default its path.
    progress : callable
        Called with (stage, rows read, 0); the total is not known.
    note : callable
        Called with a message about rows that cannot be read.

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

    def count(rows: int) -> None:
        progress("reading listens", rows + sum(file.rows for file in done), 0)

    for file in files:
        try:
            done.append(_import_file(store, file, format, user, name, count, note))
        except ListensError as error:
            failures.append(error)
            done.append(ImportedFile(str(file), "failed", reason=str(error)))
    if len(failures) == len(files):
        raise failures[0]
    return done


def _import_file(
    store: Store, path: Path, format: str | None, user: str, name: str | None, count: Count, note: Note
) -> ImportedFile:
    history = open_listens(path, format)
    fingerprint = _fingerprint(path, history.format, user)
    name = (name or str(path.absolute())) + (
        "" if user == DEFAULT_USER else f" ({user})"
    )  # two people may use one path in turn
    sources = store.listens.histories()
    same = next((source for source in sources if source.fingerprint == fingerprint), None)
    if same is not None:
        return ImportedFile(name, "known", same.format, same.kind, same.rows, source=same.id)
    earlier = [source for source in sources if source.name == name]
    return _copy_rows(store, history, name, fingerprint, earlier, user, count, note)


def _copy_rows(
    store: Store,
    history: ListenFile,
    name: str,
    fingerprint: str,
    earlier: Sequence[History],
    user: str,
    count: Count,
    note: Note,
) -> ImportedFile:
    bad_rows = _BadRows(note)
    writer = store.listens.begin(name, fingerprint, history.format, history.kind)
    try:
        rows = _write_blocks(writer, history, name, user, count, bad_rows)
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
        source=writer.source_id,
    )


def _write_blocks(
    writer: HistoryWriter, history: ListenFile, name: str, user: str, count: Count, bad_rows: "_BadRows"
) -> int:
    """Write all blocks of a history and return the number of its rows."""
    rows = 0
    for block in history.blocks(on_bad_row=bad_rows, user=user, file_names=_names_in_tags):
        if history.kind == "playlists":  # two folders may each have a "favourites"
            block = replace(block, users=[f"{name}: {playlist}" for playlist in block.users])
        writer.add(block)
        rows += len(block)
        count(rows)
    if not rows:
        raise ListensError(f"{history.path} has no listens; nothing was imported.")
    return rows


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


def _fingerprint(path: Path, format: str, user: str) -> str:
    digest = hashlib.sha256(f"{format}|{user}|".encode())
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ListensError(f"{path}: cannot be read ({error.strerror}); check the path.") from error
    return digest.hexdigest()
