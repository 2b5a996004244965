"""Folders -> audio files with size and date; a file -> a hash of its content."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nearsong.errors import InvalidInputError
from nearsong.guarded_file import open_regular
from nearsong.library.files.storage import files_below
from nearsong.path_names import is_remote
from nearsong.types import Progress

_FORMATS = """
    aac aif aifc aiff alac ape au caf dsf flac m4a m4b mka mp2 mp3 mp4 mpc oga ogg opus spx tta wav wave webm wma wv
"""
ENDINGS = frozenset(f".{name}" for name in _FORMATS.split())
"""File name extensions of audio files; the content is checked later."""

_IGNORED_FOLDERS = frozenset(("$RECYCLE.BIN", "System Volume Information", "lost+found", "@eaDir", "#recycle"))
"""Folders of operating systems and music servers that are skipped."""

MAX_MODIFIED_NS = (1 << 63) - 1
"""Latest date that is stored: databases hold 64-bit signed integers."""

_HASHED_PIECES = 16
_PIECE_BYTES = 1 << 16


class FoundFile(NamedTuple):
    """A file, its size in bytes and its modification time in nanoseconds since 1970."""

    path: str
    size: int
    modified: int


class Found(NamedTuple):
    """Audio files by path, and the folders and files that could not be read."""

    files: list[FoundFile]
    inaccessible: list[str]


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
        Folders, or single files, here or as URLs of shared storage. Symbolic links are followed, but no folder is
        visited twice, and a link to a file that is also found under its own path is left out.
    note : callable
        Called with a message for each folder or file that could not be read.
    progress : callable
        Called with (stage, files found, 0).

    Returns
    -------
    Found
        Absolute paths, sorted. Hidden folders and files (a leading dot, such as macOS's ``._`` files) are left out.

    Raises
    ------
    InvalidInputError
        If one of the folders does not exist.
    """
    search = _Search(note, progress)
    for folder in folders:
        if isinstance(folder, str) and is_remote(folder):
            search.add_remote(folder)
            continue
        root = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        if os.path.isdir(root):
            search.search(root)
        elif os.path.isfile(root):
            search.add(root, os.stat(root))
        else:
            raise InvalidInputError(
                f"Folder not found: {printable(root)}. Check its name and that the drive is connected."
            )
    search.follow_links()
    return Found([search.files[path] for path in sorted(search.files)], sorted(search.inaccessible))


class _Search:
    """Walks folders; links are followed last, so that a file is listed under its own path if that is scanned too."""

    def __init__(self, note: Callable[[str], None], progress: Progress) -> None:
        self._note, self._progress = note, progress
        self.files: dict[str, FoundFile] = {}
        self.inaccessible: list[str] = []
        self._visited: set[tuple[int, int]] = set()
        self._seen: set[tuple[int, int]] = set()
        self._linked_folders: list[str] = []
        self._linked_files: list[tuple[str, os.stat_result]] = []

    def search(self, root: str) -> None:
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
                self._add_unreadable(folder, error)
                continue
            waiting.extend(reversed(list(self._sort(names))))
            self._progress("looking for music", len(self.files), 0)

    def _sort(self, entries: list[os.DirEntry[str]]) -> Iterator[str]:
        """Add the audio files among the entries of a folder and yield its subfolders."""
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _IGNORED_FOLDERS:
                continue
            try:
                if entry.is_symlink():
                    self._take_link(entry.path)
                elif entry.is_dir():
                    yield entry.path
                elif _is_named_like_audio(entry.name) and entry.is_file():
                    self.add(entry.path, entry.stat())
            except OSError as error:
                self._add_unreadable(entry.path, error)

    def _take_link(self, path: str) -> None:
        try:
            facts = os.stat(path)
        except OSError:
            return  # broken or circular link
        if stat.S_ISDIR(facts.st_mode):
            self._linked_folders.append(path)
        elif stat.S_ISREG(facts.st_mode) and _is_named_like_audio(path):
            self._linked_files.append((path, facts))

    def follow_links(self) -> None:
        while self._linked_folders:
            folders, self._linked_folders = sorted(self._linked_folders), []
            for folder in folders:
                self.search(folder)
        for path, facts in sorted(self._linked_files, key=lambda file: file[0]):
            if not _is_in(facts, self._seen):
                self.add(path, facts)

    def add(self, path: str, facts: os.stat_result) -> None:
        _is_in(facts, self._seen)
        self.files[path] = FoundFile(path, facts.st_size, min(facts.st_mtime_ns, MAX_MODIFIED_NS))

    def add_remote(self, url: str) -> None:
        """Add the audio files below a URL, without those that are hidden or in folders that are left out."""
        for path, size, modified in files_below(url):
            names = path.removeprefix(url).split("/")
            is_left_out = any(name.startswith(".") or name in _IGNORED_FOLDERS for name in names)
            if _is_named_like_audio(path) and not is_left_out:
                self.files[path] = FoundFile(path, size, modified)
        self._progress("looking for music", len(self.files), 0)

    def _add_unreadable(self, path: str, error: OSError) -> None:
        self.inaccessible.append(path)
        self._note(f"{printable(path)}: cannot be read ({error.strerror}).")


def _is_in(facts: os.stat_result, known: set[tuple[int, int]]) -> bool:
    """Return whether a file or folder is known, and add it; inode 0 means that the system has no inodes."""
    number = (facts.st_dev, facts.st_ino)
    if number in known:
        return number[1] != 0
    known.add(number)
    return False


def _is_named_like_audio(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in ENDINGS


def printable(path: str) -> str:
    """Return a path as printable text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def content_key(path: str | os.PathLike[str]) -> str:
    """Return a hash by which a moved file is recognised: of its size and of 1 MiB sampled across it.

    Files of the same size that agree in sixteen pieces of 64 KiB are considered identical; files of up to 1 MiB are
    hashed completely.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(size.to_bytes(8, "little"))
        if size <= _HASHED_PIECES * _PIECE_BYTES:
            digest.update(file.read(size))
        else:
            for piece in range(_HASHED_PIECES):
                file.seek(piece * (size - _PIECE_BYTES) // (_HASHED_PIECES - 1))
                digest.update(file.read(_PIECE_BYTES))
    return digest.hexdigest()
