"""Errors -> ``application/problem+json`` (RFC 9457): type, title, status, detail; no HTML, no internals."""

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from nearsong.errors import (
    AudioError,
    DatabaseError,
    EmptyLibraryError,
    InvalidInputError,
    LibraryError,
    NearsongError,
    NoSuchHistoryError,
    NoSuchPlaylistError,
    NoSuchSongError,
    UnclearSongError,
    disk_words,
    is_disk_full,
)

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError

MEDIA_TYPE = "application/problem+json"

RETRY_SOON = {"Retry-After": "2"}
"""Headers of an error that may be over in seconds."""

CLOSE_CONNECTION = {"Connection": "close"}
"""Headers of a problem after which the rest of the body is not read."""

DISK_FULL_KIND = "no-room"
"""Kind of the problem that a disk is full."""

log = logging.getLogger("nearsong.web")


class ApiError(Exception):
    """An error that becomes a problem response.

    Parameters
    ----------
    status : int
    detail : str
        What came, why it cannot work, what to do.
    kind : str
        Name for programs: the type is ``urn:nearsong:<kind>``; empty if the status says it all.
    headers : mapping, optional
    """

    def __init__(self, status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind, self.headers = status, detail, kind, dict(headers or {})


def problem(status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem response."""
    title = HTTPStatus(status).phrase
    head = {"type": f"urn:nearsong:{kind}" if kind else "about:blank", "title": title, "status": status}
    body = json.dumps({**head, "detail": detail})  # in ASCII, so names in broken encodings work too
    return Response(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_of(error: ApiError) -> Response:
    """Return the response of an error."""
    return problem(error.status, error.detail, error.kind, error.headers)


_KINDS: tuple[tuple[type[NearsongError], int, str], ...] = (
    (NoSuchSongError, 404, "no-such-song"),
    (NoSuchPlaylistError, 404, "no-such-playlist"),
    (NoSuchHistoryError, 404, "no-such-history"),
    (EmptyLibraryError, 409, "empty-library"),
    (UnclearSongError, 404, "no-such-song"),
    (LibraryError, 409, "library"),
    (InvalidInputError, 400, "invalid-input"),
    (AudioError, 422, "unusable-audio"),
    (NearsongError, 400, ""),
)


_DRIVER_MESSAGE = re.compile(r" \(.*\)")


def words_of(error: NearsongError) -> str:
    """Return the message of an error for clients; addresses and messages of a database go to the log only."""
    words = str(error.reason if isinstance(error, AudioError) else error)
    if isinstance(error, DatabaseError):
        log.warning("%s", words)
        return _DRIVER_MESSAGE.sub("", words.replace(f" {error.address}", ""))
    return words


def of_error(error: NearsongError) -> Response:
    """Return the problem response of a nearsong error."""
    detail = words_of(error)
    if isinstance(error, DatabaseError) and error.transient:
        return problem(503, detail, "busy", RETRY_SOON)
    if is_disk_full(error):
        return problem(507, detail, DISK_FULL_KIND)
    status, kind = next((status, kind) for cls, status, kind in _KINDS if isinstance(error, cls))
    return problem(status, detail, kind)


def of_invalid(errors: Any) -> Response:
    """Return what is wrong with a request, naming the field."""
    first = errors[0]
    source, *names = [str(part) for part in first.get("loc", ())] or ["request"]
    field = ".".join(names) or source
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return problem(422, f"{field}: {first.get('msg', 'is not valid')}{more}.", "invalid-request")


def unexpected(error: BaseException) -> Response:
    """Return problem 500 for an unexpected error, or 507 for a full disk; the log has the details."""
    if isinstance(error, OSError) and is_disk_full(error):
        log.warning("%s", error)
        return problem(507, disk_words(error), DISK_FULL_KIND)
    log.error("unexpected error", exc_info=error)
    return problem(500, "unexpected error; see the log of the service.")


def stopping() -> Response:
    """Return problem 503 for a request that came too late."""
    return problem(503, "the service is stopping; try again later.", "stopping", CLOSE_CONNECTION)


def install(app: "FastAPI") -> None:
    """Make an application return every error as a problem."""
    from fastapi.exceptions import RequestValidationError  # the page answers before this is loaded

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: "RequestValidationError") -> Response:
        return of_invalid(error.errors())

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        words = {404: "page not found.", 405: "method not allowed for this address."}
        is_default = error.detail == HTTPStatus(error.status_code).phrase
        detail = words.get(error.status_code, str(error.detail)) if is_default else str(error.detail)
        return problem(error.status_code, detail, headers=error.headers)

    @app.exception_handler(ApiError)
    async def _(_request: Request, error: ApiError) -> Response:
        return problem_of(error)

    @app.exception_handler(NearsongError)
    async def _(_request: Request, error: NearsongError) -> Response:
        return of_error(error)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of problems."""
    from nearsong.web.json.schemas import Problem

    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
