"""Rows or keys -> bulk INSERT and SELECT in the database's own SQL; several times as fast as SQLAlchemy's inserts."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import sqlalchemy as sa

from nearsong.library.store.database import Connection

_MAX_PARAMETERS = 30_000
"""Per statement; SQLite allows at most 32,766."""


def insert_rows(
    connection: Connection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    keys: Sequence[str] = (),
) -> None:
    """Insert rows; with ``keys``, existing rows with the same values in these columns are updated."""
    if not rows:
        return
    names = ", ".join(columns)
    if connection.dialect.name == "postgresql" and not keys:
        raw: Any = connection.connection.driver_connection
        with raw.cursor() as cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    command = f"INSERT INTO {table.name} ({names}) VALUES "
    updates = ""
    if keys:
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
        updates = f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"
    if connection.dialect.name == "postgresql":
        marks = ", ".join(["%s"] * len(columns))
        connection.exec_driver_sql(f"{command}({marks}){updates}", [tuple(row) for row in rows])
        return
    marks = f"({', '.join('?' * len(columns))})"
    start = 0
    while start < len(rows):  # one statement for many rows: other threads run during all of it
        n_rows = _statement_rows(len(rows) - start, len(columns))
        parameters = tuple(chain.from_iterable(rows[start : start + n_rows]))
        connection.exec_driver_sql(command + ", ".join([marks] * n_rows) + updates, parameters)
        start += n_rows


def _statement_rows(n_rows: int, n_columns: int) -> int:
    """Return how many of some rows one statement takes.

    One of few numbers: SQLite keeps statements that it has compiled, which takes as long as inserting the rows.
    """
    most = _MAX_PARAMETERS // n_columns
    while most > n_rows:
        most = max(most // 8, 1)
    return most


def ids_by_key(connection: Connection, table: sa.Table, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the ids of existing rows by key; keys without a row are left out."""
    ids: dict[bytes, int] = {}
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    start = 0
    while start < len(keys):
        part = tuple(keys[start : start + _statement_rows(len(keys) - start, 1)])
        marks = ", ".join([mark] * len(part))
        query = f"SELECT key, id FROM {table.name} WHERE key IN ({marks})"
        ids |= {bytes(key): number for key, number in connection.exec_driver_sql(query, part).all()}
        start += len(part)
    return ids
