"""The only door to SQL: a path or URL -> songs, listens, models, playlists, plays and what they were last set to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearsong.library.store.database import ENVIRONMENT, Connection, Database, default_place
from nearsong.library.store.listens import PLAYED, Columns, ListenTable, Source, SourceWriter
from nearsong.library.store.models import ACTIVE, EAR, OWN_EAR, PENDING, ModelRow, ModelTable
from nearsong.library.store.playlists import PlaylistTable, SavedPlaylist
from nearsong.library.store.plays import Play, PlayTable
from nearsong.library.store.songs import NEVER, KnownFile, ScannedFile, SongTable, Twin

__all__ = [
    "ACTIVE",
    "EAR",
    "ENVIRONMENT",
    "NEVER",
    "OWN_EAR",
    "PENDING",
    "PLAYED",
    "Columns",
    "Connection",
    "KnownFile",
    "ModelRow",
    "Play",
    "PlaylistTable",
    "SavedPlaylist",
    "ScannedFile",
    "Source",
    "SourceWriter",
    "Store",
    "Twin",
    "default_place",
]


class Store:
    """All that a library keeps.

    Parameters
    ----------
    place : path-like or str, optional
        A file, a folder or a URL; by default what :func:`default_place` says.
    create : bool, default=True
        Whether to make it if it is not there.

    Attributes
    ----------
    songs, listens, models, playlists, plays
        The tables.
    """

    def __init__(self, place: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        self._database = Database(default_place() if place is None else place, create=create)
        self.songs = SongTable(self._database)
        self.listens = ListenTable(self._database)
        self.models = ModelTable(self._database)
        self.playlists = PlaylistTable(self._database)
        self.plays = PlayTable(self._database)

    @property
    def name(self) -> str:
        """Where it is; a password in a URL is not shown."""
        return self._database.name

    @property
    def is_new(self) -> bool:
        """Whether it was made when it was opened."""
        return self._database.is_new

    @property
    def place(self) -> str:
        """Where it is, for another process of ours to open it; a password is in it, so it is never shown."""
        return self._database.place

    @property
    def folder(self) -> str | None:
        """The folder of the file, where it is one."""
        return None if self._database.path is None else str(self._database.path.parent)

    @property
    def cache(self) -> Path:
        """Where things are kept that can be made again."""
        return self._database.cache

    def stamp(self) -> tuple[int, ...]:
        """Return numbers that change when another model answers, or songs come, go or change."""
        active = self.models.active
        # of a file that has taken the place of another one, the same numbers mean something else
        return ((active or 0) + (self._database.replaced << 40), self.songs.stamp())

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes all happen at the end, or none of them."""
        with self._database.writing() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()
