"""Files and bytes -> answers that a browser can keep, ask for in parts, and ask about again.

``OpenFile`` sends what was opened, ``SoundResponse`` a song's file. Ranges are read as RFC 9110 has them: what cannot
be understood is left out, what lies behind the end too, and only if nothing is left the answer is problem 416.
"""

import hashlib
import logging
import os
import re
import stat
from email.utils import formatdate
from io import FileIO
from secrets import token_hex
from urllib.parse import quote

import anyio
from anyio import to_thread
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.library.records import Song
from nearsong.web.problems import problem

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
OTHER = "application/octet-stream"

_RANGE = re.compile(r"\s*(\d*)\s*-\s*(\d*)\s*")
_MOST_RANGES = 20
_PIECE = 1 << 16
_NO_WEIGHT = re.compile(r"q\s*=\s*0(\.0*)?")


def media_type_of(path: str) -> str:
    """Return the type of a sound file by its ending; never one that a browser would run.

    >>> media_type_of("/music/Song.MP3"), media_type_of("/music/page.html")
    ('audio/mpeg', 'application/octet-stream')
    """
    return MEDIA_TYPES.get(os.path.splitext(path)[1].lower(), OTHER)


def size_of(song: Song) -> int | None:
    """Return how large a song's file is, None if it is not there."""
    try:
        found = os.stat(song.path)
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def ranges_of(header: str, size: int) -> list[tuple[int, int]] | None:
    """Return the first and last bytes that a ``Range`` header asks for; None if it is to be ignored.

    >>> ranges_of("bytes=0-99, 900-, -50, 5000-", 1000)
    [(0, 99), (900, 999), (950, 999)]
    >>> ranges_of("bytes=1000-", 1000), ranges_of("lines=1-2", 1000), ranges_of("bytes=9-1", 1000)
    ([], None, None)
    """
    unit, _, text = header.partition("=")
    parts = text.split(",")
    if unit.strip().lower() != "bytes" or len(parts) > _MOST_RANGES:
        return None
    found = []
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match is None or match.groups() == ("", "") or not part.isascii() or len(part) > 50:
            return None
        first, last = match.groups()
        start, end = (int(first), int(last) if last else size - 1) if first else (max(size - int(last), 0), size - 1)
        if first and last and end < start:
            return None
        if start < size and (first or int(last)):
            found.append((start, min(end, size - 1)))
    return found


class OpenFile(Response):
    """A file that was opened, whole or in parts; closed when it was sent.

    Parameters
    ----------
    file : FileIO
    name : str
        What the log calls it.
    media_type : str
    etag : str
        Changes when its bytes do.
    modified : float
        When they last did, in seconds since 1970.
    """

    def __init__(self, file: FileIO, name: str, media_type: str, etag: str, modified: float) -> None:
        self._file, self._name = file, name
        self.size = os.fstat(file.fileno()).st_size
        super().__init__(
            headers={
                "Content-Length": str(self.size),
                "Accept-Ranges": "bytes",
                **head_of_sound(etag, modified),
                "Content-Disposition": "inline",
            },
            media_type=media_type,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        with self._file:
            answer = self._without_body(Request(scope))
            if answer is not None:
                await answer(scope, receive, send)
                return
            async with anyio.create_task_group() as group:
                group.start_soon(wait_until_gone, receive, group.cancel_scope)
                await self._send(Request(scope), send)
                group.cancel_scope.cancel()

    def _without_body(self, request: Request) -> Response | None:
        """Return the answer to one who has the file already, or asks for what is not in it."""
        if "range" not in request.headers and is_known(request, self.headers["etag"]):
            same = {name: self.headers[name] for name in ("etag", "cache-control", "last-modified")}
            return Response(status_code=304, headers=same)
        if self._ranges(request) == []:
            said = request.headers["range"][:80]
            detail = f"the range {said} lies outside of the {self.size:,} bytes of this file."
            return problem(416, detail, headers={"Content-Range": f"bytes */{self.size}", "Accept-Ranges": "bytes"})
        return None

    def _ranges(self, request: Request) -> list[tuple[int, int]] | None:
        """Return the first and last bytes to send, in order; None for the whole file."""
        said, held = request.headers.get("range"), request.headers.get("if-range")
        if said is None or (held is not None and held not in (self.headers["etag"], self.headers["last-modified"])):
            return None
        found = ranges_of(said, self.size)
        return found if found is None or len(found) < 2 else _merged(found)

    async def _send(self, request: Request, send: Send) -> None:
        """Send the head and the parts; a file that has become shorter breaks off the connection."""
        headers, ranges = MutableHeaders(raw=list(self.raw_headers)), self._ranges(request)
        # of each part what comes before it, its first and its last byte
        parts: list[tuple[bytes, int, int]] = [(b"", 0, self.size - 1)]
        end = b""
        if ranges is not None and len(ranges) == 1:
            parts = [(b"", *ranges[0])]
            headers["content-range"] = "bytes {}-{}/{}".format(*ranges[0], self.size)
        elif ranges:
            boundary = token_hex(13)
            parts = [(self._part_head(boundary, *one), *one) for one in ranges]
            end = f"\r\n--{boundary}--".encode()
            headers["content-type"] = f"multipart/byteranges; boundary={boundary}"
        length = sum(len(before) + last + 1 - first for before, first, last in parts) + len(end)
        headers["content-length"] = str(length)
        status = 200 if ranges is None else 206
        await send({"type": "http.response.start", "status": status, "headers": headers.raw})
        if request.method != "HEAD":
            for before, first, last in parts:
                if before:
                    await send({"type": "http.response.body", "body": before, "more_body": True})
                if not await self._send_part(first, last + 1, send):
                    return  # without an end: the server closes the connection, and the caller knows
        body = b"" if request.method == "HEAD" else end
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _part_head(self, boundary: str, first: int, last: int) -> bytes:
        kind, span = self.headers["content-type"], f"bytes {first}-{last}/{self.size}"
        return f"\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {span}\r\n\r\n".encode()

    async def _send_part(self, start: int, end: int, send: Send) -> bool:
        """Send bytes of the file; say whether all of them were there."""
        while start < end:
            try:
                data = await to_thread.run_sync(self._read, start, min(end - start, _PIECE))
            except OSError:
                data = b""
            if not data:
                log.warning("%s could not be read to its end while it was sent", self._name)
                return False
            await send({"type": "http.response.body", "body": data, "more_body": True})
            start += len(data)
        return True

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size) or b""


class SoundResponse(OpenFile):
    """A song's file; what is sent is what was opened, whatever has its name by then.

    Parameters
    ----------
    song : Song
        One of the library; its path comes from nowhere else.
    file : FileIO
        What the library opened as its file.
    """

    def __init__(self, song: Song, file: FileIO) -> None:
        facts = os.fstat(file.fileno())
        etag = etag_of(facts.st_size, facts.st_mtime_ns)
        super().__init__(file, f"the file of song {song.id}", media_type_of(song.path), etag, facts.st_mtime)


def head_of_sound(etag: str, modified: float) -> dict[str, str]:
    """Return the headers by which a caller knows whether he has a sound already."""
    dated = formatdate(modified, usegmt=True)
    return {"ETag": etag, "Last-Modified": dated, "Cache-Control": "private, no-cache"}


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, those that touch as one.

    >>> _merged([(20, 29), (0, 9), (5, 12), (13, 14)])
    [(0, 14), (20, 29)]
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


async def wait_until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Stop sending to one who has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def etag_of(*parts: object) -> str:
    """Return a tag that changes when one of the parts does."""
    return f'"{hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()}"'


def is_known(request: Request, etag: str) -> bool:
    """Say whether the caller has this version already."""
    said = request.headers.get("if-none-match", "")
    return said.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in said.split(",")]


def kept(request: Request, etag: str, cache: str = "private, no-cache") -> Response | None:
    """Return the answer 304 if the caller has this version already, else None."""
    if not is_known(request, etag):
        return None
    return Response(status_code=304, headers={"ETag": etag, "Cache-Control": cache})


def takes_gzip(header: str) -> bool:
    """Say whether an ``Accept-Encoding`` header allows gzip, by name or as any other; a weight of 0 forbids it.

    >>> takes_gzip("br, gzip"), takes_gzip("gzip;q=0, *"), takes_gzip("*;q=0.5"), takes_gzip("identity")
    (True, False, True, False)
    """
    weights: dict[str, bool] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights[name] = not any(_NO_WEIGHT.fullmatch(one) for one in parameters)
    return next((weights[name] for name in ("gzip", "x-gzip", "*") if name in weights), False)


def attachment(name: str, ending: str) -> str:
    r"""Return a Content-Disposition for a file to keep: an ASCII name for all, and the real one (RFC 5987).

    Nothing of the name can end the header or lead out of a folder.

    >>> attachment("Évening / \r\n mix", "m3u8")
    'attachment; filename="vening - mix.m3u8"; filename*=UTF-8\'\'%C3%89vening%20-%20mix.m3u8'
    """
    plain = "".join("-" if letter in '/\\:*?"<>|' else letter if letter.isprintable() else " " for letter in name)
    plain = " ".join(plain.split()).strip(". ")[:100] or "playlist"
    ascii_name = plain.encode("ascii", "ignore").decode().replace("%", "").replace(";", "").strip(". ") or "playlist"
    return f"attachment; filename=\"{ascii_name}.{ending}\"; filename*=UTF-8''{quote(f'{plain}.{ending}', safe='')}"
