"""The page, its files, the login's form, and the API's documentation: what can be answered without a library."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Router
from starlette.staticfiles import NotModifiedResponse

from nearsong.web.http.authentication import Authentication
from nearsong.web.http.problems import ApiError
from nearsong.web.media.files import has_current
from nearsong.web.page_files import REVALIDATE, PageFiles

STATIC = Path(__file__).parent / "static"
METHODS = ("GET", "HEAD")


def install(router: Router, authentication: Authentication) -> None:
    """Add the pages to the routes of an application."""

    def index(request: Request) -> Response:
        return _page(request, "index.html")

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
