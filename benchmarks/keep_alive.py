"""A connection to a running service that stays open -> one answer after the other."""

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The status and the body of an answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class KeepAlive:
    """One client of a service on 127.0.0.1 with one connection; it opens another if the service closed it.

    Parameters
    ----------
    port : int
    address : str
        Where the client is: 127.0.0.1, or another address of loopback.
    """

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._port, self._address = port, address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, *, method: str = "GET", headers: str = "", body: bytes = b"") -> Answer:
        """Return the answer to a request; further headers each end with CR LF."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._address, 0))
        reader, writer = self._streams
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{headers}{length}\r\n"
        writer.write(head.encode() + body)
        found = await reader.readuntil(b"\r\n\r\n")
        status = int(found[9:12])
        match = _LENGTH.search(found)
        if match is None and status not in (204, 304):
            raise ValueError(f"no length in {found[:80]!r}")
        answer = Answer(status=status, body=await reader.readexactly(int(match.group(1)) if match else 0))
        if b"connection: close" in found.lower():
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
