"""A listening history -> its rows in the library, and what is reported of it."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nearsong.errors import ListensError
from nearsong.library.listeners.importing.progress import BadRows, How
from nearsong.library.listeners.read_ahead import ReadAhead
from nearsong.library.store import HistoryWriter, Store
from nearsong.listens import DEFAULT_USER, ListenBlock, ListenFile, RowCounts


class NoRowsError(ListensError):
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


def title_of(name: str | None, path: Path, user: str | None) -> str:
    """Return the name of a history, by default its path; two people may use one path in turn."""
    name = name or str(path.absolute())
    return name if user is None or user == DEFAULT_USER else f"{name} ({user})"


def report_of(store: Store, imported: ImportedFile, fingerprint: str, *, is_first: bool) -> ImportedFile:
    """Return the report of a history that was written, unless another import has stored the same one meanwhile."""
    if is_first:
        return imported
    same = next((source for source in store.listens.histories() if source.fingerprint == fingerprint), None)
    return ImportedFile(
        name=imported.name,
        state="known",
        format=imported.format,
        kind=imported.kind,
        rows=imported.rows,
        source=same.id if same else None,
        path=imported.path,
    )


def write_blocks(
    writer: HistoryWriter,
    history: ListenFile,
    name: str,
    how: How,
    bad_rows: BadRows,
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
        raise NoRowsError(f"{history.path} has no listens, so nothing was imported{what}.")
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


def fingerprint_of(path: Path, format: str, user: str | None) -> str:
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
