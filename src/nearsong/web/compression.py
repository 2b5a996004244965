"""An answer -> the same, smaller, where that helps: never sound, pictures, streams of events or parts of a file.

A player that jumps within a song counts the bytes of the file; events must not wait in a buffer until it is full.
"""

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearsong.web.files import takes_gzip

SMALLEST = 1000
LEVEL = 5
AS_THEY_ARE = (
    "audio/*",
    "video/*",
    "image/*",
    "font/*",
    "text/event-stream",
    "application/octet-stream",
    "application/gzip",
    "application/zip",
)
"""Kinds that are never made smaller, whatever the library below would do."""


class Compressed:
    """Makes the answers of an application smaller for callers that understand it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        responder: ASGIApp
        if takes_gzip(Headers(scope=scope).get("accept-encoding", "")):
            responder = _Smaller(self.app, SMALLEST, LEVEL, exclude_content_types=AS_THEY_ARE)
        else:  # which still says that the answer would vary
            responder = IdentityResponder(self.app, SMALLEST, exclude_content_types=AS_THEY_ARE)
        await responder(scope, receive, send)


class _Smaller(GZipResponder):
    """Leaves alone what tells of a part, also where it is not one (416)."""

    is_part = False

    async def send_with_compression(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_part = "content-range" in Headers(raw=message.get("headers", []))
        if self.is_part:
            await self.send(message)
        else:
            await super().send_with_compression(message)
