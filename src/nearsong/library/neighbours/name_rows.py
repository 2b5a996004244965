"""The columns that name songs -> songs made when they are asked for, and the rows of each key."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import overload

from nearsong.library.records import Song

NAME_COLUMNS = ("id", "path", "artist", "title", "album")

NameRow = tuple[int, str, str, str, str]
"""A song by the columns that name it."""


class SongsOfRows(Sequence[Song]):
    """Songs that are made when they are asked for."""

    def __init__(self, rows: Sequence[NameRow]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Song: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Song]: ...
    def __getitem__(self, at: int | slice) -> Song | Sequence[Song]:
        if isinstance(at, slice):
            return SongsOfRows(self._rows[at])
        id, path, artist, title, album = self._rows[at]
        return Song(id=id, path=path, artist=artist, title=title, album=album)


class RowsOfKeys:
    """The rows of each key."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys, self._is_asked = keys, False

    def of(self, key: str) -> list[int]:
        """Return the rows of a key; the first time by comparing it with all of them."""
        if self._is_asked:
            return self.table.get(key, [])
        self._is_asked = True
        return [row for row, other in enumerate(self._keys) if other == key] if key in self._keys else []

    @cached_property
    def table(self) -> dict[str, list[int]]:
        """The rows by key."""
        return grouped(self._keys)


def grouped(keys: Iterable[str]) -> dict[str, list[int]]:
    """Return the rows of each key, in order."""
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows
