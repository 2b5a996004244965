"""Paths -> the listening histories there -> blocks of listens."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder, OnBadRow, RowCounts
from nearsong.listens.detection import Part, columns_of, detect_source, is_plausible, kind_of, members_of
from nearsong.listens.formats.registry import LISTEN_FORMATS
from nearsong.listens.json_records import as_text, load_document
from nearsong.listens.records import DEFAULT_USER, ListenBlock
from nearsong.listens.sources import FileNames, Progress, SourceFile, Unpacked, opened_zip, zip_members
from nearsong.validation import check_choice

FORMATS = tuple(LISTEN_FORMATS)

_NAMELESS_USER = "(the owner of this file)"
_HIDDEN_LOG = ".scrobbler.log"  # as players name it


@dataclass(frozen=True)
class ListenFile:
    """A file with a listening history.

    Attributes
    ----------
    path : Path
        The file, which may be gzipped, or a zip of such files.
    format : str
        One of ``FORMATS``; for a zip, the format of the files in it.
    kind : str
        ``"counts"``: who played what how often; ``"events"``: single listens with their time; ``"playlists"``.
    members : sequence of (str, str)
        The names and formats of the histories in a zip; empty if they have to be detected.
    max_bytes : int or None
        What an archive may unpack to.
    owner : str
        The user of rows that name none.
    """

    path: Path
    format: str
    kind: str
    members: Sequence[tuple[str, str]] = field(default=(), repr=False, compare=False)
    max_bytes: int | None = field(default=None, repr=False, compare=False)
    owner: str = DEFAULT_USER

    def blocks(
        self,
        on_bad_row: OnBadRow | None = None,
        user: str | None = None,
        progress: Progress | None = None,
        file_names: FileNames | None = None,
        counts: RowCounts | None = None,
    ) -> Iterator[ListenBlock]:
        """Read the history in blocks of at most ``BLOCK_ROWS`` rows; only one of them is in memory.

        Parameters
        ----------
        on_bad_row : callable or None
            Called with a one-line message for every unusable row: file, line and reason.
        user : str, optional
            The user of all rows, whatever name the file has; by default that in the file, or else ``owner``.
        progress : callable or None
            Called from time to time with the amount read and the total, in bytes or rows.
        file_names : callable or None
            Path of an audio file -> artist and title from its tags, for local songs of a playlist.
        counts : RowCounts, optional
            Where the rows are counted: read, left out and unreadable.

        Yields
        ------
        ListenBlock

        Raises
        ------
        ListensError
            If the file is truncated or damaged, or most of its first rows are unusable, or it has listens of several
            users and one is given. Blocks may have been yielded before; the caller has to discard them.
        """
        builder = BlockBuilder(on_bad_row, counts)
        unpacked = Unpacked(self.max_bytes)
        source = SourceFile(self.path, progress=progress, file_names=file_names, unpacked=unpacked)
        owner = self.owner if user is None else _NAMELESS_USER
        blocks = chain(self._read(source, builder, owner), builder.finish())
        yield from blocks if user is None or self.kind == "playlists" else _as_user(blocks, user, self.path)

    def _read(self, source: SourceFile, builder: BlockBuilder, owner: str) -> Iterator[ListenBlock]:
        """Read the file, or the files of a zip; rows that name no user are of ``owner``."""
        if not _is_zip(self.path):
            yield from LISTEN_FORMATS[self.format].read(source, builder, owner)
            return
        with opened_zip(source) as archive:
            if owner == DEFAULT_USER:
                owner = _user_of_zip(archive) or owner
            for name, format in self.members or self._members(archive):
                yield from LISTEN_FORMATS[format].read(archive.with_member(name), builder, owner)

    def _members(self, archive: SourceFile) -> list[tuple[str, str]]:
        return [(part.member, format) for part, format, _ in members_of(archive, self.format, self.kind)]

    @property
    def losses(self) -> tuple[str, ...]:
        """What cannot be learned from a table, since it lacks columns: sentences for the user."""
        source = SourceFile(self.path)
        if _is_zip(self.path):
            with opened_zip(source) as archive:
                columns = columns_of(archive.with_member(self._members(archive)[0][0]), self.format)
        else:
            columns = columns_of(source, self.format)
        if columns is None:
            return ()
        losses = []
        if columns.title is None:
            losses.append("no titles, so that only artists can be matched")
        if columns.time is None and columns.plays is None and not columns.playlists:
            losses.append("no times or counts, so that each row is one play, and there are no sessions")
        return tuple(losses)


def _as_user(blocks: Iterable[ListenBlock], user: str, path: Path) -> Iterator[ListenBlock]:
    """Yield blocks with one user instead of the one that the file names."""
    names: dict[str, None] = {}
    for block in blocks:
        names.update(dict.fromkeys(name for name in block.users if name != _NAMELESS_USER))
        if len(names) > 1:
            first, second = list(names)[:2]
            raise ListensError(
                f"{path} has listens of several users ({first}, {second} ...), so that they cannot all be of {user}; "
                "import it without naming a user."
            )
        yield replace(block, users=[user], user=np.zeros_like(block.user))


def find_listen_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files at these paths that may be listening histories.

    Parameters
    ----------
    paths : iterable of Path
        Files, which are always included, and folders, which are searched recursively for files with a known
        extension; hidden files are skipped.

    Returns
    -------
    list of Path
        Each file once, a folder's in the order of their names. ``open_listens`` tells which are what they seem to be.

    Raises
    ------
    ListensError
        If a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found.update(dict.fromkeys(_files_below(path)))
        elif path.exists():
            found[path] = None
        else:
            raise ListensError(f"File not found: {path}. Give a listening history or a folder of them.")
    return list(found)


def open_listens(path: str | os.PathLike[str], format: str | None = None, max_bytes: int | None = None) -> ListenFile:
    r"""Open a listening history in one of ``FORMATS``; None detects it, by its content first and its ending second.

    If the file holds several kinds, this is the most useful one: events, else counts; ``open_histories`` gives all.
    An archive may unpack to ``max_bytes``.

    Raises
    ------
    ListensError
        If it is empty, unreadable or in an unknown format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plays.csv"
    ...     _ = path.write_text("user,artist,plays\nann,The Beatles,12\n")
    ...     history = open_listens(path)
    ...     (block,) = history.blocks()
    >>> history.format, history.kind
    ('csv', 'counts')
    >>> block.users, block.tracks[0].artist, block.plays
    (['ann'], 'The Beatles', array([12.], dtype=float32))
    """
    return open_histories(path, format, max_bytes)[0]


def open_histories(
    path: str | os.PathLike[str], format: str | None = None, max_bytes: int | None = None
) -> list[ListenFile]:
    """Open all histories of a file, one for each kind: a zip or a library may hold listens, counts and playlists.

    Parameters
    ----------
    path : path-like
    format : str, optional
        One of ``FORMATS``, which has one kind; by default detected.
    max_bytes : int, optional
        What an archive may unpack to.

    Raises
    ------
    ListensError
        As ``open_listens``.
    """
    path = Path(path)
    source = SourceFile(path, unpacked=Unpacked(max_bytes))
    if format is not None:
        check_choice(format, "format", FORMATS)
    if path.is_dir():
        raise ListensError(f"{path} is a folder; find_listen_files lists the files in it.")
    parts: list[Part] = []
    if _is_zip(path):
        with opened_zip(source) as archive:
            parts = members_of(archive, format)
        found = [(format or name, kind) for _, name, kind in parts]
    else:
        found = detect_source(source) if format is None else [(format, kind_of(source, format))]
    first_of: dict[str, str] = {}
    for name, kind in found:
        first_of.setdefault(kind, name)
    return [
        ListenFile(
            path=path,
            format=name,
            kind=kind,
            members=[(part.member, read_as) for part, read_as, other in parts if other == kind],
            max_bytes=max_bytes,
        )
        for kind, name in first_of.items()
    ]


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name == _HIDDEN_LOG or (is_plausible(name) and not name.startswith(".")):
                yield Path(parent, name)


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError as error:
        raise ListensError(f"{path} cannot be read ({error.strerror or error}).") from error


def _found(archive: SourceFile, format: str) -> list[tuple[str, str]]:
    return [(part.member, found) for part, found, _ in members_of(archive, format)]


def _user_of_zip(source: SourceFile) -> str:
    """Return the user named in ListenBrainz's ``user.json``; empty if there is none."""
    if "user.json" not in zip_members(source):
        return ""
    facts = load_document(source.with_member("user.json"))
    return as_text(facts.get("username")) if isinstance(facts, dict) else ""
