"""Every error -> ``application/problem+json`` (RFC 9457): type, title, status, detail; no HTML, no internals."""

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from nearsong.errors import (
    AudioError,
    DatabaseError,
    EmptyLibraryError,
    InvalidInputError,
    LibraryError,
    NearsongError,
    NoSuchPlaylistError,
    NoSuchSongError,
    UnclearSongError,
)
from nearsong.web.schemas import Problem

MEDIA_TYPE = "application/problem+json"

log = logging.getLogger("nearsong.web")


class ApiError(Exception):
    """An answer that is a problem.

    Parameters
    ----------
    status : int
    detail : str
        What came, why it cannot work, what to do.
    kind : str
        Its name for programs: the type is ``urn:nearsong:<kind>``; empty for none beyond the status.
    headers : mapping, optional
    """

    def __init__(self, status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind, self.headers = status, detail, kind, dict(headers or {})


def problem(status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as an answer."""
    title = HTTPStatus(status).phrase
    known = {"type": f"urn:nearsong:{kind}" if kind else "about:blank", "title": title, "status": status}
    body = json.dumps({**known, "detail": detail})  # ASCII: a name that is no text can be told too
    return Response(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


_KINDS: tuple[tuple[type[NearsongError], int, str], ...] = (
    (NoSuchSongError, 404, "no-such-song"),
    (NoSuchPlaylistError, 404, "no-such-playlist"),
    (EmptyLibraryError, 409, "empty-library"),
    (UnclearSongError, 404, "no-such-song"),
    (LibraryError, 409, "library"),
    (InvalidInputError, 400, "invalid-input"),
    (AudioError, 422, "unusable-audio"),
    (NearsongError, 400, ""),
)


_DRIVERS_WORDS = re.compile(r" \(.*\)")


def words_of(error: NearsongError) -> str:
    """Return what a caller is told of an error; where a database is, and what it says, is for the log."""
    words = str(error.reason if isinstance(error, AudioError) else error)
    if isinstance(error, DatabaseError):
        log.warning("%s", words)
        return _DRIVERS_WORDS.sub("", words.replace(f" {error.place}", ""))
    return words


def of_error(error: NearsongError) -> Response:
    """Return an error of ours as a problem."""
    detail = words_of(error)
    if isinstance(error, DatabaseError) and error.passing:
        return problem(503, detail, "busy", {"Retry-After": "2"})
    status, kind = next((status, kind) for cls, status, kind in _KINDS if isinstance(error, cls))
    return problem(status, detail, kind)


def of_invalid(errors: Any) -> Response:
    """Return what is wrong with a request in one line that names the field."""
    first = errors[0]
    place, *names = [str(part) for part in first.get("loc", ())] or ["request"]
    field = ".".join(names) or place
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return problem(422, f"{field}: {first.get('msg', 'is not valid')}{more}.", "invalid-request")


def unexpected(error: BaseException) -> Response:
    """Return what a caller may know of an error that nobody foresaw; the rest goes to the log."""
    log.error("an error that was not foreseen", exc_info=error)
    return problem(500, "something went wrong here; the log of the service says what.")


def install(app: FastAPI) -> None:
    """Let an application answer every error as a problem."""

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: RequestValidationError) -> Response:
        return of_invalid(error.errors())

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        words = {404: "there is nothing at this address.", 405: "this address does not take that method."}
        plain = error.detail == HTTPStatus(error.status_code).phrase
        detail = words.get(error.status_code, str(error.detail)) if plain else str(error.detail)
        return problem(error.status_code, detail, headers=error.headers)

    @app.exception_handler(ApiError)
    async def _(_request: Request, error: ApiError) -> Response:
        return problem(error.status, error.detail, error.kind, error.headers)

    @app.exception_handler(NearsongError)
    async def _(_request: Request, error: NearsongError) -> Response:
        return of_error(error)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of the problems that an operation may answer with."""
    words = {status: HTTPStatus(status).phrase for status in statuses}
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    return {
        status: {"description": said, "content": {MEDIA_TYPE: {"schema": schema}}} for status, said in words.items()
    }
