"""Uploaded files -> analysed in a worker process, then removed; saved only on request.

A file is on disk in a private folder and is removed whatever happens: a response, an error, a client that
disconnects, a decoder that crashes. Folders of killed services are removed at the next start. No
address can take all slots.
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
from pathlib import Path

import anyio
from anyio import to_thread
from starlette.requests import Request

from nearsong.atomic_write import atomic_write
from nearsong.audio.tags import Tags
from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioError, EncoderNotInstalledError, NearsongError
from nearsong.library import ENDINGS, AnalysedUpload, analyse_upload_with
from nearsong.model import SongEncoder
from nearsong.temporary import UNFINISHED_UPLOAD, UPLOADS_PREFIX, LockedFolder, in_use, remove_unfinished
from nearsong.web.http.problems import ApiError
from nearsong.web.http.rate_limits import RateLimit, client_of
from nearsong.web.media.receiving import Received, receive
from nearsong.web.settings import ServeSettings

MAX_ANALYSED = 2
"""Files that are analysed at the same time."""

MAX_PENDING = 6
"""Further files that may be in transfer or wait for their turn."""

MEMORY_BYTES = 1 << 30
"""Memory that the analysis may take beyond that of an idle worker; an hour of music takes a fifth of it."""

MAX_PER_CLIENT = 3
"""Files of one address in transfer, waiting or being analysed, so that others get slots too."""

MAX_NAME_BYTES = 180
"""Length of a saved file's name before its ending; file systems allow 255."""

_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff/\\:*?"<>|]+')


log = logging.getLogger("nearsong.web")


class Uploads:
    """Receives, analyses and removes files; :meth:`start` and :meth:`close` belong around its use.

    Parameters
    ----------
    settings : ServeSettings

    Attributes
    ----------
    limit : RateLimit
        Uploads allowed for each address.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.limit = RateLimit(settings.uploads_per_minute, per=60)
        self._workers: AudioWorkers[AnalysedUpload] = AudioWorkers(
            analyse_upload_with, workers=MAX_ANALYSED, timeout=settings.upload_seconds, memory=MEMORY_BYTES
        )
        self._slots: anyio.CapacityLimiter | None = None
        self._lock = threading.Lock()
        self._active: Counter[str] = Counter()
        self._folder: LockedFolder | None = None

    def close(self) -> None:
        """Stop the workers and remove the folder."""
        self._workers.close()
        with self._lock:
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def warm(self) -> None:
        """Start the workers, so that the first file does not wait for them."""
        # they may be closed meanwhile; if they cannot be started, the first file says so
        with contextlib.suppress(NearsongError, RuntimeError, OSError):
            self._workers.warm()

    @property
    def folder(self) -> Path:
        """The folder of uploaded files; created when first needed, and again if something removed it.

        Raises
        ------
        ApiError
            507 if it cannot be created.
        """
        with self._lock, _disk_errors():
            if self._folder is not None and not self._folder.check():
                self._folder.close()
                self._folder = None
            if self._folder is None:
                self._folder = LockedFolder(UPLOADS_PREFIX)
            return self._folder.path

    @asynccontextmanager
    async def received(self, request: Request, endings: Collection[str] = ENDINGS) -> AsyncIterator[Received]:
        """Yield the file of a request; it is removed afterwards.

        Raises
        ------
        ApiError
            503 if too many uploads are active, 429 if too many of the same address are, 507 if the disk is full; and
            as :func:`~nearsong.web.media.receiving.receive`.
        """
        with self.slot(client_of(request)):
            file = await self._receive(request, endings)
            try:
                yield file
            finally:
                self.release(file)

    async def hold(self, request: Request, endings: Collection[str]) -> Received:
        """Return the file of a request, as :meth:`received`; it exists until :meth:`release`."""
        with self.slot(client_of(request)):
            return await self._receive(request, endings)

    def release(self, file: Received) -> None:
        """Remove an uploaded file."""
        shutil.rmtree(file.path.parent, ignore_errors=True)

    async def _receive(self, request: Request, endings: Collection[str]) -> Received:
        parent = self.folder
        with _disk_errors():
            folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            return await receive(
                request,
                folder,
                endings=endings,
                max_bytes=self._settings.upload_megabytes << 20,
                seconds=self._settings.receive_seconds,
            )
        except BaseException:  # also if cancelled
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @contextmanager
    def slot(self, client: str) -> Iterator[None]:
        """Count an upload of a client while it lasts, or raise `ApiError` if there are too many."""
        with self._lock:
            headers = {"Retry-After": "5", "Connection": "close"}
            if self.n_active >= MAX_ANALYSED + MAX_PENDING:
                detail = f"{self.n_active} uploads are being analysed; try again in a few seconds."
                raise ApiError(503, detail, "busy", headers)
            if self._active[client] >= MAX_PER_CLIENT:
                detail = f"{MAX_PER_CLIENT} of your uploads are being analysed; try again in a few seconds."
                raise ApiError(429, detail, "too-many-requests", headers)
            self._active[client] += 1
        try:
            yield
        finally:
            with self._lock:
                self._active[client] -= 1
                self._active += Counter()  # drops zero counts

    @property
    def n_active(self) -> int:
        """Files in transfer, waiting or being analysed."""
        return self._active.total()

    async def analyse(self, file: Received, encoder: SongEncoder) -> AnalysedUpload:
        """Return the vector and the tags of a file; it waits for a slot without holding a thread.

        Raises
        ------
        AudioError
            If it cannot be analysed, in words for the user; the log has the technical ones.
        """
        if self._slots is None:
            self._slots = anyio.CapacityLimiter(MAX_ANALYSED)
        # if the client disconnects, the file must stay until the worker has finished with it
        results: list[AnalysedUpload] = []
        with anyio.CancelScope(shield=True):
            results.append(await to_thread.run_sync(self._analyse, file, encoder, limiter=self._slots))
        return results[0]

    def _analyse(self, file: Received, encoder: SongEncoder) -> AnalysedUpload:
        max_seconds = 60.0 * self._settings.upload_minutes
        try:
            encoder.check_installed()
            analysed = self._workers.run(str(file.path), str(self._encoder_file(encoder)), file.name, max_seconds)
        except AudioError as error:
            log.warning("upload %s: %s", file.name, without_path(error.reason, file))
            raise type(error)(file.name, f"{file.name}: {error.summary}") from None
        except EncoderNotInstalledError as error:
            log.warning("uploads cannot be analysed: %s", error)
            detail = "files cannot be analysed: an encoder of the model is not installed on the server; see its log."
            raise ApiError(409, detail, "library") from error
        except NearsongError as error:
            log.warning("uploads cannot be analysed: %s", error)
            detail = "files cannot be analysed at the moment; try again in a few seconds."
            raise ApiError(503, detail, "busy", {"Retry-After": "5"}) from error
        if analysed.damage_details:
            log.warning("upload %s: %s", file.name, without_path(analysed.damage_details, file))
        return analysed

    def _encoder_file(self, encoder: SongEncoder) -> Path:
        """Return a file with the encoder, written once; each worker reads it when it first needs it."""
        path = self.folder / f"encoder-{encoder.key}.npz"
        with _disk_errors():
            if not path.exists():
                with atomic_write(path) as part:
                    part.write(encoder.to_bytes())
        return path

    def save(self, file: Received, tags: Tags) -> Path:
        """Copy a file into the folder for saved uploads, completely or not at all; return its new path.

        Raises
        ------
        ApiError
            403 if uploads are not saved, 422 if its name has no ending of an audio file, which scans look for.
        """
        folder = self._settings.save_uploads
        if folder is None:
            raise ApiError(
                403, "this service does not save uploads; start it with --save-uploads FOLDER.", "uploads-not-saved"
            )
        if not file.ending:
            detail = f"{file.name}: the name has no ending of an audio file (.mp3, .flac ...); rename it."
            raise ApiError(422, detail, "unknown-ending")
        name = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else tags.title
        try:
            os.makedirs(folder, exist_ok=True)
            return _copy_under_free_name(file.path, Path(folder), safe_file_name(name), file.ending)
        except OSError as error:
            raise ApiError(507, f"the file cannot be saved ({error.strerror}).", "no-room") from error


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn errors of the file system into problem 507."""
    try:
        yield
    except OSError as error:
        detail = f"no space for the file ({error.strerror}); free space in the service's temporary folder."
        raise ApiError(507, detail, "no-room", {"Connection": "close"}) from error


def without_path(text: str, file: Received) -> str:
    """Return a message with a file's name instead of its temporary path."""
    return text.replace(str(file.path), file.name).replace(str(file.path.parent), "").replace("\n", " ")


def safe_file_name(name: str) -> str:
    r"""Return a file name, without ending, that is valid on any system: no folders, not hidden, not too long.

    Examples
    --------
    >>> safe_file_name("AC/DC - Back in Black"), safe_file_name("../.hidden"), safe_file_name("???")
    ('AC_DC - Back in Black', '_.hidden', '_')
    """
    clean = " ".join(_UNFIT.sub("_", unicodedata.normalize("NFC", name)).split()).strip(". ")
    short = clean.encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore").strip(". ")
    return short or "song"


def _copy_under_free_name(source: Path, folder: Path, stem: str, ending: str) -> Path:
    remove_unfinished(folder, UNFINISHED_UPLOAD)
    # hidden while it is written, so that no scan finds half a song; then renamed at once
    handle, part = tempfile.mkstemp(prefix=".nearsong-", suffix=".part", dir=folder)
    try:
        with in_use(part):
            with os.fdopen(handle, "wb") as file, open(source, "rb") as upload:
                shutil.copyfileobj(upload, file, 1 << 20)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, 0o644)
            for number in range(1, 10_000):
                target = folder / (f"{stem}{ending}" if number == 1 else f"{stem} ({number}){ending}")
                if target.is_file() and filecmp.cmp(part, target, shallow=False):
                    return target  # saved before
                if _rename_if_free(part, target):
                    return target
            raise OSError(0, "too many files have this name")
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _rename_if_free(part: str, target: Path) -> bool:
    """Rename a file unless the target exists."""
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:  # no hard links on this file system: reserve the name first
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        os.replace(part, target)
    return True
