"""Songs -> their covers as thumbnails, the most recently used in memory.

Tags and pictures are untrusted, so they are parsed in worker processes with limits, a few at a time; only thumbnails
come back. A song is opened through the library first, as for its sound, and a worker reads the same file or none.
"""

import os
import threading
from contextlib import suppress

from cachetools import LRUCache

from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioError, DatabaseError, NearsongError, NoSuchSongError
from nearsong.guarded_file import identity_of
from nearsong.library import Library, Picture, Song, painted_placeholder, placeholder, thumbnail_of
from nearsong.web.service.concurrency import ConcurrencyLimit, busy

CACHE_CONTROL = "private, max-age=600"
PLACEHOLDER_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

MAX_CACHE_BYTES = 32_000_000
_ENTRY_BYTES = 500
_NO_COVER = Picture(b"", "")
_WHAT = "covers"

MAX_WORKERS = 2
MAX_WAITING = 16
"""Covers that wait for a worker, each holding a thread; browsers ask for six at a time."""

TIMEOUT_SECONDS = 20.0
"""How long a cover may take; one of 36 million pixels takes a second."""

MEMORY_BYTES = 1 << 29
"""Memory that a cover may take beyond that of an idle worker (docs/decisions/0022-limits.md)."""


class Covers:
    """Thumbnails of covers; threads may share it. :meth:`close` ends its workers.

    Parameters
    ----------
    library : Library
        Opens the files.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._workers: AudioWorkers[Picture | None] = AudioWorkers(
            thumbnail_of, workers=MAX_WORKERS, timeout=TIMEOUT_SECONDS, memory=MEMORY_BYTES
        )
        self._limit = ConcurrencyLimit(MAX_WORKERS, MAX_WAITING, what=_WHAT)
        self._lock = threading.Lock()
        self._cache: LRUCache[tuple[str, int, int, int], Picture] = LRUCache(
            MAX_CACHE_BYTES, getsizeof=lambda picture: len(picture.data) + _ENTRY_BYTES
        )

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def thumbnail(self, song: Song, size: int) -> Picture | None:
        """Return a song's cover, at most ``size`` pixels on the longer side; None if it has none.

        Raises
        ------
        ApiError
            503 if too many covers are being read.
        """
        key = (song.path, _modified(song.path), _modified(os.path.dirname(song.path)), size)
        picture = self._cached(key)
        if picture is None:
            with self._limit.slot():
                picture = self._cached(key)  # perhaps another request has just read it
                if picture is None:
                    picture = self._read(song, key, size)
        return picture if picture.data else None

    def drawing(self, song: Song) -> Picture:
        """Return a drawing for a song without a cover."""
        return placeholder(song.artist, song.album or song.title)

    def painting(self, artist: str, title: str, size: int) -> Picture:
        """Return the same drawing in pixels, for players, which show no SVG."""
        key = (f"{artist}\0{title}", 0, 0, size)  # no path has a zero byte
        picture = self._cached(key)
        if picture is None:
            picture = painted_placeholder(artist, title, size)
            with self._lock, suppress(ValueError):
                self._cache[key] = picture
        return picture

    def _cached(self, key: tuple[str, int, int, int]) -> Picture | None:
        with self._lock:
            return self._cache.get(key)

    def _read(self, song: Song, key: tuple[str, int, int, int], size: int) -> Picture:
        """Read a cover in a worker and cache it; a damaged or malicious one counts as none."""
        try:
            with self._library.open_file(song) as file:
                identity = identity_of(file)
        except NoSuchSongError:  # not cached: the next scan may accept the file
            return _NO_COVER
        try:
            folders = self._library.folders
        except DatabaseError:  # unreachable for now: pictures that are links are passed over
            folders = []
        try:
            picture = self._workers.run(song.path, identity, folders, size) or _NO_COVER
        except AudioError:
            picture = _NO_COVER
        except NearsongError as error:  # the workers cannot run
            raise busy(_WHAT) from error
        with self._lock, suppress(ValueError):  # larger than the whole cache
            self._cache[key] = picture
        return picture


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0
