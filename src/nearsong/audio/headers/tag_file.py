"""A file -> what mutagen may read and unpack of it, so that hostile tags take no more memory than honest ones.

A few bytes can declare a tag of gigabytes: a hole in a sparse file, or a compressed frame. Reading and unpacking have
limits for each file; beyond them tags are refused before they take memory.
"""

import errno
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO

from mutagen.id3 import ID3JunkFrameError, _frames

from nearsong.guarded_file import FileIdentity, open_regular

MAX_READ_BYTES = 128 << 20
"""Bytes of a file that are read for its tags: several large pictures, or all pages of an Ogg file of two hours that
has lost its end."""

MAX_UNPACKED_BYTES = 16 << 20
"""Bytes that the compressed frames of a file may unpack to."""


class TagFile:
    """An open file as mutagen reads it.

    Attributes
    ----------
    name : str
        The path; mutagen looks at its extension.
    size : int
        Bytes of the file.
    has_refused : bool
        Whether more was asked for than the limits allow.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self.name = name
        self.has_refused = False
        self.seek, self.tell = file.seek, file.tell
        self.start_again()

    def start_again(self) -> None:
        """Go back to the start, with the limits of a new file, for another parser."""
        self._left, self._left_to_unpack = MAX_READ_BYTES, MAX_UNPACKED_BYTES
        self.seek(0)

    def read(self, size: int | None = -1) -> bytes:
        """Read bytes; raise an OSError if all reads together would exceed the limit."""
        present = max(0, self.size - self._file.tell())
        size = present if size is None or size < 0 else min(size, present)
        if size > self._left:
            self.has_refused = True
            raise OSError(errno.EFBIG, f"its tags are larger than {MAX_READ_BYTES >> 20} MiB")
        data = self._file.read(size)
        self._left -= len(data)
        return data

    def unpack(self, data: bytes) -> bytes:
        """Unpack a compressed frame; refuse it if all frames together would exceed the limit."""
        unpacking = zlib.decompressobj()
        unpacked = unpacking.decompress(data, self._left_to_unpack + 1)
        if len(unpacked) > self._left_to_unpack:
            self.has_refused = True
            raise ID3JunkFrameError(f"compressed frames of more than {MAX_UNPACKED_BYTES >> 20} MiB")
        if not unpacking.eof:
            raise zlib.error("its end is missing")
        self._left_to_unpack -= len(unpacked)
        return unpacked


class _Reading(threading.local):
    """The file whose tags this thread is reading."""

    file: TagFile | None = None


_reading = _Reading()


class _BoundedZlib:
    """What mutagen's frames use of `zlib`, which unpacks without limit."""

    error = zlib.error

    @staticmethod
    def decompress(data: bytes) -> bytes:
        return zlib.decompress(data) if _reading.file is None else _reading.file.unpack(data)


_frames.zlib = _BoundedZlib  # type: ignore[assignment, attr-defined]


@contextmanager
def opened_for_tags(path: str | os.PathLike[str], identity: FileIdentity | None = None) -> Iterator[TagFile]:
    """Open a file for mutagen; the parameters and errors are those of `open_regular`."""
    with BufferedReader(open_regular(path, identity)) as file:
        _reading.file = TagFile(file, os.fspath(path))
        try:
            yield _reading.file
        finally:
            _reading.file = None
