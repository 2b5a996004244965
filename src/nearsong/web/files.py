"""Files and bytes -> answers that a browser can keep, ask for in parts, and ask about again.

``SoundResponse`` sends a file of the library. Ranges are read as RFC 9110 has them: what cannot be understood is left
out, what lies behind the end too, and only if nothing is left the answer is problem 416.
"""

import hashlib
import os
import re
import stat
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from nearsong.errors import NoSuchSongError
from nearsong.library.records import Song
from nearsong.web.problems import problem

MEDIA_TYPES = {
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".m4b": "audio/mp4",
    ".mp4": "audio/mp4",
    ".aac": "audio/aac",
    ".wav": "audio/wav",
    ".aif": "audio/aiff",
    ".aiff": "audio/aiff",
    ".wma": "audio/x-ms-wma",
    ".ape": "audio/x-ape",
    ".wv": "audio/x-wavpack",
    ".mpc": "audio/x-musepack",
    ".webm": "audio/webm",
    ".mka": "audio/x-matroska",
    ".au": "audio/basic",
    ".caf": "audio/x-caf",
}
OTHER = "application/octet-stream"

_RANGE = re.compile(r"\s*(\d*)\s*-\s*(\d*)\s*")
_MOST_RANGES = 20


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


class SoundResponse(FileResponse):
    """A song's file, whole or in parts.

    Parameters
    ----------
    song : Song
        One of the library; its path comes from nowhere else.

    Raises
    ------
    NoSuchSongError
        If the file is not there.
    """

    def __init__(self, song: Song) -> None:
        if size_of(song) is None:
            raise NoSuchSongError(f"the file of song {song.id} is gone; bring it back and scan again.")
        found = os.stat(song.path)
        headers = {"Cache-Control": "private, no-cache", "Content-Disposition": "inline"}
        super().__init__(song.path, headers=headers, media_type=media_type_of(song.path), stat_result=found)
        self.size = found.st_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        request = Request(scope)
        if "range" not in request.headers and is_known(request, self.headers["etag"]):
            kept = {name: self.headers[name] for name in ("etag", "cache-control", "last-modified")}
            await Response(status_code=304, headers=kept)(scope, receive, send)
            return
        said, held = request.headers.get("range"), request.headers.get("if-range")
        others = [(name, value) for name, value in scope["headers"] if name != b"range"]
        if said is not None and (held is None or self._should_use_range(held)):
            ranges = ranges_of(said, self.size)
            if ranges == []:
                detail = f"the range {said[:80]} lies outside of the {self.size:,} bytes of this file."
                headers = {"Content-Range": f"bytes */{self.size}", "Accept-Ranges": "bytes"}
                await problem(416, detail, headers=headers)(scope, receive, send)
                return
            if ranges:
                text = ",".join(f"{start}-{end}" for start, end in ranges)
                others.append((b"range", f"bytes={text}".encode()))
        await super().__call__({**scope, "headers": others}, receive, send)


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
