"""A private temporary folder that exists while a service runs; folders of killed services are removed.

Its lock file tells the next service that it is in use, and a lock on the folder itself tells programs that clean the
temporary folder to leave it alone.
"""

import contextlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import IO, Any

PREFIX = "nearsong-uploads-"
LOCK_FILE = "in-use"
MIN_AGE_SECONDS = 60
"""A younger folder without a lock file may be about to get one."""


class LockedFolder:
    """A temporary folder that only this user can read.

    Parameters
    ----------
    prefix : str
        The beginning of its name, for :func:`remove_left_folders`.

    Attributes
    ----------
    path : Path

    Raises
    ------
    OSError
        If it cannot be created.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))  # mode 0700
        self._facts = os.lstat(self.path)
        self._descriptor: int | None = None
        self._lock_file: IO[str] | None = None
        try:
            with contextlib.suppress(OSError):  # not every system can open a folder
                self._descriptor = os.open(self.path, os.O_RDONLY)
                _lock(self._descriptor)
            self._write_lock_file()
        except BaseException:
            self.close()
            raise

    def check(self) -> bool:
        """Say whether the folder still is the one that was created; a lost lock file is written again."""
        try:
            facts = os.lstat(self.path)
            if not stat.S_ISDIR(facts.st_mode) or not os.path.samestat(facts, self._facts):
                return False
            if not os.path.lexists(self.path / LOCK_FILE):
                self._write_lock_file()
        except FileNotFoundError:
            return False
        return True

    def _write_lock_file(self) -> None:
        if self._lock_file is not None:
            self._lock_file.close()
        self._lock_file = open(self.path / LOCK_FILE, "x")  # noqa: SIM115  (open as long as the service runs)
        _lock(self._lock_file)

    def close(self) -> None:
        """Remove the folder with its content, but not another folder that has its path by now."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(self.path), self._facts):
                shutil.rmtree(self.path, ignore_errors=True)
        if self._lock_file is not None:
            self._lock_file.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._lock_file = self._descriptor = None


def remove_left_folders(parent: Path, prefix: str = PREFIX) -> None:
    """Remove the folders of services that have ended; those of running ones are locked."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            facts = folder.lstat()
            is_ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
            if folder.is_symlink() or not folder.is_dir() or not is_ours:
                continue
            if _is_abandoned(folder, time.time() - facts.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _is_abandoned(folder: Path, age: float) -> bool:
    try:
        with open(folder / LOCK_FILE, "r+") as lock_file:
            return _lock(lock_file)
    except FileNotFoundError:
        return age > MIN_AGE_SECONDS


def _lock(file: IO[Any] | int) -> bool:
    """Lock a file while it is open; False if another process has locked it."""
    try:
        import fcntl  # Unix only
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
