"""A text file, packed or not -> its rows; whatever is wrong with it, as one line that names file and row.

UTF-8 with or without a byte-order mark, any line ends. A row is known by the number of its first line in the file,
the header being line 1.
"""

import contextlib
import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from nearsong.errors import DatasetError


def find_one(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the only file of these names in the folder, None if there is none; two would be ambiguous."""
    found = [name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise DatasetError(f"{folder} has both {found[0]} and {found[1]}; which one counts is unclear, so keep one.")
    return folder / found[0] if found else None


class Rows(Protocol):
    """An iterator of rows that knows how many lines it has read: a ``csv.reader``."""

    @property
    def line_num(self) -> int: ...  # noqa: D102

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


@contextmanager
def open_rows(path: Path, *, tabs: bool = False) -> Iterator[Rows]:
    """Open a text file as an iterator of rows; what goes wrong while it is read becomes a ``DatasetError``.

    Parameters
    ----------
    path : Path
        Packed if its name ends in ``.gz``.
    tabs : bool
        Fields are separated by tabs and never quoted, so that a quote is a letter like any other; otherwise they are
        separated by commas and may be quoted.
    """
    try:
        with _open_text(path, newline="\n" if tabs else "") as text:
            yield _reader(text, tabs)
    except csv.Error as error:
        raise DatasetError(
            f"{path}, line {_first_unreadable(path, tabs)}: {error}; put a field with a quote in it in quotes and "
            "double the quote."
        ) from error
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DatasetError(
            f"{path}, line {_first_undecodable(path)}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path} is no whole gzip file ({error}); pack or copy it again.") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror or error}).") from error


def numbered(rows: Rows) -> Iterator[tuple[int, list[str]]]:
    """Put the line it begins at before each row; blank lines are skipped."""
    line = rows.line_num + 1
    for row in rows:
        if row:
            yield line, row
        line = rows.line_num + 1


def read_table(path: Path, needed: Iterable[str]) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Read a CSV file with a header.

    Parameters
    ----------
    path : Path
        The file.
    needed : iterable of str
        Columns that must be there, in any order; others are read too.

    Returns
    -------
    columns : list of str
        In lower case.
    rows : list of (int, dict of str to str)
        The line each row begins at, and its fields without surrounding white space.
    """
    table: list[tuple[int, dict[str, str]]] = []
    with open_rows(path) as rows:
        columns = header_of(path, next(rows, []), needed)
        for line, row in numbered(rows):
            check_width(path, line, row, len(columns))
            table.append((line, {name: field.strip() for name, field in zip(columns, row, strict=True)}))
    if not table:
        raise DatasetError(f"{path} has a header and no rows; there is nothing to use.")
    return columns, table


def header_of(path: Path, row: Sequence[str], needed: Iterable[str]) -> list[str]:
    """Return a header's names in lower case, with every needed one among them, once."""
    columns = [name.strip().lower() for name in row]
    if not any(columns):
        raise DatasetError(f"{path} is empty or its first line is; a header is needed: {', '.join(needed)}.")
    for name in needed:
        if columns.count(name) != 1:
            wrong = f"no column {name!r}" if name not in columns else f"two columns {name!r}"
            raise DatasetError(f"{path} has {wrong}; found: {', '.join(columns)}.")
    return columns


def check_width(path: Path, line: int, row: Sequence[str], width: int) -> None:
    """Refuse a row with more or fewer fields than there should be."""
    if len(row) != width:
        raise DatasetError(
            f"{path}, line {line} has {len(row)} field(s) where {width} are expected; put a field with a "
            "separator in it in quotes."
        )


def _open_text(path: Path, newline: str) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


def _reader(text: IO[str], tabs: bool) -> Rows:
    if not tabs:
        return csv.reader(text, strict=True)
    # A carriage return within a name would end the row.
    return csv.reader((line.replace("\r", "") for line in text), delimiter="\t", quoting=csv.QUOTE_NONE)


def _first_unreadable(path: Path, tabs: bool) -> int:
    """Return the line at which the row begins that the csv module gave up on, maybe many lines later."""
    done = 0
    with _open_text(path, newline="\n" if tabs else "") as text, contextlib.suppress(csv.Error):
        rows = _reader(text, tabs)
        for _ in rows:
            done = rows.line_num
    return done + 1


def _first_undecodable(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
        for number, line in enumerate(raw, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
