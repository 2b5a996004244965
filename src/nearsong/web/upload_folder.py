"""A private folder for files that come and go, while a service runs; those that killed services have left go.

``HeldFolder()`` makes one and holds it: its mark ``in-use`` is locked, by which the next service tells it from one
that was left, and so is the folder itself, which tells programs that tidy the temporary folder to leave it alone.
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
MARK = "in-use"


class HeldFolder:
    """A folder in the temporary one that only this user can look into.

    Parameters
    ----------
    prefix : str
        What its name begins with; :func:`remove_left_folders` goes by it.

    Attributes
    ----------
    path : Path

    Raises
    ------
    OSError
        If it cannot be made.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))  # for this user alone
        self._facts = os.lstat(self.path)
        self._itself: int | None = None
        self._mark: IO[str] | None = None
        try:
            with contextlib.suppress(OSError):  # not everywhere can a folder be opened
                self._itself = os.open(self.path, os.O_RDONLY)
                _lock(self._itself)
            self._put_mark()
        except BaseException:
            self.close()
            raise

    def check(self) -> bool:
        """Say whether it is still the folder that was made; a mark that it has lost is made anew."""
        try:
            found = os.lstat(self.path)
            if not stat.S_ISDIR(found.st_mode) or not os.path.samestat(found, self._facts):
                return False
            if not os.path.lexists(self.path / MARK):
                self._put_mark()
        except FileNotFoundError:
            return False
        return True

    def _put_mark(self) -> None:
        if self._mark is not None:
            self._mark.close()
        self._mark = open(self.path / MARK, "w")  # noqa: SIM115  (open as long as the service runs)
        _lock(self._mark)

    def close(self) -> None:
        """Remove it with all that is in it; nothing happens to another one that has its name by now."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(self.path), self._facts):
                shutil.rmtree(self.path, ignore_errors=True)
        if self._mark is not None:
            self._mark.close()
        if self._itself is not None:
            os.close(self._itself)
        self._mark = self._itself = None


def remove_left_folders(parent: Path, prefix: str = PREFIX) -> None:
    """Remove the folders of services that are no more; those of running ones are locked."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            facts = folder.lstat()
            is_ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
            if folder.is_symlink() or not folder.is_dir() or not is_ours:
                continue
            if _is_left(folder, time.time() - facts.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _is_left(folder: Path, age: float) -> bool:
    try:
        with open(folder / MARK, "r+") as mark:
            return _lock(mark)
    except FileNotFoundError:
        return age > 60  # a younger one may be about to be marked


def _lock(file: IO[Any] | int) -> bool:
    """Lock a file as long as it is open; False if another process has it."""
    try:
        import fcntl  # not everywhere
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
