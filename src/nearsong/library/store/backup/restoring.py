"""A backup -> a library: a SQLite file that replaces another in one step, or an empty PostgreSQL database."""

import contextlib
import os
import sqlite3
from pathlib import Path

from nearsong.atomic_write import atomic_path, is_replaceable
from nearsong.errors import LibraryError
from nearsong.library.store.backup.backup_file import copy_file, identified_backup, opened_backup, refused
from nearsong.library.store.backup.rows import copy_rows, is_empty
from nearsong.library.store.database import Database, library_file

_LOG_SUFFIXES = ("-wal", "-shm", "-journal")


def restore(backup: str | os.PathLike[str], address: str, *, replace: bool = False) -> None:
    """Make a library of a backup.

    Whatever is killed in between, the address has the library that was there, or the restored one.

    Parameters
    ----------
    backup : path-like
        A file that :func:`~nearsong.library.store.backup.writing.write_backup` wrote.
    address : str
        A file or a folder, or the URL of an empty PostgreSQL database.
    replace : bool, default=False
        Whether a library in a file may be replaced.

    Raises
    ------
    LibraryError
        If the backup cannot be used, there is a library already, or a program has it open.
    """
    source = _real_path(backup)
    target = library_file(address)
    if target is None:
        _restore_rows(source, address)
    else:
        _restore_file(source, target, replace)


def check_backup(backup: str | os.PathLike[str]) -> None:
    """Raise if a file is no backup that this version restores; it need not be intact, which takes time to tell.

    Raises
    ------
    LibraryError
        If the file is missing, no backup, or of another format.
    """
    with identified_backup(_real_path(backup)):
        pass


def _real_path(backup: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(os.path.expanduser(backup)))


def _restore_file(source: Path, path: Path, replace: bool) -> None:
    target = Path(os.path.realpath(path))
    if target == source:
        raise refused(source, "is the library itself; give its backup.")
    if not is_replaceable(target):
        raise refused(target, "is no regular file, such as a device or a pipe; choose another --library.")
    if os.path.lexists(target) and not replace:
        raise refused(target, "exists; add --replace to lose what is in it, or choose another --library.")
    with opened_backup(source) as backup:
        if os.path.lexists(target):
            _check_unused(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with atomic_path(target) as unfinished:
                with contextlib.closing(sqlite3.connect(unfinished)) as copy:
                    copy_file(backup, copy)
                    copy.execute("PRAGMA journal_mode=WAL").close()
                if os.path.lexists(target):
                    _check_unused(target)  # again, as copying takes time
                _remove_logs(target)
        except PermissionError as error:
            raise refused(target, f"cannot be written ({error.strerror}); check its permissions.") from error


def _check_unused(target: Path) -> None:
    """Raise if another program has the library open; otherwise write its log back to it.

    Who has opened a SQLite file in WAL mode shares a lock of it, also while nothing is read.
    """
    with contextlib.closing(sqlite3.connect(target, timeout=1, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE").close()
            connection.execute("BEGIN EXCLUSIVE").close()
            connection.execute("ROLLBACK").close()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise refused(target, "is in use; stop what serves, scans or trains first.") from error
        except sqlite3.DatabaseError:
            pass  # damaged, which may be why it is replaced


def _remove_logs(target: Path) -> None:
    """Remove what a library left that was deleted, or damaged: SQLite would write such a log into the new file."""
    for suffix in _LOG_SUFFIXES:
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def _restore_rows(source: Path, address: str) -> None:
    with opened_backup(source):
        pass
    target, backup = Database(address, create=True), Database(source, create=False)
    try:
        with target.writing() as connection:
            if not is_empty(connection):
                raise LibraryError(
                    f"the library {target.name} is not empty; restore into a new database: createdb --encoding UTF8 "
                    "NAME, then --library postgresql://.../NAME."
                )
            with backup.reading() as rows:
                copy_rows(rows, connection)
    finally:
        backup.close()
        target.close()
