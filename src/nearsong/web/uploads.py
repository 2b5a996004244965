"""Files that people send -> heard in a worker process, and gone again; kept only if that is asked for.

``Uploads(settings)``; `start` and `close` belong around its use. A file is on disk in a folder that only this user
can look into, and leaves it whatever happens: an answer, an error, a caller who hangs up, a decoder that crashes.
What a killed service has left there goes when the next one starts. No address can take all places.
"""

import contextlib
import filecmp
import logging
import os
import re
import shutil
import tempfile
import threading
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread
from starlette.requests import Request

from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioError, NearsongError
from nearsong.library.hearing import HeardUpload, hear_upload_with
from nearsong.library.records import Tags
from nearsong.library.walk import ENDINGS
from nearsong.model import Ear
from nearsong.web.audio_words import plain_damage, plain_reason
from nearsong.web.limits import RateLimit, client_of
from nearsong.web.problems import ApiError
from nearsong.web.receiving import Received, receive
from nearsong.web.settings import ServeSettings
from nearsong.web.upload_folder import HeldFolder, remove_left_folders

AT_ONCE = 2
"""Files that are heard at the same time."""

WAITING = 6
"""Further files that may be on their way or wait for their turn."""

MEMORY = 1 << 30
"""Bytes that hearing a file may take beyond those of an idle worker; an hour of music takes a fifth of it."""

PER_CALLER = 3
"""Files of one address that may be on their way, wait or be heard, so that others have a place too."""

LONGEST_FILE_NAME = 180
"""Bytes of a kept file's name before its ending; file systems take 255."""

_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff/\\:*?"<>|]+')


log = logging.getLogger("nearsong.web")


class Uploads:
    """Receives, hears and forgets files.

    Parameters
    ----------
    settings : ServeSettings

    Attributes
    ----------
    limit : RateLimit
        How often an address may send a file.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.limit = RateLimit(settings.uploads_per_minute, per=60)
        self._workers: AudioWorkers[HeardUpload] = AudioWorkers(
            hear_upload_with, workers=AT_ONCE, timeout=settings.upload_seconds, memory=MEMORY
        )
        self._turns: anyio.CapacityLimiter | None = None
        self._lock = threading.Lock()
        self._callers: Counter[str] = Counter()
        self._folder: HeldFolder | None = None

    def start(self) -> None:
        """Remove what a killed service has left."""
        remove_left_folders(Path(tempfile.gettempdir()))

    def close(self) -> None:
        """End the workers and remove the folder."""
        self._workers.close()
        with self._lock:
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def warm(self) -> None:
        """Start the workers, so that the first file does not wait for them."""
        with contextlib.suppress(NearsongError):  # they may be closed before they are warm
            self._workers.warm()

    @property
    def folder(self) -> Path:
        """Where files are for the time being; made when first needed, and anew if it was tidied away.

        Raises
        ------
        ApiError
            507 if it cannot be made.
        """
        with self._lock, _room():
            if self._folder is not None and not self._folder.check():
                self._folder.close()
                self._folder = None
            if self._folder is None:
                self._folder = HeldFolder()
            return self._folder.path

    @asynccontextmanager
    async def received(self, request: Request, endings: Collection[str] = ENDINGS) -> AsyncIterator[Received]:
        """Give the file of a request; it is gone afterwards.

        Raises
        ------
        ApiError
            503 if too many are under way, 429 if too many of the same address are; 507 if there is no room; and as
            :func:`~nearsong.web.receiving.receive`.
        """
        with self._place(client_of(request)):
            file = await self._receive(request, endings)
            try:
                yield file
            finally:
                self.release(file)

    async def hold(self, request: Request, endings: Collection[str]) -> Received:
        """Return the file of a request, as :meth:`received`; it stays until :meth:`release`."""
        with self._place(client_of(request)):
            return await self._receive(request, endings)

    def release(self, file: Received) -> None:
        """Remove a file that was sent."""
        shutil.rmtree(file.path.parent, ignore_errors=True)

    async def _receive(self, request: Request, endings: Collection[str]) -> Received:
        parent = self.folder
        with _room():
            folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            return await receive(
                request,
                folder,
                endings=endings,
                most_bytes=self._settings.upload_megabytes << 20,
                seconds=self._settings.receive_seconds,
            )
        except BaseException:  # cancelled too
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @contextmanager
    def _place(self, caller: str) -> Iterator[None]:
        with self._lock:
            headers = {"Retry-After": "5", "Connection": "close"}
            if self.busy >= AT_ONCE + WAITING:
                detail = f"{self.busy} files are being heard already; try again in a few seconds."
                raise ApiError(503, detail, "busy", headers)
            if self._callers[caller] >= PER_CALLER:
                detail = f"{PER_CALLER} files of yours are being heard already; try again in a few seconds."
                raise ApiError(429, detail, "too-many-requests", headers)
            self._callers[caller] += 1
        try:
            yield
        finally:
            with self._lock:
                self._callers[caller] -= 1
                self._callers += Counter()  # whoever has none is forgotten

    @property
    def busy(self) -> int:
        """Files that are on their way, wait or are heard."""
        return self._callers.total()

    async def hear(self, file: Received, ear: Ear) -> HeardUpload:
        """Return what a file sounds like; it waits for its turn without holding a thread.

        Raises
        ------
        AudioError
            If it gives no sound; its words are for whoever sent it. The log has the technical ones.
        """
        if self._turns is None:
            self._turns = anyio.CapacityLimiter(AT_ONCE)
        # a caller who hangs up does not leave a worker with a file that is gone: the file waits for the worker
        heard: list[HeardUpload] = []
        with anyio.CancelScope(shield=True):
            heard.append(await to_thread.run_sync(self._hear, file, ear, limiter=self._turns))
        return heard[0]

    def _hear(self, file: Received, ear: Ear) -> HeardUpload:
        longest = 60.0 * self._settings.upload_minutes
        try:
            heard = self._workers.run(str(file.path), str(self._ear_file(ear)), file.name, longest)
        except AudioError as error:
            log.warning("a file that was sent, %s: %s", file.name, without_path(error.reason, file))
            raise type(error)(file.name, f"{file.name}: {plain_reason(error)}") from None
        except NearsongError as error:
            log.warning("files that are sent cannot be heard: %s", error)
            detail = "files cannot be heard just now; try again in a few seconds."
            raise ApiError(503, detail, "busy", {"Retry-After": "5"}) from error
        damage = heard.sound.damage
        if damage is None or plain_damage(damage) == damage:
            return heard
        log.warning("a file that was sent, %s: %s", file.name, without_path(damage, file))
        return replace(heard, sound=replace(heard.sound, damage=plain_damage(damage)))

    def _ear_file(self, ear: Ear) -> Path:
        """Return a file with an ear; written once, read by each worker when it first needs it."""
        path = self.folder / f"ear-{ear.key}.npz"
        with _room():
            if not path.exists():
                part = path.with_suffix(f".{threading.get_ident()}")
                part.write_bytes(ear.to_bytes())
                os.replace(part, path)
        return path

    def keep(self, file: Received, tags: Tags) -> Path:
        """Copy a file into the folder for files to keep, whole or not at all; return where it is.

        Raises
        ------
        ApiError
            403 if none may be kept, 422 if its name does not end like an audio file's, which a scan goes by.
        """
        folder = self._settings.keep
        if folder is None:
            raise ApiError(403, "files are not kept here; start the service with a folder for them.", "not-kept")
        if not file.ending:
            detail = f"{file.name}: its name does not end like an audio file's (.mp3, .flac ...); rename it."
            raise ApiError(422, detail, "unknown-ending")
        name = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else tags.title
        try:
            os.makedirs(folder, exist_ok=True)
            return _copy_under_free_name(file.path, Path(folder), safe_file_name(name), file.ending)
        except OSError as error:
            raise ApiError(507, f"the file cannot be kept ({error.strerror}).", "no-room") from error


@contextmanager
def _room() -> Iterator[None]:
    """Answer with problem 507 where nothing can be written."""
    try:
        yield
    except OSError as error:
        detail = (
            f"there is no room for the file ({error.strerror}); make room in the temporary folder of the service."
        )
        raise ApiError(507, detail, "no-room", {"Connection": "close"}) from error


def without_path(text: str, file: Received) -> str:
    """Return a message with the sender's name of a file in place of where it is."""
    return text.replace(str(file.path), file.name).replace(str(file.path.parent), "").replace("\n", " ")


def safe_file_name(name: str) -> str:
    r"""Return what a file may be called on any system: no folders, nothing hidden, not too long; without ending.

    Examples
    --------
    >>> safe_file_name("AC/DC - Back in Black"), safe_file_name("../.hidden"), safe_file_name("???")
    ('AC_DC - Back in Black', '_.hidden', '_')
    """
    clean = " ".join(_UNFIT.sub("_", unicodedata.normalize("NFC", name)).split()).strip(". ")
    cut = clean.encode()[:LONGEST_FILE_NAME].decode("utf-8", "ignore").strip(". ")
    return cut or "song"


def _copy_under_free_name(source: Path, folder: Path, stem: str, ending: str) -> Path:
    # hidden while it is written, so that no scan takes half a song; then under its name at one stroke
    handle, part = tempfile.mkstemp(prefix=".nearsong-", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file, open(source, "rb") as sent:
            shutil.copyfileobj(sent, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o644)
        for number in range(1, 10_000):
            target = folder / (f"{stem}{ending}" if number == 1 else f"{stem} ({number}){ending}")
            if target.is_file() and filecmp.cmp(part, target, shallow=False):
                return target  # it was kept before
            if _put(part, target):
                return target
        raise OSError(0, "there are too many files of this name")
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _put(part: str, target: Path) -> bool:
    """Give a file its name unless something has it already."""
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:  # no hard links here: take the name first
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        os.replace(part, target)
    return True
