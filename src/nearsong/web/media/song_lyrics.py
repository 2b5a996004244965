"""Songs -> their lyrics, read in a worker process with limits; the most recently read are kept."""

import os
import threading

from cachetools import LRUCache

from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioError, NearsongError, NoSuchSongError
from nearsong.guarded_file import identity_of
from nearsong.library import Library, Lyrics, Song, lyrics_of
from nearsong.web.service.concurrency import ConcurrencyLimit, busy

MAX_KNOWN_SONGS = 500
MAX_WAITING = 16
TIMEOUT_SECONDS = 10.0

MEMORY_BYTES = 1 << 28
"""Memory that reading lyrics may take beyond that of an idle worker."""

_WHAT = "lyrics"


class SongLyrics:
    """Reads the lyrics of songs; threads may share it. :meth:`close` ends its worker.

    Parameters
    ----------
    library : Library
        Opens the files.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._workers: AudioWorkers[tuple[Lyrics, ...]] = AudioWorkers(
            lyrics_of, timeout=TIMEOUT_SECONDS, memory=MEMORY_BYTES
        )
        self._limit = ConcurrencyLimit(1, MAX_WAITING, what=_WHAT)
        self._lock = threading.Lock()
        self._cache: LRUCache[tuple[str, int, int], tuple[Lyrics, ...]] = LRUCache(MAX_KNOWN_SONGS)

    def close(self) -> None:
        """End the worker."""
        self._workers.close()

    def of(self, song: Song) -> tuple[Lyrics, ...]:
        """Return the lyrics of a song; empty if it has none or its file is damaged.

        Raises
        ------
        ApiError
            503 if too many lyrics are being read.
        """
        try:
            with self._library.open_file(song) as file:
                identity = identity_of(file)
        except NoSuchSongError:
            return ()
        key = (song.path, identity.modified, _modified(os.path.dirname(song.path)))
        with self._lock:
            if key in self._cache:
                return self._cache[key]
        with self._limit.slot():
            try:
                found = self._workers.run(song.path, identity, self._library.folders)
            except AudioError:
                found = ()
            except NearsongError as error:  # the worker cannot run
                raise busy(_WHAT) from error
        with self._lock:
            self._cache[key] = found
        return found


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0
