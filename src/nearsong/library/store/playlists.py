"""Saved playlists: the tables `playlists` and `playlist_songs`."""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from nearsong.errors import InvalidInputError, NoSuchPlaylistError, NoSuchSongError
from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import IS_SONG, playlist_songs, playlists, songs
from nearsong.library.store.text import clean_text

_BLOCK_ROWS = 4096  # rows per statement
_MAX_ID = 2**63  # ids are below this: databases store 64-bit signed integers


@dataclass(frozen=True)
class SavedPlaylist:
    """A saved playlist.

    Attributes
    ----------
    id : int
    name : str
        One line, not empty.
    created, changed : float
        Seconds since 1970.
    songs : tuple of int
        Ids in order; a song may occur more than once. Songs removed from the library are left out.
    owner : str
        A listener with an account; empty if it belongs to all.
    """

    id: int
    name: str
    created: float
    changed: float
    songs: tuple[int, ...]
    owner: str = ""


Change = Callable[[SavedPlaylist], tuple[str, Sequence[int]]]
"""A saved playlist -> its new name and songs."""


class PlaylistTable:
    """Reads and writes playlists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, song_ids: Sequence[int], owner: str = "") -> SavedPlaylist:
        """Save a new playlist.

        Parameters
        ----------
        name : str
            Need not be unique.
        song_ids : sequence of int
        owner : str
            A listener with an account; by default it belongs to all.

        Raises
        ------
        InvalidInputError
            If the name is empty.
        NoSuchSongError
            If a song is not in the library.
        """
        now = time.time()
        row = {"name": _checked_name(name), "owner": owner, "created": now, "changed": now}
        with self._database.writing() as connection:
            _check_songs(connection, song_ids)
            number = int(connection.execute(playlists.insert().returning(playlists.c.id), row).scalar_one())
            _put_songs(connection, number, song_ids)
            return _read(connection, number)

    def replace(
        self, playlist_id: int, name: str, song_ids: Sequence[int], shown: Container[int] | None = None
    ) -> SavedPlaylist:
        """Replace the name and songs of a playlist; errors as in :meth:`add` and :meth:`get`.

        Parameters
        ----------
        playlist_id : int
        name : str
        song_ids : sequence of int
        shown : container of int, optional
            The songs that the user saw while editing. Songs of the saved playlist that were hidden, because their
            files are missing, keep their positions; see :func:`with_hidden_songs`. By default they are removed.
        """
        return self.edit(playlist_id, lambda _saved: (name, song_ids), shown)

    def edit(self, playlist_id: int, change: Change, shown: Container[int] | None = None) -> SavedPlaylist:
        """Replace the name and songs of a playlist by what a function makes of it, in one transaction.

        Nobody else can change the playlist in between. Errors and ``shown`` are those of :meth:`replace`.
        """
        with self._database.writing() as connection:
            saved = _read(connection, playlist_id)
            name, song_ids = change(saved)
            row = {"name": _checked_name(name), "changed": time.time()}
            _check_songs(connection, song_ids)
            if shown is not None:
                song_ids = with_hidden_songs(song_ids, saved.songs, shown)
            connection.execute(playlists.update().where(playlists.c.id == playlist_id), row)
            connection.execute(playlist_songs.delete().where(playlist_songs.c.playlist_id == playlist_id))
            _put_songs(connection, playlist_id, song_ids)
            return _read(connection, playlist_id)

    def remove(self, playlist_id: int) -> None:
        """Delete a playlist; its songs stay in the library."""
        with self._database.writing() as connection:
            _read(connection, playlist_id)
            connection.execute(playlist_songs.delete().where(playlist_songs.c.playlist_id == playlist_id))
            connection.execute(playlists.delete().where(playlists.c.id == playlist_id))

    def get(self, playlist_id: int) -> SavedPlaylist:
        """Return a playlist.

        Raises
        ------
        NoSuchPlaylistError
            If no playlist has this id.
        """
        with self._database.reading() as connection:
            return _read(connection, playlist_id)

    def list(self) -> list[SavedPlaylist]:
        """Return all playlists, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(playlists).order_by(playlists.c.id)).all()
            in_order = sa.select(playlist_songs.c.playlist_id, playlist_songs.c.song_id).order_by(
                playlist_songs.c.playlist_id, playlist_songs.c.position
            )
            songs_of: dict[int, list[int]] = {row.id: [] for row in rows}
            for playlist_id, song in connection.execute(in_order):
                songs_of[playlist_id].append(song)
        return [_saved(row, songs_of[row.id]) for row in rows]


def with_hidden_songs(wanted: Sequence[int], saved: Sequence[int], shown: Container[int]) -> list[int]:
    """Return an edited playlist with the hidden songs of the saved one put back.

    A hidden song follows the same song as before the edit; if that song was removed, the nearest earlier song that
    remains; if there is none, it goes to the start.

    Examples
    --------
    >>> with_hidden_songs([4, 2, 5], saved=[9, 2, 3, 8, 4], shown={2, 3, 4, 5})
    [9, 4, 2, 8, 5]
    """
    wanted_counts, counts = Counter(wanted), Counter[int]()
    hidden_after: dict[tuple[int, int], list[int]] = {}  # (song, its occurrence) -> hidden songs that follow it
    previous = start = (0, 0)
    for song in saved:
        if song not in shown and song not in wanted_counts:
            hidden_after.setdefault(previous, []).append(song)
        elif counts[song] < wanted_counts[song]:  # repeated songs are matched by occurrence
            counts[song] += 1
            previous = (song, counts[song])
    counts.clear()
    merged = hidden_after.get(start, [])
    for song in wanted:
        counts[song] += 1
        merged += [song, *hidden_after.get((song, counts[song]), ())]
    return merged


def _checked_name(name: str) -> str:
    cleaned = " ".join(clean_text(name).split())
    if not cleaned:
        raise InvalidInputError(f"the playlist name {name!r} has no visible characters; choose another.")
    return cleaned


def _check_songs(connection: Connection, song_ids: Sequence[int]) -> None:
    """Raise ``NoSuchSongError`` for the first song that is not in the library."""
    wanted = sorted({int(song) for song in song_ids if 0 < song < _MAX_ID})
    known: set[int] = set()
    for block in _blocks(wanted):
        query = sa.select(songs.c.id).where(songs.c.id.in_(block), IS_SONG)
        known.update(connection.execute(query).scalars())
    for song in song_ids:
        if song not in known:
            raise NoSuchSongError(f"song not found: {song}; leave it out of the playlist.")


def _put_songs(connection: Connection, playlist_id: int, song_ids: Sequence[int]) -> None:
    rows = [(playlist_id, position, int(song)) for position, song in enumerate(song_ids)]
    for block in _blocks(rows):
        insert_rows(connection, playlist_songs, ("playlist_id", "position", "song_id"), block)


def _read(connection: Connection, playlist_id: int) -> SavedPlaylist:
    possible = 0 < playlist_id < _MAX_ID
    row = connection.execute(sa.select(playlists).where(playlists.c.id == playlist_id)).first() if possible else None
    if row is None:
        raise NoSuchPlaylistError(f"playlist not found: {playlist_id}; it may have been deleted.")
    query = sa.select(playlist_songs.c.song_id).where(playlist_songs.c.playlist_id == playlist_id)
    return _saved(row, connection.execute(query.order_by(playlist_songs.c.position)).scalars().all())


def _saved(row: Any, song_ids: Sequence[int]) -> SavedPlaylist:
    return SavedPlaylist(
        id=row.id,
        name=row.name,
        created=row.created,
        changed=row.changed,
        songs=tuple(song_ids),
        owner=row.owner,
    )


def _blocks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[start : start + _BLOCK_ROWS] for start in range(0, len(rows), _BLOCK_ROWS))
