"""A song that has to be converted -> the response that sends it while it is made, without holding a thread.

The length of an MP3 is known when it begins, so that players can seek in it from the start: what is not there yet is
waited for. That of FLAC and Opus is not: a whole one is sent without a length, and parts of it once it is complete.
Browsers and FFmpeg first ask for the part that is all of it, ``bytes=0-``, to see whether they may seek: they get a
whole one.
"""

from collections.abc import Callable
from io import FileIO

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.conversion.forms import ENCODER_VERSION, HEAD_BYTES, AudioFormat, expected_mp3_bytes
from nearsong.guarded_file import identity_of
from nearsong.library import Song
from nearsong.web.http.problems import ApiError, problem_of
from nearsong.web.media.converted import Conversions
from nearsong.web.media.files import (
    CHUNK_BYTES,
    OpenFileResponse,
    cancel_on_disconnect,
    etag_of,
    has_current,
    in_file_thread,
    validators,
)
from nearsong.web.media.growing_file import GrowingFile

_ALL = "bytes=0-"


class ConvertedSound(Response):
    """A song in another form, whole or in ranges.

    Parameters
    ----------
    conversions : Conversions
    song : Song
    file : FileIO
        The song's file as the library opened it; closed here.
    form : AudioFormat
    error_response : callable
        Turns an `ApiError` into a response.
    is_complete : bool, default=False
        Begin once the conversion is complete, so that the client can seek in it.
    """

    def __init__(
        self,
        conversions: Conversions,
        song: Song,
        file: FileIO,
        form: AudioFormat,
        error_response: Callable[[ApiError], Response] | None = None,
        is_complete: bool = False,
    ) -> None:
        super().__init__(media_type=form.media_type)
        self._is_complete = is_complete
        self._conversions, self._song, self._file, self._form = conversions, song, file, form
        self._error_response = error_response or problem_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        identity, request = identity_of(self._file), Request(scope)
        etag = etag_of(identity.size, identity.modified, self._form, ENCODER_VERSION)
        modified = identity.modified / 1e9
        if "range" not in request.headers and has_current(request, etag):  # no conversion needed
            self._file.close()
            await Response(status_code=304, headers=validators(etag, modified))(scope, receive, send)
            return
        growing: GrowingFile | None = None
        response: Response | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_on_disconnect, receive, group.cancel_scope)
                try:
                    growing = await self._conversions.open_converted(self._song, self._file, self._form)
                    response = await self._response(request, growing, etag, modified)
                except ApiError as error:
                    response = self._error_response(error)
                group.cancel_scope.cancel()
            if response is not None:  # else the client has disconnected
                await response(scope, receive, send)
        finally:
            if growing is not None:
                growing.close()

    async def _response(self, request: Request, growing: GrowingFile, etag: str, modified: float) -> Response:
        name, kind = f"the conversion of song {self._song.id}", self._form.media_type
        size = None
        if self._form.is_mp3 and not growing.has_ended:
            head = await in_file_thread(growing.file.read, HEAD_BYTES)
            size = expected_mp3_bytes(head or b"", self._song.seconds - self._form.start)
        if self._is_complete or (size is None and self._has_to_be_complete(request)):
            await growing.until(float("inf"))
        if growing.has_ended:
            await growing.until(0)  # raises if it ended early
            return OpenFileResponse(growing.file, name, kind, etag, modified)
        return GrowingFileResponse(growing, name=name, media_type=kind, etag=etag, modified=modified, size=size)

    def _has_to_be_complete(self, request: Request) -> bool:
        """Say whether the size has to be known: for the headers alone, and for a part that is not all of it."""
        part = request.headers.get("range")
        return request.method == "HEAD" or (part is not None and part.replace(" ", "").lower() != _ALL)


class GrowingFileResponse(OpenFileResponse):
    """A file that grows; in ranges too, if its size is known.

    Parameters
    ----------
    growing : GrowingFile
    name, media_type, etag, modified
        As for `OpenFileResponse`.
    size : int or None
        Bytes that it will have; None if that is unknown.
    """

    def __init__(
        self, growing: GrowingFile, name: str, media_type: str, etag: str, modified: float, size: int | None
    ) -> None:
        super().__init__(growing.file, name, media_type, etag, modified)
        self._growing = growing
        if size is not None:
            self.size = size
            self.headers["Content-Length"] = str(size)
        else:
            del self.headers["Content-Length"], self.headers["Accept-Ranges"]

    async def _send(self, request: Request, send: Send) -> None:
        if "content-length" in self.headers:
            await super()._send(request, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        n_sent = 0
        while data := await self._data_at(n_sent, CHUNK_BYTES):
            await send({"type": "http.response.body", "body": data, "more_body": True})
            n_sent += len(data)
        if self._growing.error is None:  # else the server closes the connection, and the client notices
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _data_at(self, start: int, size: int) -> bytes:
        try:
            await self._growing.until(start + 1)
        except ApiError:
            return b""
        return await super()._data_at(start, size)
