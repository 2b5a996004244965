"""An open library -> a new SQLite file with everything in it, as of one moment; others go on reading and writing."""

import contextlib
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

from nearsong.atomic_write import atomic_path, is_replaceable
from nearsong.errors import LibraryError
from nearsong.library.store.backup.backup_file import copy_file, refused
from nearsong.library.store.backup.rows import copy_rows
from nearsong.library.store.database import Database


def write_backup(database: Database, path: str | os.PathLike[str], *, replace: bool = False) -> Path:
    """Write everything that a library has stored to one file.

    The file is complete or absent, whenever the process is killed. Only this user can read it, since it holds the app
    passwords of listeners.

    Parameters
    ----------
    database : Database
        SQLite is copied page by page within one read transaction (its backup interface), PostgreSQL row by row.
    path : path-like
    replace : bool, default=False
        Whether a file at the path may be replaced.

    Raises
    ------
    LibraryError
        If there is something at the path that must not be replaced, or the folder cannot be written.
    """
    target = Path(os.path.realpath(os.path.expanduser(path)))
    _check_target(database, target, replace)
    try:
        with atomic_path(target) as unfinished, database.translated():
            os.chmod(unfinished, stat.S_IRUSR | stat.S_IWUSR)
            if database.is_sqlite:
                _copy_pages(database, unfinished)
            else:
                _copy_tables(database, unfinished)
        os.chmod(target, stat.S_IRUSR | stat.S_IWUSR)  # also where it replaced one that others could read
    except FileNotFoundError as error:
        raise LibraryError(f"folder not found: {target.parent}; create it, or choose another.") from error
    except PermissionError as error:
        raise refused(target, f"cannot be written ({error.strerror}); choose another folder.") from error
    return target


def _check_target(database: Database, target: Path, replace: bool) -> None:
    if database.path is not None and os.path.realpath(database.path) == str(target):
        raise refused(target, "is the library itself; choose another file for the backup.")
    if target.is_dir():
        raise refused(target, "is a folder; give the name of a file in it.")
    if not is_replaceable(target):
        raise refused(target, "is no regular file, such as a device or a pipe; choose another file for the backup.")
    if os.path.lexists(target) and not replace:
        raise refused(target, "exists; choose another file, or add --replace.")


def _copy_pages(database: Database, unfinished: Path) -> None:
    with database.reading() as connection, contextlib.closing(sqlite3.connect(unfinished)) as copy:
        source: Any = connection.connection.driver_connection
        copy_file(source, copy)


def _copy_tables(database: Database, unfinished: Path) -> None:
    copy = Database(unfinished, create=True)
    try:
        with database.reading() as source, copy.writing() as target:
            copy_rows(source, target)
    finally:
        copy.close()
    with contextlib.closing(sqlite3.connect(unfinished)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE").close()  # one file, readable on a read-only disk
