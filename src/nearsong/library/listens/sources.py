"""A file, packed or not, or a file in a zip -> its bytes and its text, a piece at a time.

UTF-8 with or without a byte-order mark and UTF-16 with one; a line that is no UTF-8 is read as Windows-1252, the
usual encoding of old exports. A file that is packed (gzip) is known by its first bytes. Whatever goes wrong below is
one line that names the file.
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
LONGEST_LINE_BYTES = 64 << 20

Progress = Callable[[int, int], None]

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Source:
    """A file to read, or a file inside a zip.

    Attributes
    ----------
    path : Path
        The file or the zip.
    member : str
        Which file of the zip; empty if ``path`` is no zip.
    progress : callable or None
        Called with the bytes of ``path`` read so far and their number.
    """

    path: Path
    member: str = ""
    progress: Progress | None = None

    @property
    def name(self) -> str:
        """What the source is called in messages."""
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    @property
    def file_name(self) -> str:
        """The name of the file itself, without folders."""
        return Path(self.member).name if self.member else self.path.name

    @property
    def stem(self) -> str:
        """The name of the file without folders and endings: ``evening`` for ``evening.m3u8.gz``."""
        return Path(self.file_name.removesuffix(".gz")).stem

    def with_member(self, member: str) -> "Source":
        """Return the file of that name in this zip."""
        return replace(self, member=member)

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes, a quarter of a megabyte at a time."""
        n_lines = 0
        try:
            with self._open() as (raw, stream):
                size = self.path.stat().st_size
                while chunk := stream.read(CHUNK_BYTES):
                    n_lines += chunk.count(b"\n")
                    yield chunk
                    if self.progress is not None:
                        self.progress(min(raw.tell(), size), size)
        except _DAMAGE as error:
            raise ListensError(
                f"{self.name} breaks off or is damaged after about {n_lines} lines ({error}); nothing of it should "
                "be used: copy or download it again."
            ) from error
        except OSError as error:
            raise ListensError(f"{self.name} cannot be read ({error.strerror or error}).") from error

    def utf8_chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 bytes without a byte-order mark; bytes that are no UTF-8 stay as they are."""
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
        """Yield the text in pieces of whole lines: each ends with a line end, the last one maybe not."""
        rest = b""
        for chunk in self.utf8_chunks():
            text = rest + chunk
            cut = text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1
            if cut:
                yield decode_lines(text[:cut])
            elif len(text) > LONGEST_LINE_BYTES:
                raise ListensError(
                    f"{self.name} has a line of more than {LONGEST_LINE_BYTES >> 20} MB; it is no table."
                )
            rest = text[cut:]
        if rest:
            yield decode_lines(rest)

    def json_pieces(self) -> Iterator[str]:
        """Yield the text in pieces cut anywhere, for JSON, which may be one line of any length."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for chunk in self.utf8_chunks():
            yield decoder.decode(chunk)
        if rest := decoder.decode(b"", final=True):
            yield rest

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file as it is on disk, and as it is unpacked."""
        with ExitStack() as stack:
            raw = stack.enter_context(self.path.open("rb"))
            stream: Any = raw
            if self.member:
                stream = stack.enter_context(stack.enter_context(zipfile.ZipFile(raw)).open(self.member))
            if stream.peek(2)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            yield raw, stream


def decode_lines(text: bytes) -> str:
    r"""Return the lines as text: those that are no UTF-8 are read as Windows-1252.

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
    return line.decode("latin-1")  # every byte is a letter there


def zip_members(source: Source) -> list[str]:
    """Return the files in a zip that are neither hidden nor macOS' shadow copies, in order of their names."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise ListensError(f"{source.path} is no whole zip file ({error}); copy or download it again.") from error
    return sorted(name for name in names if not any(part.startswith((".", "__MACOSX")) for part in Path(name).parts))
