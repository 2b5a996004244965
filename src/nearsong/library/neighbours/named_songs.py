"""A text -> the songs that it names, the same way whether all songs are in memory or only their names are read."""

import os
from collections.abc import Callable, Container
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nearsong.caching import cached_property
from nearsong.errors import NoSuchSongError, UnclearSongError
from nearsong.library.neighbours.name_forms import NameForms, StoredRows, keep_forms, state_of, stored_forms
from nearsong.library.neighbours.song_finder import SongFinder, id_in

if TYPE_CHECKING:
    from nearsong.library.store.light.store import LightStore


class Nameable(Protocol):
    """Songs that a text may name: those of a `Space`, or of a library of which only the names are read."""

    @property
    def row_of(self) -> Container[int]:
        """The ids of the songs that can be compared."""

    @property
    def missing(self) -> Container[int]:
        """The ids of the songs whose files are missing."""

    @property
    def finder(self) -> SongFinder:
        """Finds the songs by their names."""


class NamedSongs(NamedTuple):
    """A text, and the songs that it names: one, or all of an artist or an album."""

    text: str
    ids: tuple[int, ...]
    is_group: bool = False


class StoredNames:
    """The names of the songs of a SQLite library that can be compared under a model, without their embeddings."""

    def __init__(self, store: "LightStore", model_id: int) -> None:
        self._store, self._model_id = store, model_id
        self.row_of = _Ids(partial(store.songs.is_comparable, model_id))
        self.missing = _Ids(store.songs.is_missing)
        self._made: tuple[NameForms, list[Any]] | None = None

    @cached_property
    def finder(self) -> SongFinder:
        """Finds the songs by their names."""
        stored = stored_forms(self._store, self._model_id)
        if stored is not None:
            return SongFinder.of_rows(StoredRows(self._store, stored.ids), stored)
        state = state_of(self._store, self._model_id)
        rows = sorted(self._store.songs.names(self._model_id), key=itemgetter(0))
        forms = NameForms.of_rows(rows)
        self._made = forms, state
        return SongFinder.of_rows(rows, forms)

    def keep(self) -> None:
        """Keep in the library what was made of the names for a search that has looked at all of them."""
        if self._made is not None:
            keep_forms(self._store, *self._made)


class _Ids(Container[int]):
    """Ids that are looked up one at a time."""

    def __init__(self, has: Callable[[int], bool]) -> None:
        self._has = has

    def __contains__(self, song: object) -> bool:
        return isinstance(song, int) and self._has(song)


def song_named(songs: Nameable, text: str) -> int | None:
    """Return the id of the song that a text names; None if it is the path of a file.

    Raises an `UnclearSongError` if it names no song, or several, and a `NoSuchSongError` if its file is missing.
    """
    text = os.path.expanduser(text)
    song_id = id_in(text)
    if song_id is not None and song_id in songs.row_of:
        return song_id
    if os.path.isfile(text):
        return None
    if song_id is not None and song_id in songs.missing:
        raise no_such_song(songs, song_id)
    return songs.finder.find(text).id


def songs_named(songs: Nameable, text: str) -> NamedSongs | None:
    """Return what :func:`song_named` finds, or else the songs of the artist or album that a text names."""
    try:
        song_id = song_named(songs, text)
    except UnclearSongError:
        group = songs.finder.of_group(text)
        if not group:
            raise
        return NamedSongs(text, tuple(song.id for song in group), is_group=True)
    return None if song_id is None else NamedSongs(text, (song_id,))


def no_such_song(songs: Nameable, song_id: int) -> NoSuchSongError:
    """Return the error for an id that is not among the songs that can be compared."""
    if song_id in songs.missing:
        return NoSuchSongError(f"the file of song {song_id} is missing; restore it and run `nearsong scan`.")
    return NoSuchSongError(f"song not found: {song_id}; search for it by name.")
