"""Folders -> audio files with size and date, and what a file's content is known by."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nearsong.errors import InvalidInputError

_FORMATS = """
    aac aif aifc aiff alac ape au caf dsf flac m4a m4b mka mp2 mp3 mp4 mpc oga ogg opus spx tta wav wave webm wma wv
"""
ENDINGS = frozenset(f".{name}" for name in _FORMATS.split())
"""What an audio file's name ends in; what is inside is another matter."""

_NOT_LOOKED_INTO = frozenset(("$RECYCLE.BIN", "System Volume Information", "lost+found", "@eaDir", "#recycle"))
"""Folders in which systems and music servers keep things of their own."""

LATEST = (1 << 63) - 1
"""No date is later: databases hold 64 bits."""

_PIECES = 16
_PIECE = 1 << 16

Progress = Callable[[str, int, int], None]


class FoundFile(NamedTuple):
    """A file, its size in bytes and the date of its last change in nanoseconds since 1970."""

    path: str
    size: int
    modified: int


class Found(NamedTuple):
    """Audio files by path, and the folders and files that could not be looked into."""

    files: list[FoundFile]
    closed: list[str]


def walk(
    folders: Sequence[str | os.PathLike[str]], note: Callable[[str], None] = lambda text: None
) -> list[FoundFile]:
    """Find all audio files below folders; see :func:`find_files`."""
    return find_files(folders, note).files


def find_files(
    folders: Sequence[str | os.PathLike[str]],
    note: Callable[[str], None] = lambda text: None,
    progress: Progress = lambda stage, done, total: None,
) -> Found:
    """Find all audio files below folders.

    Parameters
    ----------
    folders : sequence of path-like
        Folders, or single files. Links are followed, but no folder is entered twice, and a link to a file that is
        found anyway is left out.
    note : callable
        Told what could not be looked into.
    progress : callable
        Told (stage, files found, 0).

    Returns
    -------
    Found
        Absolute paths, sorted. Hidden folders and files (a leading dot, as macOS's ``._`` twins have) are left out.

    Raises
    ------
    InvalidInputError
        If one of the folders is not there.
    """
    search = _Search(note, progress)
    for folder in folders:
        root = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        if os.path.isdir(root):
            search.below(root)
        elif os.path.isfile(root):
            search.add(root, os.stat(root))
        else:
            raise InvalidInputError(
                f"{printable(root)} is not there; give a folder of music (is the drive connected?)."
            )
    search.follow_links()
    return Found([search.files[path] for path in sorted(search.files)], sorted(search.closed))


class _Search:
    """Looks for files; what is a link waits, so that a file is known by its own path wherever it has one."""

    def __init__(self, note: Callable[[str], None], progress: Progress) -> None:
        self._note, self._progress = note, progress
        self.files: dict[str, FoundFile] = {}
        self.closed: list[str] = []
        self._visited: set[tuple[int, int]] = set()
        self._seen: set[tuple[int, int]] = set()
        self._linked_folders: list[str] = []
        self._linked_files: list[tuple[str, os.stat_result]] = []

    def below(self, root: str) -> None:
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            try:
                facts = os.stat(folder)
                if _is_in(facts, self._visited):
                    continue
                with os.scandir(folder) as entries:
                    names = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._cannot(folder, error)
                continue
            waiting.extend(reversed(list(self._sort(names))))
            self._progress("looking for music", len(self.files), 0)

    def _sort(self, entries: list[os.DirEntry[str]]) -> Iterator[str]:
        """Take the files of a folder and return its folders."""
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_LOOKED_INTO:
                continue
            try:
                if entry.is_symlink():
                    self._take_link(entry.path)
                elif entry.is_dir():
                    yield entry.path
                elif _is_named_like_audio(entry.name) and entry.is_file():
                    self.add(entry.path, entry.stat())
            except OSError as error:
                self._cannot(entry.path, error)

    def _take_link(self, path: str) -> None:
        try:
            facts = os.stat(path)
        except OSError:
            return  # leads nowhere, or in a circle
        if stat.S_ISDIR(facts.st_mode):
            self._linked_folders.append(path)
        elif stat.S_ISREG(facts.st_mode) and _is_named_like_audio(path):
            self._linked_files.append((path, facts))

    def follow_links(self) -> None:
        while self._linked_folders:
            folders, self._linked_folders = sorted(self._linked_folders), []
            for folder in folders:
                self.below(folder)
        for path, facts in sorted(self._linked_files, key=lambda file: file[0]):
            if not _is_in(facts, self._seen):
                self.add(path, facts)

    def add(self, path: str, facts: os.stat_result) -> None:
        _is_in(facts, self._seen)
        self.files[path] = FoundFile(path, facts.st_size, min(facts.st_mtime_ns, LATEST))

    def _cannot(self, path: str, error: OSError) -> None:
        self.closed.append(path)
        self._note(f"{printable(path)}: cannot be looked into ({error.strerror}).")


def _is_in(facts: os.stat_result, known: set[tuple[int, int]]) -> bool:
    """Say whether a file or folder is among those known, and add it; some systems do not number their files."""
    number = (facts.st_dev, facts.st_ino)
    if number in known:
        return number[1] != 0
    known.add(number)
    return False


def _is_named_like_audio(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in ENDINGS


def printable(path: str) -> str:
    """Return a path as it can be shown, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def content_key(path: str | os.PathLike[str]) -> str:
    """Return what a file is known by when it is moved: a hash of its size and of a million bytes all over it.

    Two pieces of music that agree in size and in sixteen pieces of 64 KiB are taken for the same; smaller files are
    read to the last byte.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(size.to_bytes(8, "little"))
        if size <= _PIECES * _PIECE:
            digest.update(file.read())
        else:
            for piece in range(_PIECES):
                file.seek(piece * (size - _PIECE) // (_PIECES - 1))
                digest.update(file.read(_PIECE))
    return digest.hexdigest()
