"""The columns that name songs -> the forms in which names are compared, and kept in a large library.

To make the forms of 100,000 songs takes longer than to find that none of them has a name. So the first search that
finds nothing keeps them in the library, and the next ones read them as long as no song has changed.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from nearsong import __version__
from nearsong.library.neighbours.name_rows import NAME_COLUMNS, NameRow, grouped
from nearsong.names import artist_key, primary_artist, title_key

if TYPE_CHECKING:
    from nearsong.library.store.light.store import LightStore

FORMS = "name_forms"
"""Setting: the forms, as JSON, and the state of the library that they are of."""

MIN_STORED = 5_000
"""Songs from which on the forms are kept; those of fewer are made within hundredths of a second."""


class NameForms:
    """The forms of the names of songs, by row; each is made when it is first asked for.

    Parameters
    ----------
    column : callable
        Returns a column of `NAME_COLUMNS` of all songs, by its name.
    """

    def __init__(self, column: Callable[[str], list[Any]]) -> None:
        self._column = column
        self._is_file_asked = False

    @classmethod
    def of_rows(cls, rows: Sequence[NameRow]) -> "NameForms":
        """Return the forms of songs by the columns that name them."""
        return cls(lambda field: list(map(itemgetter(NAME_COLUMNS.index(field)), rows)))

    @cached_property
    def ids(self) -> list[int]:
        """The id of each song."""
        return self._column("id")

    @cached_property
    def artists(self) -> list[str]:
        """The normalised artist of each song."""
        artists = self._column("artist")
        known = {artist: artist_key(primary_artist(artist)) for artist in set(artists)}
        return [known[artist] for artist in artists]

    @cached_property
    def titles(self) -> list[str]:
        """The normalised title of each song."""
        return list(map(title_key, self._column("title")))

    @cached_property
    def albums(self) -> list[str]:
        """The normalised album of each song."""
        albums = self._column("album")
        known = {album: title_key(album) for album in set(albums)}
        return [known[album] for album in albums]

    @cached_property
    def names(self) -> list[str]:
        """The words of artist and title of each song, sorted."""
        return [sorted_words(f"{artist} {title}") for artist, title in zip(self.artists, self.titles, strict=True)]

    def with_file_name(self, name: str) -> list[int]:
        """Return the songs whose file has a name; the first time by looking at all paths."""
        if self._is_file_asked:
            return self._by_file_name.get(name, [])
        self._is_file_asked = True
        paths = self._column("path")
        return [row for row, path in enumerate(paths) if path.endswith(name) and os.path.basename(path) == name]

    @cached_property
    def _by_file_name(self) -> dict[str, list[int]]:
        return grouped(map(os.path.basename, self._column("path")))


class StoredForms(NameForms):
    """The forms of a library that were kept, and its paths, which are not."""

    def __init__(self, store: "LightStore", blocks: Sequence[str]) -> None:
        ids, self.artists, self.titles, self.albums, self.names = (block.split("\n") for block in blocks)
        if not len(ids) == len(self.artists) == len(self.titles) == len(self.albums) == len(self.names):
            raise ValueError
        self.ids = list(map(int, ids))
        self._store = store

    def with_file_name(self, name: str) -> list[int]:
        """Return the songs whose file has a name."""
        found = set(self._store.songs.with_file_name(name))
        return [row for row, song in enumerate(self.ids) if song in found] if found else []


class StoredRows(Sequence[NameRow]):
    """The columns that name songs, read from a library when they are asked for."""

    def __init__(self, store: "LightStore", ids: Sequence[int]) -> None:
        self._store, self._ids = store, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return StoredRows(self._store, self._ids[at])
        return self._store.songs.name(self._ids[at])


def state_of(store: "LightStore", model_id: int) -> list[Any]:
    """Return what changes whenever the forms of the songs that can be compared under a model could."""
    return [__version__, model_id, store.songs.changes()]


def keep_forms(store: "LightStore", forms: NameForms, state: list[Any]) -> None:
    """Write forms into the library, if they are many; not if that cannot be written to now.

    The state is that from before their names were read: songs may have changed since.
    """
    if len(forms.ids) < MIN_STORED:
        return
    columns = (map(str, forms.ids), forms.artists, forms.titles, forms.albums, forms.names)
    blocks = ["\n".join(column) for column in columns]
    store.models.keep(FORMS, json.dumps([state, *blocks]))


def stored_forms(store: "LightStore", model_id: int) -> StoredForms | None:
    """Return the forms of the songs that can be compared under a model; None if they were not kept since a change."""
    text = store.models.setting(FORMS)
    if text is None or not text.startswith(json.dumps([state_of(store, model_id)])[:-1]):
        return None
    with suppress(ValueError, TypeError):  # damaged, or written by another version of this module
        _, *blocks = json.loads(text)
        return StoredForms(store, blocks)
    return None


def sorted_words(key: str) -> str:
    """Return the words of a key in alphabetical order."""
    return " ".join(sorted(key.split()))
