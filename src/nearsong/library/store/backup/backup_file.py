"""A SQLite file -> whether it is a complete backup that this version reads, and a copy of it."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearsong.errors import LibraryError
from nearsong.library.store.schema import FORMAT

_DAMAGED = "is damaged; use another backup."
_PAGES_PER_STEP = 4096
"""Pages of 4 kB between which Ctrl-C is noticed."""


def refused(path: str | Path, words: str) -> LibraryError:
    """Return the error about a file."""
    return LibraryError(f"{os.fsencode(path).decode('utf-8', 'replace')} {words}")


def copy_file(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy a database as it is now; within a read transaction of the source, so that others may write meanwhile."""
    if not source.in_transaction:
        source.execute("BEGIN").close()
    source.execute("SELECT count(*) FROM sqlite_master").close()  # the transaction begins with the first read
    source.backup(target, pages=_PAGES_PER_STEP)
    target.execute("PRAGMA journal_mode=DELETE").close()  # one file, readable on a read-only disk


@contextmanager
def opened_backup(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads a backup.

    Raises
    ------
    LibraryError
        If the file is missing, no backup of a library, damaged, or of another format.
    """
    with identified_backup(path) as connection:
        _check_pages(path, connection)
        yield connection


@contextmanager
def identified_backup(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a file that says that it is a backup; some of it may be damaged."""
    if not path.is_file():
        raise refused(path, "does not exist; give the file that `nearsong backup` wrote.")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA query_only=ON").close()
            found = connection.execute("SELECT value FROM settings WHERE name = 'schema'").fetchone()
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):
                raise refused(path, f"cannot be read ({error}); check its permissions.") from error
            found = None
        except sqlite3.DatabaseError as error:
            if "not a database" not in str(error):
                raise refused(path, _DAMAGED) from error
            found = None
        if found is None:
            raise refused(path, "is not a backup of a library; give the file that `nearsong backup` wrote.")
        if found[0] != FORMAT:
            raise refused(
                path, f"has format {found[0]}, but this nearsong reads format {FORMAT}; restore it with its version."
            )
        yield connection


def _check_pages(path: Path, connection: sqlite3.Connection) -> None:
    try:
        is_intact = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except sqlite3.DatabaseError:
        is_intact = False
    if not is_intact:
        raise refused(path, _DAMAGED)
