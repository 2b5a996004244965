"""The tables that services share, and the clock that they share: that of the database.

::

    service_leases       what one service at a time may do, and until when; also that a service is alive
    service_jobs         jobs, where they run, and how far they are
    service_sessions     hash of a session's id -> hash of the token that it was started with
    service_now_playing  listener -> what plays now

They are made by the first service, and anew by one that needs other columns.
"""

import sqlalchemy as sa

from nearsong.library.store.database import Database

shared = sa.MetaData()

leases = sa.Table(
    "service_leases",
    shared,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("until", sa.Float, nullable=False, comment="seconds since 1970, by the clock of the database"),
)

jobs = sa.Table(
    "service_jobs",
    shared,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=True, comment="their order"),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("service", sa.Text, nullable=False, comment="which runs it"),
    sa.Column("owner", sa.Text, nullable=False, comment="the listener whose job it is; empty if nobody's"),
    sa.Column("spec", sa.Text, nullable=False, comment="JSON: its kind and parameters"),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("progress", sa.Text, nullable=False, comment="JSON: how far it is, or what came of it"),
    sa.Column("is_automatic", sa.Boolean, nullable=False),
    sa.Column("is_stopping", sa.Boolean, nullable=False, default=False),
    sa.Column("gave_way", sa.Boolean, nullable=False, default=False),
    sa.Column("is_forgotten", sa.Boolean, nullable=False, default=False),
    sa.Column("version", sa.BigInteger, nullable=False, default=0, comment="increases with every change"),
)

sessions = sa.Table(
    "service_sessions",
    shared,
    sa.Column("key", sa.Text, primary_key=True, comment="a hash"),
    sa.Column("credential", sa.Text, nullable=False, comment="a hash"),
    sa.Column("started", sa.Float, nullable=False, comment="seconds since 1970, by the clock of the database"),
    sa.Column("used", sa.Float, nullable=False),
)

now_playing = sa.Table(
    "service_now_playing",
    shared,
    sa.Column("listener", sa.Text, primary_key=True),
    sa.Column("until", sa.Float, nullable=False, comment="when it must have ended, seconds since 1970"),
    sa.Column("playing", sa.Text, nullable=False, comment="JSON"),
)

NOW: sa.ColumnElement[float] = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Float)
"""The time of the database, in seconds since 1970: services on several machines need not have the same."""


def make_tables(database: Database) -> None:
    """Make the tables, unless they are there with these columns."""
    with database.sharing() as connection:
        inspector = sa.inspect(connection)
        present = set(inspector.get_table_names())
        for table in shared.sorted_tables:
            if table.name not in present:
                table.create(connection)
            elif {column["name"] for column in inspector.get_columns(table.name)} != set(table.columns.keys()):
                table.drop(connection)
                table.create(connection)
