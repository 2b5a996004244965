"""A path -> a file that is replaced atomically: readers see the old content or the new one, never a part of it.

All files that nearsong writes for users and caches go through here.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from nearsong.temporary import lock

UNFINISHED_SUFFIX = ".part"
"""Suffix of files that are still being written; a killed process leaves such a file behind."""


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new, empty file in the same folder; when the block ends without an error, it replaces ``path``.

    Symbolic links are followed and permissions of a replaced file are preserved. Content and name are flushed to
    disk. After an error the new file is removed and ``path`` is unchanged. A killed process leaves it behind:
    :func:`~nearsong.temporary.remove_unfinished` removes it in folders of nearsong's own, such as a cache; in the
    user's folders it stays.

    Others may be able to write to the folder: the new file has a random name, nothing that is there already is opened
    instead, and it does not replace ``path`` if it is another file by then.

    Parameters
    ----------
    path : path-like
        The file to write or replace.

    Yields
    ------
    Path
        The new file, for the block to write to.

    Raises
    ------
    OSError
        If the folder or the disk cannot be written, another program replaced the new file, or there is something at
        the path that is no regular file.
    ValueError
        If the path contains a null byte.
    """
    with _new_file(path) as (temporary, _file):
        yield temporary


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file for writing that replaces ``path`` when the block ends without an error.

    A pipe or a device (``/dev/stdout``) is written to directly; otherwise as :func:`atomic_path`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "names.txt"
    ...     with atomic_write(target) as file:
    ...         _ = file.write(b"new")
    ...         target.exists()
    ...     target.read_bytes()
    False
    b'new'
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    with _new_file(path) as (_temporary, file):
        yield file


@contextlib.contextmanager
def _new_file(path: str | os.PathLike[str]) -> Iterator[tuple[Path, BinaryIO]]:
    target = Path(os.path.realpath(path))
    _check_replaceable(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}{UNFINISHED_SUFFIX}")
    # meanwhile it is readable for nobody who cannot read what it replaces
    mode = 0o600 if target.exists() else 0o666
    with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:  # never what a link leads to
        lock(file)  # so that it is not taken for one that was left
        try:
            yield temporary, file
            file.flush()
            os.fsync(file.fileno())
            if not os.path.samestat(os.lstat(temporary), os.fstat(file.fileno())):
                raise FileExistsError(errno.EEXIST, "another program replaced the unfinished file", str(temporary))
            _check_replaceable(target)
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            if os.name != "posix":
                file.close()  # Windows renames no open files; elsewhere the lock stays until it has its name
            os.replace(temporary, target)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
    _sync_folder(target.parent)


def _check_replaceable(target: Path) -> None:
    """Raise for a device, pipe, socket or folder, which root would replace by a file."""
    if not is_replaceable(target):
        raise FileExistsError(errno.EEXIST, "not a regular file, so that nothing may replace it", str(target))


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Return whether a path, or what it links to, is a regular file or nothing yet."""
    return os.path.isfile(path) or not os.path.exists(path)


def _sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, where the system supports it."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # the file is complete; this only guards against a power cut
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
