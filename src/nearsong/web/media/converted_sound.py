"""A song that has to be converted -> the response that waits for its conversion, without holding a thread."""

from collections.abc import Callable
from io import FileIO

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.convert import ENCODER_VERSION, AudioFormat
from nearsong.guarded_file import identity_of
from nearsong.library import Song
from nearsong.web.http.problems import ApiError, problem_of
from nearsong.web.media.converted import Conversions
from nearsong.web.media.files import OpenFileResponse, cancel_on_disconnect, etag_of, has_current, validators


class ConvertedSound(Response):
    """A song in another form, whole or in ranges; converted first if need be.

    Parameters
    ----------
    conversions : Conversions
    song : Song
    file : FileIO
        The song's file as the library opened it; closed here.
    form : AudioFormat
    error_response : callable
        Turns an `ApiError` into a response.
    """

    def __init__(
        self,
        conversions: Conversions,
        song: Song,
        file: FileIO,
        form: AudioFormat,
        error_response: Callable[[ApiError], Response] | None = None,
    ) -> None:
        super().__init__(media_type=form.media_type)
        self._conversions, self._song, self._file, self._form = conversions, song, file, form
        self._error_response = error_response or problem_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        identity, request = identity_of(self._file), Request(scope)
        etag, modified = (
            etag_of(identity.size, identity.modified, self._form, ENCODER_VERSION),
            identity.modified / 1e9,
        )
        response: Response | None
        if "range" not in request.headers and has_current(request, etag):  # no conversion needed
            self._file.close()
            response = Response(status_code=304, headers=validators(etag, modified))
        else:
            response = await self._converted(receive, etag, modified)
        if response is not None:
            await response(scope, receive, send)

    async def _converted(self, receive: Receive, etag: str, modified: float) -> Response | None:
        """Return the response, or None if the client has disconnected."""
        response: Response | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_on_disconnect, receive, group.cancel_scope)
            try:
                file = await self._conversions.open_converted(self._song, self._file, self._form)
                name = f"the conversion of song {self._song.id}"
                response = OpenFileResponse(file, name, self._form.media_type, etag, modified)
            except ApiError as error:
                response = self._error_response(error)
            group.cancel_scope.cancel()
        return response
