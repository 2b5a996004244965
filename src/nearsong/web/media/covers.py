"""Songs -> their covers as thumbnails, the most recently used in memory."""

import os
import threading
from contextlib import suppress

from cachetools import LRUCache

from nearsong.errors import NearsongError
from nearsong.library import Picture, Song, cover_of, placeholder, small_cover

CACHE_CONTROL = "private, max-age=600"
PLACEHOLDER_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

MAX_CACHE_BYTES = 32_000_000
_ENTRY_BYTES = 500
_NO_COVER = Picture(b"", "")


class Covers:
    """Thumbnails of covers; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: LRUCache[tuple[str, int, int, int], Picture] = LRUCache(
            MAX_CACHE_BYTES, getsizeof=lambda picture: len(picture.data) + _ENTRY_BYTES
        )

    def thumbnail(self, song: Song, size: int) -> Picture | None:
        """Return a song's cover, at most ``size`` pixels on the longer side; None if it has none."""
        key = (song.path, _modified(song.path), _modified(os.path.dirname(song.path)), size)
        with self._lock:
            picture = self._cache.get(key)
        if picture is None:
            picture = _read(song.path, size) or _NO_COVER
            with self._lock, suppress(ValueError):  # larger than the whole cache
                self._cache[key] = picture
        return picture if picture.data else None

    def drawing(self, song: Song) -> Picture:
        """Return a drawing for a song without a cover."""
        return placeholder(song.artist, song.album or song.title)


def _read(path: str, size: int) -> Picture | None:
    try:
        picture = cover_of(path)
        return None if picture is None else small_cover(picture, size)
    except (NearsongError, OSError, ValueError):  # a damaged or oversized picture counts as none
        return None


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0
