"""Songs that browsers cannot play, or that players want smaller -> converted once, kept for a while and sent.

``Conversions()``; `start` and `close` belong around its use. A song is converted in a worker process, once however
many ask for it, and what was made is kept in a folder that only this user can look into: what was not asked for
longest goes when the folder is full, and all of it with the service. Whoever waits holds no thread, and whoever hangs
up gives back a place in the queue.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nearsong.audio.convert import RECIPE, Converted, FileFacts, Form, convert_file, facts_of
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
from nearsong.library.records import Song
from nearsong.web.files import OpenFile, etag_of, head_of_sound, is_known, wait_until_gone
from nearsong.web.problems import ApiError, problem
from nearsong.web.upload_folder import HeldFolder, remove_left_folders

PREFIX = "nearsong-converted-"

AT_ONCE = 2
"""Songs that are converted at the same time."""

WAITING = 8
"""Further songs that may wait for their turn."""

MOST_BYTES = 1 << 30
"""Room for what was converted: some thirty hours of MP3, or three of FLAC. What is just being made comes on top."""

LONGEST_SECONDS = 2 * 3600.0
"""The longest sound that is converted."""

TIMEOUT = 300.0
"""Seconds that a conversion may take; four minutes of music take one or two."""

MEMORY = 1 << 29
"""Bytes that a conversion may take beyond those of an idle worker."""

REMEMBERED = 10_000
"""Files of which is remembered whether browsers play them."""

_NICE = 5

log = logging.getLogger("nearsong.web")


@dataclass(frozen=True)
class _Wanted:
    """A song's file, which stays open until it is converted, and what it is to become."""

    song: Song
    file: FileIO
    facts: FileFacts
    form: Form
    key: str


@dataclass(eq=False)
class _Making:
    """A conversion under way, and how many wait for it."""

    future: "Future[None]"
    waiters: int = 0


class Conversions:
    """Converts songs, and keeps what was made as long as there is room.

    Parameters
    ----------
    most_bytes : int
        What is kept altogether.
    waiting : int
        Songs that may wait for their turn.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, waiting: int = WAITING) -> None:
        self._most, self._places = most_bytes, AT_ONCE + waiting
        self._workers: AudioWorkers[Converted] = AudioWorkers(
            convert_file, workers=AT_ONCE, timeout=TIMEOUT, memory=MEMORY, nice=_NICE
        )
        self._threads = ThreadPoolExecutor(AT_ONCE, "nearsong-convert")
        self._lock = threading.RLock()
        self._making: dict[str, _Making] = {}
        self._kept: OrderedDict[str, tuple[Path, int]] = OrderedDict()  # what was asked for last is last
        self._known: OrderedDict[tuple[str, FileFacts], bool] = OrderedDict()
        self._folder: HeldFolder | None = None
        self._closed = False

    def start(self) -> None:
        """Remove what a killed service has left."""
        remove_left_folders(Path(tempfile.gettempdir()), PREFIX)

    def close(self) -> None:
        """End the workers and remove what was made; whoever waits is told to come back."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._workers.close()
        self._threads.shutdown()
        with self._lock:
            folder, self._folder = self._folder, None
            self._kept.clear()
        if folder is not None:
            folder.close()

    @property
    def busy(self) -> int:
        """Songs that are being converted or wait for it."""
        return len(self._making)

    def plays(self, song: Song, file: FileIO) -> bool:
        """Say whether browsers and players can be expected to play the file of a song as it is."""
        known = (song.path, facts_of(file))
        with self._lock:
            if known in self._known:
                return self._known[known]
        found = is_playable(file, song.path)
        with self._lock:
            self._known[known] = found
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found

    async def made(self, song: Song, file: FileIO, form: Form) -> FileIO:
        """Return a song in another form, open for reading; wait for it if it has to be made.

        Parameters
        ----------
        song : Song
        file : FileIO
            What the library opened as its file; it is closed here.
        form : Form

        Raises
        ------
        ApiError
            422 if it cannot be converted, 503 if too many wait already, 507 if there is no room.
        """
        facts = facts_of(file)
        wanted = _Wanted(song, file, facts, form, _key(song, facts, form))
        making = None
        try:
            kept = self._open_kept(wanted.key)
            if kept is not None:
                return kept
            making = self._join(wanted)
        finally:
            if making is None:
                file.close()
        try:
            await _done(making.future)
        finally:
            self._leave(making)
        if making.future.cancelled():
            raise _busy()
        error = making.future.exception()
        if isinstance(error, ApiError):
            raise ApiError(error.status, error.detail, error.kind, error.headers)
        if error is not None:
            raise error
        kept = self._open_kept(wanted.key)
        if kept is None:  # it had to make room for others at once
            raise _busy()
        return kept

    # ---- who waits

    def _join(self, wanted: _Wanted) -> _Making:
        """Take part in a conversion, or begin it; then the file is closed when it is over."""
        with self._lock:
            making = self._making.get(wanted.key)
            if making is not None:
                wanted.file.close()
            else:
                if self._closed or len(self._making) >= self._places:
                    raise _busy()
                making = self._making[wanted.key] = _Making(self._threads.submit(self._make, wanted))
                making.future.add_done_callback(lambda _future: self._forget(wanted))
            making.waiters += 1
            return making

    def _leave(self, making: _Making) -> None:
        """Wait no longer; what nobody waits for is not begun, what has begun is ended and kept."""
        with self._lock:
            making.waiters -= 1
            if making.waiters == 0:
                making.future.cancel()

    def _forget(self, wanted: _Wanted) -> None:
        wanted.file.close()
        with self._lock:
            self._making.pop(wanted.key, None)

    # ---- what is made

    def _make(self, wanted: _Wanted) -> None:
        """Convert a song and keep the result; in a thread."""
        song, form = wanted.song, wanted.form
        part = folder = None
        most = self._most
        try:
            folder, most = self._room()
            part = folder / f"{wanted.key}.part"
            done = self._workers.run(song.path, wanted.facts, str(part), form, LONGEST_SECONDS, most // AT_ONCE)
            if done.no_room is not None:
                raise _no_room(done.no_room)
            if done.damage is not None:
                log.warning("song %d was converted as far as it can be read: %s", song.id, done.damage)
            target = folder / f"{wanted.key}.{form.ending}"
            os.replace(part, target)
            self._keep(wanted.key, target, most)
        except AudioError as error:
            if folder is not None and not folder.is_dir():  # tidied away meanwhile: no fault of the song
                raise _busy() from error
            if isinstance(error, TooLargeAudioError) and most < self._most:
                raise _no_room("little is left") from error
            log.warning("song %d cannot be converted: %s", song.id, error.reason)
            raise _refused(error) from error
        except NearsongError as error:
            if not self._closed:
                log.warning("songs cannot be converted: %s", error)
            raise _busy() from error
        except OSError as error:
            raise _no_room(error.strerror) from error
        finally:
            if part is not None:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)

    def _room(self) -> tuple[Path, int]:
        """Return the folder, made when first needed or when it was tidied away, and what may be kept in it now."""
        with self._lock:
            if self._folder is not None and not self._folder.check():
                self._folder.close()
                self._folder = None
                self._kept.clear()
            if self._folder is None:
                self._folder = HeldFolder(PREFIX)
            # where there is little room it is not all for this; some systems have it in memory
            free = shutil.disk_usage(self._folder.path).free + sum(size for _, size in self._kept.values())
            most = min(self._most, free // 3)
            self._shrink(most)
            return self._folder.path, most

    def _keep(self, key: str, path: Path, most: int) -> None:
        """Keep what was made; what was not asked for longest makes room for it."""
        with self._lock:
            self._kept[key] = (path, path.stat().st_size)
            self._kept.move_to_end(key)
            self._shrink(most)

    def _shrink(self, most: int) -> None:
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > most:
            _, (oldest, _) = self._kept.popitem(last=False)
            with contextlib.suppress(OSError):
                oldest.unlink()

    def _open_kept(self, key: str) -> FileIO | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            try:
                return FileIO(self._kept[key][0], "rb")
            except OSError:  # somebody has tidied up
                del self._kept[key]
                return None


class ConvertedSound(Response):
    """A song in another form, whole or in parts; made first if it has to be.

    Parameters
    ----------
    conversions : Conversions
    song : Song
    file : FileIO
        What the library opened as its file; closed when it is not needed any more.
    form : Form
    refused : callable
        Makes an answer of an `ApiError`.
    """

    def __init__(
        self,
        conversions: Conversions,
        song: Song,
        file: FileIO,
        form: Form,
        refused: Callable[[ApiError], Response] | None = None,
    ) -> None:
        super().__init__(media_type=form.media_type)
        self._conversions, self._song, self._file, self._form = conversions, song, file, form
        self._refused = refused or (lambda error: problem(error.status, error.detail, error.kind, error.headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        facts, request = facts_of(self._file), Request(scope)
        etag, modified = etag_of(facts.size, facts.modified, self._form, RECIPE), facts.modified / 1e9
        answer: Response | None
        if "range" not in request.headers and is_known(request, etag):  # then it need not be made
            self._file.close()
            answer = Response(status_code=304, headers=head_of_sound(etag, modified))
        else:
            answer = await self._made(receive, etag, modified)
        if answer is not None:
            await answer(scope, receive, send)

    async def _made(self, receive: Receive, etag: str, modified: float) -> Response | None:
        """Return the answer, or None if nobody waits for it any more."""
        answer: Response | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(wait_until_gone, receive, group.cancel_scope)
            try:
                file = await self._conversions.made(self._song, self._file, self._form)
                name = f"what song {self._song.id} was converted to"
                answer = OpenFile(file, name, self._form.media_type, etag, modified)
            except ApiError as error:
                answer = self._refused(error)
            group.cancel_scope.cancel()
        return answer


async def _done(future: "Future[None]") -> None:
    """Wait until a thread is done, without touching what others wait for."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def tell(_future: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(over.set)

    future.add_done_callback(tell)
    await over.wait()


def _key(song: Song, facts: FileFacts, form: Form) -> str:
    """Return a name for what a file becomes: another one when the file changes."""
    said = repr((song.path, tuple(facts), tuple(form), RECIPE)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=16).hexdigest()


def _busy() -> ApiError:
    detail = "too many songs are being converted already; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})


def _no_room(reason: str | None) -> ApiError:
    detail = f"there is no room to convert the song ({reason}); make room in the temporary folder of the service."
    return ApiError(507, detail, "no-room")


def _refused(error: AudioError) -> ApiError:
    """Return why a song cannot be converted, for whoever wants to hear it; decoders are not named."""
    if isinstance(error, ChangedAudioError):
        return ApiError(503, "the song's file has just been changed; try again.", "busy", {"Retry-After": "1"})
    if isinstance(error, AudioTimeoutError):
        reason = "converting it to what browsers play takes too long"
    elif isinstance(error, TooLongAudioError):
        reason = f"it {error.reason.rstrip('.')}"
    else:
        reason = "its file cannot be read"
    return ApiError(422, f"{reason}; download it to play it elsewhere.", "unusable-audio")
