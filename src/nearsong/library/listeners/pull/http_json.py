"""A URL and parameters -> JSON, or a file, from a server that may be slow, busy or hostile.

Everything is bounded: the size of an answer, the time that it takes, redirects, attempts and pauses. A request runs
in a thread of its own, so that neither a server that sends a byte at a time nor a hanging name server delays Ctrl-C.
"""

import email.utils
import http.client
import ipaddress
import json
import os
import queue
import random
import secrets
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from nearsong import __version__
from nearsong.errors import InvalidInputError, ListensError, is_disk_full

USER_AGENT = f"nearsong/{__version__}"
MAX_ANSWER_BYTES = 64 << 20
SOCKET_TIMEOUT_SECONDS = 30.0
REQUEST_SECONDS = 120.0
"""From name look-up to the last byte of an answer."""

DOWNLOAD_SECONDS = 1_800.0
"""The same for a file."""

MAX_REDIRECTS = 5
MAX_ATTEMPTS = 7
"""Of one request: a minute of back-off, or longer if the server says so."""

FIRST_BACK_OFF_SECONDS = 1.0
MAX_WAIT_SECONDS = 300.0
"""Longest pause that a server may ask for."""

MAX_SHOWN_CHARACTERS = 160
"""Of a message by the server."""

BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which a request is repeated."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK = range(200, 300)
_CHUNK_BYTES = 1 << 16

RawAnswer = tuple[int, dict[str, str], bytes | None]
"""Status, headers with names in lower case, and body, None if that was written to a file."""

Pause = Callable[[float], None]

Parameters = Mapping[str, str | int | Sequence[str]]
"""Of a request; one with several values is sent several times."""


@dataclass(frozen=True)
class JsonAnswer:
    """What a server answered: status, headers in lower case, and its JSON, None if it is none."""

    status: int
    headers: Mapping[str, str]
    value: Any


class _FailedRequestError(Exception):
    """The network failed, or the server did not speak HTTP; a retry may succeed."""


class HttpJson:
    """Asks one server.

    Parameters
    ----------
    url : str
        Base of all addresses, http or https.
    headers : mapping of str to str
        Sent with every request.
    secrets : sequence of str
        Removed from messages of the server.
    interval : float
        Least seconds between two requests.
    is_busy : callable
        Whether an answer means that the request should be repeated later.
    pause : callable
        Called with the seconds to wait.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        interval: float = 0.0,
        is_busy: Callable[[JsonAnswer], bool] = lambda answer: answer.status in BUSY,
        pause: Pause = time.sleep,
    ) -> None:
        self.url = checked_url(url)
        self.host = str(urlsplit(self.url).netloc)
        self._headers = {"User-Agent": USER_AGENT, "Accept": "application/json", **(headers or {})}
        self._secrets = [secret for secret in secrets if secret]
        self._interval, self._is_busy, self._pause = interval, is_busy, pause
        self._opener = _opener()
        self._next_at = 0.0

    def get(self, path: str, parameters: Parameters) -> JsonAnswer:
        """Return the answer to a request, repeated while the server is busy or unreachable.

        Raises
        ------
        ListensError
            If all attempts fail, or the answer is unusable: too long, not JSON, or a redirect to another server.
        """
        return self._repeated(self._address(path, parameters), REQUEST_SECONDS)

    def download(self, path: str, parameters: Parameters, file: str, *, max_bytes: int) -> JsonAnswer:
        """Write what a server sends to a new file; return its answer instead where that is JSON or an error.

        Parameters
        ----------
        path : str
        parameters : mapping
        file : str
            Written only if all of it has arrived; then the answer has no value.
        max_bytes : int

        Raises
        ------
        ListensError
            If all attempts fail, or more than ``max_bytes`` come.
        """
        return self._repeated(self._address(path, parameters), DOWNLOAD_SECONDS, file, max_bytes)

    def _address(self, path: str, parameters: Parameters) -> str:
        query = urlencode(parameters, doseq=True)
        return f"{self.url}{path}" + (f"?{query}" if query else "")

    def _repeated(self, url: str, seconds: float, file: str = "", max_bytes: int = 0) -> JsonAnswer:
        """Return an answer once the server is not busy."""
        read = partial(self._read, seconds=seconds, file=file, max_bytes=max_bytes)
        reason = ""
        for attempt in range(MAX_ATTEMPTS):
            wait = self._next_at - time.monotonic()
            if wait > 0:
                self._pause(wait)
            back_off = FIRST_BACK_OFF_SECONDS * 2**attempt * random.uniform(0.5, 1.5)
            try:
                answer = self._answer(url, read, seconds)
            except _FailedRequestError as error:
                reason = str(error)
                self._wait(back_off)
                continue
            self._wait(max(self._interval, _used_up_seconds(answer.headers)))
            if not self._is_busy(answer):
                return answer
            reason = self._busy_reason(answer)
            asked = _asked_seconds(answer.headers)
            if asked > MAX_WAIT_SECONDS:
                raise ListensError(f"{self.host} asks to come back in {asked:,.0f} s; try again then.")
            self._wait(max(asked, back_off))
        raise ListensError(f"{self.host}: {reason} ({MAX_ATTEMPTS} attempts); try again later.")

    def shown(self, text: object) -> str:
        """Return a text of the server for a message: short, on one line, without secrets."""
        words = " ".join(str(text)[: 100 * MAX_SHOWN_CHARACTERS].split())
        for secret in self._secrets:
            words = words.replace(secret, "[secret]")
        words = "".join(letter for letter in words if letter.isprintable())
        return words if len(words) <= MAX_SHOWN_CHARACTERS else words[: MAX_SHOWN_CHARACTERS - 3] + "..."

    def _wait(self, seconds: float) -> None:
        """Let no request begin for some seconds."""
        self._next_at = max(self._next_at, time.monotonic() + seconds)

    def _busy_reason(self, answer: JsonAnswer) -> str:
        if answer.status == 429:
            return "it allows no more requests for now (HTTP 429)"
        return f"it is busy or has an error (HTTP {answer.status})"

    def _answer(self, url: str, read: Callable[[str], RawAnswer], seconds: float) -> JsonAnswer:
        """Return the answer of one attempt, after redirects."""
        for _ in range(MAX_REDIRECTS):
            status, headers, body = _in_time(read, url, seconds)
            if status not in _REDIRECTS:
                return JsonAnswer(status, headers, None if body is None else self._parsed(status, body))
            new = urljoin(url, headers.get("location", ""))
            if not _is_same_server(urlsplit(url), new):
                raise ListensError(
                    f"{self.host} redirects to another server ({self.shown(_server_of(new))}), which is refused; "
                    "if you trust that one, give its address."
                )
            url = new
        raise ListensError(f"{self.host} redirects more than {MAX_REDIRECTS} times; check the URL.")

    def _read(self, url: str, *, seconds: float, file: str, max_bytes: int) -> RawAnswer:
        """Return status, headers and body, which goes to a file where one is named; called in a thread."""
        deadline = time.monotonic() + seconds
        request = urllib.request.Request(url, headers=self._headers)
        with self._opener.open(request, timeout=SOCKET_TIMEOUT_SECONDS) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            if response.status in _REDIRECTS:
                return response.status, headers, b""
            pieces = self._pieces(response, headers, deadline)
            if not file or response.status not in _OK or _is_text(headers):
                return response.status, headers, b"".join(self._limited(pieces, MAX_ANSWER_BYTES))
            unfinished = f"{file}.{secrets.token_hex(6)}"  # an attempt that was given up may still write to its own
            with open(unfinished, "xb") as target:
                for piece in self._limited(pieces, max_bytes):
                    target.write(piece)
            os.replace(unfinished, file)
            return response.status, headers, None

    def _pieces(self, response: Any, headers: Mapping[str, str], deadline: float) -> Iterator[bytes]:
        """Yield the body of a response; raise if it takes too long or ends too soon."""
        size = 0
        while piece := response.read1(_CHUNK_BYTES):
            size += len(piece)
            yield piece
            if time.monotonic() > deadline:
                raise TimeoutError
        declared = headers.get("content-length", "")
        if declared.isdecimal() and size < int(declared[:18]):
            raise http.client.IncompleteRead(b"")

    def _limited(self, pieces: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise ListensError(f"{self.host} answers with more than {max_bytes >> 20} MB; check the URL.")
            yield piece

    def _parsed(self, status: int, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            if status == 200:
                raise ListensError(f"{self.host} does not answer with JSON; check the URL.") from None
            return None


def checked_url(text: str) -> str:
    """Return a URL without a slash at its end, or raise ``InvalidInputError``.

    >>> checked_url("https://music.example/api/")
    'https://music.example/api'
    """
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidInputError(
            "the URL is not a valid http or https address; give one such as https://music.example."
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidInputError(
            "the URL must not hold a password, a query or a fragment; give https://host/path only."
        )
    return text.rstrip("/")


def is_private(url: str) -> bool:
    """Return whether nobody on the way can read what is sent: with TLS, or to this computer."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener of http and https that follows no redirect and treats every status alike."""
    opener = urllib.request.OpenerDirector()
    context = ssl.create_default_context()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _is_text(headers: Mapping[str, str]) -> bool:
    """Return whether a body is JSON or XML: what servers send instead of a file that they refuse."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind.endswith(("json", "xml")) or kind.startswith("text/")


def _in_time(read: Callable[[str], RawAnswer], url: str, seconds: float) -> RawAnswer:
    """Return the result of a function that runs in a thread, at the latest after some seconds."""
    results: queue.SimpleQueue[RawAnswer | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put(read(url))
        except BaseException as error:  # raised in the other thread
            results.put(error)

    threading.Thread(target=run, name="nearsong-pull", daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except queue.Empty:
        raise _FailedRequestError(f"no complete answer within {seconds:.0f} s") from None
    if not isinstance(result, BaseException):
        return result
    raise _translated(result, _server_of(url)) from None  # without the cause, which may name a URL with a key


def _translated(error: BaseException, host: str) -> BaseException:
    """Return the error of a request as one of ours."""
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        error = error.reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return ListensError(f"the certificate of {host} is not valid ({error.verify_message}); check the URL.")
    if isinstance(error, TimeoutError):
        return _FailedRequestError("no answer in time")
    if isinstance(error, OSError) and is_disk_full(error):
        return error
    if isinstance(error, OSError):
        return _FailedRequestError(f"it cannot be reached ({error.strerror or type(error).__name__})")
    if isinstance(error, (http.client.HTTPException, ValueError)):
        return _FailedRequestError(f"it does not speak HTTP, or the connection broke ({type(error).__name__})")
    return error


def _is_same_server(old: SplitResult, new: str) -> bool:
    """Return whether a redirect stays on the server, perhaps from http to https."""
    try:
        parts = urlsplit(new)
        ports = [part.port or {"http": 80, "https": 443}.get(part.scheme) for part in (old, parts)]
    except ValueError:
        return False
    if parts.hostname != old.hostname or parts.username is not None:
        return False
    return (parts.scheme == old.scheme and ports[0] == ports[1]) or (
        (old.scheme, parts.scheme) == ("http", "https") and ports == [80, 443]
    )


def _server_of(url: str) -> str:
    try:
        return str(urlsplit(url).hostname or "no host")
    except ValueError:
        return "no valid address"


def _used_up_seconds(headers: Mapping[str, str]) -> float:
    """Return how long to wait because the allowed requests are used up, as ListenBrainz tells it; 0 if not."""
    if _number(headers.get("x-ratelimit-remaining")) != 0:
        return 0.0
    return min(_number(headers.get("x-ratelimit-reset-in")) or 0.0, MAX_WAIT_SECONDS)


def _asked_seconds(headers: Mapping[str, str]) -> float:
    """Return how long a busy server asks to wait; 0 if it does not say."""
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is None and text:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            seconds = None
    if seconds is None:
        seconds = _number(headers.get("x-ratelimit-reset-in"))
    return max(0.0, seconds or 0.0)


def _number(text: str | None) -> float | None:
    """Return a number of at least 0, else None."""
    try:
        value = float((text or "")[:32])
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
