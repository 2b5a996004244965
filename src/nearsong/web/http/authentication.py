"""A request -> who sends it: by a bearer token, a session cookie or a link to the page with the token."""

import hashlib
import secrets
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from nearsong.errors import NearsongError
from nearsong.web.http.callers import ANYBODY, Caller, Callers, credential_of, remember_caller
from nearsong.web.http.problems import ApiError, of_error, problem, problem_of
from nearsong.web.http.rate_limits import RateLimit, client_of, spend
from nearsong.web.http.sessions import MAX_SESSION_SECONDS, MemorySessions, SessionStore

COOKIE = "nearsong_session"
SESSION_ID_BYTES = 32

API = "/api/"
REST = "/rest/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LISTENBRAINZ = "/1/"
LASTFM = "/2.0/"
LASTFM_BARE = "/2.0"  # some clients leave out the slash
OPEN_PATHS = frozenset({"/api/v1/health", "/login", "/favicon.ico", "/static/js/core/theme.js", LASTFM_BARE})
PROTOCOLS = (REST, LISTENBRAINZ, LASTFM)
"""Where players connect by protocols of others, whose credentials are checked there."""

OPEN_PREFIXES = ("/static/css/", "/static/fonts/", "/static/icon", "/static/manifest", *PROTOCOLS)
"""Paths that need no token: those of monitors and the login page, and those that check credentials themselves."""

WRONG_TOKENS_PER_MINUTE = 10
"""Wrong tokens and passwords allowed for each address, in the API, at the login and of players together."""

LOOK_UPS_PER_MINUTE = 60
"""Sessions that this service does not know, and that it looks up for each address."""

_NO_STORE = {"Cache-Control": "no-store"}


class Authentication:
    """Finds out who sends a request, and starts and ends the sessions that replace a token in a browser.

    The cookie has the random id of a session, which is stored under a hash of it, with the credential that it was
    started with: another token ends the sessions of the earlier one.

    Parameters
    ----------
    callers : callable
        Returns who may send requests now.
    failures : RateLimit, optional
        Wrong tokens allowed for each address; by default `WRONG_TOKENS_PER_MINUTE`.
    secure : bool
        Whether the cookie is sent over HTTPS only.
    sessions : SessionStore, optional
        By default in the memory of this process.
    refresh : callable, optional
        Reads anew who may send requests; asked for a token or a session that is new, perhaps since it was given by
        another service a moment ago. By default nobody else gives any.
    """

    def __init__(
        self,
        callers: Callable[[], Callers],
        failures: RateLimit | None = None,
        secure: bool = False,
        sessions: SessionStore | None = None,
        refresh: Callable[[], None] | None = None,
    ) -> None:
        self._callers, self._refresh = callers, refresh
        self._secure = secure
        self._sessions = MemorySessions() if sessions is None else sessions
        self.failures = RateLimit(WRONG_TOKENS_PER_MINUTE, per=60) if failures is None else failures
        self._look_ups = RateLimit(LOOK_UPS_PER_MINUTE, per=60)

    @property
    def is_open(self) -> bool:
        """Whether everybody who can connect may do everything."""
        return self._callers().is_open

    def check_token(self, request: Request, text: str) -> Caller | None:
        """Return the caller with a token; a wrong one after too many others is problem 429."""
        caller = self._callers().with_token(text)
        if caller is None:
            spend(self.failures, request, "wrong tokens")
        return caller

    async def answer(self, request: Request) -> Response | None:
        """Return :meth:`refusal`; what may wait for a database is done in a thread before."""
        if self.is_open:
            return self.refusal(request)
        if request.scope["path"] == "/" and "token" in request.query_params:  # it starts a session
            return await to_thread.run_sync(self._refusal_of_link, request)
        key = _key(_session_of(request))
        if self._sessions.needs_look_up(key) and self._may_look_up(request, key):
            await to_thread.run_sync(self._look_up, key)
        if self._is_new(request, token := _bearer(request)):
            await to_thread.run_sync(self.learn, request, token)
        return self.refusal(request)

    def _refusal_of_link(self, request: Request) -> Response | None:
        self.learn(request, request.query_params["token"])
        try:
            return self.refusal(request)
        except NearsongError as error:
            return of_error(error)

    def _may_look_up(self, request: Request, key: str) -> bool:
        """Say whether a request may ask for its session: nobody can try many ids."""
        if not _session_of(request):
            return False
        return self._sessions.is_known(key) or self._look_ups.take(client_of(request)) == 0

    def _look_up(self, key: str) -> None:
        self._sessions.look_up(key)
        credential = self._sessions.use(key)
        if credential is not None and self._callers().with_credential(credential) is None:
            self._read_callers()

    def _read_callers(self) -> None:
        """Read anew who may send requests; if that fails, who might a moment ago may now."""
        if self._refresh is not None:
            with suppress(NearsongError):
                self._refresh()

    def learn(self, request: Request, token: str) -> None:
        """Read anew who may send requests, if a token is nobody's and its sender has not been wrong too often."""
        if self._is_new(request, token):
            self._read_callers()

    def _is_new(self, request: Request, token: str) -> bool:
        if not token or self._refresh is None or self._callers().with_token(token) is not None:
            return False
        return self.failures.wait(client_of(request)) == 0

    def start_session(self, token: str) -> str:
        """Start a session and return its id."""
        session_id = secrets.token_urlsafe(SESSION_ID_BYTES)
        self._sessions.add(_key(session_id), credential_of(token))
        return session_id

    def caller_in_session(self, request: Request) -> Caller | None:
        """Return who logged in, if a request has the cookie of an active session."""
        return self.caller_of_session(_session_of(request))

    def caller_of_session(self, session_id: str) -> Caller | None:
        """Return who logged in, if a session is active."""
        credential = self._sessions.use(_key(session_id)) if session_id else None
        return None if credential is None else self._callers().with_credential(credential)

    def log_in(self, response: Response, request: Request, token: str) -> Response:
        """Start a session in place of the one that the browser may have, and set its cookie."""
        self._sessions.remove(_key(_session_of(request)))
        response.set_cookie(
            COOKIE,
            self.start_session(token),
            max_age=int(MAX_SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=self._secure or request.scope["scheme"] == "https",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def log_out(self, response: Response, request: Request) -> Response:
        """End the session of a request and delete its cookie."""
        self._sessions.remove(_key(_session_of(request)))
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        response.headers["Cache-Control"] = "no-store"
        return response

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request without the token; None if it may pass."""
        try:
            return self._refusal(request)
        except ApiError as error:
            return problem_of(error)

    def _refusal(self, request: Request) -> Response | None:
        path: str = request.scope["path"]  # never `request.url`, which is built from the Host header
        if self.is_open:
            remember_caller(ANYBODY)
            return None
        if path == "/" and "token" in request.query_params and request.method in SAFE_METHODS:
            return self._from_link(request)
        if _is_open(path):
            return None
        if (caller := self.caller_in_session(request)) is not None:
            remember_caller(caller)
            return None
        if token := _bearer(request):
            return self._from_bearer(request, token)
        if not path.startswith(API) and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303, _NO_STORE)
        return _unauthorised("log in, or send the token as `Authorization: Bearer TOKEN`.")

    def _from_bearer(self, request: Request, token: str) -> Response | None:
        caller = self.check_token(request, token)
        if caller is not None:
            remember_caller(caller)
            return None
        return _unauthorised("wrong token: it is no listener's, nor that of the service.", ', error="invalid_token"')

    def _from_link(self, request: Request) -> Response:
        """Turn the token in a link into a cookie; one on a page of another site does not count."""
        if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return problem(403, "open a link with the token; it cannot be embedded.", "foreign-origin")
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return RedirectResponse("/login", 303, _NO_STORE)  # a page could log in its visitors as somebody else
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        token = request.query_params["token"]
        if self.check_token(request, token) is None:
            return RedirectResponse("/login?wrong=1", 303, _NO_STORE)
        return self.log_in(RedirectResponse("/?" + urlencode(rest) if rest else "/", 303), request, token)


def _session_of(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _bearer(request: Request) -> str:
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    return sent.strip() if scheme.lower() == "bearer" else ""


def _key(session_id: str) -> str:
    """Return what a session is stored under: a hash, so that neither the store nor the time of a lookup tells ids."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def is_of_protocol(path: str) -> bool:
    """Say whether players connect here by a protocol of others."""
    return path == LASTFM_BARE or path.startswith(PROTOCOLS)


def _is_open(path: str) -> bool:
    """Say whether a path needs no token; one with ``..`` may lead anywhere."""
    return path in OPEN_PATHS or (path.startswith(OPEN_PREFIXES) and ".." not in path)


def _unauthorised(detail: str, more: str = "") -> Response:
    return problem(401, detail, "token-needed", {"WWW-Authenticate": f'Bearer realm="nearsong"{more}'})
