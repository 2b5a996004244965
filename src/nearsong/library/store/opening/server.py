"""A PostgreSQL URL -> an engine that detects a lost server and whose connections can be interrupted."""

import os
import socket
import threading
import weakref
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy as sa
from sqlalchemy.exc import NoSuchModuleError

from nearsong.errors import DatabaseError, InvalidInputError, install_command

KEEPALIVE_OPTIONS = {
    "connect_timeout": 15,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""libpq options that detect a lost server, ``tcp_user_timeout`` in ms, others in s; options in the URL override them.
"""


class ServerConnections:
    """The connections to a PostgreSQL server.

    Parameters
    ----------
    url : sqlalchemy.URL
    name : str
        Name for messages, without the password.
    lock_timeout_seconds : float
        Seconds that a statement waits for a lock.

    Attributes
    ----------
    engine : sqlalchemy.Engine
    has_connected : bool
        Whether the server has answered; if it is gone after that, it may come back.
    """

    def __init__(self, url: sa.URL, name: str, lock_timeout_seconds: float) -> None:
        lost = {name: value for name, value in KEEPALIVE_OPTIONS.items() if name not in url.query}
        try:
            self.engine = sa.create_engine(url, pool_pre_ping=True, connect_args={"client_encoding": "utf8", **lost})
        except (ImportError, NoSuchModuleError) as error:
            raise InvalidInputError(f"PostgreSQL needs its driver: {install_command('postgres')}") from error
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._opening = threading.Lock()
        self._closed = False
        self.has_connected = False

        @sa.event.listens_for(self.engine, "do_connect")
        def _(*_ways: Any) -> None:
            if self._closed:  # a thread whose connection was interrupted must not reconnect
                raise DatabaseError(f"the library {name} was closed.", name)

        @sa.event.listens_for(self.engine, "connect")
        def _(connection: Any, _record: Any) -> None:
            with self._opening:
                self._open.add(connection)
            connection.execute(f"SET lock_timeout = {round(1000 * lock_timeout_seconds)}")
            connection.commit()
            self.has_connected = True

    def interrupt(self) -> None:
        """Interrupt the queries of other threads, which would otherwise wait forever for a hanging server."""
        self._closed = True
        self.engine.dispose()  # idle connections are closed normally
        with self._opening:
            connections = list(self._open)
        for connection in connections:
            with suppress(Exception):  # it may be closed or broken already
                if not connection.closed:
                    with socket.socket(fileno=os.dup(connection.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)


def cache_of(url: sa.URL) -> Path:
    """Return the library's own folder in the user's cache directory.

    Libraries must not share a folder: a copy of a library has the same model ids and dates, but may have other songs.
    """
    options = sorted((name, value) for name, value in url.query.items() if name not in ("user", "password"))
    text = repr((url.host, url.port or 5432, url.database, options))  # independent of the user
    name = f"postgresql-{blake2b(text.encode(), digest_size=8).hexdigest()}"
    return Path(platformdirs.user_cache_dir("nearsong")) / name


def is_unreachable(error: BaseException | None) -> bool:
    """Return whether PostgreSQL was unreachable, closed the connection, or had no connection left."""
    state = getattr(error, "sqlstate", None)
    if state is None:  # raised by the driver, not by the server
        return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)
    return str(state).startswith(("08", "57P")) or state == "53300"
