"""A request -> its answer, over loopback, from any of its addresses: limits that count addresses see many clients."""

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from torture.attack import check
from torture.processes import PATIENCE_SECONDS, RunningService


def loopback_address(random: np.random.Generator) -> str:
    """Return an address of this computer that hardly anything else uses."""
    return f"127.{random.integers(1, 255)}.{random.integers(255)}.{random.integers(1, 255)}"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the service answered; names of headers in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One client of a service, at an address of its own; each request on a new connection.

    Parameters
    ----------
    service : RunningService
    address : str
        Of loopback.
    with_token : bool
        Whether it shows the service's token.
    """

    def __init__(self, service: RunningService, address: str = "127.0.0.1", *, with_token: bool = True) -> None:
        self.service, self.address = service, address
        self._headers = service.headers if with_token else {}

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float = PATIENCE_SECONDS,
    ) -> Reply:
        """Return the answer to a request."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.service.port, timeout=timeout, source_address=(self.address, 0)
        )
        with closing(connection):
            connection.request(method, path, body, {**self._headers, **(headers or {})})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(status=answer.status, headers=named, body=answer.read())

    def send(self, method: str, path: str, value: Any) -> Reply:
        """Return the answer to a request with JSON."""
        body = json.dumps(value).encode()
        return self.ask(path, method=method, headers={"Content-Type": "application/json"}, body=body)

    def send_form(self, path: str, **fields: str) -> Reply:
        """Return the answer to a form."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask(path, method="POST", headers=kind, body=urlencode(fields).encode())

    def head(self, method: str, path: str, **headers: str) -> bytes:
        """Return the first lines of a request, for those who send the rest in their own way."""
        named = {"Host": f"127.0.0.1:{self.service.port}", **self._headers}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        return "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in named.items()), ""]).encode()

    def connect(self, *, receive_bytes: int | None = None, timeout: float = 10.0) -> socket.socket:
        """Return a connection to say anything on."""
        connection = socket.socket()
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.bind((self.address, 0))
        connection.settimeout(timeout)
        connection.connect(("127.0.0.1", self.service.port))
        return connection


def read_to_end(connection: socket.socket, seconds: float) -> tuple[bytes, bool]:
    """Return what a service says within some seconds, and whether it then closed the connection."""
    deadline, said = time.monotonic() + seconds, bytearray()
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            data = connection.recv(1 << 16)
        except TimeoutError:
            break
        except OSError:  # reset
            return bytes(said), True
        if not data:
            return bytes(said), True
        said += data
    return bytes(said), False


def check_busy(reply: Reply, what: str) -> None:
    """Check that an answer of a service that is too busy says when to come back."""
    if reply.status in (429, 503):
        check(reply.headers.get("retry-after", "").isdigit(), f"{what}: {reply.status} without Retry-After")


def check_alive(service: RunningService) -> None:
    """Check that a service still answers."""
    check(service.process.poll() is None, f"the service ended with code {service.process.poll()}")
    check(Client(service).ask("/api/v1/health", timeout=60).status == 200, "the service is not healthy")


@contextmanager
def closed_at_end() -> Iterator[list[socket.socket]]:
    """Close connections when a block ends."""
    connections: list[socket.socket] = []
    try:
        yield connections
    finally:
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.close()
