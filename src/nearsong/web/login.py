"""A token in the login's form -> a session, and its end."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from starlette.responses import RedirectResponse, Response

from nearsong.web.http.authentication import Authentication


def install(app: FastAPI, authentication: Authentication) -> None:
    """Add what the forms of the pages send to an application."""

    def log_in(request: Request, token: Annotated[str, Form(max_length=1000)] = "") -> Response:
        if authentication.is_open:
            return RedirectResponse("/", 303)
        authentication.learn(request, token.strip())
        if authentication.check_token(request, token.strip()) is None:
            return RedirectResponse("/login?wrong=1#wrong", 303, {"Cache-Control": "no-store"})
        return authentication.log_in(RedirectResponse("/", 303), request, token.strip())

    def log_out(request: Request) -> Response:
        return authentication.log_out(RedirectResponse("/" if authentication.is_open else "/login", 303), request)

    for path, endpoint in {"/login": log_in, "/logout": log_out}.items():
        app.add_api_route(path, endpoint, methods=["POST"], include_in_schema=False, response_class=Response)
