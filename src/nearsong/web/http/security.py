"""A request -> whether it may pass; an answer -> with security headers.

Plain ASGI, so that audio streams through it. Five checks, in this order: is the Host header one of ours (another name
that leads here is DNS rebinding), has the body one length (with two, a proxy may read other requests than the
service), does another site's page use the user's browser, is the body too large, does the request carry the token.
Errors from inside become problems, with the headers too.
"""

import asyncio
import socket
from collections.abc import Iterable

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearsong.web.http.authentication import API, LISTENBRAINZ, SAFE_METHODS, Authentication, is_of_protocol
from nearsong.web.http.origins import host_name, is_address, is_embedded, is_foreign, is_host, is_only_other_scheme
from nearsong.web.http.problems import CLOSE_CONNECTION, problem, stopping, unexpected
from nearsong.web.settings import ServeSettings

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' blob:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

MAX_BODY_MEGABYTES = 4
MAX_BODY_SECONDS = 15.0
"""How long a request body may take to arrive; uploads have a limit of their own."""

UPLOAD_PATHS = frozenset({"/api/v1/query", "/api/v1/listens"})

_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class SecurityMiddleware:
    """Refuses requests that may not pass, limits bodies, and adds security headers to every answer.

    Parameters
    ----------
    app : ASGI application
    settings : ServeSettings
    authentication : Authentication
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings, authentication: Authentication) -> None:
        self.app, self.settings, self.authentication = app, settings, authentication
        self._names = frozenset(_names_of(settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = {name.lower() for name, _ in message.setdefault("headers", [])}
                message["headers"] = [*message["headers"], *(pair for pair in _RAW_HEADERS if pair[0] not in present)]
            await send(message)

        try:
            refusal = await self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send_with_headers)
            else:
                await self.app(scope, self._limit_body(scope, receive), send_with_headers)
        except asyncio.CancelledError:
            if not started:
                await stopping()(scope, receive, send_with_headers)
            raise
        except Exception as error:
            if started:
                raise  # too late for a problem: the connection is closed and the error logged
            await unexpected(error)(scope, receive, send_with_headers)

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        seconds = None if scope["path"] in UPLOAD_PATHS or not _has_body(scope) else MAX_BODY_SECONDS
        return _limited(receive, self._max_bytes(scope), seconds)

    def _max_bytes(self, scope: Scope) -> int:
        is_upload = scope["path"] in UPLOAD_PATHS
        return (self.settings.upload_megabytes + 1 if is_upload else MAX_BODY_MEGABYTES) << 20

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._serves(hosts[0]):
            detail = (
                "this service does not accept that host name; use its address, or start it with --host-name NAME."
            )
            return problem(421, detail, "unknown-host")
        if (length := _length_problem(scope, headers)) is not None:
            return problem(400, length, "two-lengths", CLOSE_CONNECTION)
        if self._is_foreign(scope, headers):
            return problem(403, _foreign_words(scope), "foreign-origin")
        announced = headers.get("content-length", "0")
        is_too_large = announced.isascii() and announced.isdigit() and int(announced[:20]) > self._max_bytes(scope)
        if is_too_large and not scope["path"].startswith(LISTENBRAINZ):  # whose clients get it in their own form
            return problem(413, _too_large(self._max_bytes(scope)), "too-large")
        return await self.authentication.answer(Request(scope))

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        """Say whether a page of another site sent the request; players' protocols have credentials that count."""
        path: str = scope["path"]
        if not self.authentication.is_open and is_of_protocol(path) and ".." not in path:
            return False
        if scope["method"] in SAFE_METHODS:  # GET may start work, too
            return (path.startswith(API) or is_of_protocol(path)) and is_embedded(headers)
        return is_foreign(HTTPConnection(scope), may_hide=path == "/login")

    def _serves(self, host: str) -> bool:
        if not is_host(host):
            return False
        name = host_name(host)
        if name in self._names:
            return True
        return not (self.authentication.is_open or self.settings.is_loopback) and is_address(name)


def _names_of(settings: ServeSettings) -> Iterable[str]:
    """Return the host names that the service answers to."""
    yield from LOOPBACK_NAMES
    yield host_name(settings.host)
    yield from (host_name(name) for name in settings.host_names)
    if not settings.is_loopback:
        own = socket.gethostname().lower()
        yield from (own, f"{own}.local")


def _too_large(max_bytes: int) -> str:
    return f"the request is larger than {max_bytes >> 20} MB, the limit here."


def _length_problem(scope: Scope, headers: Headers) -> str | None:
    """Return what is wrong with the length of a body; None if nothing is."""
    if "transfer-encoding" not in headers:
        return None
    if "content-length" in headers:
        return "the length of the body is not clear; send Content-Length or Transfer-Encoding, not both."
    if scope.get("http_version") == "1.0":
        return "HTTP/1.0 has no Transfer-Encoding; send Content-Length, or use HTTP/1.1."
    return None


def _foreign_words(scope: Scope) -> str:
    if is_only_other_scheme(HTTPConnection(scope)):
        return (
            "the page came by HTTPS but its request by HTTP; let the proxy send X-Forwarded-Proto and, unless it is "
            "on the same machine, start with --trusted-proxy ADDRESS."
        )
    return "requests from other sites' pages are not allowed."


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _limited(receive: Receive, max_bytes: int, seconds: float | None) -> Receive:
    """Return a receiver that fails after so many bytes, whatever Content-Length says, or so many seconds.

    The clock starts when the body is first asked for: it is not the client's fault if the service takes longer.
    """
    received = 0
    deadline: float | None = None
    is_complete = False

    async def receive_in_time() -> Message:
        nonlocal deadline, is_complete
        if seconds is None or is_complete:
            return await receive()
        deadline = anyio.current_time() + seconds if deadline is None else deadline
        with anyio.move_on_at(deadline):
            message = await receive()
            if not message.get("more_body", False):  # only a disconnect can follow
                is_complete = True
            return message
        raise HTTPException(408, f"the request did not arrive within {seconds:g} s; try again.", CLOSE_CONNECTION)

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive_in_time()
        received += len(message.get("body", b""))
        if received > max_bytes:
            raise HTTPException(413, _too_large(max_bytes), CLOSE_CONNECTION)
        return message

    return receive_limited
