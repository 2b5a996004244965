"""A key of a log-in session -> the credential that it was started with, while the session is active.

A session ends at log-out, after a week without a request, and after a month. Keys are hashes, so that what is stored
lets nobody in. `MemorySessions` is for one process: its sessions end with it. Services that share a database have
`StoredSessions` (:mod:`nearsong.web.http.stored_sessions`).
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Protocol

IDLE_SECONDS = 7 * 24 * 3600.0
"""How long a session lasts without a request."""

MAX_SESSION_SECONDS = 30 * 24 * 3600.0
"""How long a session lasts at most."""

MAX_SESSIONS = 1000


def running_seconds() -> float:
    """Return the seconds since the computer was started, on Linux also those that it slept.

    The time of day would not do: a session from a day when the clock was years ahead would last for years.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class SessionStore(Protocol):
    """Where active sessions are stored; threads may share it."""

    def add(self, key: str, credential: str) -> None:
        """Start a session."""

    def is_known(self, key: str) -> bool:
        """Say whether :meth:`use` knows about a session without a look elsewhere."""

    def needs_look_up(self, key: str) -> bool:
        """Say whether :meth:`look_up` has to come before :meth:`use`; never waits."""

    def look_up(self, key: str) -> None:
        """Find out what others know about a session; may wait for a database."""

    def use(self, key: str) -> str | None:
        """Return the credential of a session if it is active, and count this as a use of it."""

    def remove(self, key: str) -> None:
        """End a session, if it is active."""


class _Session(NamedTuple):
    credential: str
    started: float
    used: float


class MemorySessions:
    """Sessions in the memory of this process; of too many, those used last stay.

    Parameters
    ----------
    clock : callable, optional
        Seconds; by default of a clock that nobody can set.

    Examples
    --------
    >>> sessions = MemorySessions()
    >>> sessions.add("a", "hash of a token")
    >>> sessions.use("a"), sessions.use("b")
    ('hash of a token', None)
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = running_seconds if clock is None else clock
        self._lock = threading.Lock()
        self._active: OrderedDict[str, _Session] = OrderedDict()  # the one used last is the last

    def __len__(self) -> int:
        return len(self._active)

    def add(self, key: str, credential: str) -> None:
        """Start a session."""
        with self._lock:
            now = self._clock()
            self._active[key] = _Session(credential, now, now)
            while len(self._active) > MAX_SESSIONS or _has_ended(next(iter(self._active.values())), now):
                self._active.popitem(last=False)

    def is_known(self, key: str) -> bool:
        """Say that there is nowhere else to look."""
        return True

    def needs_look_up(self, key: str) -> bool:
        """Say that all is known."""
        return False

    def look_up(self, key: str) -> None:
        """Do nothing, since all is known."""

    def use(self, key: str) -> str | None:
        """Return the credential of a session if it is active, and count this as a use of it."""
        with self._lock:
            now, session = self._clock(), self._active.pop(key, None)
            if session is None or _has_ended(session, now):
                return None
            self._active[key] = session._replace(used=now)
            return session.credential

    def remove(self, key: str) -> None:
        """End a session, if it is active."""
        with self._lock:
            self._active.pop(key, None)


def _has_ended(session: _Session, now: float) -> bool:
    return now - session.used > IDLE_SECONDS or now - session.started > MAX_SESSION_SECONDS
