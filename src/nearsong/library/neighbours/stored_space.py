"""A SQLite library -> its space for one query: all embeddings, but only the songs that are in the answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from nearsong.library.neighbours.space import Space
from nearsong.library.records import SONG_COLUMNS, Song
from nearsong.library.store.light.songs import song_of_row
from nearsong.library.store.light.store import LightStore


class StoredSpace(Space):
    """The space of a model whose songs are read when they are used.

    Queries with neither filters nor minus seeds nor the dial have the same answers as in `Space`; nothing else may be
    asked, since there is no model and no field of all songs.
    """

    def __init__(self, store: LightStore, model_id: int) -> None:
        ids, data = store.songs.embeddings(model_id)
        self.model_id = model_id
        self.ids = np.array(ids, dtype=np.int64)
        flat = np.frombuffer(data, dtype=np.float32)
        self.embeddings = flat.reshape(len(ids), -1) if ids else np.empty((0, 0), np.float32)
        self.cache = store.cache
        self.row_of: Mapping[int, int] = _RowOf(self.ids)  # type: ignore[assignment]
        self.songs: Sequence[Song] = _StoredSongs(store, self.ids)  # type: ignore[assignment]
        self.model: Any = None


class _RowOf(Mapping[int, int]):
    """Song id -> row, by bisection of the ids."""

    def __init__(self, ids: npt.NDArray[np.int64]) -> None:
        self._ids = ids

    def __getitem__(self, song: int) -> int:
        row = int(np.searchsorted(self._ids, song))
        if row == len(self._ids) or self._ids[row] != song:
            raise KeyError(song)
        return row

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids.tolist())

    def __len__(self) -> int:
        return len(self._ids)


class _StoredSongs(Sequence[Song]):
    """The songs by row, each read when it is asked for."""

    def __init__(self, store: LightStore, ids: npt.NDArray[np.int64]) -> None:
        self._store, self._ids = store, ids

    @overload
    def __getitem__(self, row: int) -> Song: ...
    @overload
    def __getitem__(self, row: slice) -> list[Song]: ...
    def __getitem__(self, row: int | slice) -> Song | list[Song]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        values = self._store.songs.row(int(self._ids[row]), SONG_COLUMNS)
        return song_of_row(dict(zip(SONG_COLUMNS, values, strict=True)))

    def __len__(self) -> int:
        return len(self._ids)
