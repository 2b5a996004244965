"""The library for existing players: the Subsonic protocol with OpenSubsonic's extensions, below ``/rest``.

A method is ``/rest/NAME`` or ``/rest/NAME.view``, called by GET or with a form. Errors are in the body, with HTTP
status 200, as the protocol defines; an unknown method is also a 404.
"""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nearsong.errors import EmptyLibraryError, NearsongError, NoSuchPlaylistError, NoSuchSongError
from nearsong.web.http.problems import ApiError, words_of
from nearsong.web.service.service import Service, service_of
from nearsong.web.subsonic import (
    routes_browse,
    routes_lists,
    routes_media,
    routes_playlists,
    routes_similar,
    routes_system,
)
from nearsong.web.subsonic.auth import check_credentials
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, NOT_FOUND, ProtocolError, answer, failed
from nearsong.web.subsonic.parameters import Parameters, read_parameters

__all__ = ["METHODS", "router"]

METHODS: dict[str, Method] = {
    **routes_system.METHODS,
    **routes_browse.METHODS,
    **routes_lists.METHODS,
    **routes_similar.METHODS,
    **routes_playlists.METHODS,
    **routes_media.METHODS,
}
"""All methods except ``getOpenSubsonicExtensions``, which needs no password."""

_MISSING = (NoSuchSongError, NoSuchPlaylistError, EmptyLibraryError)

router = APIRouter(include_in_schema=False)


@router.api_route("/{name}", methods=["GET", "HEAD", "POST"])
async def rest(request: Request, name: str) -> Response:
    """Call a method."""
    parameters = Parameters()
    try:
        parameters = await read_parameters(request)
        if parameters.text("f") == "jsonp":
            raise ProtocolError(GENERAL, "f=jsonp would let any web page read the library; use json or xml.")
        return await run_in_threadpool(_call, service_of(request), request, name.removesuffix(".view"), parameters)
    except ProtocolError as failure:
        return failed(parameters.text("f"), failure)
    except ApiError as error:
        return failed(parameters.text("f"), ProtocolError(GENERAL, error.detail, error.status, error.headers))
    except NearsongError as error:
        code = NOT_FOUND if isinstance(error, _MISSING) else GENERAL
        return failed(parameters.text("f"), ProtocolError(code, words_of(error)))


def _call(service: Service, request: Request, name: str, parameters: Parameters) -> Response:
    format = parameters.text("f")
    if name == "getOpenSubsonicExtensions":
        return answer(format, routes_system.extensions())
    user = check_credentials(service.settings.token, request.app.state.wrong_tokens, request, parameters)
    method = METHODS.get(name)
    if method is None:
        raise ProtocolError(GENERAL, f"method not supported: {name[:40]!r}", 404)
    result = method(Call(service, request, parameters, user))
    return result if isinstance(result, Response) else answer(format, result)
