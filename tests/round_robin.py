"""A small reverse proxy on this machine: each request goes to the next service, and past one that does not answer."""

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
TIMEOUT_SECONDS = 120


class RoundRobin(ThreadingHTTPServer):
    """Sends each request to one of several services, in turn.

    Attributes
    ----------
    address : str
    answered : Counter
        How many requests each service has answered.
    """

    daemon_threads = True

    def __init__(self, services: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.answered: Counter[str] = Counter()
        self._services, self._next = list(services), itertools.count()
        self._lock = threading.Lock()

    def turn(self) -> list[str]:
        """Return the services in the order in which to ask them."""
        with self._lock:
            first = next(self._next) % len(self._services)
        return self._services[first:] + self._services[:first]

    def __enter__(self) -> "RoundRobin":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: RoundRobin

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        for service in self.server.turn():
            connection = HTTPConnection(str(urlsplit(service).hostname), urlsplit(service).port, TIMEOUT_SECONDS)
            try:
                connection.connect()
            except OSError:  # nothing was sent yet
                continue
            self._pass_on(connection, body)
            self.server.answered[service] += 1
            connection.close()
            return
        self.send_error(502)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - as the base class has them

    def _pass_on(self, connection: HTTPConnection, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers |= {"Host": self.headers["Host"], "X-Forwarded-For": self.client_address[0]}
        if body:
            headers["Content-Length"] = str(len(body))
        connection.request(self.command, self.path, body or None, headers)
        self._send_back(connection.getresponse())

    def _send_back(self, response: HTTPResponse) -> None:
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := response.read1(1 << 16):  # events as they come
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""
