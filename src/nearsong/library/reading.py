"""A library -> what light commands show of it, without loading what scans, learns or answers queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from nearsong.library.store.light.store import LightStore, open_to_read

if TYPE_CHECKING:
    from nearsong.library.answers.filters import Filters
    from nearsong.library.answers.stored_similar import SimilarSongs
    from nearsong.library.status import Status
    from nearsong.library.store import History, ModelRow, Store


class LibraryReader:
    """A library of which only facts are read; the methods are those of `Library`. Open one with :meth:`open`."""

    def __init__(self, store: LightStore | Store) -> None:
        self._store = store

    @classmethod
    def open(cls, address: str | os.PathLike[str] | None = None) -> Self:
        """Open a library that exists; see :meth:`nearsong.library.Library.open`."""
        return cls(open_to_read(address))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._store.close()

    def status(self) -> Status:
        """Return the content of the library, its problems, and what to do next."""
        from nearsong.library.status import status_of

        return status_of(self._store)

    def unreadable(self) -> list[tuple[str, str]]:
        """Return the files that cannot be read, and why."""
        return self._store.songs.problems()

    def set_aside(self) -> list[tuple[str, str]]:
        """Return the files without music, which are not compared with songs, and why."""
        return self._store.songs.set_aside()

    def models(self) -> list[ModelRow]:
        """Return all stored models, the oldest first."""
        return self._store.models.rows()

    @property
    def active_model(self) -> int | None:
        """The id of the active model."""
        return self._store.models.active

    def listens(self) -> list[History]:
        """Return the imported listening histories."""
        return self._store.listens.histories()

    def similar(self, songs: Sequence[int], n: int, filters: Filters) -> SimilarSongs | None:
        """Return the songs nearest to some by id; None if that needs all of the library in memory."""
        if not isinstance(self._store, LightStore) or filters.excludes_songs:
            return None
        from nearsong.library.answers.stored_similar import stored_similar

        return stored_similar(self._store, songs, n, filters)

    def has_listens(self) -> bool:
        """Return whether anything was imported or recorded; True if only the complete store can tell."""
        return not isinstance(self._store, LightStore) or self._store.has_listens()
