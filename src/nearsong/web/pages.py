"""The page, its files, the login, and the API's documentation."""

from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Form, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import NotModifiedResponse

from nearsong.web.http.authentication import Authentication
from nearsong.web.http.problems import ApiError
from nearsong.web.media.files import has_current
from nearsong.web.page_files import REVALIDATE, PageFiles

STATIC = Path(__file__).parent / "static"


def install(app: FastAPI, authentication: Authentication) -> None:
    """Add the pages to an application."""

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

    def log_in(request: Request, token: Annotated[str, Form(max_length=1000)] = "") -> Response:
        if authentication.is_open:
            return RedirectResponse("/", 303)
        if authentication.check_token(request, token.strip()) is None:
            return RedirectResponse("/login?wrong=1#wrong", 303, {"Cache-Control": "no-store"})
        return authentication.log_in(RedirectResponse("/", 303), request, token.strip())

    def log_out(request: Request) -> Response:
        return authentication.log_out(RedirectResponse("/" if authentication.is_open else "/login", 303), request)

    for path, endpoint in {"/": index, "/docs": docs, "/login": login, "/favicon.ico": favicon}.items():
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False, response_class=Response)
    app.add_api_route("/login", log_in, methods=["POST"], include_in_schema=False, response_class=Response)
    app.add_api_route("/logout", log_out, methods=["POST"], include_in_schema=False, response_class=Response)
    app.mount("/static", PageFiles(directory=STATIC), name="static")


def _page(request: Request, name: str) -> Response:
    path = STATIC / name
    if not path.is_file():
        raise ApiError(404, "the page is not installed; the API is documented at /docs.")
    response = FileResponse(path, stat_result=path.stat(), headers={"Cache-Control": REVALIDATE})
    if has_current(request, response.headers["etag"]):
        return NotModifiedResponse(response.headers)
    return response
