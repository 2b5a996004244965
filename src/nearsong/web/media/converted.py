"""Songs that browsers cannot play, or that players want smaller -> converted once, cached and sent.

A song is converted in a worker process, once however many requests want it, and sent while it is made. Results are
cached in a private folder: the least recently used go when it is full, and all of them with the service. A request
that waits holds no thread. What nobody wants any more is finished for the cache, unless another song waits for the
worker: then it is given up.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

import anyio
from cachetools import LRUCache

from nearsong.atomic_write import UNFINISHED_SUFFIX
from nearsong.audio.conversion.convert import ConversionResult, convert_file
from nearsong.audio.conversion.forms import ENCODER_VERSION, HEAD_BYTES, AudioFormat
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
from nearsong.executor import available_processors
from nearsong.guarded_file import FileIdentity, identity_of
from nearsong.library import Song
from nearsong.temporary import CONVERTED_PREFIX, LockedFolder
from nearsong.web.http.problems import ApiError
from nearsong.web.media.growing_file import POLL_SECONDS, Conversion, GrowingFile, busy

MAX_CONVERSIONS = min(max(2, available_processors()), 4)
"""Songs that are converted at the same time, each by one processor, which serves everything else first."""

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
        self._active: dict[str, Conversion] = {}
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

    async def open_converted(self, song: Song, file: FileIO, form: AudioFormat) -> GrowingFile:
        """Return a song in another form, open for reading; if it has to be converted, once it has begun.

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
        wanted = Conversion(song, form, file, identity, _key(song, identity, form))
        conversion = None
        try:
            cached = self._open_cached(wanted.key)
            if cached is not None:
                return GrowingFile(cached)
            if wanted.seconds > MAX_AUDIO_SECONDS:
                raise _conversion_error(TooLongAudioError(song.path, "is too long"))
            conversion = self._join(wanted)
        finally:
            if conversion is not wanted:
                file.close()
        try:
            return await self._begun(conversion)
        except BaseException:
            self._leave(conversion)
            raise

    # ---- requests that want a result

    async def _begun(self, conversion: Conversion) -> GrowingFile:
        """Return a conversion once its first bytes are there, or all of it."""
        while not conversion.future.done():
            growing = self._open_growing(conversion)
            if growing is not None:
                try:
                    await growing.until(HEAD_BYTES)
                except BaseException:
                    growing.file.close()
                    raise
                return growing
            await anyio.sleep(POLL_SECONDS)
        if conversion.error is not None:
            raise conversion.error
        cached = self._open_cached(conversion.key)
        if cached is None:  # evicted at once by others
            raise busy()
        return GrowingFile(cached, None, lambda: self._leave(conversion))

    def _open_growing(self, conversion: Conversion) -> GrowingFile | None:
        """Return the file of a conversion if it is there; it is renamed when it is complete."""
        if conversion.part is None:
            return None
        try:
            return GrowingFile(FileIO(conversion.part, "rb"), conversion, lambda: self._leave(conversion))
        except OSError:
            return None

    def _join(self, wanted: Conversion) -> Conversion:
        """Join a conversion in progress or start one, which closes the file in the end."""
        with self._lock:
            conversion = self._active.get(wanted.key)
            if conversion is None:
                if self._closed or len(self._active) >= MAX_CONVERSIONS + MAX_PENDING:
                    raise busy()
                conversion = wanted
                self._active[wanted.key] = wanted
                wanted.future = self._threads.submit(self._convert, wanted)
                wanted.future.add_done_callback(lambda _future: self._forget(wanted))
            conversion.n_wanting += 1
            self._give_up_unwanted()
            return conversion

    def _leave(self, conversion: Conversion) -> None:
        """Want a result no longer. What has not begun is then not begun at all."""
        with self._lock:
            conversion.n_wanting -= 1
            if conversion.n_wanting == 0:
                conversion.future.cancel()
            self._give_up_unwanted()

    def _give_up_unwanted(self) -> None:
        """Stop conversions that nobody wants any more, as many as others wait for a worker."""
        n_waiting = len(self._active) - MAX_CONVERSIONS
        unwanted = [one for one in self._active.values() if not one.n_wanting and one.part is not None]
        for conversion in unwanted[: max(0, n_waiting)]:
            conversion.is_given_up = True
            del self._active[conversion.key]
            if conversion.part is not None:
                conversion.part.unlink(missing_ok=True)  # its worker notices

    def _forget(self, conversion: Conversion) -> None:
        conversion.file.close()
        with self._lock:
            if self._active.get(conversion.key) is conversion:
                del self._active[conversion.key]

    # ---- conversion, in a thread

    def _convert(self, conversion: Conversion) -> None:
        """Convert a song and cache the result."""
        folder, max_bytes = None, self.max_bytes
        try:
            folder, max_bytes = self._make_space()
            expected = conversion.form.bytes_of(conversion.seconds)
            if max_bytes < self.max_bytes and expected > self._share(max_bytes):
                raise _disk_full("little space is left")  # rather than in the middle
            conversion.part = _new_file(folder)
            self._write(conversion, conversion.part, max_bytes)
            target = folder / f"{conversion.key}.{conversion.form.extension}"
            os.replace(conversion.part, target)
            with self._lock:
                self._cache[conversion.key] = target
                self._cache.shrink(max_bytes)
        except AudioError as error:
            if conversion.is_given_up or (folder is not None and not folder.is_dir()):  # not the song's fault
                raise busy() from error
            if isinstance(error, TooLargeAudioError) and max_bytes < self.max_bytes:
                raise _disk_full("little space is left") from error
            log.warning("song %d cannot be converted: %s", conversion.song.id, error.reason)
            raise _conversion_error(error) from error
        except NearsongError as error:
            if not self._closed:
                log.warning("songs cannot be converted: %s", error)
            raise busy() from error
        except OSError as error:
            raise (busy() if conversion.is_given_up else _disk_full(error.strerror)) from error
        finally:
            if conversion.part is not None:
                with contextlib.suppress(OSError):
                    conversion.part.unlink(missing_ok=True)

    def _write(self, conversion: Conversion, target: Path, max_bytes: int) -> None:
        """Convert into a file, in a worker process."""
        song, form = conversion.song, conversion.form
        result = self._workers.run(
            song.path,
            conversion.identity,
            str(target),
            form,
            MAX_AUDIO_SECONDS,
            self._share(max_bytes),
            conversion.seconds,
        )
        if result.write_error is not None:
            raise _disk_full(result.write_error)
        if result.damage is not None:
            log.warning("song %d is damaged; its readable part was converted: %s", song.id, result.damage)

    def _share(self, max_bytes: int) -> int:
        """Return how many bytes one conversion may take: half of the cache; less where the disk is short of space."""
        return max_bytes // (2 if max_bytes == self.max_bytes else MAX_CONVERSIONS)

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


def _key(song: Song, identity: FileIdentity, form: AudioFormat) -> str:
    """Return the cache key of a conversion, which changes with the file."""
    parts = repr((song.path, tuple(identity), tuple(form), ENCODER_VERSION)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(parts, digest_size=16).hexdigest()


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
