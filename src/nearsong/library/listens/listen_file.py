"""Paths -> the listening histories there -> blocks of listens."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nearsong.errors import ListensError
from nearsong.library.listens.blocks import BlockBuilder, OnBadRow
from nearsong.library.listens.detection import READERS, detect_source, is_plausible, kind_of, members_of
from nearsong.library.listens.json_records import as_text, load_whole
from nearsong.library.listens.sources import Progress, Source, zip_members
from nearsong.library.records import ListenBlock
from nearsong.validation import check_choice

FORMATS = tuple(READERS)


@dataclass(frozen=True)
class ListenFile:
    """A file that holds a listening history.

    Attributes
    ----------
    path : Path
        The file, maybe packed (gzip), or a zip of such files.
    format : str
        One of ``FORMATS``; for a zip, the format of the files in it.
    kind : str
        ``"counts"``: who played what how often; ``"events"``: single listens with their time; ``"playlists"``.
    """

    path: Path
    format: str
    kind: str

    def blocks(
        self, on_bad_row: OnBadRow | None = None, user: str = "me", progress: Progress | None = None
    ) -> Iterator[ListenBlock]:
        """Read the history in blocks of at most ``BLOCK_ROWS`` rows; only one of them is in memory.

        Parameters
        ----------
        on_bad_row : callable or None
            Called with one line for every row that cannot be used: file, line and what is wrong.
        user : str
            Whose listens they are where the file does not say it.
        progress : callable or None
            Called now and then with how much has been read and how much there is, in bytes or rows.

        Yields
        ------
        ListenBlock

        Raises
        ------
        ListensError
            If the file is cut or damaged, or most of its first rows cannot be used. Blocks may have come before: a
            caller that keeps them has to take them back.
        """
        builder = BlockBuilder(on_bad_row)
        source = Source(self.path, progress=progress)
        if _is_zip(self.path):
            user = _user_of_zip(source) or user
            parts = [(part, format) for part, format, _ in members_of(source, self.format)]
        else:
            parts = [(source, self.format)]
        for part, format in parts:
            yield from READERS[format](part, builder, user)
        yield from builder.finish()


def find_listen_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files at these paths that may hold listening histories.

    Parameters
    ----------
    paths : iterable of Path
        Files, taken as they are, and folders, searched with all folders in them for files with a known ending;
        hidden ones are skipped.

    Returns
    -------
    list of Path
        Each file once, a folder's in the order of their names. ``detect`` tells which are what they seem to be.

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
            raise ListensError(f"{path} does not exist; give a file or a folder with listening histories.")
    return list(found)


def detect(path: str | os.PathLike[str]) -> ListenFile:
    r"""Tell which listening history a file is, by its content first and its ending second.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ListenFile

    Raises
    ------
    ListensError
        If it is empty, unreadable or none of the known forms.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plays.csv"
    ...     _ = path.write_text("user,artist,plays\nann,The Beatles,12\n")
    ...     history = detect(path)
    ...     (block,) = history.blocks()
    >>> history.format, history.kind
    ('csv', 'counts')
    >>> block.users, block.heard[0].artist, block.plays
    (['ann'], 'The Beatles', array([12.], dtype=float32))
    """
    return open_listens(path)


def open_listens(path: str | os.PathLike[str], format: str | None = None) -> ListenFile:
    """Open a listening history in a format that is known, or detected if it is not.

    Parameters
    ----------
    path : path-like
    format : str or None
        One of ``FORMATS``.

    Returns
    -------
    ListenFile
    """
    path = Path(path)
    source = Source(path)
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


def _user_of_zip(source: Source) -> str:
    """Return the user that ListenBrainz names in ``user.json``, empty if there is none."""
    if "user.json" not in zip_members(source):
        return ""
    said = load_whole(source.with_member("user.json"))
    return as_text(said.get("username")) if isinstance(said, dict) else ""
