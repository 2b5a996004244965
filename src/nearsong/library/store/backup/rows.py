"""All rows of one database -> the same rows in an empty one, of the other kind perhaps."""

import sqlalchemy as sa

from nearsong.library.store.database import Connection
from nearsong.library.store.schema import metadata, settings

_ROWS_PER_STEP = 500


def copy_rows(source: Connection, target: Connection) -> None:
    """Copy every table to a database that has the tables but no rows other than its format; ids stay the same."""
    target.execute(settings.delete())
    for table in metadata.sorted_tables:  # those that others refer to come first
        found = source.execution_options(yield_per=_ROWS_PER_STEP).execute(sa.select(table))
        for rows in found.mappings().partitions():
            target.execute(table.insert(), [dict(row) for row in rows])
        _continue_ids(source, target, table)


def is_empty(connection: Connection) -> bool:
    """Return whether no table has a row, other than the settings that a new library has."""
    return not any(
        connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first()
        for table in metadata.sorted_tables
        if table is not settings
    )


def _continue_ids(source: Connection, target: Connection, table: sa.Table) -> None:
    """Let new rows get ids after the last one ever used, as ids of removed songs are not used again."""
    column = table.autoincrement_column
    if column is None:
        return
    last = _last_id(source, table, column)
    if not last:
        return
    if target.dialect.name == "sqlite":
        values = {"name": table.name, "last": last}
        target.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name"), values)
        target.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)
    else:
        target.execute(sa.select(sa.func.setval(_sequence_of(table, column), last)))


def _last_id(source: Connection, table: sa.Table, column: sa.Column[int]) -> int:
    if source.dialect.name == "sqlite":
        query = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return source.execute(query, {"name": table.name}).scalar() or 0
    sequence = source.execute(sa.select(_sequence_of(table, column))).scalar_one()
    row = source.execute(sa.text(f"SELECT last_value, is_called FROM {sequence}")).one()  # PostgreSQL quoted the name
    return row.last_value if row.is_called else 0


def _sequence_of(table: sa.Table, column: sa.Column[int]) -> sa.ColumnElement[str]:
    return sa.func.pg_get_serial_sequence(table.name, column.name)
