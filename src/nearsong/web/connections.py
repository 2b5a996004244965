"""Connections -> only as many as there are files for, and none that waits for long: nobody can shut others out.

Whoever connects says what he wants within seconds, or is gone. When there are too many, the one that has waited for
longest makes room; an answer is never broken off for it.
"""

import asyncio
import errno
import ipaddress
import json
import logging
import os
import socket
import sys
import time
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from nearsong.web.limits import address_key

if sys.platform != "win32":
    import resource

HEAD_SECONDS = 10.0
"""How long a caller may take to say what he wants."""

PER_ADDRESS = 256
PER_LOOPBACK = 1024
"""Connections of one address; a proxy on this machine speaks for many."""

MOST_FILES = 65_536
SPARE_FILES = 256
FEWEST = 32
WAITING = 2048
"""Connections that the system holds until they are taken."""

TELL_SECONDS = 60.0

_FULL = json.dumps(
    {
        "type": "urn:nearsong:busy",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "too many connections; try again in some seconds.",
    }
).encode()
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
    b"Retry-After: 5\r\nContent-Length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)

log = logging.getLogger("nearsong.web")


class Connection(H11Protocol):
    """A connection that has to say soon what it wants, and takes its place in a room."""

    room: "Room"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience: asyncio.TimerHandle | None = None

    @property
    def is_answered(self) -> bool:
        """Whether a request is here whose answer is not over."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is done for it: there is no request, or the rest of it has not come yet."""
        return not self.is_answered or (self.cycle.more_body and not self.cycle.response_started)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or go."""
        super().connection_made(transport)
        if self.room.enter(self, address_key(self.client[0] if self.client else "")):
            self._have_patience()
        else:
            transport.write(_REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place to others."""
        self._have_done()
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come; with a whole head the clock stops, with a part of one it starts."""
        super().data_received(data)
        if self.is_answered:
            self._have_done()
        elif self._patience is None:
            self._have_patience()

    def abort(self) -> None:
        """End at once: who waits for bytes to be taken may wait for ever."""
        if self.transport is not None:
            self.transport.abort()

    def _have_patience(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS, self.abort)

    def _have_done(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class Room:
    """Places for connections, so many for each address.

    Parameters
    ----------
    most : int
        Places in all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: dict[str, dict[Connection, None]] = {}  # the oldest of an address first
        self._address: dict[Connection, str] = {}

    def __len__(self) -> int:
        return len(self._address)

    def enter(self, connection: Connection, address: str) -> bool:
        """Give a connection a place, if need be that of the one that waits for longest; False if there is none."""
        own = self._inside.get(address, {})
        if len(own) >= self._most_of(address):
            crowd = own
        elif len(self._address) >= self._most:
            crowd = max(self._inside.values(), key=len)
        else:
            crowd = {}
        if crowd:
            waiting = next((each for each in crowd if each.is_waiting), None)
            if waiting is None:
                return False
            self.leave(waiting)
            waiting.abort()
        self._inside.setdefault(address, {})[connection] = None
        self._address[connection] = address
        return True

    def leave(self, connection: Connection) -> None:
        """Give a place back; again does no harm."""
        address = self._address.pop(connection, None)
        if address is None:
            return
        self._inside[address].pop(connection)
        if not self._inside[address]:
            del self._inside[address]

    def _most_of(self, address: str) -> int:
        each = PER_LOOPBACK if _is_loopback(address) else PER_ADDRESS
        return min(each, max(1, self._most * 3 // 4))


def _is_loopback(address: str) -> bool:
    try:
        # what an address of IPv6 is counted under is its network
        return address == "::" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def protocol_in(room: Room) -> type[Connection]:
    """Return how connections behave that share a room."""
    return type("ConnectionInRoom", (Connection,), {"room": room})


class Listener(socket.socket):
    """A socket that listens, and turns callers away when the process has no files left.

    Otherwise they would stand at the door, and the loop would try to let them in as fast as it can, with a line in
    the log each time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        self._told = float("-inf")

    def listen(self, _backlog: int = WAITING, /) -> None:
        """Listen; the server's own number says how many it takes at once, which is another thing."""
        super().listen(WAITING)

    def accept(self) -> tuple[socket.socket, Any]:
        """Take a caller in; with no files left he is let go, and nobody seems to be there."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._turn_away()
            raise BlockingIOError(errno.EAGAIN, "there are no files left") from error

    def close(self) -> None:
        """Stop."""
        super().close()
        self._give_spare()

    def _turn_away(self) -> None:
        """Use the file that was kept for this moment to take somebody in, and let him go."""
        now = time.monotonic()
        if now - self._told > TELL_SECONDS:
            self._told = now
            log.warning("there are more connections than this process may have files open; some are turned away.")
        self._give_spare()
        with suppress(OSError):  # somebody else was quicker, or he is gone
            super().accept()[0].close()
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            self._spare = None

    def _give_spare(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None


def file_limit() -> int:
    """Return how many files this process may have open."""
    if sys.platform == "win32":
        return 512  # so many it can wait for at once
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, MOST_FILES)


def raise_file_limit() -> None:
    """Let this process have as many files open as it may allow itself."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with suppress(OSError, ValueError):  # some systems say one limit and hold another
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def taken_at_once(files: int) -> int:
    """Return how many connections may be taken before those that came earlier are looked at.

    >>> taken_at_once(65_536), taken_at_once(128)
    (100, 16)
    """
    return max(8, min(100, files // 8))


def most_connections(files: int) -> int:
    """Return for how many connections there are files: each may also play one.

    >>> most_connections(65_536), most_connections(1024), most_connections(128)
    (32640, 384, 32)
    """
    return max(FEWEST, (files - SPARE_FILES) // 2)
