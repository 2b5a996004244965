"""Sessions that services on one database share: one that was started on any of them counts on all.

The event loop asks about sessions, and must not wait for a database. So what is known about a session stays in memory
for a moment, and `needs_look_up` says when a thread has to ask again: a session that ends on one service ends on the
others within `CHECK_SECONDS`.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cachetools import LRUCache

from nearsong.errors import DatabaseError
from nearsong.web.http.sessions import (
    IDLE_SECONDS,
    MAX_SESSION_SECONDS,
    MAX_SESSIONS,
    MemorySessions,
    SessionStore,
)

if TYPE_CHECKING:
    from nearsong.library import SessionTable, SharedState

CHECK_SECONDS = 2.0
"""How long a session counts before the database is asked about it again."""


def sessions_of(shared: "SharedState | None") -> SessionStore:
    """Return where a service has its sessions: what it shares with others, or else its memory."""
    if shared is None:
        return MemorySessions()
    return StoredSessions(
        shared.sessions(idle_seconds=IDLE_SECONDS, max_seconds=MAX_SESSION_SECONDS, max_sessions=MAX_SESSIONS)
    )


class StoredSessions:
    """Sessions in a database, those used last in memory too.

    Parameters
    ----------
    table : SessionTable
    clock : callable
        A monotonic clock in seconds.
    """

    def __init__(self, table: "SessionTable", clock: Callable[[], float] = time.monotonic) -> None:
        self._table, self._clock = table, clock
        self._lock = threading.Lock()
        self._known: LRUCache[str, tuple[str, float]] = LRUCache(MAX_SESSIONS)  # credential, when it was asked for

    def add(self, key: str, credential: str) -> None:
        """Start a session."""
        self._table.add(key, credential)
        self._remember(key, credential)

    def is_known(self, key: str) -> bool:
        """Say whether a session was active a moment ago."""
        with self._lock:
            return key in self._known

    def needs_look_up(self, key: str) -> bool:
        """Say whether the database has to be asked about a session."""
        with self._lock:
            known = self._known.get(key)
        return known is None or self._clock() - known[1] >= CHECK_SECONDS

    def look_up(self, key: str) -> None:
        """Ask the database about a session; while it cannot be reached, what was known counts."""
        try:
            credential = self._table.use(key)
        except DatabaseError:
            credential = self.use(key)
        self._remember(key, credential)

    def use(self, key: str) -> str | None:
        """Return the credential of a session if it was active a moment ago."""
        with self._lock:
            known = self._known.get(key)
        return None if known is None else known[0]

    def remove(self, key: str) -> None:
        """End a session, if it is active."""
        self._table.remove(key)
        self._remember(key, None)

    def _remember(self, key: str, credential: str | None) -> None:
        with self._lock:
            if credential is None:
                self._known.pop(key, None)
            else:
                self._known[key] = (credential, self._clock())
