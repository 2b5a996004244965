"""A player's SQLite database -> rows of the tables that a reader expects; nothing else of it is used.

The file is opened read-only, and no query may do anything but read the named tables: views, virtual tables,
generated columns and everything else in the file is refused. Steps and rows are limited. A packed database is read
in memory.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.formats.listen_format import SQLITE_MARK
from nearsong.listens.sources import SourceFile

MAX_ROWS = 20_000_000
MAX_UNPACKED_BYTES = 1 << 30
MAX_ROW_BYTES = 64 << 20
MAX_STEPS = 20_000_000_000
BUSY_SECONDS = 5.0

_STEPS_PER_CALL = 1_000_000
_WAL_FLAGS = b"\2\2"
_FLAGS = slice(18, 20)
_COMPUTED = re.compile(r"^\s*CREATE\s+VIRTUAL|\bAS\s*\(", re.IGNORECASE)  # virtual tables, generated columns
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)

Tables = Mapping[str, frozenset[str]]
"""Name of a table -> names of its columns."""


class PlayerDatabase:
    """An opened database.

    Attributes
    ----------
    name : str
        Name of the file for messages.
    tables : mapping of str to set of str
        The tables that exist, of those asked for -> their columns.
    """

    def __init__(self, source: SourceFile, connection: sqlite3.Connection, tables: Sequence[str]) -> None:
        self.name = source.name
        self._connection = connection
        self._names = frozenset(tables)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA query_only=ON")
        connection.set_authorizer(self._authorize)
        self._n_calls = 0
        connection.set_progress_handler(self._is_too_much, _STEPS_PER_CALL)
        self.tables: Tables = self._find_tables()

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, with None for columns that it does not have."""
        names = [column for column in columns if column in self.tables[table]]
        if not names:
            return
        found = self._connection.execute(f"SELECT {', '.join(_quoted(name) for name in names)} FROM {_quoted(table)}")
        missing = dict.fromkeys(columns)
        for row in islice(found, MAX_ROWS):
            yield missing | dict(zip(names, row, strict=True))
        if next(found, None) is not None:
            raise ListensError(f"{self.name}: its table {table} has more than {MAX_ROWS:,} rows.")

    def _find_tables(self) -> Tables:
        found = self._connection.execute("SELECT name, type, sql FROM sqlite_master")
        names = [
            name
            for name, kind, sql in islice(found, 10_000)
            if name in self._names and kind == "table" and not _COMPUTED.search(str(sql))
        ]
        return {name: frozenset(self._columns(name)) for name in names}

    def _columns(self, table: str) -> list[str]:
        return [
            column[0] for column in self._connection.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0").description
        ]

    def _authorize(self, action: int, table: str | None, *_: Any) -> int:
        if action not in _ALLOWED:
            return sqlite3.SQLITE_DENY
        is_known = (
            action == sqlite3.SQLITE_SELECT or table in self._names or table in ("sqlite_master", "sqlite_schema")
        )
        return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY

    def _is_too_much(self) -> bool:
        self._n_calls += 1
        return self._n_calls > MAX_STEPS // _STEPS_PER_CALL


@contextmanager
def open_database(source: SourceFile, tables: Sequence[str]) -> Iterator[PlayerDatabase]:
    """Open a database to read some of its tables; whatever goes wrong is a ``ListensError`` of one line."""
    try:
        with closing(_connect(source)) as connection:
            yield PlayerDatabase(source, connection, tables)
    except sqlite3.Error as error:
        raise ListensError(
            f"{source.name} cannot be read as a database ({error}); close the player and copy the file again."
        ) from error


def tables_in(source: SourceFile, tables: Sequence[str]) -> Tables:
    """Return which of some tables a database has, and their columns."""
    with open_database(source, tables) as database:
        return database.tables


def _connect(source: SourceFile) -> sqlite3.Connection:
    head = _raw_head(source)
    if source.member or not head.startswith(SQLITE_MARK):
        return _in_memory(source)
    # a database with a write-ahead log makes files next to it when it is opened, unless nothing is written to it
    is_idle = head[_FLAGS] == _WAL_FLAGS and not source.path.with_name(f"{source.path.name}-wal").exists()
    uri = f"{source.path.absolute().as_uri()}?mode=ro&immutable={int(is_idle)}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)


def _raw_head(source: SourceFile) -> bytes:
    try:
        with source.path.open("rb") as file:
            return file.read(100)
    except OSError as error:
        raise ListensError(f"{source.name} cannot be read ({error.strerror or error}).") from error


def _in_memory(source: SourceFile) -> sqlite3.Connection:
    content = bytearray()
    for chunk in source.chunks():
        content += chunk
        if len(content) > MAX_UNPACKED_BYTES:
            raise ListensError(f"{source.name} unpacks to more than {MAX_UNPACKED_BYTES >> 30} GB; unpack it first.")
    if not content.startswith(SQLITE_MARK):
        raise ListensError(f"{source.name} is not a database of SQLite.")
    if content[_FLAGS] == _WAL_FLAGS:
        content[_FLAGS] = b"\1\1"  # in memory there is no log
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(content))
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
