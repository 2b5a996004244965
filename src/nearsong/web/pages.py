"""The page, its files, the login's form, and the API's documentation: what can be answered without a library.

With a library, the page that a browser opens ends with the answers to what it would ask first, as data.
"""

import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Router
from starlette.staticfiles import NotModifiedResponse

from nearsong.web.http.authentication import Authentication
from nearsong.web.http.origins import is_embedded
from nearsong.web.http.problems import ApiError
from nearsong.web.media.files import has_current
from nearsong.web.page_files import REVALIDATE, PageFiles

STATIC = Path(__file__).parent / "static"
METHODS = ("GET", "HEAD")

PATIENCE_SECONDS = 0.3
"""How long the end of the page may wait for its first answers; after that it asks for them itself."""

FirstAnswers = Callable[[], bytes]
"""Returns a JSON object of the first answers for whoever sends the request; called in a thread."""

_END = b"</body>"
_DATA = b'<script type="application/json" id="first-answers">%s</script>\n'

log = logging.getLogger("nearsong.web")


def install(router: Router, authentication: Authentication, first: FirstAnswers | None = None) -> None:
    """Add the pages to the routes of an application, which may have the first answers for the page."""

    def index(request: Request) -> Response:
        page = _page(request, "index.html")  # or the error that there is none
        return page if first is None or not _is_opened(request) else _page_with(first)

    def docs(request: Request) -> Response:
        return _page(request, "docs/index.html")

    def favicon(request: Request) -> Response:
        return _page(request, "icon.svg")

    def login(request: Request) -> Response:
        if authentication.is_open or authentication.caller_in_session(request) is not None:
            return RedirectResponse("/", 303)
        return _page(request, "login.html")

    for path, endpoint in {"/": index, "/docs": docs, "/login": login, "/favicon.ico": favicon}.items():
        router.add_route(path, endpoint, methods=METHODS, include_in_schema=False)
    router.mount("/static", PageFiles(directory=STATIC), name="static")


def _page(request: Request, name: str) -> Response:
    path = STATIC / name
    if not path.is_file():
        raise ApiError(404, "the page is not installed; the API is documented at /docs.")
    response = FileResponse(path, stat_result=path.stat(), headers={"Cache-Control": REVALIDATE})
    if has_current(request, response.headers["etag"]):
        return NotModifiedResponse(response.headers)
    return response


def _is_opened(request: Request) -> bool:
    """Say whether a browser opens a page, and no other site's page embeds it."""
    accepted = request.headers.get("accept", "")
    return request.method == "GET" and "text/html" in accepted and not is_embedded(request.headers)


def _page_with(first: FirstAnswers) -> Response:
    """Return the page with the first answers; it is theirs who asked, so that nothing may store it."""
    head, end, rest = (STATIC / "index.html").read_bytes().partition(_END)

    async def parts() -> AsyncIterator[bytes]:
        yield head  # the browser asks for styles and scripts meanwhile
        answers = b""
        with anyio.move_on_after(PATIENCE_SECONDS):
            try:
                answers = await to_thread.run_sync(first, abandon_on_cancel=True)
            except Exception:
                log.exception("the page has no first answers")
        if answers:
            yield _DATA % answers.replace(b"<", b"\\u003c")  # no text of them can end the data
        yield end + rest

    return StreamingResponse(parts(), media_type="text/html", headers={"Cache-Control": "no-store"})
