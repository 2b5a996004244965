"""A path -> a file that is replaced atomically: readers see the old content or the new one, never a part of it.

All files that nearsong writes for users and caches go through here.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nearsong.temporary import in_use

UNFINISHED_SUFFIX = ".part"
"""Suffix of files that are still being written; a killed process leaves such a file behind."""


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new, empty file in the same folder; when the block ends without an error, it replaces ``path``.

    Symbolic links are followed and permissions of a replaced file are preserved. Content and name are flushed to
    disk. After an error the new file is removed and ``path`` is unchanged. A killed process leaves it behind:
    :func:`~nearsong.temporary.remove_unfinished` removes it in folders of nearsong's own, such as a cache; in the
    user's folders it stays.

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
        If the folder or the disk cannot be written.
    ValueError
        If the path contains a null byte.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}{UNFINISHED_SUFFIX}")
    try:
        open(temporary, "xb").close()
        with in_use(temporary):
            yield temporary
            with open(temporary, "r+b") as file:
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink()
    _sync_folder(target.parent)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file for writing that replaces ``path`` when the block ends without an error.

    A pipe or a device (``/dev/stdout``) is written to directly.

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
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        yield file


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
