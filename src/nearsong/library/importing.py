"""Files of listening histories -> the library; the same file twice counts once."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearsong.errors import ListensError
from nearsong.library.listens import ListenFile, find_listen_files, open_listens
from nearsong.library.store import Source, Store

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]
Count = Callable[[int], None]

ME = "me"
"""Who listens when a history does not say."""


@dataclass(frozen=True)
class ImportedFile:
    """What became of a file.

    Attributes
    ----------
    name : str
        Its path.
    state : str
        ``imported``; ``replaced``, when an earlier version of the same path was there; ``known``, when it was
        imported before; ``failed``.
    format, kind : str
        What it was read as.
    rows, bad_rows : int
        Rows that count, and rows that could not be read.
    source : int or None
        Its id in the library.
    reason : str
        Why it failed.
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
    user: str = ME,
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
        What they are; by default each file is looked at.
    user : str
        Whose they are, where a file does not say.
    name : str, optional
        What a single file is called and, in a later version, recognised by; by default its path.
    progress : callable
        Told (stage, rows read, 0): how many there will be is not known.
    note : callable
        Told about rows that cannot be read.

    Returns
    -------
    list of ImportedFile

    Raises
    ------
    ListensError
        If nothing at all could be read. Files beside others that could are reported as failed instead.
    """
    files = find_listen_files([Path(path) for path in paths])
    if not files:
        raise ListensError("no listening history was found there; give CSV, TSV, Parquet, JSON, M3U or JSPF files.")
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
        "" if user == ME else f" ({user})"
    )  # two people may use one path in turn
    sources = store.listens.sources()
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
    earlier: Sequence[Source],
    user: str,
    count: Count,
    note: Note,
) -> ImportedFile:
    bad: list[str] = []

    def on_bad_row(text: str) -> None:
        bad.append(text) if len(bad) < 3 else bad.append("")

    writer = store.listens.begin(name, fingerprint, history.format, history.kind)
    rows = 0
    try:
        for block in history.blocks(on_bad_row=on_bad_row, user=user):
            if history.kind == "playlists":  # two folders may each have a "favourites"
                block = replace(block, users=[f"{name}: {playlist}" for playlist in block.users])
            writer.add(block)
            rows += len(block)
            count(rows)
        if not rows:
            raise ListensError(f"{history.path}: holds no listens; nothing was imported.")
        came_first = writer.finish(replaced=[source.id for source in earlier])
    except BaseException:  # Ctrl-C too: what was begun is taken back
        store.listens.abandon(writer)
        raise
    for text in [text for text in bad if text]:
        note(text)
    if len(bad) > 3:
        note(f"{history.path.name}: {len(bad):,} rows could not be read and were left out.")
    if not came_first:  # another import has brought in the same file meanwhile
        same = next((source for source in store.listens.sources() if source.fingerprint == fingerprint), None)
        return ImportedFile(name, "known", history.format, history.kind, rows, source=same.id if same else None)
    state = "replaced" if earlier else "imported"
    return ImportedFile(name, state, history.format, history.kind, rows, len(bad), writer.source_id)


def _fingerprint(path: Path, format: str, user: str) -> str:
    digest = hashlib.sha256(f"{format}|{user}|".encode())
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ListensError(f"{path}: cannot be read ({error.strerror}); check the path.") from error
    return digest.hexdigest()
