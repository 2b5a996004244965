"""The library for existing players: the Subsonic protocol with OpenSubsonic's extensions, below ``/rest``.

A method is ``/rest/NAME`` or ``/rest/NAME.view``, called by GET or with a form. Errors are in the body, with HTTP
status 200, as the protocol defines; an unknown method is also a 404, and a write that may work a moment later also a
503 with ``Retry-After``.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nearsong.errors import (
    DatabaseError,
    EmptyLibraryError,
    NearsongError,
    NoSuchPlaylistError,
    NoSuchSongError,
    disk_words,
    is_disk_full,
)
from nearsong.web.http.callers import remember_caller
from nearsong.web.http.problems import RETRY_SOON, ApiError, words_of
from nearsong.web.media.files import in_file_thread
from nearsong.web.service.service import Service, service_of
from nearsong.web.subsonic.auth import check_credentials
from nearsong.web.subsonic.call import Call, Method, is_plain
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError, answer, failed
from nearsong.web.subsonic.parameters import Parameters, read_parameters
from nearsong.web.subsonic.routes import (
    bookmarks,
    browse,
    lists,
    lyrics,
    media,
    playback,
    playlists,
    queue,
    reactions,
    similar,
    system,
)

__all__ = ["METHODS", "router"]

WRITING_METHODS: dict[str, Method] = {
    **playback.WRITING_METHODS,
    **playlists.WRITING_METHODS,
    **reactions.WRITING_METHODS,
    **queue.WRITING_METHODS,
    **bookmarks.WRITING_METHODS,
}
"""Methods that write to the library, and so go through the write queue of the service."""

METHODS: dict[str, Method] = {
    **system.METHODS,
    **playback.METHODS,
    **browse.METHODS,
    **lists.METHODS,
    **similar.METHODS,
    **playlists.METHODS,
    **reactions.METHODS,
    **queue.METHODS,
    **bookmarks.METHODS,
    **lyrics.METHODS,
    **media.METHODS,
    **WRITING_METHODS,
}
"""All methods except ``getOpenSubsonicExtensions``, which needs no password."""

_MISSING = (NoSuchSongError, NoSuchPlaylistError, EmptyLibraryError)

router = APIRouter(include_in_schema=False)


@router.api_route("/{name}", methods=["GET", "HEAD", "POST"])
async def rest(request: Request, name: str) -> Response:
    """Call a method."""
    parameters, service, method = Parameters(), service_of(request), name.removesuffix(".view")
    try:
        parameters = await read_parameters(request)
        if parameters.text("f") == "jsonp":
            raise ProtocolError(GENERAL, "f=jsonp would let any web page read the library; use json or xml.")
        return await _call(service, request, method, parameters)
    except ProtocolError as error:
        failure = error
    except ApiError as error:
        failure = ProtocolError(GENERAL, error.detail, error.status, error.headers)
    except NearsongError as error:
        failure = _failure_of(error, is_write=method in WRITING_METHODS)
    except OSError as error:
        if not is_disk_full(error):
            raise
        failure = ProtocolError(GENERAL, disk_words(error))
    return failed(parameters.text("f"), failure, is_plain=is_plain(service, parameters))


def _failure_of(error: NearsongError, *, is_write: bool) -> ProtocolError:
    if isinstance(error, DatabaseError) and error.transient:
        status = (
            503 if is_write else 200
        )  # many players show the message of a 200 only, and repeat writes after a 503
        return ProtocolError(GENERAL, words_of(error), status, RETRY_SOON)
    return ProtocolError(NOT_FOUND if isinstance(error, _MISSING) else GENERAL, words_of(error))


async def _call(service: Service, request: Request, name: str, parameters: Parameters) -> Response:
    format = parameters.text("f")
    if name == "getOpenSubsonicExtensions":
        return answer(format, system.extensions())
    user, caller = check_credentials(service.callers, request.app.state.wrong_tokens, request, parameters)
    remember_caller(caller)
    method = METHODS.get(name)
    if method is None:
        raise ProtocolError(GENERAL, f"method not supported: {name[:40]!r}", 404)
    run: Callable[..., Awaitable[Response]] = run_in_threadpool
    if name in WRITING_METHODS:
        run = service.writes.run
    elif name in media.METHODS or name in lyrics.METHODS:
        run = in_file_thread
    return await run(_answer, method, Call(service, request, parameters, user, caller), format)


def _answer(method: Method, call: Call, format: str) -> Response:
    result = method(call)
    return result if isinstance(result, Response) else answer(format, result, is_plain=call.is_plain)
