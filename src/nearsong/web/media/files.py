"""Open files -> responses that clients can cache, revalidate and request in ranges (RFC 9110).

Ranges that cannot be parsed are ignored, those behind the end left out; if none is left the response is problem 416.
"""

import hashlib
import logging
import os
import re
import stat
from collections.abc import Callable
from email.utils import formatdate
from io import FileIO
from secrets import token_hex
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
from anyio import to_thread
from anyio.lowlevel import RunVar
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.library import Song
from nearsong.web.http.problems import problem

log = logging.getLogger("nearsong.web")

MEDIA_TYPES = {
    ".mp3": "audio/mpeg",
    ".mp2": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".spx": "audio/ogg",
    ".m4a": "audio/mp4",
    ".m4b": "audio/mp4",
    ".mp4": "audio/mp4",
    ".aac": "audio/aac",
    ".alac": "audio/mp4",
    ".wav": "audio/wav",
    ".wave": "audio/wav",
    ".aif": "audio/aiff",
    ".aiff": "audio/aiff",
    ".aifc": "audio/aiff",
    ".wma": "audio/x-ms-wma",
    ".ape": "audio/x-ape",
    ".wv": "audio/x-wavpack",
    ".mpc": "audio/x-musepack",
    ".tta": "audio/x-tta",
    ".dsf": "audio/x-dsf",
    ".webm": "audio/webm",
    ".mka": "audio/x-matroska",
    ".au": "audio/basic",
    ".caf": "audio/x-caf",
}
UNKNOWN_MEDIA_TYPE = "application/octet-stream"

MAX_FILE_THREADS = 16
"""Threads that open and read songs. A file on a network may take for ever, so they are not those of all requests."""

_threads: RunVar[anyio.CapacityLimiter] = RunVar("nearsong_file_threads")
Result = TypeVar("Result")

_RANGE = re.compile(r"\s*(\d*)\s*-\s*(\d*)\s*")
_MAX_RANGES = 20
_MAX_RANGE_CHARACTERS = 50
CHUNK_BYTES = 1 << 16
_ZERO_WEIGHT = re.compile(r"q\s*=\s*0(\.0*)?")


async def in_file_thread(work: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of a function that opens or reads songs; while many of them stall, other requests go on."""
    try:
        threads = _threads.get()
    except LookupError:
        threads = anyio.CapacityLimiter(MAX_FILE_THREADS)
        _threads.set(threads)
    return await to_thread.run_sync(work, *arguments, limiter=threads)


def media_type_of(path: str) -> str:
    """Return the media type of an audio file by its ending; never one that a browser would execute.

    >>> media_type_of("/music/Song.MP3"), media_type_of("/music/page.html")
    ('audio/mpeg', 'application/octet-stream')
    """
    return MEDIA_TYPES.get(os.path.splitext(path)[1].lower(), UNKNOWN_MEDIA_TYPE)


def size_of(song: Song) -> int | None:
    """Return the size of a song's file in bytes, None if it is missing."""
    try:
        facts = os.stat(song.path)
    except (OSError, ValueError):
        return None
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def ranges_of(header: str, size: int) -> list[tuple[int, int]] | None:
    """Return the first and last byte of each range that a ``Range`` header requests; None to ignore the header.

    >>> ranges_of("bytes=0-99, 900-, -50, 5000-", 1000)
    [(0, 99), (900, 999), (950, 999)]
    >>> ranges_of("bytes=1000-", 1000), ranges_of("lines=1-2", 1000), ranges_of("bytes=9-1", 1000)
    ([], None, None)
    """
    unit, _, text = header.partition("=")
    parts = text.split(",")
    if unit.strip().lower() != "bytes" or len(parts) > _MAX_RANGES:
        return None
    ranges = []
    for part in parts:
        bounds = _bounds_of(part, size)
        if bounds is None:
            return None
        first, last = bounds
        if first < size and first <= last:
            ranges.append((first, min(last, size - 1)))
    return ranges


def _bounds_of(part: str, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of one range, perhaps behind the end; None if it is not valid.

    >>> _bounds_of("5-", 10), _bounds_of("-3", 10), _bounds_of("-0", 10), _bounds_of("7-5", 10)
    ((5, 9), (7, 9), (10, 9), None)
    """
    match = _RANGE.fullmatch(part)
    if match is None or not part.isascii() or len(part) > _MAX_RANGE_CHARACTERS:
        return None
    first, last = match.groups()
    if first:
        return None if last and int(last) < int(first) else (int(first), int(last) if last else size - 1)
    return (max(size - int(last), 0), size - 1) if last else None


class OpenFileResponse(Response):
    """An open file, whole or in ranges; closed after it was sent.

    Parameters
    ----------
    file : FileIO
    name : str
        Its name in the log.
    media_type : str
    etag : str
        Changes with its bytes.
    modified : float
        Seconds since 1970.
    """

    def __init__(self, file: FileIO, name: str, media_type: str, etag: str, modified: float) -> None:
        self._file, self._name = file, name
        self.size = os.fstat(file.fileno()).st_size
        super().__init__(
            headers={
                "Content-Length": str(self.size),
                "Accept-Ranges": "bytes",
                **validators(etag, modified),
                "Content-Disposition": "inline",
            },
            media_type=media_type,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with self._file:
            response = self._without_body(Request(scope))
            if response is not None:
                await response(scope, receive, send)
                return
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_on_disconnect, receive, group.cancel_scope)
                await self._send(Request(scope), send)
                group.cancel_scope.cancel()

    def _without_body(self, request: Request) -> Response | None:
        """Return 304 if the client has the file already, 416 if no requested range is in it, else None."""
        if "range" not in request.headers and has_current(request, self.headers["etag"]):
            headers = {name: self.headers[name] for name in ("etag", "cache-control", "last-modified")}
            return Response(status_code=304, headers=headers)
        if self._ranges(request) == []:
            detail = f"the range {request.headers['range'][:80]} is outside of this file's {self.size:,} bytes."
            return problem(416, detail, headers={"Content-Range": f"bytes */{self.size}", "Accept-Ranges": "bytes"})
        return None

    def _ranges(self, request: Request) -> list[tuple[int, int]] | None:
        """Return the first and last byte of each range to send, in order; None for the whole file."""
        header, version = request.headers.get("range"), request.headers.get("if-range")
        if header is None or version not in (None, self.headers["etag"], self.headers["last-modified"]):
            return None
        ranges = ranges_of(header, self.size)
        return None if ranges is None else _merged(ranges)

    async def _send(self, request: Request, send: Send) -> None:
        """Send headers and body; if the file has become shorter, the connection is closed early."""
        headers, ranges = MutableHeaders(raw=list(self.raw_headers)), self._ranges(request)
        parts, end = self._parts(ranges, headers)
        length = sum(len(head) + last + 1 - first for head, first, last in parts) + len(end)
        headers["content-length"] = str(length)
        status = 200 if ranges is None else 206
        await send({"type": "http.response.start", "status": status, "headers": headers.raw})
        if request.method == "HEAD":
            parts, end = [], b""
        for head, first, last in parts:
            if head:
                await send({"type": "http.response.body", "body": head, "more_body": True})
            if not await self._send_range(first, last + 1, send):
                return  # no final message: the server closes the connection, and the client notices
        await send({"type": "http.response.body", "body": end, "more_body": False})

    def _parts(
        self, ranges: list[tuple[int, int]] | None, headers: MutableHeaders
    ) -> tuple[list[tuple[bytes, int, int]], bytes]:
        """Return each part's (head, first byte, last byte) and the bytes after them; sets the headers to match."""
        if ranges is None:
            return [(b"", 0, self.size - 1)], b""
        if len(ranges) == 1:
            first, last = ranges[0]
            headers["content-range"] = f"bytes {first}-{last}/{self.size}"
            return [(b"", first, last)], b""
        boundary = token_hex(13)
        headers["content-type"] = f"multipart/byteranges; boundary={boundary}"
        parts = [(self._part_head(boundary, first, last), first, last) for first, last in ranges]
        return parts, f"\r\n--{boundary}--".encode()

    def _part_head(self, boundary: str, first: int, last: int) -> bytes:
        kind, span = self.headers["content-type"], f"bytes {first}-{last}/{self.size}"
        return f"\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {span}\r\n\r\n".encode()

    async def _send_range(self, start: int, end: int, send: Send) -> bool:
        """Send bytes of the file; return whether all of them could be read."""
        while start < end:
            data = await self._data_at(start, min(end - start, CHUNK_BYTES))
            if not data:
                log.warning("%s ended early while it was sent", self._name)
                return False
            await send({"type": "http.response.body", "body": data, "more_body": True})
            start += len(data)
        return True

    async def _data_at(self, start: int, size: int) -> bytes:
        """Return some bytes of the file; none if they cannot be read."""
        try:
            return await in_file_thread(self._read, start, size)
        except OSError:
            return b""

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size) or b""


class SoundResponse(OpenFileResponse):
    """A song's file, as it was opened, even if another file has its path by now.

    Parameters
    ----------
    song : Song
    file : FileIO
        The song's file as the library opened it.
    """

    def __init__(self, song: Song, file: FileIO) -> None:
        facts = os.fstat(file.fileno())
        etag = etag_of(facts.st_size, facts.st_mtime_ns)
        super().__init__(file, f"the file of song {song.id}", media_type_of(song.path), etag, facts.st_mtime)


def validators(etag: str, modified: float) -> dict[str, str]:
    """Return the headers with which a client can check whether its copy is current."""
    date = formatdate(modified, usegmt=True)
    return {"ETag": etag, "Last-Modified": date, "Cache-Control": "private, no-cache"}


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, adjacent and overlapping ones merged.

    >>> _merged([(20, 29), (0, 9), (5, 12), (13, 14)])
    [(0, 14), (20, 29)]
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def etag_of(*parts: object) -> str:
    """Return an entity tag that changes when one of the parts does."""
    return f'"{hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()}"'


def has_current(request: Request, etag: str) -> bool:
    """Say whether the client has this version already."""
    tags = request.headers.get("if-none-match", "")
    return tags.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")]


def not_modified(request: Request, etag: str, cache: str = "private, no-cache") -> Response | None:
    """Return a 304 response if the client has this version already, else None."""
    if not has_current(request, etag):
        return None
    return Response(status_code=304, headers={"ETag": etag, "Cache-Control": cache})


def accepts_gzip(header: str) -> bool:
    """Say whether an ``Accept-Encoding`` header allows gzip, by name or by ``*``; a weight of 0 forbids it.

    >>> accepts_gzip("br, gzip"), accepts_gzip("gzip;q=0, *"), accepts_gzip("*;q=0.5"), accepts_gzip("identity")
    (True, False, True, False)
    """
    weights: dict[str, bool] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights[name] = not any(_ZERO_WEIGHT.fullmatch(parameter) for parameter in parameters)
    return next((weights[name] for name in ("gzip", "x-gzip", "*") if name in weights), False)


def attachment(name: str, ending: str) -> str:
    r"""Return a Content-Disposition for a download: a name in ASCII, and the full one (RFC 5987).

    No character of the name can end the header or lead out of a folder.

    >>> attachment("Évening / \r\n mix", "m3u8")
    'attachment; filename="vening - mix.m3u8"; filename*=UTF-8\'\'%C3%89vening%20-%20mix.m3u8'
    """
    plain = "".join("-" if letter in '/\\:*?"<>|' else letter if letter.isprintable() else " " for letter in name)
    plain = " ".join(plain.split()).strip(". ")[:100] or "playlist"
    ascii_name = plain.encode("ascii", "ignore").decode().replace("%", "").replace(";", "").strip(". ") or "playlist"
    return f"attachment; filename=\"{ascii_name}.{ending}\"; filename*=UTF-8''{quote(f'{plain}.{ending}', safe='')}"
