"""A library -> what light commands show of it, without loading what scans, learns or answers queries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from nearsong.caching import cached_property
from nearsong.errors import UnclearSongError
from nearsong.library.store.light.records import check_histories
from nearsong.library.store.light.store import LightStore, open_to_read

if TYPE_CHECKING:
    from nearsong.library.answers.filters import Filters
    from nearsong.library.answers.stored_similar import SimilarSongs
    from nearsong.library.listeners.matches.records import MatchList
    from nearsong.library.neighbours.named_songs import NamedSongs, StoredNames
    from nearsong.library.status import Status
    from nearsong.library.store import History, ModelRow, Store

Found = TypeVar("Found")


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

    def match_list(self) -> MatchList | None:
        """Return how much of all histories is in the library; None if that is not kept, or no longer true."""
        from nearsong.library.listeners.matches.stored import stored_matches

        return stored_matches(self._store)

    def similar(self, songs: Sequence[int], n: int, filters: Filters) -> SimilarSongs | None:
        """Return the songs nearest to some by id; None if that needs all of the library in memory."""
        if not isinstance(self._store, LightStore) or filters.excludes_songs:
            return None
        from nearsong.library.answers.stored_similar import stored_similar

        return stored_similar(self._store, songs, n, filters)

    def song(self, text: str) -> int | str:
        """Return the id of the song that a text names; the text where only all of the library can tell.

        It is a file, or no song can be compared, or the store is not a SQLite file. Raises what
        :meth:`nearsong.library.Snapshot.seed` would raise of a text that names no song.
        """
        from nearsong.library.neighbours.named_songs import song_named

        found = None if self._names is None else _looked_up(song_named, self._names, text)
        return text if found is None else found

    def seeds(self, text: str) -> NamedSongs | str:
        """Return the song, or the songs of the artist or album, that a text names; the text as :meth:`song` does."""
        from nearsong.library.neighbours.named_songs import songs_named

        found = None if self._names is None else _looked_up(songs_named, self._names, text)
        return text if found is None else found

    @cached_property
    def _names(self) -> StoredNames | None:
        from nearsong.library.neighbours.named_songs import StoredNames

        if not isinstance(self._store, LightStore):
            return None
        model_id = self._store.models.active
        if model_id is None or not self._store.songs.has_comparable(model_id):
            return None
        return StoredNames(self._store, model_id)

    def check_models(self, *ids: int) -> None:
        """Raise a `LibraryError` if an id is not that of a model."""
        for model_id in ids:
            self._store.models.row(model_id)

    def check_histories(self, *ids: int) -> None:
        """Raise a `NoSuchHistoryError` if an id is not that of a history."""
        check_histories(ids, self.listens())

    def find_listener(self, name: str) -> str:
        """Return the name of a listener as it is stored; see :meth:`nearsong.library.accounts.Accounts.find`."""
        from nearsong.library.accounts.find_listener import find_listener

        return find_listener(name, self._store.listener_rows.names())

    def has_listens(self) -> bool:
        """Return whether anything was imported or recorded; True if only the complete store can tell."""
        return not isinstance(self._store, LightStore) or self._store.has_listens()


def _looked_up(look: Callable[[StoredNames, str], Found], names: StoredNames, text: str) -> Found:
    try:
        return look(names, text)
    except UnclearSongError:  # after a look at all names, which the next search need not make again
        names.keep()
        raise
