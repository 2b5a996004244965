"""A zip -> its files and those of the zips in it, as Apple's and Google's exports are packed.

A zip in a zip is unpacked into a temporary file, because its list of files is at its end. Zips inside that one are
not opened, so that the work ends however deep they are nested.
"""

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import IO, Any, Self

# zipfile raises NotImplementedError for an unknown compression, and RuntimeError for an encrypted member
DAMAGE_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError, RuntimeError)

MAX_INNER_ZIPS = 100
MAX_INNER_BYTES = 2 << 30
"""What the zips in a zip may take together; those beyond are left out."""

MAX_LIST_BYTES = 8 << 20
"""The list of files of a zip in a zip, which is read at once; it may have been packed to a thousandth."""

_COPY_BYTES = 1 << 18

CountBytes = Callable[[str, int], None]
"""Called with a member and how many of its bytes were unpacked so far."""


class OpenZip:
    """A zip that is open for reading. Files of a zip in it are named after both: ``inner.zip/plays.csv``.

    Parameters
    ----------
    path : path-like
    count : callable
        Counts what zips in this one are unpacked to; it may raise an error.

    Attributes
    ----------
    refused : list of str
        Which zips in it could not be opened, and why.
    last : (str or None, bytes)
        The file that was read last and its bytes, if it is small: its format is found out and its rows are read one
        after the other, and opening a file of a zip takes longer than that.
    """

    def __init__(self, path: Any, count: CountBytes) -> None:
        self._zip = zipfile.ZipFile(path)
        self._count = count
        self._inner: dict[str, zipfile.ZipFile] = {}
        self._names: list[str] | None = None
        self._stack = ExitStack()
        self._n_opened = 0
        self.refused: list[str] = []
        self.last: tuple[str | None, bytes] = (None, b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._zip.close()

    @property
    def file(self) -> Any:
        """The file of the zip itself."""
        return self._zip.fp

    def names(self) -> list[str]:
        """Return the sorted names of all files; zips are replaced by what they contain."""
        if self._names is None:
            outer = _files_of(self._zip)
            names = [name for name in outer if not _is_zip_name(name)]
            for zip_name in dict.fromkeys(name for name in outer if _is_zip_name(name)):
                names += [f"{zip_name}/{name}" for name in self._files_in(zip_name)]
            self._names = sorted(set(names))
        return self._names

    def open(self, name: str) -> IO[bytes]:
        """Open a file by its name."""
        if name not in self._zip.NameToInfo:
            self.names()
            for zip_name, inner in self._inner.items():
                inner_name = name.removeprefix(f"{zip_name}/")
                if inner_name != name and inner_name in inner.NameToInfo:
                    return inner.open(inner_name)
        return self._zip.open(name)

    def _files_in(self, zip_name: str) -> list[str]:
        """Return the files of a zip in this one; none if it cannot be opened."""
        try:
            inner = self._inner[zip_name] = self._opened(zip_name)
        except (*DAMAGE_ERRORS, OSError, ValueError) as error:
            self.refused.append(f"{zip_name} in it cannot be opened ({error}); unpack it and import the folder.")
            return []
        files = _files_of(inner)
        self.refused.extend(
            f"{zip_name}/{name} is a zip in a zip in a zip; unpack it and import the folder."
            for name in files[:MAX_INNER_ZIPS]
            if _is_zip_name(name)
        )
        return [name for name in files if not _is_zip_name(name)]

    def _opened(self, zip_name: str) -> zipfile.ZipFile:
        """Unpack a zip in this one into a temporary file, which goes when this zip is closed."""
        size = sum(self._zip.NameToInfo[name].file_size for name in (zip_name, *self._inner))
        if size > MAX_INNER_BYTES:
            raise zipfile.BadZipFile(f"more than {MAX_INNER_BYTES >> 30} GB of zips")
        self._n_opened += 1
        if self._n_opened > MAX_INNER_ZIPS:
            raise zipfile.BadZipFile(f"more than {MAX_INNER_ZIPS} zips")
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile())
            with self._zip.open(zip_name) as packed:
                while chunk := packed.read(_COPY_BYTES):
                    file.write(chunk)
                    self._count(zip_name, file.tell())
            inner = stack.enter_context(zipfile.ZipFile(_ShortReads(file)))
            self._stack.push(stack.pop_all())
        return inner


class _ShortReads:
    """A file that refuses to read very much at once, as zipfile does with a list of files."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, n: int = -1) -> bytes:
        if n > MAX_LIST_BYTES:
            raise zipfile.BadZipFile("its list of files is too long")
        return self._file.read(n)


def _files_of(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files, without hidden files and macOS's ``__MACOSX`` copies."""
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    return [name for name in names if not any(p.startswith((".", "__MACOSX")) for p in PurePosixPath(name).parts)]


def _is_zip_name(name: str) -> bool:
    return name.lower().endswith(".zip")
