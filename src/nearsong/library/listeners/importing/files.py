"""Files of listening histories -> histories in the library; a file that was imported before is skipped."""

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nearsong.audio.tags import read_tags
from nearsong.errors import ListensError
from nearsong.library.listeners.importing.history import (
    ImportedFile,
    NoRowsError,
    fingerprint_of,
    report_of,
    title_of,
    write_blocks,
)
from nearsong.library.listeners.importing.partitioned import import_table
from nearsong.library.listeners.importing.progress import BadRows, How, Pace
from nearsong.library.store import History, Store
from nearsong.listens import ListenFile, PartitionedTable, RowCounts, find_histories, open_histories
from nearsong.temporary import remove_leftovers
from nearsong.types import Note, Progress

__all__ = ["ImportedFile", "import_listens"]


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
        Files, folders and patterns, of any mix of formats. The parts of a table in a folder are one history.
    format : str, optional
        Format of the files; by default detected for each file.
    user : str, optional
        The listener, whatever name a file has; by default that in the file, or else ``me``. A file with
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
    found = find_histories([Path(path) for path in paths])
    if not found:
        raise ListensError("no listening history found; give CSV, TSV, Parquet, JSON, M3U or JSPF files.")
    store.listens.sweep()
    done: list[ImportedFile] = []
    failures: list[ListensError] = []
    files = [file for history in found for file in _files_of(history)]
    how = How(user, Pace(progress, files), note, _names_in_tags if reads_songs else None)
    with _no_garbage_collection():
        for history in found:
            try:
                done.extend(_import_found(store, history, format, max_bytes, name, how))
            except ListensError as error:
                path = str(history.path if isinstance(history, PartitionedTable) else history)
                failures.append(error)
                done.append(ImportedFile(path, "failed", reason=str(error), path=path))
            how.pace.end_files(_files_of(history))
    if len(failures) == len(found):
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


def _files_of(history: Path | PartitionedTable) -> Sequence[Path]:
    return history.parts if isinstance(history, PartitionedTable) else [history]


def _import_found(
    store: Store,
    history: Path | PartitionedTable,
    format: str | None,
    max_bytes: int | None,
    name: str | None,
    how: How,
) -> list[ImportedFile]:
    if isinstance(history, PartitionedTable):
        return [import_table(store, history, history.open(format, how.user, max_bytes), name, how)]
    return _import_file(store, open_histories(history, format, max_bytes), name, how)


def _import_file(store: Store, histories: Sequence[ListenFile], name: str | None, how: How) -> list[ImportedFile]:
    """Import the histories of a file, one for each kind; those without rows do not matter if others have some."""
    path = histories[0].path
    formats = [history.format for history in histories]
    name = title_of(name, path, how.user)
    done: list[ImportedFile] = []
    failures: list[ListensError] = []
    for number, history in enumerate(histories):
        how.pace.begin(path, len(histories))
        what = history.format if formats.count(history.format) == 1 else f"{history.format} {history.kind}"
        title = f"{name} ({history.kind})" if number else name
        try:
            fingerprint = fingerprint_of(path, what, how.user)
            done.append(_import_history(store, history, title, fingerprint, how))
            how.pace.end_history(done[-1].rows)
        except NoRowsError as error:
            failures.append(error)
        except ListensError as error:
            if not done:
                raise
            done.append(ImportedFile(title, "failed", history.format, history.kind, reason=str(error)))
    if not done:
        raise failures[0]
    return [replace(file, path=str(path)) for file in done]


def _import_history(store: Store, history: ListenFile, name: str, fingerprint: str, how: How) -> ImportedFile:
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
    how: How,
) -> ImportedFile:
    bad_rows, counts = BadRows(how.note), RowCounts()
    writer = store.listens.begin(name, fingerprint, history.format, history.kind)
    try:
        rows = write_blocks(writer, history, name, how, bad_rows, counts)
        is_first = writer.finish(replaced=[source.id for source in earlier])
    except BaseException:  # Ctrl-C too: remove the unfinished history
        store.listens.abandon(writer)
        raise
    bad_rows.summarise(history.path.name)
    imported = ImportedFile(
        name=name,
        state="replaced" if earlier else "imported",
        format=history.format,
        kind=history.kind,
        rows=rows,
        bad_rows=bad_rows.count,
        left_out=dict(counts.left_out),
        source=writer.source_id,
    )
    return report_of(store, imported, fingerprint, is_first=is_first)


def _names_in_tags(path: str) -> tuple[str, str]:
    tags = read_tags(path)
    return tags.artist, tags.title
