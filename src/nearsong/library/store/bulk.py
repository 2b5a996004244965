"""Rows or keys -> bulk INSERT and SELECT in the database's own SQL; several times as fast as SQLAlchemy's inserts."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from nearsong.library.store.database import Connection

_BATCH_KEYS = 10_000
"""Keys per query; SQLite allows at most 32,766 parameters."""


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
    marks = ", ".join([_mark(connection)] * len(columns))
    command = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"
    if keys:
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
        command += f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"
    connection.exec_driver_sql(command, [tuple(row) for row in rows])


def ids_by_key(connection: Connection, table: sa.Table, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the ids of existing rows by key; keys without a row are left out."""
    ids: dict[bytes, int] = {}
    for start in range(0, len(keys), _BATCH_KEYS):
        part = tuple(keys[start : start + _BATCH_KEYS])
        marks = ", ".join([_mark(connection)] * len(part))
        query = f"SELECT key, id FROM {table.name} WHERE key IN ({marks})"
        ids |= {bytes(key): number for key, number in connection.exec_driver_sql(query, part).all()}
    return ids


def _mark(connection: Connection) -> str:
    return "%s" if connection.dialect.name == "postgresql" else "?"
