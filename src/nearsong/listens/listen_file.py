"""Paths -> the listening histories there -> blocks of listens."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder, OnBadRow
from nearsong.listens.detection import READERS, detect_source, is_plausible, kind_of, members_of
from nearsong.listens.json_records import as_text, load_document
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import FileNames, Progress, SourceFile, zip_members
from nearsong.validation import check_choice

FORMATS = tuple(READERS)


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
    """

    path: Path
    format: str
    kind: str

    def blocks(
        self,
        on_bad_row: OnBadRow | None = None,
        user: str = "me",
        progress: Progress | None = None,
        file_names: FileNames | None = None,
    ) -> Iterator[ListenBlock]:
        """Read the history in blocks of at most ``BLOCK_ROWS`` rows; only one of them is in memory.

        Parameters
        ----------
        on_bad_row : callable or None
            Called with a one-line message for every unusable row: file, line and reason.
        user : str
            The user of rows that name none.
        progress : callable or None
            Called from time to time with the amount read and the total, in bytes or rows.
        file_names : callable or None
            Path of an audio file -> artist and title from its tags, for local songs of a playlist.

        Yields
        ------
        ListenBlock

        Raises
        ------
        ListensError
            If the file is truncated or damaged, or most of its first rows are unusable. Blocks may have been yielded
            before; the caller has to discard them.
        """
        builder = BlockBuilder(on_bad_row)
        source = SourceFile(self.path, progress=progress, file_names=file_names)
        if _is_zip(self.path):
            user = _user_of_zip(source) or user
            parts = [(part, format) for part, format, _ in members_of(source, self.format)]
        else:
            parts = [(source, self.format)]
        for part, format in parts:
            yield from READERS[format](part, builder, user)
        yield from builder.finish()


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


def open_listens(path: str | os.PathLike[str], format: str | None = None) -> ListenFile:
    r"""Open a listening history in one of ``FORMATS``; None detects it, by its content first and its ending second.

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
    path = Path(path)
    source = SourceFile(path)
    if format is not None:
        check_choice(format, "format", FORMATS)
    if path.is_dir():
        raise ListensError(f"{path} is a folder; find_listen_files lists the files in it.")
    if _is_zip(path):
        _, found, kind = members_of(source, format)[0]
        format = format or found
    elif format is None:
        format, kind = detect_source(source)
    else:
        kind = kind_of(source, format)
    return ListenFile(path, format, kind)


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if is_plausible(name) and not name.startswith("."):
                yield Path(parent, name)


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError as error:
        raise ListensError(f"{path} cannot be read ({error.strerror or error}).") from error


def _user_of_zip(source: SourceFile) -> str:
    """Return the user named in ListenBrainz's ``user.json``; empty if there is none."""
    if "user.json" not in zip_members(source):
        return ""
    facts = load_document(source.with_member("user.json"))
    return as_text(facts.get("username")) if isinstance(facts, dict) else ""
