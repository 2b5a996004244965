"""Playlists that were saved: the tables `playlists` and `playlist_songs`."""

import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from nearsong.errors import InvalidInputError, NoSuchPlaylistError, NoSuchSongError
from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import playlist_songs, playlists, songs
from nearsong.library.store.text import clean_text

_BLOCK = 4096  # rows asked for or written together
_MOST = 2**63  # numbers from here on no database holds


@dataclass(frozen=True)
class SavedPlaylist:
    """A playlist that is kept.

    Attributes
    ----------
    id : int
    name : str
        One line, not empty.
    created, changed : float
        Seconds since 1970.
    songs : tuple of int
        Ids in order; a song may come more than once. One that was removed from the library is not among them.
    """

    id: int
    name: str
    created: float
    changed: float
    songs: tuple[int, ...]


class PlaylistTable:
    """Reads and writes playlists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, song_ids: Sequence[int]) -> SavedPlaylist:
        """Keep a playlist.

        Parameters
        ----------
        name : str
            Two playlists may have the same one.
        song_ids : sequence of int

        Raises
        ------
        InvalidInputError
            If the name is empty.
        NoSuchSongError
            If a song is not in the library.
        """
        now = time.time()
        row = {"name": _checked_name(name), "created": now, "changed": now}
        with self._database.writing() as connection:
            _check_songs(connection, song_ids)
            number = int(connection.execute(playlists.insert().returning(playlists.c.id), row).scalar_one())
            _put_songs(connection, number, song_ids)
            return _read(connection, number)

    def replace(
        self, playlist_id: int, name: str, song_ids: Sequence[int], shown: Container[int] | None = None
    ) -> SavedPlaylist:
        """Give a playlist another name and other songs, or the same; errors as in :meth:`add` and :meth:`get`.

        Parameters
        ----------
        playlist_id : int
        name : str
        song_ids : sequence of int
        shown : container of int, optional
            The songs that whoever changes it was shown. Others of the playlist, whose files are not there just now,
            keep their places, as :func:`with_unseen` has it; without this, they go.
        """
        row = {"name": _checked_name(name), "changed": time.time()}
        with self._database.writing() as connection:
            saved = _read(connection, playlist_id)
            _check_songs(connection, song_ids)
            if shown is not None:
                song_ids = with_unseen(song_ids, saved.songs, shown)
            connection.execute(playlists.update().where(playlists.c.id == playlist_id), row)
            connection.execute(playlist_songs.delete().where(playlist_songs.c.playlist_id == playlist_id))
            _put_songs(connection, playlist_id, song_ids)
            return _read(connection, playlist_id)

    def remove(self, playlist_id: int) -> None:
        """Forget a playlist; its songs stay."""
        with self._database.writing() as connection:
            _read(connection, playlist_id)
            connection.execute(playlist_songs.delete().where(playlist_songs.c.playlist_id == playlist_id))
            connection.execute(playlists.delete().where(playlists.c.id == playlist_id))

    def get(self, playlist_id: int) -> SavedPlaylist:
        """Return a playlist.

        Raises
        ------
        NoSuchPlaylistError
            If there is none of this id.
        """
        with self._database.reading() as connection:
            return _read(connection, playlist_id)

    def list(self) -> list[SavedPlaylist]:
        """Return all playlists, the oldest first."""
        with self._database.reading() as connection:
            found = connection.execute(sa.select(playlists).order_by(playlists.c.id)).all()
            in_order = sa.select(playlist_songs.c.playlist_id, playlist_songs.c.song_id).order_by(
                playlist_songs.c.playlist_id, playlist_songs.c.position
            )
            of_playlist: dict[int, list[int]] = {row.id: [] for row in found}
            for number, song in connection.execute(in_order):
                of_playlist[number].append(song)
        return [_saved(row, of_playlist[row.id]) for row in found]


def with_unseen(wanted: Sequence[int], saved: Sequence[int], shown: Container[int]) -> list[int]:
    """Return a changed playlist with the songs that were not shown when it was changed.

    Each of them stays behind the song that it followed; if that is no longer there, behind the last before it that
    is; at the start if there is none.

    Examples
    --------
    >>> with_unseen([4, 2, 5], saved=[9, 2, 3, 8, 4], shown={2, 3, 4, 5})
    [9, 4, 2, 8, 5]
    """
    asked, met = Counter(wanted), Counter[int]()
    behind: dict[tuple[int, int], list[int]] = {}
    before = first = (0, 0)
    for song in saved:
        if song not in shown and song not in asked:
            behind.setdefault(before, []).append(song)
        elif met[song] < asked[song]:  # a song may come more than once: the first stays the first
            met[song] += 1
            before = (song, met[song])
    met.clear()
    whole = behind.get(first, [])
    for song in wanted:
        met[song] += 1
        whole += [song, *behind.get((song, met[song]), ())]
    return whole


def _checked_name(name: str) -> str:
    cleaned = " ".join(clean_text(name).split())
    if not cleaned:
        raise InvalidInputError(f"a playlist called {name!r} could not be told from others; give it a name.")
    return cleaned


def _check_songs(connection: Connection, song_ids: Sequence[int]) -> None:
    """Refuse songs that are not in the library, naming the first."""
    wanted = sorted({int(song) for song in song_ids if 0 < song < _MOST})
    known: set[int] = set()
    for block in _blocks(wanted):
        query = sa.select(songs.c.id).where(songs.c.id.in_(block), songs.c.problem == "")
        known.update(connection.execute(query).scalars())
    for song in song_ids:
        if song not in known:
            raise NoSuchSongError(f"there is no song {song} in the library; leave it out of the playlist.")


def _put_songs(connection: Connection, playlist_id: int, song_ids: Sequence[int]) -> None:
    rows = [(playlist_id, position, int(song)) for position, song in enumerate(song_ids)]
    for block in _blocks(rows):
        insert_rows(connection, playlist_songs, ("playlist_id", "position", "song_id"), block)


def _read(connection: Connection, playlist_id: int) -> SavedPlaylist:
    possible = 0 < playlist_id < _MOST
    row = connection.execute(sa.select(playlists).where(playlists.c.id == playlist_id)).first() if possible else None
    if row is None:
        raise NoSuchPlaylistError(f"there is no playlist {playlist_id}; it may have been removed meanwhile.")
    query = sa.select(playlist_songs.c.song_id).where(playlist_songs.c.playlist_id == playlist_id)
    return _saved(row, connection.execute(query.order_by(playlist_songs.c.position)).scalars().all())


def _saved(row: Any, song_ids: Sequence[int]) -> SavedPlaylist:
    return SavedPlaylist(row.id, row.name, row.created, row.changed, tuple(song_ids))


def _blocks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
