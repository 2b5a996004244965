"""A running service -> its answers, whatever their status; also one that starts as a fork of a warm process."""

import contextlib
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.attack import BrokenError
from torture.processes import PATIENCE_SECONDS, free_port
from torture.warm.start import Command, WarmStart

BOUNDARY = "torture-5d1c"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Gives an answer that leads elsewhere as it is."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_done(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the body as JSON; None without a body."""
        return json.loads(self.body) if self.body else None

    def words(self) -> str:
        """Return status and detail, for reports."""
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            return f"{self.status} {self.json().get('detail', '')}"[:200]
        return f"{self.status} {self.body[:120]!r}"


class Client:
    """Sends requests to a service on this computer.

    Parameters
    ----------
    url : str
    headers : mapping, optional
        Sent with every request.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.headers = dict(headers or {})

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        timeout: float = PATIENCE_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with JSON, or with the bytes given; an answer with an error is an answer too."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **self.headers, **(headers or {})}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=sent)
        try:
            with _opener.open(request, timeout=timeout) as answer:
                return Answer(status=answer.status, headers=dict(answer.headers), body=answer.read())
        except urllib.error.HTTPError as error:
            return Answer(status=error.code, headers=dict(error.headers), body=error.read())

    def get(self, path: str, timeout: float = PATIENCE_SECONDS) -> Answer:
        """Send a GET."""
        return self.send("GET", path, timeout=timeout)

    def upload(self, path: str, file: Path, timeout: float = PATIENCE_SECONDS) -> Answer:
        """Send a file as a form does."""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
        body = head.encode() + file.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        return self.send("POST", path, body, timeout=timeout, headers=kind)


class WarmService(Client):
    """``nearsong serve`` as a fork of a warm process; use it in a ``with`` block."""

    def __init__(
        self, warm: WarmStart, library: str, *options: str, env: Mapping[str, str] | None = None, token: str = ""
    ) -> None:
        port = free_port()
        super().__init__(f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {token}"} if token else None)
        more = {**(env or {}), **({"NEARSONG_TOKEN": token} if token else {})}
        self.command: Command = warm.start(
            "serve", "--library", library, "--port", str(port), "--no-automatic", *options, env=more
        )

    def __enter__(self) -> "WarmService":
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self.command.has_ended:
                raise BrokenError(f"the service ended at its start: {self.command.errors().strip()[-300:]}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.get("/api/v1/status")
                return self
            time.sleep(0.05)
        self.command.kill()
        raise BrokenError("the service did not answer")

    def __exit__(self, *_error: object) -> None:
        self.command.kill()

    def check_log(self) -> None:
        """Raise if the service has logged an unexpected error."""
        errors = self.command.errors()
        if "Traceback" in errors:
            raise BrokenError(f"the service logged a traceback: {errors[errors.index('Traceback') :].strip()[-600:]}")
