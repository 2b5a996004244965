"""Clients that hardly read or write, more than there are connections -> a good client is answered all the time.

A slow head is cut off after 10 s and a slow body after 15 s (an upload by its rate); a slow reader holds one
connection. The good client is at an address of its own.
"""

import contextlib
import threading
import time
from collections import Counter

import numpy as np

from torture.attack import Figures, check
from torture.processes import PATIENCE_SECONDS
from torture.wire.client import Client, closed_at_end, loopback_address
from torture.wire.target import Target

DRIBBLE_SECONDS = 0.5
GOOD_PAUSE_SECONDS = 0.05
MIN_ASKED = 20
"""Requests of the good client, however busy the machine is."""
RECEIVE_BYTES = 4096


class _Slow:
    """One slow client: what it says first, and what it does every half second."""

    def __init__(self, client: Client, kind: str, target: Target) -> None:
        self.kind = kind
        self._first, self._more = _manners(client, target)[kind]
        self.connection = client.connect(receive_bytes=RECEIVE_BYTES)
        self.is_open = True
        self._started = time.monotonic()
        with contextlib.suppress(OSError):
            self.connection.sendall(self._first)
        self.connection.setblocking(False)

    @property
    def age(self) -> float:
        """Seconds since it connected."""
        return time.monotonic() - self._started

    def go_on(self) -> None:
        """Send or read a little; notice when the service has closed the connection."""
        try:
            if self._more:
                self.connection.send(self._more)
            elif not self.connection.recv(1):
                self.is_open = False
        except BlockingIOError:
            pass
        except OSError:
            self.is_open = False


def _manners(client: Client, target: Target) -> dict[str, tuple[bytes, bytes]]:
    """Return the kinds of slow clients: the first bytes, and those of every half second; none for slow readers."""
    json = {"Content_Type": "application/json"}
    form = {"Content_Type": "multipart/form-data; boundary=b", "Content_Length": "100000"}
    part = b'\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="x.wav"\r\n\r\nRIFF'
    return {
        "silent": (b"", b""),
        "head": (client.head("GET", "/api/v1/health"), b"X: y\r\n"),
        "body": (client.head("POST", "/api/v1/playlists", **json, Content_Length="100000") + b"\r\n{", b" "),
        "chunks": (
            client.head("POST", "/api/v1/playlists", **json, Transfer_Encoding="chunked") + b"\r\n1\r\n{\r\n",
            b"1\r\n \r\n",
        ),
        "upload": (client.head("POST", "/api/v1/query", **form) + part, b"x"),
        "audio": (client.head("GET", f"/api/v1/songs/{target.long_song}/audio?original=true") + b"\r\n", b""),
        "list": (b"".join([client.head("GET", "/api/v1/songs?limit=200") + b"\r\n"] * 20), b""),
    }


HOLDERS = ("silent", "head", "body", "chunks", "audio")
"""Those that hold their connections; the service refuses most slow uploads, and lists are short."""

WRITERS = ("head", "body", "chunks", "upload")
CUT_OFF_SECONDS = 26.0
"""Within this time every slow writer is cut off, on a machine that may be busy."""


def be_slow(target: Target, random: np.random.Generator, seconds: float) -> Figures:
    """Hold more slow connections than the service takes, and ask as a good client meanwhile."""
    n_slow = 2 * target.max_connections
    kinds = [*HOLDERS, *HOLDERS, *HOLDERS, "upload", "list"]
    attackers = [Client(target.service, loopback_address(random)) for _ in range(8)]
    opened: Counter[str] = Counter()

    def another() -> _Slow:
        kind = kinds[opened.total() % len(kinds)]
        opened[kind] += 1
        return _Slow(attackers[opened.total() % len(attackers)], kind, target)

    good = _GoodClient(Client(target.service, loopback_address(random)), target.n_songs)
    with closed_at_end() as connections:
        slow = [another() for _ in range(n_slow)]
        with good:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline or (
                good.statuses.total() < MIN_ASKED and time.monotonic() < deadline + PATIENCE_SECONDS
            ):
                for at, one in enumerate(slow):
                    one.go_on()
                    if not one.is_open:  # refused or cut off: it comes again
                        one.connection.close()
                        slow[at] = another()
                time.sleep(DRIBBLE_SECONDS)
        connections += [one.connection for one in slow]
        oldest = {kind: max(one.age for one in slow if one.kind == kind) for kind in {one.kind for one in slow}}
    for kind in WRITERS:
        age = oldest.get(kind, 0.0)
        check(age <= CUT_OFF_SECONDS, f"a slow client ({kind}) is still connected after {age:.0f} s")
    statuses = good.statuses
    n_bad = statuses.total() - statuses[200]
    check(not n_bad, f"{n_bad} of {statuses.total()} requests of a good client failed: {dict(statuses)}")
    check(statuses[200] > 0, f"a good client had no answer in {seconds:.0f} s")
    return {
        "slow connections": opened.total(),
        "answers beside slow connections": statuses[200],
        "slowest answer beside them in s": round(good.slowest, 2),
    }


class _GoodClient:
    """Asks for similar songs in a thread while a block runs."""

    def __init__(self, client: Client, n_songs: int) -> None:
        self._client, self._n_songs = client, n_songs
        self.statuses: Counter[int] = Counter()
        self.slowest = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        at = 0
        while not self._is_over.wait(GOOD_PAUSE_SECONDS):
            at += 1
            started = time.monotonic()
            try:
                status = self._client.ask(f"/api/v1/similar?seed={at % self._n_songs + 1}", timeout=60).status
            except OSError:
                status = 0  # no answer at all
            self.statuses[status] += 1
            self.slowest = max(self.slowest, time.monotonic() - started)

    def __enter__(self) -> "_GoodClient":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join(120)
