"""Files of listening histories -> those that are parts of one table, together: what Spark, Dask and DuckDB write.

A file is a part if it is named like one (``part-00000.parquet``, ``plays-00001-of-00008.csv``) or is in a folder
named ``column=value``, as Hive does. The folder above is the table. A folder may name the user of its rows.
"""

import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from nearsong.errors import ListensError
from nearsong.listens.columns import SYNONYMS, plain_name
from nearsong.listens.detection import columns_of
from nearsong.listens.listen_file import ListenFile, find_listen_files, open_listens
from nearsong.listens.sources import SourceFile

_ENDINGS = (".parquet", ".csv", ".tsv", ".json", ".jsonl")
_PART_NAME = re.compile(r"part[-_.]?\d|.*-\d+-of-\d+\.", re.IGNORECASE)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartitionedTable:
    """A folder with the parts of one table.

    Attributes
    ----------
    path : Path
        The folder.
    parts : tuple of Path
        Its files, in the order of their names.
    """

    path: Path
    parts: tuple[Path, ...]

    def open(
        self, format: str | None = None, user: str | None = None, max_bytes: int | None = None
    ) -> list[ListenFile]:
        """Open the parts, which are of one format and kind; files without rows are left out.

        Parameters
        ----------
        format : str, optional
            By default detected.
        user : str, optional
            The user of all rows, who is refused if the parts name users.
        max_bytes : int, optional
            What a compressed part may unpack to.
        """
        opened: list[ListenFile] = []
        for part in self.parts:
            try:
                history = open_listens(part, format, max_bytes)
            except ListensError:
                if _has_rows(part):
                    raise
                continue  # frameworks write a file for each task, also where it had no rows
            if opened and (history.format, history.kind) != (opened[0].format, opened[0].kind):
                raise ListensError(
                    f"{part} is {history.format} with {history.kind}, but {opened[0].path} is {opened[0].format} "
                    f"with {opened[0].kind}; parts of one table have the same columns."
                )
            opened.append(self._with_owner(history, user))
        if not opened:
            raise ListensError(f"{self.path} has only files without rows; there are no listens in it.")
        return opened

    def _with_owner(self, history: ListenFile, user: str | None) -> ListenFile:
        owner = user_in_folders(history.path.relative_to(self.path).parts[:-1])
        columns = columns_of(SourceFile(history.path), history.format)
        names_users = columns is not None and columns.user is not None and not columns.playlists
        if user is not None and (owner is not None or names_users):
            raise ListensError(
                f"{self.path} names users, so that its rows cannot all be of {user}; import it without naming a user."
            )
        return history if owner is None else replace(history, owner=owner)


def _has_rows(part: Path) -> bool:
    """Return whether there is more in a file than a header."""
    beginning = next(SourceFile(part).utf8_chunks(), b"")
    return len(beginning.splitlines()) > 1 or beginning.startswith(b"PAR1")


def user_in_folders(folders: Iterable[str]) -> str | None:
    """Return the user that names of folders tell, as Hive writes them; None if they tell none.

    >>> user_in_folders(["year=2020", "user_id=Bj%C3%B6rk"]), user_in_folders(["year=2020"])
    ('Björk', None)
    """
    for folder in folders:
        column, _, value = folder.partition("=")
        if plain_name(column) in SYNONYMS["user"] and value not in ("", _NO_VALUE):
            return unquote(value)
    return None


def find_histories(paths: Iterable[Path]) -> list[Path | PartitionedTable]:
    """Return the files at these paths that may be listening histories, with the parts of a table together.

    Parameters
    ----------
    paths : iterable of Path
        Files, folders, and patterns such as ``plays/*.parquet``. Part files that are given one by one are a table
        only if they are all of its folder.

    Returns
    -------
    list of Path or PartitionedTable

    Raises
    ------
    ListensError
        If there is nothing at a path.
    """
    found: dict[Path | PartitionedTable, None] = {}
    files: list[Path] = []
    for path in _without_patterns(paths):
        if path.is_dir():
            found.update(dict.fromkeys(_grouped(find_listen_files([path]), path)))
        else:
            files.extend(find_listen_files([path]))
    for history in _grouped(list(dict.fromkeys(files)), None):
        if isinstance(history, PartitionedTable) and history not in _grouped(find_listen_files([history.path]), None):
            found.update(dict.fromkeys(history.parts))
        else:
            found[history] = None
    return list(found)


def _without_patterns(paths: Iterable[Path]) -> list[Path]:
    """Return paths with those that match a pattern instead of it."""
    found: list[Path] = []
    for path in paths:
        is_pattern = glob.has_magic(str(path)) and not path.exists()
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))] if is_pattern else []
        found.extend(matches or [path])
    return found


def _grouped(files: Sequence[Path], top: Path | None) -> list[Path | PartitionedTable]:
    """Return files with the parts of a table together, in the order of the first; a table is not above ``top``."""
    parts_of: dict[Path, list[Path]] = {}
    for file in files:
        folder = _table_of(file, top)
        if folder is not None:
            parts_of.setdefault(folder, []).append(file)
    tables = {
        folder: PartitionedTable(folder, tuple(parts))
        for folder, parts in parts_of.items()
        if len({_ending(part) for part in parts}) == 1
    }
    return list(dict.fromkeys(tables.get(_table_of(file, top) or file, file) for file in files))


def _table_of(file: Path, top: Path | None) -> Path | None:
    """Return the folder of the table that a file is a part of; None if it is none."""
    folder = file.parent
    while "=" in folder.name and folder != top:
        folder = folder.parent
    is_part = folder != file.parent or _PART_NAME.match(file.name) is not None
    return folder if is_part and _ending(file) in _ENDINGS else None


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix
