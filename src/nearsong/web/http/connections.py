"""Connections -> a time limit for heads, unambiguous heads, no more than there are files for, and room for newcomers.

uvicorn limits idle time between two requests and how many run, but lets a client take forever to send a request's
head or to read an answer, and refuses everybody when there are too many. A reverse proxy does all of this better;
these are the limits of a service without one (decision 15). Behind one, both must agree on where a request ends, so
heads are refused that h11 would mend.
"""

import asyncio
import re
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nearsong.web.http.rate_limits import address_key

if sys.platform != "win32":
    import resource

HEAD_SECONDS = 10.0
"""How long a client may take from connecting, or from the last response, to the end of a request's head."""

MAX_HEAD_BYTES = 65_536
"""Longest head of a request."""

MAX_FILES = 65_536
SPARE_FILES = 256
MIN_CONNECTIONS = 32
TASKS_PER_CONNECTION = 4
"""Requests that may still run for each connection: those of closed connections end only when their work is done."""

CLOSED_SHARE = 1 / 16
"""Share of all connections that is closed at once when there are too many: seldom is cheaper than one by one."""


_HEAD_END = re.compile(rb"\n\r?\n")
_MENDED = re.compile(rb"(?<!\r)\n|\n[ \t]")  # a line that ends without a carriage return, or continues on the next
_LENGTH = re.compile(rb"\ncontent-length[ \t]*:([^\n]*)", re.IGNORECASE)


class StrictConnection(h11.Connection):
    """HTTP/1.1 of a server that refuses heads which a proxy may read in another way.

    These are continued lines, lines without a carriage return, and a length that is given twice. h11 joins, ignores
    and unites them.
    """

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what was received next, or raise."""
        if self.their_state is h11.IDLE and is_ambiguous(self.trailing_data[0]):
            raise h11.RemoteProtocolError("the head of the request can be read in several ways")
        return super().next_event()


def is_ambiguous(data: bytes) -> bool:
    r"""Say whether data begin with a head of a request that may be read in several ways.

    >>> heads = b"X: a\r\n b\r\n", b"X: a\n", b"Content-Length: 5\r\n" * 2, b"Content-Length: 5\r\n"
    >>> [is_ambiguous(b"POST / HTTP/1.1\r\n" + head + b"\r\n") for head in heads]
    [True, True, True, False]
    """
    if (end := _HEAD_END.search(data)) is None:
        return False
    head = data[: end.end()]
    lengths = _LENGTH.findall(head)
    return _MENDED.search(head) is not None or len(lengths) > 1 or any(b"," in length for length in lengths)


class HeadTimeoutProtocol(H11Protocol):
    """HTTP/1.1 that closes connections whose request head is late or ambiguous, and makes room for new ones.

    The head is complete when the application is called; the clock runs whenever no request is handled. When there
    are too many connections, the address that holds most of them loses some: those that wait for a head first, and
    then those that were opened first. Others are answered all the time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        self._max_connections = self.limit_concurrency
        if self._max_connections is not None:  # else uvicorn counts requests that nobody awaits
            self.limit_concurrency = TASKS_PER_CONNECTION * self._max_connections
        self._answer = self.app
        self.app = self._answer_without_timer
        self._active_requests = 0
        self._opened = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, and make room if there are too many connections."""
        super().connection_made(transport)
        self._opened = self.loop.time()
        self._start_timer()
        if self._max_connections is not None and len(self.connections) >= self._max_connections:
            self._close_some(max(1, int(self._max_connections * CLOSED_SHARE)))

    def _close_some(self, n: int) -> None:
        """Close some connections of the address that has most."""
        others = [one for one in self.connections if isinstance(one, HeadTimeoutProtocol) and one is not self]
        [(busiest, _)] = Counter(map(_address_of, others)).most_common(1)
        theirs = [one for one in others if _address_of(one) == busiest]
        for one in sorted(theirs, key=lambda one: (one._active_requests > 0, one._opened))[:n]:
            self.connections.discard(one)  # not only when the loop has time for it: more are waiting
            one.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_timer()
        super().connection_lost(exc)

    async def _answer_without_timer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._stop_timer()
        self._active_requests += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self._active_requests -= 1
            if not self._active_requests and not self.transport.is_closing():
                self._start_timer()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _address_of(connection: H11Protocol) -> str:
    return address_key("" if connection.client is None else connection.client[0])


def file_limit() -> int:
    """Return how many files this process may have open."""
    if sys.platform == "win32":
        return 512  # the limit of select
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_FILES if soft == resource.RLIM_INFINITY else min(soft, MAX_FILES)


def raise_file_limit() -> None:
    """Let this process have as many files open as the system allows."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with suppress(OSError, ValueError):  # some systems report one limit and enforce another
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def max_connections(files: int) -> int:
    """Return how many connections there are files for, if each also reads a file.

    >>> max_connections(65_536), max_connections(1024), max_connections(128)
    (32640, 384, 32)
    """
    return max(MIN_CONNECTIONS, (files - SPARE_FILES) // 2)
