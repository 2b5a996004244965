"""Active log-in sessions of all services: the table `service_sessions`. Keys and credentials are hashes."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from nearsong.library.store.database import Database
from nearsong.library.store.shared.tables import NOW, sessions

CLOCK_ERROR_SECONDS = 300.0
"""A session that began so far in the future has ended: the clock was wrong then, and the session would last."""

USE_SECONDS = 3600.0
"""A use is noted this often: enough to know the sessions that nobody has used for days."""


class SessionTable:
    """Reads and writes active sessions.

    Parameters
    ----------
    database : Database
    idle_seconds : float
        How long a session lasts without a request.
    max_seconds : float
        How long it lasts at most.
    max_sessions : int
        Of more, those used last stay.
    """

    def __init__(self, database: Database, idle_seconds: float, max_seconds: float, max_sessions: int) -> None:
        self._database, self._max_sessions = database, max_sessions
        self._is_active = sa.and_(
            sessions.c.used >= NOW - idle_seconds,
            sessions.c.started >= NOW - max_seconds,
            sessions.c.started <= NOW + CLOCK_ERROR_SECONDS,
        )

    def add(self, key: str, credential: str) -> None:
        """Start a session."""
        old = sa.select(sessions.c.key).order_by(sessions.c.used.desc()).offset(self._max_sessions)
        insert = postgresql.insert(sessions).values(key=key, credential=credential, started=NOW, used=NOW)
        with self._database.sharing(alone=False) as connection:
            connection.execute(insert.on_conflict_do_nothing())
            connection.execute(sessions.delete().where(~self._is_active | sessions.c.key.in_(old)))

    def use(self, key: str) -> str | None:
        """Return the credential of a session if it is active, and count this as a use of it."""
        this = (sessions.c.key == key) & self._is_active
        with self._database.sharing(alone=False) as connection:
            row = connection.execute(
                sa.select(sessions.c.credential, (NOW - sessions.c.used).label("idle")).where(this)
            ).first()
            if row is not None and row.idle > USE_SECONDS:
                connection.execute(sessions.update().where(this).values(used=NOW))
        return None if row is None else str(row.credential)

    def remove(self, key: str) -> None:
        """End a session, if it is active."""
        with self._database.sharing(alone=False) as connection:
            connection.execute(sessions.delete().where(sessions.c.key == key))
