"""Folders that the operator allows -> those inside them, for who chooses music on the page.

Nothing else of the disk is shown: no files, nothing hidden, and nothing that a link leads to. Each part of a path is
opened inside the folder before it, so that a folder that is exchanged for a link meanwhile is not followed either.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unicodedata import category

from nearsong.library import ENDINGS
from nearsong.web.http.problems import ApiError

MAX_FOLDERS = 1_000
"""Folders that are listed."""

MAX_ENTRIES = 50_000
"""Entries of a folder that are read."""

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY")
)


@dataclass(frozen=True, kw_only=True)
class FolderListing:
    """What is in a folder.

    Attributes
    ----------
    path : str
    parent : str or None
        None if it is one of the allowed folders.
    folders : tuple of str
        Names of the folders in it, sorted.
    n_audio_files : int
        Files in it, not in the folders in it, that are named like audio.
    is_cut : bool
        Whether it has more than is listed.
    """

    path: str
    parent: str | None
    folders: tuple[str, ...]
    n_audio_files: int
    is_cut: bool


def list_folder(roots: Sequence[str], path: str) -> FolderListing:
    """Return what is in a folder within some others.

    Raises
    ------
    ApiError
        404 if there is none, it is hidden, it is elsewhere, or only a link leads there; the answer is the same.
    """
    with _opened(roots, path) as descriptor:
        names, n_audio_files, is_cut = _entries(descriptor, path)
    parent = None if path in roots else os.path.dirname(path)
    return FolderListing(
        path=path,
        parent=parent,
        folders=tuple(names[:MAX_FOLDERS]),
        n_audio_files=n_audio_files,
        is_cut=is_cut or len(names) > MAX_FOLDERS,
    )


def check_folder(roots: Sequence[str], path: str) -> str:
    """Return the path of a folder within some others; the same problem as :func:`list_folder` if it is none."""
    with _opened(roots, path):
        return path


def _entries(descriptor: int, path: str) -> tuple[list[str], int, bool]:
    """Return the names of folders, the number of audio files, and whether there were too many entries to read."""
    names: list[str] = []
    n_audio_files = 0
    try:
        with os.scandir(descriptor if os.scandir in os.supports_fd else path) as entries:
            for number, entry in enumerate(entries):
                if number >= MAX_ENTRIES:
                    return sorted(names, key=_alphabet), n_audio_files, True
                if _is_hidden(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif os.path.splitext(entry.name)[1].lower() in ENDINGS:
                    n_audio_files += 1
    except OSError:  # no permission, or the drive has gone
        raise _not_found(path) from None
    return sorted(names, key=_alphabet), n_audio_files, False


def _alphabet(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _is_hidden(name: str) -> bool:
    """Return whether a name is hidden, or cannot be told in JSON."""
    return name.startswith(".") or any(category(letter) in ("Cc", "Cs") for letter in name)


@contextmanager
def _opened(roots: Sequence[str], path: str) -> Iterator[int]:
    """Open a folder, without a link below the allowed folder that it is in."""
    root, parts = _split(roots, path)
    if os.open not in os.supports_dir_fd:  # Windows: links are looked for before, not while it is opened
        if os.path.realpath(path) != path or not os.path.isdir(path):
            raise _not_found(path)
        yield -1
        return
    try:
        descriptor = os.open(root, _FLAGS)
    except OSError:
        raise _not_found(path) from None
    try:
        for part in parts:
            try:
                inner = os.open(part, _FLAGS, dir_fd=descriptor)
            except OSError:
                raise _not_found(path) from None
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _split(roots: Sequence[str], path: str) -> tuple[str, list[str]]:
    """Return the allowed folder that a path is in, the longest if several, and the names below it."""
    inside = [root for root in roots if path == root or path.startswith(os.path.join(root, ""))]
    if "\0" in path or not inside or os.path.normpath(path) != path:
        raise _not_found(path)
    root = max(inside, key=len)
    parts = path[len(root) :].split(os.sep)
    names = [part for part in parts if part]
    if any(_is_hidden(name) for name in names):
        raise _not_found(path)
    return root, names


def _not_found(path: str) -> ApiError:
    shown = path if path.isprintable() and len(path) <= 300 else "this path"
    return ApiError(
        404, f"{shown} is not a folder that can be added from here; choose one of the list.", "no-such-folder"
    )
