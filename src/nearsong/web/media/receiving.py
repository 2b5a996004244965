"""A multipart/form-data request with one file -> that file on disk, with little in memory.

The body is parsed as it arrives: it can be refused early, and one that is longer than announced, too slow, or no form
at all is cut off. The client's file name is for display only; it is never used as a path.
"""

import os
import re
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

import anyio
from anyio import to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from nearsong.web.http.problems import ApiError

FIELD = "file"
"""The one field of the form."""

FORM_BYTES = 1 << 16
"""Bytes that the form may have around the file."""

MAX_NAME_CHARACTERS = 200

GRACE_SECONDS = 10.0
MIN_BYTES_PER_SECOND = 20_000
"""Average rate that a client must reach after the grace period, since it holds a slot."""

_CHUNK_BYTES = 1 << 20
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_EXTENDED_NAME = re.compile(rb";\s*filename\*\s*=\s*(?P<charset>[\w-]+)'[^']*'(?P<name>[^\s;\"]+)", re.IGNORECASE)
_CLOSE_CONNECTION = {"Connection": "close"}  # the rest of the body is not read
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+"
)


@dataclass(frozen=True)
class Received:
    """An uploaded file.

    Attributes
    ----------
    path : Path
        Its temporary path.
    name : str
        The client's name for it, for display.
    ending : str
        ``.mp3`` and so on; empty if it is unknown.
    size : int
        Bytes.
    """

    path: Path
    name: str
    ending: str
    size: int


def display_name(name: str) -> str:
    r"""Return a client's file name for display: no folders, no control characters, not too long.

    Examples
    --------
    >>> display_name("C:\\Music\\Björk - Jóga.mp3"), display_name("../../etc/passwd"), display_name("..")
    ('Björk - Jóga.mp3', 'passwd', 'file')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    shown = " ".join(_UNPRINTABLE.sub(" ", last).split())
    if len(shown) > MAX_NAME_CHARACTERS:
        stem, ending = os.path.splitext(shown)
        shown = (
            stem[: MAX_NAME_CHARACTERS - len(ending)] + ending if len(ending) <= 10 else shown[:MAX_NAME_CHARACTERS]
        )
    return shown if shown.strip(". ") else "file"


def file_name_of(disposition: bytes) -> str:
    r"""Return the file name in a Content-Disposition header; the extended one (RFC 5987) if there is one.

    Examples
    --------
    >>> file_name_of(b'form-data; name="file"; filename="Joga.mp3"; filename*=UTF-8\'\'J%C3%B3ga.mp3')
    'Jóga.mp3'
    >>> file_name_of('form-data; name="file"; filename="Jóga.mp3"'.encode())
    'Jóga.mp3'
    """
    extended = _EXTENDED_NAME.search(_QUOTED.sub(b'""', disposition))
    if extended is not None:
        charset = "iso-8859-1" if extended["charset"].lower() == b"iso-8859-1" else "utf-8"
        return unquote_to_bytes(extended["name"]).decode(charset, "replace")
    _, options = parse_options_header(disposition)
    return options.get(b"filename", b"").decode("utf-8", "replace")


def known_ending(name: str, endings: Collection[str]) -> str:
    """Return the ending of a name, the longest that matches; empty if none does.

    >>> known_ending("Plays.CSV.gz", {".csv", ".csv.gz"}), known_ending("song.exe", {".mp3"})
    ('.csv.gz', '')
    """
    lower = name.lower()
    return max((ending for ending in endings if lower.endswith(ending)), key=len, default="")


async def receive(
    request: Request, folder: Path, *, endings: Collection[str], max_bytes: int, seconds: float
) -> Received:
    """Write the file of a request into a folder.

    Parameters
    ----------
    request : Request
        Its body must be unread.
    folder : Path
        An empty one; the caller removes it.
    endings : collection of str
        Those that the file on disk may have, whatever its content.
    max_bytes : int
        Largest file.
    seconds : float
        Longest transfer.

    Raises
    ------
    ApiError
        413 if it is too large, as announced or in fact; 408 if it takes too long or is too slow; 415 if it is no
        form; 400 if the form is broken or does not have exactly one file; 507 if the disk is full.
    """
    _check_content_length(request, max_bytes)
    boundary = _boundary(request)
    path = folder / "upload"
    timer = _TransferTimer(seconds)
    try:
        parser = _FormParser(boundary, max_bytes)
        with timer.running(), open(path, "xb") as file:
            await _copy(request, parser, file, timer)
    except TimeoutError:
        raise ApiError(408, timer.message, "too-slow", _CLOSE_CONNECTION) from None
    except ClientDisconnect:
        raise ApiError(400, "the connection was closed before the file was complete; send it again.") from None
    except FormParserError as error:
        raise ApiError(
            400, f"the form cannot be read ({error}); send multipart/form-data.", "", _CLOSE_CONNECTION
        ) from error
    except OSError as error:
        raise ApiError(507, f"no space for the file ({error.strerror}).", "no-room", _CLOSE_CONNECTION) from error
    if not parser.finished:
        raise ApiError(400, f"the form has no complete field {FIELD!r}; send one file in it.", "", _CLOSE_CONNECTION)
    name = display_name(parser.file_name)
    ending = known_ending(name, endings)
    if ending:  # some formats are recognised by it
        path = path.rename(path.with_name(path.name + ending))
    return Received(path=path, name=name, ending=ending, size=parser.size)


def _check_content_length(request: Request, max_bytes: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes + FORM_BYTES:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> ApiError:
    """Return problem 413."""
    return ApiError(
        413, f"the file is larger than {max_bytes >> 20:,} MB; send a smaller one.", "too-large", _CLOSE_CONNECTION
    )


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise ApiError(415, f"send multipart/form-data with the file in the field {FIELD!r}.", "", _CLOSE_CONNECTION)
    return options[b"boundary"]


class _TransferTimer:
    """Limits how long a body may take: in all, and by a minimum rate."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._received = seconds, 0
        self._started = 0.0
        self._scope: anyio.CancelScope | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raise `TimeoutError` when the time is up."""
        self._started = anyio.current_time()
        with anyio.fail_after(self._max_seconds) as self._scope:
            yield

    def add(self, size: int) -> None:
        """Count received bytes."""
        self._received += size
        if self._scope is not None:
            self._scope.deadline = self._started + self._max_seconds

    @property
    def _max_seconds(self) -> float:
        return min(self._seconds, GRACE_SECONDS + self._received / MIN_BYTES_PER_SECOND)

    @property
    def message(self) -> str:
        """Why the time was up."""
        if self._max_seconds >= self._seconds:
            return f"the file did not arrive within {self._seconds:g} s; try again."
        return f"the upload is slower than {MIN_BYTES_PER_SECOND // 1000} KB/s; try again on a better connection."


async def _copy(request: Request, parser: "_FormParser", file: BinaryIO, timer: _TransferTimer) -> None:
    async for chunk in request.stream():
        timer.add(len(chunk))
        parser.feed(chunk)
        if len(parser.pending) >= _CHUNK_BYTES:
            await to_thread.run_sync(file.write, parser.take())
    parser.end()
    await to_thread.run_sync(file.write, parser.take())


class _FormParser:
    """Parses a form in chunks."""

    def __init__(self, boundary: bytes, max_bytes: int) -> None:
        self.pending = bytearray()
        self.size = 0
        self.file_name = ""
        self.finished = False
        self._max_bytes, self._overhead = max_bytes, 0
        self._field, self._value = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._has_file = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
            },
        )

    def feed(self, chunk: bytes) -> None:
        """Parse a chunk of the body."""
        before = self.size
        self._parser.write(chunk)
        self._overhead += len(chunk) - (self.size - before)
        if self._overhead > FORM_BYTES:
            raise FormParserError("it has too much data besides the file")

    def end(self) -> None:
        """Finish parsing."""
        self._parser.finalize()

    def take(self) -> bytes:
        """Return the bytes of the file since the last call."""
        data = bytes(self.pending)
        self.pending.clear()
        return data

    def _on_part_begin(self) -> None:
        self._headers = {}

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[bytes(self._field).lower()] = bytes(self._value)
        self._field.clear()
        self._value.clear()

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        field = options.get(b"name", b"").decode("utf-8", "replace")
        if field != FIELD:
            raise FormParserError(f"unknown field {display_name(field)!r}, expected {FIELD!r}")
        if self._has_file:
            raise FormParserError("it has more than one file")
        self._has_file = True
        self.file_name = file_name_of(self._headers[b"content-disposition"])

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.size += end - start
        if self.size > self._max_bytes:
            raise too_large(self._max_bytes)
        self.pending += data[start:end]

    def _on_part_end(self) -> None:
        self.finished = True
