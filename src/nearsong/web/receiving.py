"""A request with one file in it (multipart/form-data) -> that file on disk, and nothing large in memory.

The body is taken apart as it arrives: it can be refused before it is there, and a body that is longer than it said,
slower than it may, or no form at all is cut off. The sender's name of the file is for people; it never is a path.
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

from nearsong.web.problems import ApiError

FIELD = "file"
"""The one field of the form."""

FORM_BYTES = 1 << 16
"""What the form may have around the file."""

LONGEST_NAME = 200

GRACE_SECONDS = 10.0
LEAST_RATE = 20_000
"""Bytes a second that a sender must reach on average, once the grace is over: who dawdles holds a place."""

_PIECE = 1 << 20
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_EXTENDED_NAME = re.compile(rb";\s*filename\*\s*=\s*(?P<charset>[\w-]+)'[^']*'(?P<name>[^\s;\"]+)", re.IGNORECASE)
_CLOSE = {"Connection": "close"}  # what is still on its way is not read
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+"
)


@dataclass(frozen=True)
class Received:
    """A file that was sent.

    Attributes
    ----------
    path : Path
        Where it is for the time being.
    name : str
        What the sender calls it; to be shown, not to be opened.
    ending : str
        ``.mp3`` and so on, one of those that are known; empty if it is none of them.
    size : int
        Bytes.
    """

    path: Path
    name: str
    ending: str
    size: int


def display_name(sent: str) -> str:
    r"""Return what a sender calls a file, fit to be shown: no folders, no controls, not too long.

    Examples
    --------
    >>> display_name("C:\\Music\\Björk - Jóga.mp3"), display_name("../../etc/passwd"), display_name("..")
    ('Björk - Jóga.mp3', 'passwd', 'file')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", sent))[-1]
    shown = " ".join(_UNPRINTABLE.sub(" ", last).split())
    if len(shown) > LONGEST_NAME:
        stem, ending = os.path.splitext(shown)
        shown = stem[: LONGEST_NAME - len(ending)] + ending if len(ending) <= 10 else shown[:LONGEST_NAME]
    return shown if shown.strip(". ") else "file"


def sent_name(disposition: bytes) -> str:
    r"""Return the name of a file from the header of its part: the extended one (RFC 5987) if there is one.

    Examples
    --------
    >>> sent_name(b'form-data; name="file"; filename="Joga.mp3"; filename*=UTF-8\'\'J%C3%B3ga.mp3')
    'Jóga.mp3'
    >>> sent_name('form-data; name="file"; filename="Jóga.mp3"'.encode())
    'Jóga.mp3'
    """
    found = _EXTENDED_NAME.search(_QUOTED.sub(b'""', disposition))
    if found is not None:
        charset = "iso-8859-1" if found["charset"].lower() == b"iso-8859-1" else "utf-8"
        return unquote_to_bytes(found["name"]).decode(charset, "replace")
    _, options = parse_options_header(disposition)
    return options.get(b"filename", b"").decode("utf-8", "replace")


def known_ending(name: str, endings: Collection[str]) -> str:
    """Return the ending of a name, the longest if several fit; empty if none does.

    >>> known_ending("Plays.CSV.gz", {".csv", ".csv.gz"}), known_ending("song.exe", {".mp3"})
    ('.csv.gz', '')
    """
    lower = name.lower()
    return max((ending for ending in endings if lower.endswith(ending)), key=len, default="")


async def receive(
    request: Request, folder: Path, *, endings: Collection[str], most_bytes: int, seconds: float
) -> Received:
    """Write the file of a request into a folder.

    Parameters
    ----------
    request : Request
        Nobody has read its body.
    folder : Path
        An empty one for this file alone; whoever made it removes it.
    endings : collection of str
        Those that the file on disk may have; what is inside need not fit.
    most_bytes : int
        The largest file.
    seconds : float
        The longest that sending it may take.

    Raises
    ------
    ApiError
        413 if it is too large, by its own word or in fact; 408 if it takes too long or comes too slowly; 415 if it is
        no form; 400 if the form is broken or has not one file; 507 if there is no room for it.
    """
    _check_announced(request, most_bytes)
    boundary = _boundary(request)
    path = folder / "upload"
    pace = _Pace(seconds)
    try:
        parser = _OneFile(boundary, most_bytes)
        with pace.kept(), open(path, "xb") as file:
            await _copy(request, parser, file, pace)
    except TimeoutError:
        raise ApiError(408, pace.broken, "too-slow", _CLOSE) from None
    except ClientDisconnect:
        raise ApiError(400, "the connection was closed before the file was there; send it again.") from None
    except FormParserError as error:
        raise ApiError(400, f"the form cannot be read ({error}); send multipart/form-data.", "", _CLOSE) from error
    except OSError as error:
        raise ApiError(507, f"there is no room for the file ({error.strerror}).", "no-room", _CLOSE) from error
    if not parser.finished:
        raise ApiError(400, f"the form has no whole field {FIELD!r}; send one file in it.", "", _CLOSE)
    name = display_name(parser.file_name)
    ending = known_ending(name, endings)
    if ending:  # some formats are told apart by it
        path = path.rename(path.with_name(path.name + ending))
    return Received(path, name, ending, parser.size)


def _check_announced(request: Request, most_bytes: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > most_bytes + FORM_BYTES:
        raise too_large(most_bytes)


def too_large(most_bytes: int) -> ApiError:
    """Return the problem of a file that is larger than may be."""
    return ApiError(413, f"the file is larger than {most_bytes >> 20:,} MB; send a smaller one.", "too-large", _CLOSE)


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise ApiError(415, f"send multipart/form-data with the file in the field {FIELD!r}.", "", _CLOSE)
    return options[b"boundary"]


class _Pace:
    """How long a body may take: so many seconds in all, and never longer than what has come of it is worth."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._received = seconds, 0
        self._began = 0.0
        self._scope: anyio.CancelScope | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Raise `TimeoutError` when the time is over."""
        self._began = anyio.current_time()
        with anyio.fail_after(self._allowed) as self._scope:
            yield

    def took(self, size: int) -> None:
        """Say that more has come."""
        self._received += size
        if self._scope is not None:
            self._scope.deadline = self._began + self._allowed

    @property
    def _allowed(self) -> float:
        return min(self._seconds, GRACE_SECONDS + self._received / LEAST_RATE)

    @property
    def broken(self) -> str:
        """What to tell whoever took longer."""
        if self._allowed >= self._seconds:
            return f"the file did not arrive within {self._seconds:g} s; try again."
        return f"the file comes more slowly than {LEAST_RATE // 1000} KB a second; try again on a better connection."


async def _copy(request: Request, parser: "_OneFile", file: BinaryIO, pace: _Pace) -> None:
    async for chunk in request.stream():
        pace.took(len(chunk))
        parser.feed(chunk)
        if len(parser.pending) >= _PIECE:
            await to_thread.run_sync(file.write, parser.take())
    parser.end()
    await to_thread.run_sync(file.write, parser.take())


class _OneFile:
    """Takes a form apart, piece by piece."""

    def __init__(self, boundary: bytes, most_bytes: int) -> None:
        self.pending = bytearray()
        self.size = 0
        self.file_name = ""
        self.finished = False
        self._most, self._outside = most_bytes, 0
        self._field, self._value = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._seen = False
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
        """Take a piece of the body."""
        before = self.size
        self._parser.write(chunk)
        self._outside += len(chunk) - (self.size - before)
        if self._outside > FORM_BYTES:
            raise FormParserError("there is too much around the file")

    def end(self) -> None:
        """Say that nothing more comes."""
        self._parser.finalize()

    def take(self) -> bytes:
        """Return what has come of the file since the last time."""
        taken = bytes(self.pending)
        self.pending.clear()
        return taken

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
            raise FormParserError(f"it has a field {display_name(field)!r} and only {FIELD!r} is known")
        if self._seen:
            raise FormParserError("it has two files; send one at a time")
        self._seen = True
        self.file_name = sent_name(self._headers[b"content-disposition"])

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.size += end - start
        if self.size > self._most:
            raise too_large(self._most)
        self.pending += data[start:end]

    def _on_part_end(self) -> None:
        self.finished = True
