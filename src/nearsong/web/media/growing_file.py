"""A song that is being converted -> a file that can be read while it grows."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Self

import anyio

from nearsong.audio.conversion.forms import AudioFormat
from nearsong.guarded_file import FileIdentity
from nearsong.library import Song
from nearsong.web.http.problems import ApiError

POLL_SECONDS = 0.02
"""Time between looks at a file that grows; another process writes it."""


@dataclass(eq=False)
class Conversion:
    """A conversion that waits or is in progress.

    Attributes
    ----------
    song, form
        What is converted to what.
    file, identity
        The song's file, which stays open until it is converted.
    key : str
        Of the result in the cache.
    future : Future
        Done when the conversion has ended.
    n_wanting : int
        Requests that want the result.
    part : Path or None
        The file that grows, once it is there.
    is_given_up : bool
        Whether it was stopped because nobody wanted it and another song waited.
    """

    song: Song
    form: AudioFormat
    file: FileIO
    identity: FileIdentity
    key: str
    future: "Future[None]" = field(default_factory=Future)
    n_wanting: int = 0
    part: Path | None = None
    is_given_up: bool = False

    @property
    def seconds(self) -> float:
        """Length of the sound."""
        return self.song.seconds - self.form.start

    @property
    def error(self) -> BaseException | None:
        """Why it has failed; None if it has not, or not yet."""
        if not self.future.done():
            return None
        if self.future.cancelled():
            return busy()
        error = self.future.exception()
        if isinstance(error, ApiError):  # a new one for each request, without the traces of others
            return ApiError(error.status, error.detail, error.kind, error.headers)
        return error


class GrowingFile:
    """A converted song, complete or growing; to be closed after use.

    Parameters
    ----------
    file : FileIO
    conversion : Conversion, optional
        What makes it; None if it is complete.
    on_close : callable, optional
        Called once when it is closed.
    """

    def __init__(
        self, file: FileIO, conversion: Conversion | None = None, on_close: Callable[[], None] | None = None
    ) -> None:
        self.file, self._conversion, self._on_close = file, conversion, on_close

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come."""
        return self._conversion is None or self._conversion.future.done()

    @property
    def error(self) -> BaseException | None:
        """Why it ended early, if it did."""
        return None if self._conversion is None else self._conversion.error

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return os.fstat(self.file.fileno()).st_size

    async def until(self, n_bytes: float) -> None:
        """Wait until so many bytes are there, or nothing more will come; raises why it ended early, if it did."""
        while not self.has_ended and self.size < n_bytes:
            await anyio.sleep(POLL_SECONDS)
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Close the file and want it no longer."""
        self.file.close()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def busy() -> ApiError:
    """Return the error of a request that has to come again."""
    detail = "too many songs are being converted; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})
