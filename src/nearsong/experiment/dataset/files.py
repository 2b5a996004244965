"""Tables of a data set -> their rows, read by :mod:`nearsong.listens.tables.strict_table`; errors name the line."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nearsong.errors import DatasetError, ListensError
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables.strict_table import StrictTable


def find_one(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the only file of these names in the folder, or None; two would be ambiguous."""
    existing = [name for name in names if (folder / name).is_file()]
    if len(existing) > 1:
        raise DatasetError(f"{folder} has both {existing[0]} and {existing[1]}; remove one.")
    return folder / existing[0] if existing else None


@contextmanager
def listens_errors() -> Iterator[None]:
    """Turn the errors of readers into ``DatasetError``; they name file and line."""
    try:
        yield
    except ListensError as error:
        raise DatasetError(str(error)) from error


def read_table(path: Path, needed: Iterable[str]) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Read a CSV file with a header.

    Parameters
    ----------
    path : Path
        The file.
    needed : iterable of str
        Required columns, in any order; others are read too.

    Returns
    -------
    columns : list of str
        In lower case.
    rows : list of (int, dict of str to str)
        Number of the first line of each row, and its fields without surrounding white space.
    """
    table: list[tuple[int, dict[str, str]]] = []
    with listens_errors():
        file = StrictTable(SourceFile(path, strict=True), tabs=False)
        columns = header_of(path, file.first_row, needed)
        for fields, lines in file.columns(len(columns)):
            for line, row in zip(lines, zip(*fields, strict=True), strict=True):
                table.append((line, {name: field.strip() for name, field in zip(columns, row, strict=True)}))
    if not table:
        raise DatasetError(f"{path} has a header but no rows.")
    return columns, table


def header_of(path: Path, row: Sequence[str], needed: Iterable[str]) -> list[str]:
    """Return the names of a header in lower case; raise unless it has every needed column exactly once."""
    columns = [name.strip().lower() for name in row]
    if not any(columns):
        raise DatasetError(f"{path} has no header; the first line must name the columns: {', '.join(needed)}.")
    for name in needed:
        if columns.count(name) != 1:
            problem = f"no column {name!r}" if name not in columns else f"two columns {name!r}"
            raise DatasetError(f"{path} has {problem}; found: {', '.join(columns)}.")
    return columns
