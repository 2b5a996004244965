"""A URL of PostgreSQL -> an engine that notices when its server is lost, and whose connections can be broken off."""

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

from nearsong.errors import DatabaseError, InvalidInputError

LOST = {
    "connect_timeout": 15,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""Seconds and milliseconds after which a server counts as lost, in its driver's words; a URL may say otherwise."""


class ServerConnections:
    """The connections to a server of PostgreSQL.

    Parameters
    ----------
    url : sqlalchemy.URL
    name : str
        What to call it, without password.
    patience : float
        Seconds that a statement waits for a lock.

    Attributes
    ----------
    engine : sqlalchemy.Engine
    """

    def __init__(self, url: sa.URL, name: str, patience: float) -> None:
        lost = {name: value for name, value in LOST.items() if name not in url.query}
        try:
            self.engine = sa.create_engine(url, pool_pre_ping=True, connect_args={"client_encoding": "utf8", **lost})
        except (ImportError, NoSuchModuleError) as error:
            raise InvalidInputError("PostgreSQL needs its driver: pip install 'nearsong[postgres]'.") from error
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._opening = threading.Lock()
        self._closed = False

        @sa.event.listens_for(self.engine, "do_connect")
        def _(*_ways: Any) -> None:
            if self._closed:  # whose connection is broken off would make another one
                raise DatabaseError(f"the library {name} was closed.", name)

        @sa.event.listens_for(self.engine, "connect")
        def _(connection: Any, _record: Any) -> None:
            with self._opening:
                self._open.add(connection)
            connection.execute(f"SET lock_timeout = {round(1000 * patience)}")
            connection.commit()

    def break_off(self) -> None:
        """End what other threads still ask: one that waits for a server that hangs would wait for ever."""
        self._closed = True
        self.engine.dispose()  # those that nobody uses, as is polite
        with self._opening:
            there = list(self._open)
        for connection in there:
            with suppress(Exception):  # whatever became of it, it is not to be used any more
                if not connection.closed:
                    with socket.socket(fileno=os.dup(connection.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)


def cache_of(url: sa.URL) -> Path:
    """Return a folder of the user's for things that can be made again, another one for each library.

    A copy of a library has models of the same numbers and dates, but may have other songs by now.
    """
    options = sorted((name, value) for name, value in url.query.items() if name not in ("user", "password"))
    text = repr((url.host, url.port or 5432, url.database, options))  # whoever asks, it is the same library
    name = f"postgresql-{blake2b(text.encode(), digest_size=8).hexdigest()}"
    return Path(platformdirs.user_cache_dir("nearsong")) / name


def is_away(error: BaseException | None) -> bool:
    """Say whether PostgreSQL was not reached, ended the connection, or had none to give."""
    state = getattr(error, "sqlstate", None)
    if state is None:  # the words are not PostgreSQL's but its driver's
        return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)
    return str(state).startswith(("08", "57P")) or state == "53300"
