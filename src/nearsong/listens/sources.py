"""A file, plain or gzipped, or a member of a zip -> its bytes and its text, in chunks.

Supported are UTF-8 with or without a byte-order mark and UTF-16 with one; a line that is not UTF-8 is decoded as
Windows-1252, the usual encoding of old exports. Gzip is detected from the first bytes. All read errors become a
``ListensError`` of one line that names the file.
"""

import codecs
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from nearsong.errors import ListensError

CHUNK_BYTES = 1 << 18
MAX_LINE_BYTES = 64 << 20

MAX_ZIP_MEMBERS = 1_000
"""Files in a zip: the list of all is read again for each of them."""

Progress = Callable[[int, int], None]
FileNames = Callable[[str], tuple[str, str]]

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# zipfile raises NotImplementedError for an unknown compression, and RuntimeError for an encrypted member
_DAMAGE_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class SourceFile:
    """A file to read, or a member of a zip.

    Attributes
    ----------
    path : Path
        The file or the zip.
    member : str
        Name of the member; empty if ``path`` is not a zip.
    progress : callable or None
        Called with the number of bytes of ``path`` read so far and its size.
    file_names : callable or None
        Returns artist and title from the tags of an audio file, given its path.
    strict : bool
        Whether bytes that are not UTF-8 are an error; otherwise their line is decoded as Windows-1252.
    """

    path: Path
    member: str = ""
    progress: Progress | None = None
    file_names: FileNames | None = None
    strict: bool = False

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
        n_lines = 0
        try:
            with self._open() as (raw, stream):
                size = self.path.stat().st_size
                while chunk := stream.read(CHUNK_BYTES):
                    n_lines += chunk.count(b"\n")
                    yield chunk
                    if self.progress is not None:
                        self.progress(min(raw.tell(), size), size)
        except _DAMAGE_ERRORS as error:
            raise ListensError(
                f"{self.name} is truncated or damaged after about {n_lines} lines ({error}). "
                "Copy or download it again."
            ) from error
        except OSError as error:
            raise ListensError(f"{self.name} cannot be read ({error.strerror or error}).") from error

    def utf8_chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 bytes without a byte-order mark; bytes that are not UTF-8 are passed through."""
        chunks = self.chunks()
        first = next(chunks, b"")
        if first.startswith(_UTF16_MARKS):
            decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
            yield decoder.decode(first).encode("utf-8", "replace")
            for chunk in chunks:
                yield decoder.decode(chunk).encode("utf-8", "replace")
        else:
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from chunks

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
                raise ListensError(
                    f"{self.name} has a line of more than {MAX_LINE_BYTES >> 20} MB; it is not a table."
                )
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

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file; yield the raw and the decompressed stream."""
        with ExitStack() as stack:
            raw = stack.enter_context(self.path.open("rb"))
            stream: Any = raw
            if self.member:
                stream = stack.enter_context(stack.enter_context(zipfile.ZipFile(raw)).open(self.member))
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
        return "\n".join(map(_decode_line, text.split(b"\n")))


def _decode_line(line: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")  # defines every byte


def zip_members(source: SourceFile) -> list[str]:
    """Return the sorted names of the files in a zip, without hidden files and macOS's ``__MACOSX`` copies."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except (*_DAMAGE_ERRORS, OSError, ValueError) as error:  # ValueError: a name that is not UTF-8, a negative offset
        raise ListensError(
            f"{source.path} is truncated or not a zip file ({error}); copy or download it again."
        ) from error
    if len(names) > MAX_ZIP_MEMBERS:
        raise ListensError(
            f"{source.path} has {len(names):,} files, more than {MAX_ZIP_MEMBERS:,}; unpack it and import the folder."
        )
    return sorted(name for name in names if not any(part.startswith((".", "__MACOSX")) for part in Path(name).parts))
