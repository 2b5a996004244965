"""Two songs -> where they sound most alike, for the page to play.

Sound is untrusted, so it is decoded in a worker process with limits, one song at a time. A song is opened through the
library first, and the worker reads the same file or none. What a song sounds like over time is some kilobytes, and
those of the latest songs stay in memory.
"""

import threading

from cachetools import LRUCache

from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioError, NearsongError, NoSuchSongError
from nearsong.guarded_file import FileIdentity, identity_of
from nearsong.library import Library, MomentWindows, SharedMoment, Song, moment_windows, nearest_windows
from nearsong.web.service.concurrency import ConcurrencyLimit, busy

MAX_CACHED_SONGS = 64
MAX_WORKERS = 1
MAX_WAITING = 4
TIMEOUT_SECONDS = 60.0
"""How long a song may take; fifteen minutes of an MP3 file take some seconds."""

MEMORY_BYTES = 1 << 29
"""Memory that a song may take beyond that of an idle worker (docs/decisions/0022-limits.md)."""

_WHAT = "comparisons of songs"


class SharedMoments:
    """Finds shared moments; threads may share it. :meth:`close` ends its worker.

    Parameters
    ----------
    library : Library
        Opens the files.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._workers: AudioWorkers[MomentWindows] = AudioWorkers(
            moment_windows, workers=MAX_WORKERS, timeout=TIMEOUT_SECONDS, memory=MEMORY_BYTES
        )
        self._limit = ConcurrencyLimit(MAX_WORKERS, MAX_WAITING, what=_WHAT)
        self._lock = threading.Lock()
        self._cache: LRUCache[tuple[str, FileIdentity], MomentWindows] = LRUCache(MAX_CACHED_SONGS)

    def close(self) -> None:
        """End the worker."""
        self._workers.close()

    def find(self, query: Song, other: Song) -> SharedMoment:
        """Return where two songs sound most alike; if one of the files cannot be read, why.

        Raises
        ------
        ApiError
            503 if too many requests wait.
        """
        try:
            with self._limit.slot():
                windows = [self._windows(song) for song in (query, other)]
        except (AudioError, NoSuchSongError) as error:
            return SharedMoment(reason=error.reason if isinstance(error, AudioError) else str(error))
        except NearsongError as error:  # the worker cannot run
            raise busy(_WHAT) from error
        return nearest_windows(*windows)

    def _windows(self, song: Song) -> MomentWindows:
        with self._library.open_file(song) as file:
            key = (song.path, identity_of(file))
        with self._lock:
            cached = self._cache.get(key)
        if cached is not None:
            return cached
        windows = self._workers.run(*key)
        with self._lock:
            self._cache[key] = windows
        return windows
