"""Temporary folders and files -> in use or left by a killed process; the next start removes what was left.

A lock says that something is in use. The system gives it up when the process ends, however it ends, so that neither a
process number that was used again nor another container is mistaken. A lock on a folder itself tells programs that
clean the temporary folder to leave it alone.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

UPLOADS_PREFIX = "nearsong-uploads-"
CONVERTED_PREFIX = "nearsong-converted-"
DOWNLOAD_PREFIX = "nearsong-download-"
WORKERS_PREFIX = "nearsong-workers-"
PREFIXES = (UPLOADS_PREFIX, CONVERTED_PREFIX, DOWNLOAD_PREFIX, WORKERS_PREFIX)
"""Beginnings of the names of all temporary folders."""

SEMAPHORES_PREFIX = "nearsong-semaphores-"
SEMAPHORES_FOLDER = Path("/dev/shm")
"""Where Linux has named semaphores, as files. Each process that has some has a locked folder beside them."""

LOCK_FILE = "in-use"
MIN_AGE_SECONDS = 60
"""What is younger and has no lock may be about to get one."""

UNFINISHED_FILE = re.compile(r"\..+\.[0-9a-f]{12}\.part", re.DOTALL)
"""Names of files that `atomic_path` is writing."""

UNFINISHED_UPLOAD = re.compile(r"\.nearsong-\w{8}\.part")
"""Names of uploads that are being saved."""


class LockedFolder:
    """A temporary folder that only this user can read.

    Parameters
    ----------
    prefix : str
        The beginning of its name, for :func:`remove_left_folders`.
    parent : Path, optional
        Where it is; by default in the system's temporary folder.

    Attributes
    ----------
    path : Path

    Raises
    ------
    OSError
        If it cannot be created.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))  # mode 0700
        self._facts = os.lstat(self.path)
        self._descriptor: int | None = None
        self._lock_file: IO[str] | None = None
        try:
            with contextlib.suppress(OSError):  # not every system can open a folder
                self._descriptor = os.open(self.path, os.O_RDONLY)
                lock(self._descriptor)
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
        # locked before it has its name: without a lock file a young folder is left alone
        new = self.path / f"{LOCK_FILE}.new"
        self._lock_file = open(new, "w")  # noqa: SIM115  (open as long as the folder is in use)
        lock(self._lock_file)
        with contextlib.suppress(PermissionError):  # Windows renames no open files, and has no such locks
            os.replace(new, self.path / LOCK_FILE)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def remove_leftovers(*folders: Path) -> None:
    """Remove what killed processes of this user have left; nothing that is in use.

    Parameters
    ----------
    *folders : Path
        Folders of nearsong's own, such as a cache, whose unfinished files are removed too.
    """
    with contextlib.suppress(OSError):  # there may be no temporary folder at all
        for prefix in PREFIXES:
            remove_left_folders(Path(tempfile.gettempdir()), prefix)
    _remove_left_semaphores(SEMAPHORES_FOLDER)
    for folder in folders:
        remove_unfinished(folder)


def remove_left_folders(parent: Path, prefix: str) -> None:
    """Remove the folders of processes that have ended; those of running ones are locked."""
    for folder in _abandoned(parent, prefix):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left_semaphores(parent: Path) -> None:
    for folder in _abandoned(parent, SEMAPHORES_PREFIX):
        for name in _names(parent):
            # C libraries name the file of a semaphore differently
            if name.removeprefix("sem.").startswith(f"{folder.name}-"):
                with contextlib.suppress(OSError):
                    if _is_own(facts := os.lstat(parent / name)) and stat.S_ISREG(facts.st_mode):
                        os.unlink(parent / name)
        shutil.rmtree(folder, ignore_errors=True)  # last: it says that there may be some


def remove_unfinished(folder: Path, names: re.Pattern[str] = UNFINISHED_FILE) -> None:
    """Remove files that a killed process was writing; by default into a folder of nearsong's own."""
    for name in filter(names.fullmatch, _names(folder)):
        with contextlib.suppress(OSError):
            facts = os.lstat(folder / name)
            # it is locked when it is created: only one without content may be about to be
            is_old_enough = facts.st_size > 0 or time.time() - facts.st_mtime > MIN_AGE_SECONDS
            if stat.S_ISREG(facts.st_mode) and _is_own(facts) and is_old_enough and _can_be_locked(folder / name):
                os.unlink(folder / name)


@contextlib.contextmanager
def in_use(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a file for the time of a block, so that :func:`remove_unfinished` leaves it alone."""
    descriptor = os.open(path, os.O_RDONLY) if os.name == "posix" else None
    try:
        if descriptor is not None:
            lock(descriptor)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _abandoned(parent: Path, prefix: str) -> list[Path]:
    """Return the folders of this user with a prefix that no process has locked; never what a link leads to."""
    found = []
    for name in _names(parent):
        if not name.startswith(prefix):
            continue
        with contextlib.suppress(OSError):
            facts = os.lstat(parent / name)
            if not stat.S_ISDIR(facts.st_mode) or not _is_own(facts):
                continue
            try:
                is_abandoned = _can_be_locked(parent / name / LOCK_FILE)
            except FileNotFoundError:
                is_abandoned = time.time() - facts.st_mtime > MIN_AGE_SECONDS
            if is_abandoned:
                found.append(parent / name)
    return found


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_own(facts: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or facts.st_uid == os.getuid()


def _can_be_locked(path: Path) -> bool:
    # a pipe in place of the file must not keep us waiting
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        return lock(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with the file of a path; where there are no locks, go on."""
    with contextlib.ExitStack() as open_ones:
        with contextlib.suppress(
            OSError, ImportError
        ):  # a folder that cannot be written, a system without such locks
            import fcntl  # Unix only

            path.parent.mkdir(parents=True, exist_ok=True)
            file = open_ones.enter_context(open(path, "ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lock(file: IO[Any] | int) -> bool:
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
