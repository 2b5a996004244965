"""A path -> a regular file, open for reading: the one door to files that strangers may have written.

Sound, tags and pictures are opened here. Opening never waits, for example for somebody to write into a pipe, and all
checks are made on the open descriptor: what a path leads to may change between two looks at it. A file that one
process checks and another reads is opened twice; its identity tells whether both have the same file.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from io import FileIO
from typing import NamedTuple

Path = str | os.PathLike[str]

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))


class FileIdentity(NamedTuple):
    """Identifies an open file and its state: device, inode, bytes, modification time in ns."""

    device: int
    inode: int
    size: int
    modified: int


def identity_of(file: FileIO) -> FileIdentity:
    """Return the identity of an open file."""
    return _identity(os.fstat(file.fileno()))


def _identity(facts: os.stat_result) -> FileIdentity:
    return FileIdentity(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def open_regular(path: Path, identity: FileIdentity | None = None) -> FileIO:
    """Open a regular file.

    Parameters
    ----------
    path : path-like
    identity : FileIdentity, optional
        Of the file when it was opened before.

    Returns
    -------
    FileIO
        Positioned at the start; the caller closes it.

    Raises
    ------
    OSError
        If the path cannot be opened or leads to a folder, a pipe or a device; with ``errno.ESTALE`` if it leads to
        another file than the one with this identity, or if that has changed.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error), os.fspath(path)) from error
    try:
        facts = os.fstat(descriptor)
        if identity is not None and _identity(facts) != identity:
            raise OSError(errno.ESTALE, "it was replaced or changed", os.fspath(path))
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        return FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def leads_within(file: FileIO, path: str, folders: Callable[[], Iterable[str]]) -> bool:
    """Return whether a path led to an open file without a link, or only by links that stay within some folders.

    Parameters
    ----------
    file : FileIO
        The file that was opened under the path.
    path : str
    folders : callable
        Returns the folders; called only if the path has links.
    """
    real = os.path.realpath(path)
    return _is_at(real, file) and (real == path or any(_is_below(real, folder) for folder in folders()))


def _is_at(path: str, file: FileIO) -> bool:
    """Return whether a resolved path refers to the open file: links may have changed after it was opened."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _is_below(real: str, folder: str) -> bool:
    top = os.path.realpath(folder)
    return real == top or real.startswith(os.path.join(top, ""))
