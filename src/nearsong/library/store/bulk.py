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
    n_rows = _MAX_PARAMETERS // len(columns)
    for start in range(0, len(rows), n_rows):  # one statement for many rows: other threads run during all of it
        part = rows[start : start + n_rows]
        connection.exec_driver_sql(
            command + ", ".join([marks] * len(part)) + updates, tuple(chain.from_iterable(part))
        )


def ids_by_key(connection: Connection, table: sa.Table, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the ids of existing rows by key; keys without a row are left out."""
    ids: dict[bytes, int] = {}
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    for start in range(0, len(keys), _MAX_PARAMETERS):
        part = tuple(keys[start : start + _MAX_PARAMETERS])
        marks = ", ".join([mark] * len(part))
        query = f"SELECT key, id FROM {table.name} WHERE key IN ({marks})"
        ids |= {bytes(key): number for key, number in connection.exec_driver_sql(query, part).all()}
    return ids
