"""A request -> whether it may come in; an answer -> with the headers that keep a browser from being misled.

Plain ASGI, so that sound streams through it. Four questions, in this order: is the host one of ours (a foreign name
that leads here is DNS rebinding), does another site's page use the user's browser, is the body too large, does the
caller know the token. Whatever goes wrong inside comes out as a problem, with the headers too.
"""

import asyncio
import hmac
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlencode

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearsong.web.limits import RateLimit, client_of, too_many
from nearsong.web.origins import host_name, is_address, is_embedded, is_foreign, is_host
from nearsong.web.problems import problem, unexpected
from nearsong.web.settings import ServeSettings

COOKIE = "nearsong_session"
COOKIE_SECONDS = 30 * 24 * 3600

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


def _policy(**looser: str) -> str:
    return "; ".join(f"{name} {value}" for name, value in {**_POLICY, **looser}.items())


CONTENT_POLICY = _policy()
DOCS_POLICY = _policy(**{"style-src": "'self' 'unsafe-inline'"})
"""Swagger UI writes styles into its markup."""

HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
OPEN_PATHS = frozenset({"/api/v1/health", "/login", "/favicon.ico", "/static/js/theme.js"})
REST = "/rest/"
API = "/api/"
OPEN_BELOW = ("/static/css/", "/static/icon", "/static/manifest", REST)
"""Without a token: what a monitor and the login page need, and /rest, which asks for a password of its own."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_MEGABYTES = 4
BODY_SECONDS = 15.0
"""How long a body may take to arrive; files that are sent have a time of their own."""

UPLOAD_PATHS = frozenset({"/api/v1/query", "/api/v1/listens"})

_CLOSE = {"Connection": "close"}  # what is still on its way is not read
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Lets in who may come in.

    Parameters
    ----------
    app : ASGI application
    settings : ServeSettings
    door : Door or None
        Who knows the token; None if none is needed.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings, door: "Door | None") -> None:
        self.app, self.settings, self.door = app, settings, door
        self._names = frozenset(_names_of(settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False
        headers = _headers_for(scope["path"])

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                there = {name.lower() for name, _ in message.setdefault("headers", [])}
                message["headers"] = [*message["headers"], *(pair for pair in headers if pair[0] not in there)]
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                await self.app(scope, self._limited(scope, receive), sending)
        except asyncio.CancelledError:
            if not started:
                stopping = problem(503, "the service is stopping; try again later.", "stopping", _CLOSE)
                await stopping(scope, receive, sending)
            raise
        except Exception as error:
            if started:
                raise  # too late for words: the connection breaks off, and the log says why
            await unexpected(error)(scope, receive, sending)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        seconds = None if scope["path"] in UPLOAD_PATHS or not _has_body(scope) else BODY_SECONDS
        return _limited(receive, self._most_bytes(scope), seconds)

    def _most_bytes(self, scope: Scope) -> int:
        takes_files = scope["path"] in UPLOAD_PATHS
        return (self.settings.upload_megabytes + 1 if takes_files else BODY_MEGABYTES) << 20

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._serves(hosts[0]):
            detail = (
                "this service does not answer under that name; call it by its address, or start it with --host-name."
            )
            return problem(421, detail, "unknown-host")
        if self._is_foreign(scope, headers):
            return problem(403, "another site's page may not do this here.", "foreign-origin")
        said = headers.get("content-length", "0")
        if said.isascii() and said.isdigit() and int(said[:20]) > self._most_bytes(scope):
            return problem(413, _too_large(self._most_bytes(scope)), "too-large")
        return None if self.door is None else self.door.refusal(Request(scope))

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        """Say whether another site's page asks; below /rest no cookie counts, but the password, each time."""
        path: str = scope["path"]
        if self.door is not None and path.startswith(REST) and ".." not in path:
            return False
        if scope["method"] in SAFE_METHODS:  # to look may start work, too
            return path.startswith((API, REST)) and is_embedded(headers)
        return is_foreign(headers, may_hide=path == "/login")

    def _serves(self, host: str) -> bool:
        if not is_host(host):
            return False
        name = host_name(host)
        if name in self._names:
            return True
        return self.door is not None and not self.settings.is_loopback and is_address(name)


class Door:
    """Knows who has the token.

    Parameters
    ----------
    token : str
    failures : RateLimit
        How often one address may be wrong.
    secure : bool
        Whether the cookie is for HTTPS alone.
    """

    def __init__(self, token: str, failures: RateLimit, secure: bool = False) -> None:
        self._token = token.encode()
        self._session = hmac.new(self._token, b"nearsong session", "sha256").hexdigest()
        self._secure = secure
        self.failures = failures

    def knows(self, token: str) -> bool:
        """Say whether a token is ours, in the same time for all that are not."""
        return hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)

    def try_token(self, request: Request, token: str) -> bool:
        """Say whether a token is ours; whoever was wrong too often is not told (problem 429)."""
        client = counted_as(request)
        wait = self.failures.wait(client)
        if wait > 0:
            raise too_many(wait, "wrong tokens")
        if self.knows(token):
            return True
        self.failures.take(client)
        return False

    def has_session(self, request: Request) -> bool:
        """Say whether the cookie of a log-in came along."""
        try:
            jar = SimpleCookie(request.headers.get("cookie", ""))
        except CookieError:
            return False
        said = jar[COOKIE].value if COOKIE in jar else ""
        return hmac.compare_digest(said.encode("utf-8", "surrogatepass"), self._session.encode())

    def let_in(self, response: Response, request: Request) -> Response:
        """Set the cookie that stands for the token from now on."""
        response.set_cookie(
            COOKIE,
            self._session,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._secure or request.scope["scheme"] == "https",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def let_out(self, response: Response) -> Response:
        """Take the cookie back."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        response.headers["Cache-Control"] = "no-store"
        return response

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to someone who may not come in; None for one who may."""
        path: str = request.scope["path"]  # never `request.url`: that is made of what the caller says of the host
        if path == "/" and "token" in request.query_params and request.method in SAFE_METHODS:
            return self._from_link(request)
        if _is_open(path) or self.has_session(request):
            return None
        scheme, _, said = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and said.strip():
            return self._from_bearer(request, said.strip())
        if not path.startswith(API) and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303, {"Cache-Control": "no-store"})
        return _unauthorised("log in, or send the token as `Authorization: Bearer TOKEN`.")

    def _too_often(self, request: Request) -> Response | None:
        """Return the answer to someone who was wrong too often."""
        wait = self.failures.wait(counted_as(request))
        if wait <= 0:
            return None
        error = too_many(wait, "wrong tokens")
        return problem(error.status, error.detail, error.kind, error.headers)

    def _from_bearer(self, request: Request, token: str) -> Response | None:
        if (too_often := self._too_often(request)) is not None:
            return too_often
        if self.try_token(request, token):
            return None
        return _unauthorised("this token is not the one the service was started with.", ', error="invalid_token"')

    def _from_link(self, request: Request) -> Response:
        """Take the token out of the address and into a cookie; the picture of another page is not even looked at."""
        if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return problem(403, "a link with the token is to be opened, not embedded.", "foreign-origin")
        if (too_often := self._too_often(request)) is not None:
            return too_often
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        if not self.try_token(request, request.query_params["token"]):
            return RedirectResponse("/login?wrong=1", 303, {"Cache-Control": "no-store"})
        return self.let_in(RedirectResponse("/?" + urlencode(rest) if rest else "/", 303), request)


def counted_as(request: HTTPConnection) -> str:
    """Return whom a wrong token is counted against; what another site's page sends cannot lock the user out."""
    client = client_of(request)
    return f"a page at {client}" if is_foreign(request.headers) else client


def _is_open(path: str) -> bool:
    """Say whether an address needs no token; one that goes up again may lead anywhere."""
    return path in OPEN_PATHS or (path.startswith(OPEN_BELOW) and ".." not in path)


def _unauthorised(detail: str, more: str = "") -> Response:
    return problem(401, detail, "token-needed", {"WWW-Authenticate": f'Bearer realm="nearsong"{more}'})


def _headers_for(path: str) -> list[tuple[bytes, bytes]]:
    if path == "/docs" or path.startswith("/docs/"):
        return [(b"content-security-policy", DOCS_POLICY.encode()), *_RAW_HEADERS[1:]]
    return _RAW_HEADERS


def _names_of(settings: ServeSettings) -> Iterable[str]:
    """Return the names under which we answer."""
    yield from LOOPBACK_NAMES
    yield host_name(settings.host)
    yield from (host_name(name) for name in settings.host_names)
    if not settings.is_loopback:
        own = socket.gethostname().lower()
        yield from (own, f"{own}.local")


def _too_large(most: int) -> str:
    return f"the request is larger than {most >> 20} MB, the most that is taken here."


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _limited(receive: Receive, most: int, seconds: float | None) -> Receive:
    """Return a receiver that stops at so many bytes, whatever was said of the length, and after some seconds."""
    came = 0
    until = None if seconds is None else anyio.current_time() + seconds

    async def in_time() -> Message:
        nonlocal until
        if until is None:
            return await receive()
        with anyio.move_on_at(until):
            message = await receive()
            if not message.get("more_body", False):  # from now on it only tells that the caller has gone
                until = None
            return message
        raise HTTPException(408, f"the request did not arrive within {seconds:g} s; try again.", _CLOSE)

    async def receiving() -> Message:
        nonlocal came
        message = await in_time()
        came += len(message.get("body", b""))
        if came > most:
            raise HTTPException(413, _too_large(most), _CLOSE)
        return message

    return receiving
