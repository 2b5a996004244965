"""The library for existing players: the Subsonic protocol with OpenSubsonic's additions, under ``/rest``.

Every method is ``/rest/NAME`` or ``/rest/NAME.view``, asked by GET or with a form. Whatever goes wrong is told in the
answer, with HTTP status 200, as the protocol has it; a method that is not there is 404 as well.
"""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nearsong.errors import EmptyLibraryError, NearsongError, NoSuchPlaylistError, NoSuchSongError
from nearsong.web.problems import ApiError, words_of
from nearsong.web.service import Service, service_of
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
"""All methods but ``getOpenSubsonicExtensions``, which asks for no password."""

_MISSING = (NoSuchSongError, NoSuchPlaylistError, EmptyLibraryError)

router = APIRouter(include_in_schema=False)


@router.api_route("/{name}", methods=["GET", "HEAD", "POST"])
async def rest(request: Request, name: str) -> Response:
    """Answer a method."""
    asked = Parameters()
    try:
        asked = await read_parameters(request)
        if asked.text("f") == "jsonp":
            raise ProtocolError(GENERAL, "f=jsonp would let any web page read the library; ask for json or xml.")
        return await run_in_threadpool(_answer, service_of(request), request, name.removesuffix(".view"), asked)
    except ProtocolError as failure:
        return failed(asked.text("f"), failure)
    except ApiError as error:
        return failed(asked.text("f"), ProtocolError(GENERAL, error.detail, error.status, error.headers))
    except NearsongError as error:
        code = NOT_FOUND if isinstance(error, _MISSING) else GENERAL
        return failed(asked.text("f"), ProtocolError(code, words_of(error)))


def _answer(service: Service, request: Request, name: str, asked: Parameters) -> Response:
    form = asked.text("f")
    if name == "getOpenSubsonicExtensions":
        return answer(form, routes_system.extensions())
    user = check_credentials(service.settings.token, request.app.state.wrong_tokens, request, asked)
    method = METHODS.get(name)
    if method is None:
        raise ProtocolError(GENERAL, f"the method {name[:40]!r} is not supported here.", 404)
    found = method(Call(service, request, asked, user))
    return found if isinstance(found, Response) else answer(form, found)
