"""A request -> whether it carries the service's token: as a bearer token, a session cookie or a link to the page."""

import hmac
import secrets
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from nearsong.web.http.problems import ApiError, problem, problem_of
from nearsong.web.http.rate_limits import RateLimit, spend
from nearsong.web.http.sessions import MAX_SESSION_SECONDS, MemorySessions, SessionStore

COOKIE = "nearsong_session"
SESSION_ID_BYTES = 32

API = "/api/"
REST = "/rest/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/api/v1/health", "/login", "/favicon.ico", "/static/js/core/theme.js"})
OPEN_PREFIXES = ("/static/css/", "/static/icon", "/static/manifest", REST)
"""Paths that need no token: those of monitors and the login page, and /rest, which checks a password of its own."""

_NO_STORE = {"Cache-Control": "no-store"}


class TokenAuthentication:
    """Checks the token of requests, and starts and ends the sessions that replace it in a browser.

    The cookie has the random id of a session. The session is stored under a hash of it that is keyed by the token, so
    that another token ends all sessions.

    Parameters
    ----------
    token : str
    failures : RateLimit
        Wrong tokens allowed for each address.
    secure : bool
        Whether the cookie is sent over HTTPS only.
    sessions : SessionStore, optional
        By default in the memory of this process.
    """

    def __init__(
        self, token: str, failures: RateLimit, secure: bool = False, sessions: SessionStore | None = None
    ) -> None:
        self._token = token.encode()
        self._secure = secure
        self._sessions = MemorySessions() if sessions is None else sessions
        self.failures = failures

    def is_token(self, text: str) -> bool:
        """Say whether a text is the token, in constant time."""
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._token)

    def check_token(self, request: Request, text: str) -> bool:
        """Say whether a text is the token; a wrong one after too many others is problem 429."""
        if self.is_token(text):
            return True
        spend(self.failures, request, "wrong tokens")
        return False

    def start_session(self) -> str:
        """Start a session and return its id."""
        session_id = secrets.token_urlsafe(SESSION_ID_BYTES)
        self._sessions.add(self._key(session_id))
        return session_id

    def is_session(self, session_id: str) -> bool:
        """Say whether a session is active; looked up by its hash, so that time tells nothing about other ids."""
        return session_id != "" and self._sessions.use(self._key(session_id))

    def has_session(self, request: Request) -> bool:
        """Say whether a request has the cookie of an active session."""
        return self.is_session(_session_of(request))

    def log_in(self, response: Response, request: Request) -> Response:
        """Start a session in place of the one that the browser may have, and set its cookie."""
        self._sessions.remove(self._key(_session_of(request)))
        response.set_cookie(
            COOKIE,
            self.start_session(),
            max_age=int(MAX_SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=self._secure or request.scope["scheme"] == "https",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def log_out(self, response: Response, request: Request) -> Response:
        """End the session of a request and delete its cookie."""
        self._sessions.remove(self._key(_session_of(request)))
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        response.headers["Cache-Control"] = "no-store"
        return response

    def _key(self, session_id: str) -> str:
        return hmac.new(self._token, session_id.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request without the token; None if it may pass."""
        try:
            return self._refusal(request)
        except ApiError as error:
            return problem_of(error)

    def _refusal(self, request: Request) -> Response | None:
        path: str = request.scope["path"]  # never `request.url`, which is built from the Host header
        if path == "/" and "token" in request.query_params and request.method in SAFE_METHODS:
            return self._from_link(request)
        if _is_open(path) or self.has_session(request):
            return None
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and sent.strip():
            return self._from_bearer(request, sent.strip())
        if not path.startswith(API) and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303, _NO_STORE)
        return _unauthorised("log in, or send the token as `Authorization: Bearer TOKEN`.")

    def _from_bearer(self, request: Request, token: str) -> Response | None:
        if self.check_token(request, token):
            return None
        return _unauthorised("wrong token: the service was started with another.", ', error="invalid_token"')

    def _from_link(self, request: Request) -> Response:
        """Turn the token in a link into a cookie; an image or a frame of another page is refused unread."""
        if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return problem(403, "open a link with the token; it cannot be embedded.", "foreign-origin")
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        if not self.check_token(request, request.query_params["token"]):
            return RedirectResponse("/login?wrong=1", 303, _NO_STORE)
        return self.log_in(RedirectResponse("/?" + urlencode(rest) if rest else "/", 303), request)


def _session_of(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _is_open(path: str) -> bool:
    """Say whether a path needs no token; one with ``..`` may lead anywhere."""
    return path in OPEN_PATHS or (path.startswith(OPEN_PREFIXES) and ".." not in path)


def _unauthorised(detail: str, more: str = "") -> Response:
    return problem(401, detail, "token-needed", {"WWW-Authenticate": f'Bearer realm="nearsong"{more}'})
