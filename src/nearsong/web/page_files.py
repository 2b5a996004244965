"""Files of the page -> responses from memory, compressed once: all style sheets in one, scripts as they are loaded.

There are more than a hundred, and each request costs the service and the browser more than the bytes do. The page
asks for ``js/app.js`` and for the module of a view: each comes with the modules it imports, but for those that the
first one has.
"""

import gzip
import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from nearsong.script_bundle import imported_modules, loaded_later, module_script
from nearsong.web.media.files import accepts_gzip

REVALIDATE = "no-cache"
"""Browsers cache the file but check each time whether it has changed, so an upgrade is seen at once."""

STYLES = (
    "tokens",
    "base",
    "shell",
    "player",
    "queue",
    "now_playing",
    "library",
    "albums",
    "song",
    "for_you",
    "listen",
    "playlists",
    "quality",
    "account",
    "settings",
    "map",
)
"""Style sheets of ``css/page.css``, in their order: where two rules are equal, the later one counts."""

PAGE_STYLES = "css/page.css"
FIRST_SCRIPT = "app.js"
SCRIPTS_ADDRESS = "/static/js"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_UNCOMPRESSED = (".png", ".woff2")
_MIN_BYTES = 500


class _CachedFile(NamedTuple):
    """A file as it was at a time and of a size."""

    changed: tuple[int, int]
    content: bytes
    compressed: bytes | None
    etag: str


class PageFiles(StaticFiles):
    """Files of the page, cached in memory, revalidated each time."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        super().__init__(directory=directory)
        self._folder = Path(directory)
        self._cached: dict[str, _CachedFile] = {}
        self._scripts = _Scripts(self._folder / "js")

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find a file; one that is made of others changes with the last of them."""
        files = self._sources(path)
        if files is None:
            return super().lookup_path(path)
        newest = max(files, key=lambda file: file.stat().st_mtime_ns)
        return str(Path(str(self.directory), path)), newest.stat()

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file, or 304."""
        cached, asked = self._read(os.fspath(full_path), stat_result), Headers(scope=scope)
        headers = {"Cache-Control": REVALIDATE, "ETag": cached.etag}
        content = cached.content
        if cached.compressed is not None:
            headers["Vary"] = "Accept-Encoding"
            if accepts_gzip(asked.get("accept-encoding", "")):
                headers["Content-Encoding"], content = "gzip", cached.compressed
        response = Response(content, status_code, headers, media_type=_media_type(os.fspath(full_path)))
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response

    def _sources(self, path: str) -> list[Path] | None:
        """Return the files that a file of the page is made of; None for one that is sent as it is."""
        if path == PAGE_STYLES:
            return [self._folder / "css" / f"{name}.css" for name in STYLES]
        if path.startswith("js/") and path.removeprefix("js/") in self._scripts.modules:
            return [self._folder / "js" / module for module in self._scripts.modules]
        return None

    def _read(self, path: str, status: os.stat_result) -> _CachedFile:
        changed = (status.st_mtime_ns, status.st_size)
        cached = self._cached.get(path)
        if cached is None or cached.changed != changed:
            content = self._content(Path(path))
            is_text = not path.endswith(_UNCOMPRESSED) and len(content) >= _MIN_BYTES
            compressed = gzip.compress(content, 9, mtime=0) if is_text else None
            etag = f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'
            cached = self._cached[path] = _CachedFile(changed, content, compressed, etag)
        return cached

    def _content(self, path: Path) -> bytes:
        name = path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else ""
        files = self._sources(name)
        if files is None:
            return path.read_bytes()
        if name == PAGE_STYLES:
            return b"\n".join(file.read_bytes() for file in files)
        return self._scripts.bundle(name.removeprefix("js/")).encode()


class _Scripts:
    """The modules of the page, as they are loaded together.

    Parameters
    ----------
    folder : Path
        ``js`` of the page's files; it may be absent.

    Attributes
    ----------
    modules : list of str
        Paths of all that the page may load.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        has_page = (folder / FIRST_SCRIPT).is_file()
        self._first = imported_modules(FIRST_SCRIPT, self._text) if has_page else []
        self.modules = list(self._first)
        self._later: set[str] = set()
        while found := loaded_later(self.modules, self._text) - self._later:
            self._later |= found
            for entry in sorted(found):
                self.modules += [one for one in imported_modules(entry, self._text) if one not in self.modules]

    def bundle(self, path: str) -> str:
        """Return a module with those that it imports."""
        without = self._first if path in self._later else []
        return module_script(path, self._text, SCRIPTS_ADDRESS, without)

    def _text(self, path: str) -> str:
        return (self._folder / path).read_text(encoding="utf-8")


def _media_type(path: str) -> str:
    """Return the type of a file by its ending, whatever the system's table of types says."""
    return _TYPES.get(os.path.splitext(path)[1], "application/octet-stream")
