"""Responses -> compressed, except audio, pictures, event streams and ranges.

Ranges count bytes of the original file, and events must not wait in a buffer.
"""

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearsong.web.media.files import accepts_gzip

MIN_BYTES = 1000
COMPRESSION_LEVEL = 5
UNCOMPRESSED_TYPES = (
    "audio/*",
    "video/*",
    "image/*",
    "font/*",
    "text/event-stream",
    "application/octet-stream",
    "application/gzip",
    "application/zip",
)
"""Media types that are never compressed."""


class CompressionMiddleware:
    """Compresses responses for clients that accept gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        responder: ASGIApp
        if accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
            responder = _RangeAwareResponder(
                self.app, MIN_BYTES, COMPRESSION_LEVEL, exclude_content_types=UNCOMPRESSED_TYPES
            )
        else:  # still sets the Vary header
            responder = IdentityResponder(self.app, MIN_BYTES, exclude_content_types=UNCOMPRESSED_TYPES)
        await responder(scope, receive, send)


class _RangeAwareResponder(GZipResponder):
    """Leaves responses with a Content-Range alone, also 416."""

    is_range = False

    async def send_with_compression(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_range = "content-range" in Headers(raw=message.get("headers", []))
        if self.is_range:
            await self.send(message)
        else:
            await super().send_with_compression(message)
