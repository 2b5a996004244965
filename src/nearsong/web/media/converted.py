"""Songs that browsers cannot play, or that players want smaller -> converted once, cached and sent.

A song is converted in a worker process, once however many requests wait for it. Results are cached in a private
folder: the least recently used go when it is full, and all of them with the service. A waiting request holds no
thread, and one that disconnects frees its slot in the queue.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from cachetools import LRUCache

from nearsong.atomic_write import UNFINISHED_SUFFIX
from nearsong.audio.convert import ENCODER_VERSION, AudioFormat, ConversionResult, convert_file
from nearsong.audio.playable import is_playable
from nearsong.audio.workers import AudioWorkers
from nearsong.errors import (
    AudioError,
    AudioTimeoutError,
    ChangedAudioError,
    NearsongError,
    TooLargeAudioError,
    TooLongAudioError,
)
from nearsong.guarded_file import FileIdentity, identity_of
from nearsong.library import Song
from nearsong.temporary import CONVERTED_PREFIX, LockedFolder
from nearsong.web.http.problems import ApiError

MAX_CONVERSIONS = 2
"""Songs that are converted at the same time."""

MAX_PENDING = 8
"""Further songs that may wait for their turn."""

MAX_CACHE_BYTES = 1 << 30
"""Size of the cache: about thirty hours of MP3 or three of FLAC. Conversions in progress come on top."""

MAX_AUDIO_SECONDS = 2 * 3600.0
"""The longest audio that is converted."""

TIMEOUT_SECONDS = 300.0
"""How long a conversion may take; four minutes of music take one or two seconds."""

MEMORY_BYTES = 1 << 29
"""Memory that a conversion may take beyond that of an idle worker."""

MAX_KNOWN_FILES = 10_000
"""Files of which is cached whether browsers play them."""

NICENESS = 5

log = logging.getLogger("nearsong.web")


@dataclass(frozen=True)
class _Request:
    """A song's file, which stays open until it is converted, and the wanted form."""

    song: Song
    file: FileIO
    identity: FileIdentity
    form: AudioFormat
    key: str


@dataclass(eq=False)
class _Conversion:
    """A conversion in progress, and how many requests wait for it."""

    future: "Future[None]"
    waiters: int = 0


class _FileCache(LRUCache[str, Path]):
    """Converted files by key; the least recently used are deleted when the cache shrinks."""

    def __init__(self) -> None:
        super().__init__(float("inf"), getsizeof=lambda path: path.stat().st_size)

    def popitem(self) -> tuple[str, Path]:
        """Delete the least recently used file."""
        key, path = super().popitem()
        with contextlib.suppress(OSError):
            path.unlink()
        return key, path

    def shrink(self, max_bytes: float) -> None:
        """Delete files until the rest fits; one always stays."""
        while len(self) > 1 and self.currsize > max_bytes:
            self.popitem()


class Conversions:
    """Converts songs and caches the results; to be closed after use."""

    def __init__(self) -> None:
        self.max_bytes = MAX_CACHE_BYTES
        self._workers: AudioWorkers[ConversionResult] = AudioWorkers(
            convert_file, workers=MAX_CONVERSIONS, timeout=TIMEOUT_SECONDS, memory=MEMORY_BYTES, nice=NICENESS
        )
        self._threads = ThreadPoolExecutor(MAX_CONVERSIONS, "nearsong-convert")
        self._lock = threading.RLock()
        self._active: dict[str, _Conversion] = {}
        self._cache = _FileCache()
        self._playable: LRUCache[tuple[str, FileIdentity], bool] = LRUCache(MAX_KNOWN_FILES)
        self._folder: LockedFolder | None = None
        self._closed = False

    def close(self) -> None:
        """Stop the workers and remove the cache; waiting requests get a 503."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._workers.close()
        self._threads.shutdown()
        with self._lock:
            folder, self._folder = self._folder, None
            self._cache = _FileCache()
        if folder is not None:
            folder.close()

    @property
    def n_active(self) -> int:
        """Songs that are being converted or wait for it."""
        return len(self._active)

    def is_playable(self, song: Song, file: FileIO) -> bool:
        """Say whether browsers and players can be expected to play a song's file without conversion."""
        key = (song.path, identity_of(file))
        with self._lock:
            if key in self._playable:
                return self._playable[key]
        playable = is_playable(file, song.path)
        with self._lock:
            self._playable[key] = playable
        return playable

    async def open_converted(self, song: Song, file: FileIO, form: AudioFormat) -> FileIO:
        """Return a song in another form, open for reading; waits if it has to be converted.

        Parameters
        ----------
        song : Song
        file : FileIO
            The song's file as the library opened it; closed here.
        form : AudioFormat

        Raises
        ------
        ApiError
            422 if it cannot be converted, 503 if too many are waiting, 507 if the disk is full.
        """
        identity = identity_of(file)
        request = _Request(song=song, file=file, identity=identity, form=form, key=_key(song, identity, form))
        conversion = None
        try:
            cached = self._open_cached(request.key)
            if cached is not None:
                return cached
            conversion = self._join(request)
        finally:
            if conversion is None:
                file.close()
        try:
            await _wait_for(conversion.future)
        finally:
            self._leave(conversion)
        if conversion.future.cancelled():
            raise _busy()
        error = conversion.future.exception()
        if isinstance(error, ApiError):
            raise ApiError(error.status, error.detail, error.kind, error.headers)
        if error is not None:
            raise error
        cached = self._open_cached(request.key)
        if cached is None:  # evicted at once by others
            raise _busy()
        return cached

    # ---- waiting requests

    def _join(self, request: _Request) -> _Conversion:
        """Join a conversion in progress or start one, which closes the file in the end."""
        with self._lock:
            conversion = self._active.get(request.key)
            if conversion is not None:
                request.file.close()
            else:
                if self._closed or len(self._active) >= MAX_CONVERSIONS + MAX_PENDING:
                    raise _busy()
                conversion = _Conversion(self._threads.submit(self._convert, request))
                self._active[request.key] = conversion
                conversion.future.add_done_callback(lambda _future: self._forget(request))
            conversion.waiters += 1
            return conversion

    def _leave(self, conversion: _Conversion) -> None:
        """Stop waiting. A conversion that nobody waits for is not started; one in progress is finished and cached."""
        with self._lock:
            conversion.waiters -= 1
            if conversion.waiters == 0:
                conversion.future.cancel()

    def _forget(self, request: _Request) -> None:
        request.file.close()
        with self._lock:
            self._active.pop(request.key, None)

    # ---- conversion, in a thread

    def _convert(self, request: _Request) -> None:
        """Convert a song and cache the result."""
        song, part, folder = request.song, None, None
        max_bytes = self.max_bytes
        try:
            folder, max_bytes = self._make_space()
            part = _new_file(folder)
            self._write(request, part, max_bytes)
            target = folder / f"{request.key}.{request.form.extension}"
            os.replace(part, target)
            with self._lock:
                self._cache[request.key] = target
                self._cache.shrink(max_bytes)
        except AudioError as error:
            if folder is not None and not folder.is_dir():  # removed meanwhile: not the song's fault
                raise _busy() from error
            if isinstance(error, TooLargeAudioError) and max_bytes < self.max_bytes:
                raise _disk_full("little space is left") from error
            log.warning("song %d cannot be converted: %s", song.id, error.reason)
            raise _conversion_error(error) from error
        except NearsongError as error:
            if not self._closed:
                log.warning("songs cannot be converted: %s", error)
            raise _busy() from error
        except OSError as error:
            raise _disk_full(error.strerror) from error
        finally:
            if part is not None:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)

    def _write(self, request: _Request, target: Path, max_bytes: int) -> None:
        """Convert into a file, in a worker process."""
        result = self._workers.run(
            request.song.path,
            request.identity,
            str(target),
            request.form,
            MAX_AUDIO_SECONDS,
            max_bytes // MAX_CONVERSIONS,
        )
        if result.write_error is not None:
            raise _disk_full(result.write_error)
        if result.damage is not None:
            log.warning("song %d is damaged; its readable part was converted: %s", request.song.id, result.damage)

    def _make_space(self) -> tuple[Path, int]:
        """Return the folder, created if needed, and how many bytes the cache may have in it now."""
        with self._lock:
            if self._folder is not None and not self._folder.check():  # removed by someone else
                self._folder.close()
                self._folder = None
                self._cache = _FileCache()
            if self._folder is None:
                self._folder = LockedFolder(CONVERTED_PREFIX)
            # a third of the free space at most; on some systems temporary files are in memory
            free = shutil.disk_usage(self._folder.path).free + int(self._cache.currsize)
            max_bytes = min(self.max_bytes, free // 3)
            self._cache.shrink(max_bytes)
            return self._folder.path, max_bytes

    def _open_cached(self, key: str) -> FileIO | None:
        with self._lock:
            path = self._cache.get(key)
            if path is None:
                return None
            try:
                return FileIO(path, "rb")
            except OSError:  # removed by someone else
                del self._cache[key]
                return None


def _new_file(folder: Path) -> Path:
    """Create an empty file with a random name, for a worker to write to."""
    handle, name = tempfile.mkstemp(suffix=UNFINISHED_SUFFIX, dir=folder)
    os.close(handle)
    return Path(name)


async def _wait_for(future: "Future[None]") -> None:
    """Wait for a future of a thread without cancelling it, since others may wait too."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def notify(_future: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may have been closed
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(notify)
    await done.wait()


def _key(song: Song, identity: FileIdentity, form: AudioFormat) -> str:
    """Return the cache key of a conversion, which changes with the file."""
    parts = repr((song.path, tuple(identity), tuple(form), ENCODER_VERSION)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(parts, digest_size=16).hexdigest()


def _busy() -> ApiError:
    detail = "too many songs are being converted; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})


def _disk_full(reason: str | None) -> ApiError:
    detail = f"no space to convert the song ({reason}); free space in the service's temporary folder."
    return ApiError(507, detail, "no-room")


_CONVERSION_ERRORS: tuple[tuple[type[AudioError], str], ...] = (
    (AudioTimeoutError, "converting it for the browser takes too long"),
    (TooLongAudioError, "it is too long to convert"),
    (AudioError, "its file cannot be read"),
)


def _conversion_error(error: AudioError) -> ApiError:
    """Return why a song cannot be converted, without naming decoders."""
    if isinstance(error, ChangedAudioError):
        return ApiError(503, "the song's file has just changed; try again.", "busy", {"Retry-After": "1"})
    reason = next(reason for kind, reason in _CONVERSION_ERRORS if isinstance(error, kind))
    return ApiError(422, f"{reason}; download it to play it elsewhere.", "unusable-audio")
