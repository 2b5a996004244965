"""Songs -> their pictures, made small once and kept in memory while they are asked for."""

import os
import threading
from collections import OrderedDict

from nearsong.errors import NearsongError
from nearsong.library.cover_art import Picture, cover_of, placeholder, small_cover
from nearsong.library.records import Song

CACHE = "private, max-age=600"
PLACEHOLDER_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

MOST_BYTES = 32_000_000
_NOTHING = Picture(b"", "")


class Covers:
    """Small pictures, the last ones asked for in memory; threads may share it.

    Parameters
    ----------
    most_bytes : int
        Of pictures that are kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, int, int, int], Picture] = OrderedDict()

    def small(self, song: Song, size: int) -> Picture | None:
        """Return a song's cover with so many pixels a side at most; None if it has none that can be shown."""
        key = (song.path, _changed(song.path), _changed(os.path.dirname(song.path)), size)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        if found is None:
            found = _read(song.path, size) or _NOTHING
            self._keep(key, found)
        return found if found.data else None

    def drawn(self, song: Song) -> Picture:
        """Return a drawing for a song that has no cover."""
        return placeholder(song.artist, song.album or song.title)

    def _keep(self, key: tuple[str, int, int, int], picture: Picture) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = picture
                self._bytes += _weight(picture)
            while self._bytes > self._most_bytes and len(self._kept) > 1:
                self._bytes -= _weight(self._kept.popitem(last=False)[1])


def _weight(picture: Picture) -> int:
    return len(picture.data) + 500  # what a song without a picture takes too


def _read(path: str, size: int) -> Picture | None:
    try:
        picture = cover_of(path)
        return None if picture is None else small_cover(picture, size)
    except (NearsongError, OSError, ValueError):  # broken, foreign or too large a picture is as good as none
        return None


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0
