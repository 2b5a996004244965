"""A SQLite library -> its rows, by SQL of our own and the standard library's driver."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nearsong.errors import DatabaseError
from nearsong.library.store.light.address import shown_path
from nearsong.library.store.opening.errors import reason_of

LOCK_TIMEOUT_SECONDS = 60.0

KEEP_SECONDS = 1
"""How long a setting that can be computed again waits for others that write."""

FORMAT = "11-02aece7f"
"""`nearsong.library.store.schema.FORMAT`, without the tables it is computed from; a test compares the two.

A library of any other format is left to the complete store, which says what is wrong with it.
"""


class LightFile:
    """An open library file, for reading; nothing is written but what can be computed again.

    Parameters
    ----------
    path : str
        An existing file.

    Attributes
    ----------
    name : str
        The path, safe to display.
    path : str
    """

    def __init__(self, path: str) -> None:
        self.path, self.name = path, shown_path(path)
        with self._translated():
            self._connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA cache_size=-65536").close()

    def has_known_format(self) -> bool:
        """Return whether the file is a library that this module can read; it may be anything else."""
        try:
            return self.rows("SELECT value FROM settings WHERE name = 'schema'") == [(FORMAT,)]
        except DatabaseError:
            return False

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        with self._translated():
            return self._connection.execute(sql, values).fetchall()

    def value(self, sql: str, *values: object) -> Any:
        """Return the first value of the first row of a query; None without rows."""
        found = self.rows(sql, *values)
        return found[0][0] if found else None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all queries inside see the library at one moment."""
        self.rows("BEGIN")
        try:
            yield
        finally:
            self.rows("ROLLBACK")

    def keep(self, name: str, value: str) -> None:
        """Write a setting that can be computed again; not if the library cannot be written to within a second."""
        insert = "INSERT INTO settings (name, value) VALUES (?, ?)"
        with suppress(DatabaseError):
            self.rows(f"PRAGMA busy_timeout = {1000 * KEEP_SECONDS}")
            try:
                self.rows(f"{insert} ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
            finally:
                self.rows(f"PRAGMA busy_timeout = {1000 * LOCK_TIMEOUT_SECONDS:.0f}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            reason = reason_of(error, is_sqlite=True)
            raise reason.kind(f"the library {self.name} {reason.words}", self.name, reason.transient) from error
        except UnicodeDecodeError as error:  # SQLite's message quotes bytes of a damaged file
            words = "is damaged; restore a backup, or scan into a new library."
            raise DatabaseError(f"the library {self.name} {words}", self.name) from error
