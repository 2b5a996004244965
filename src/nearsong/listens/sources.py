"""A file, plain or gzipped, or a member of a zip -> its bytes and its text, in chunks.

Supported are UTF-8 with or without a byte-order mark and UTF-16 with one; a line that is not UTF-8 is decoded as
Windows-1252, the usual encoding of old exports. Gzip is detected from the first bytes. All read errors become a
``ListensError`` of one line that names the file.
"""

import codecs
import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from nearsong.errors import ListensError
from nearsong.listens.zips import DAMAGE_ERRORS, OpenZip

CHUNK_BYTES = 1 << 18
MAX_LINE_BYTES = 64 << 20

MAX_ZIP_MEMBERS = 100_000
"""Files in a zip; each takes a fraction of a millisecond."""

MAX_EMPTY_LINES = 1_000_000
"""Empty lines one after the other: no history has them, and a few kB of gzip may be hundreds of MB of them."""

Progress = Callable[[int, int], None]
FileNames = Callable[[str], tuple[str, str]]

_FIRST_LINE_END = re.compile(rb"\r\n|\n|\r(?=[^\n])")
_LINE_END = re.compile(rb"([\r\n])")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unpacked:
    """Counts the bytes that archives unpack to, each member once however often it is read.

    Parameters
    ----------
    max_bytes : int or None
        How many there may be in total; None for any number.
    """

    def __init__(self, max_bytes: int | None = None) -> None:
        self._max_bytes = max_bytes
        self._total = 0
        self._read: dict[str, int] = {}

    def count(self, source: "SourceFile", n_bytes: int) -> None:
        """Note that the first ``n_bytes`` of a source were unpacked; raise if there are too many in total."""
        if self._max_bytes is None:
            return
        self._total += max(0, n_bytes - self._read.get(source.member, 0))
        self._read[source.member] = max(n_bytes, self._read.get(source.member, 0))
        if self._total > self._max_bytes:
            raise ListensError(
                f"{source.path} unpacks to more than {self._max_bytes / 1e9:.0f} GB; unpack it and use "
                "`nearsong listens import`."
            )


@dataclass(frozen=True)
class SourceFile:
    """A file to read, or a member of a zip.

    Attributes
    ----------
    path : Path
        The file or the zip.
    member : str
        Name of the member; empty if ``path`` is not a zip. That of a zip in a zip is ``inner.zip/member``.
    progress : callable or None
        Called with the number of bytes of ``path`` read so far and its size.
    file_names : callable or None
        Returns artist and title from the tags of an audio file, given its path.
    strict : bool
        Whether bytes that are not UTF-8 are an error; otherwise their line is decoded as Windows-1252.
    archive : OpenZip or None
        The zip, if it is open already: see `opened_zip`.
    unpacked : Unpacked
        Counts what archives unpack to, and limits it; members of a zip share it.
    """

    path: Path
    member: str = ""
    progress: Progress | None = None
    file_names: FileNames | None = None
    strict: bool = False
    archive: OpenZip | None = field(default=None, compare=False, repr=False)
    unpacked: Unpacked = field(default_factory=Unpacked, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name of the source for messages."""
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    @property
    def file_name(self) -> str:
        """The file name without folders."""
        return Path(self.member).name if self.member else self.path.name

    @property
    def stem(self) -> str:
        """The file name without folders and extensions: ``evening`` for ``evening.m3u8.gz``."""
        return Path(self.file_name.removesuffix(".gz")).stem

    def with_member(self, member: str) -> "SourceFile":
        """Return the member of this name in this zip."""
        return replace(self, member=member)

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed bytes in chunks of `CHUNK_BYTES`."""
        n_lines = n_bytes = 0
        try:
            if self.archive is not None and self.archive.last[0] == self.member:
                yield self.archive.last[1]
                self._show(self.archive.file)
                return
            with self._open() as (raw, stream):
                while chunk := stream.read(CHUNK_BYTES):
                    n_bytes += len(chunk)
                    if stream is not raw:  # it may be damaged, or unpack to very much
                        n_lines += chunk.count(b"\n")
                        self.unpacked.count(self, n_bytes)
                    if self.archive is not None and n_bytes < CHUNK_BYTES:  # it is all of the file
                        self.archive.last = (self.member, chunk)
                    yield chunk
                    self._show(raw)
        except DAMAGE_ERRORS as error:
            raise ListensError(
                f"{self.name} is truncated or damaged after about {n_lines} lines ({error}). "
                "Copy or download it again."
            ) from error
        except OSError as error:
            raise ListensError(f"{self.name} cannot be read ({error.strerror or error}).") from error

    def _show(self, raw: IO[bytes]) -> None:
        """Report how much of the file is read."""
        if self.progress is not None:
            size = self.path.stat().st_size
            self.progress(min(raw.tell(), size), size)

    def utf8_chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 bytes without a byte-order mark; bytes that are not UTF-8 are passed through."""
        n_empty = 0
        for chunk in self._utf8_chunks():
            n_empty = n_empty + max(chunk.count(b"\n"), chunk.count(b"\r")) if chunk.isspace() else 0
            if n_empty > MAX_EMPTY_LINES:
                raise ListensError(
                    f"{self.name} has more than {MAX_EMPTY_LINES // 10**6} million empty lines in a row; it is not a "
                    "listening history."
                )
            yield chunk

    def _utf8_chunks(self) -> Iterator[bytes]:
        chunks = self.chunks()
        first = b""
        while len(first) < len(codecs.BOM_UTF8) and (chunk := next(chunks, b"")):
            first += chunk
        if first.startswith(_UTF16_MARKS):
            decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
            yield decoder.decode(first).encode("utf-8", "replace")
            for chunk in chunks:
                yield decoder.decode(chunk).encode("utf-8", "replace")
        else:
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from chunks

    def line_pieces(self, cr_ends: bool) -> Iterator[bytes]:
        """Yield the text as UTF-8 in pieces of whole lines; the last may end without a line end.

        Parameters
        ----------
        cr_ends : bool
            Whether a CR alone ends a line.
        """
        rest = b""
        for chunk in self.utf8_chunks():
            text, searched = rest + chunk, max(len(rest) - 1, 0)
            cut = text.rfind(b"\n", searched) + 1
            if cr_ends:
                cut = max(cut, text.rfind(b"\r", searched, -1) + 1)  # the last may be half of CR LF
            if cut:
                yield _valid_utf8(text[:cut])
            elif len(text) > MAX_LINE_BYTES:
                raise self._too_long_line()
            rest = text[cut:]
        if rest:
            yield _valid_utf8(rest)

    def has_cr_lines(self) -> bool:
        """Return whether the first line ends with CR alone."""
        head = b""
        for chunk in self.utf8_chunks():
            head += chunk
            if first := _FIRST_LINE_END.search(head):
                return first.group() == b"\r"
            if len(head) > MAX_LINE_BYTES:
                raise self._too_long_line()
        return head.endswith(b"\r")

    def _too_long_line(self) -> ListensError:
        return ListensError(f"{self.name} has a line of more than {MAX_LINE_BYTES >> 20} MB; it is not a table.")

    def text_pieces(self) -> Iterator[str]:
        """Yield the text in pieces of whole lines; each, except possibly the last, ends with a newline."""
        rest, n_lines = b"", 0
        for chunk in self.utf8_chunks():
            text = rest + chunk
            cut = text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1
            if cut:
                yield self._decode(text[:cut], n_lines)
                n_lines += text.count(b"\n", 0, cut) if self.strict else 0
            elif len(text) > MAX_LINE_BYTES:
                raise self._too_long_line()
            rest = text[cut:]
        if rest:
            yield self._decode(rest, n_lines)

    def _decode(self, text: bytes, n_lines_before: int) -> str:
        if not self.strict:
            return decode_lines(text)
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            line = 1 + n_lines_before + text.count(b"\n", 0, error.start)
            byte = text[error.start]
            raise ListensError(
                f"{self.name}, line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8."
            ) from error

    def json_pieces(self) -> Iterator[str]:
        """Yield the text in pieces cut at any character, since JSON may be a single line of any length."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for chunk in self.utf8_chunks():
            yield decoder.decode(chunk)
        if rest := decoder.decode(b"", final=True):
            yield rest

    def _count(self, member: str, n_bytes: int) -> None:
        self.unpacked.count(self.with_member(member), n_bytes)

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file; yield the raw and the decompressed stream."""
        with ExitStack() as stack:
            raw: Any = self.archive.file if self.archive else stack.enter_context(self.path.open("rb"))
            stream: Any = raw
            if self.member:
                archive = self.archive or stack.enter_context(OpenZip(raw, self._count))
                stream = stack.enter_context(archive.open(self.member))
            if stream.peek(2)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            yield raw, stream


def decode_lines(text: bytes) -> str:
    r"""Decode lines as UTF-8; a line that is not UTF-8 is decoded as Windows-1252.

    >>> decode_lines(b"Sigur R\xf3s\nBj\xc3\xb6rk")
    'Sigur Rós\nBjörk'
    """
    try:
        return text.decode()
    except UnicodeDecodeError:
        return "".join(map(_decode_line, _LINE_END.split(text)))


def _valid_utf8(text: bytes) -> bytes:
    if text.isascii():
        return text
    try:
        text.decode()
    except UnicodeDecodeError:
        return decode_lines(text).encode()
    return text


def _decode_line(line: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")  # defines every byte


@contextmanager
def opened_zip(source: SourceFile) -> Iterator[SourceFile]:
    """Open a zip once for all its members: the list of them is read when it is opened."""
    try:
        archive = OpenZip(source.path, source._count)
    except (*DAMAGE_ERRORS, OSError, ValueError) as error:  # ValueError: a name that is not UTF-8, a negative offset
        raise ListensError(
            f"{source.path} is truncated or not a zip file ({error}); copy or download it again."
        ) from error
    with archive:
        yield replace(source, archive=archive)


def zip_members(source: SourceFile) -> list[str]:
    """Return the sorted names of the files in a zip, without hidden files and macOS's ``__MACOSX`` copies."""
    if source.archive is None:
        with opened_zip(source) as opened:
            return zip_members(opened)
    names = source.archive.names()
    if len(names) > MAX_ZIP_MEMBERS:
        raise ListensError(
            f"{source.path} has {len(names):,} files, more than {MAX_ZIP_MEMBERS:,}; unpack it and import the folder."
        )
    return names
