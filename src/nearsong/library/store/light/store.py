"""A SQLite library -> what commands that only show something need of it, with the names that `Store` has.

Each method returns what the method of the same name in the complete store returns; a test compares them.
"""

import json
import os
import zlib
from array import array
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nearsong.caching import cached_property
from nearsong.errors import LibraryError
from nearsong.library.store.light.address import default_address, file_of, is_file_address, not_found, shown_path
from nearsong.library.store.light.file import LightFile
from nearsong.library.store.light.records import ACTIVE, CHANGES, EncoderRow, History, ModelRow, digest_of
from nearsong.library.store.text import path_to_text, text_to_path

if TYPE_CHECKING:
    from nearsong.library.store.store import Store

IS_SONG = "problem = '' AND set_aside = ''"
_COMPARABLE = f"FROM songs JOIN embeddings ON song_id = songs.id WHERE model_id = ? AND {IS_SONG} AND NOT missing"
IS_PLAIN = f"{IS_SONG} AND NOT missing AND damage = ''"


class _MarkedSong(NamedTuple):
    """A file that is missing, unreadable, set aside or damaged."""

    id: int
    path: str
    missing: bool
    problem: str
    set_aside: str
    damage: str
    seconds: float
    artist_key: str

    @property
    def is_song(self) -> bool:
        return not self.problem and not self.set_aside

    def is_below(self, folders: tuple[str, ...]) -> bool:
        return text_to_path(self.path).startswith(folders)


def _count(marks: Iterable[object]) -> int:
    return sum(map(bool, marks))


class LightStore:
    """The part of a SQLite library that is read without SQLAlchemy.

    Attributes
    ----------
    songs, listens, models, plays, reactions, listener_rows
        The parts of the tables that can be read.
    name : str
        The path; safe to display.
    """

    def __init__(self, file: LightFile) -> None:
        self._file = file
        self.name, self.address = file.name, file.path
        self.cache = Path(file.path).parent / "nearsong-cache"
        self.songs = LightSongs(file)
        self.listens = LightListens(file)
        self.models = LightModels(file)
        self.plays = LightPlays(file)
        self.reactions = LightReactions(file)
        self.listener_rows = LightListeners(file)
        self._complete: Store | None = None

    @property
    def file(self) -> LightFile:
        """The open file."""
        return self._file

    def complete(self) -> "Store":
        """Return the complete store of the same library, for what is not read here."""
        from nearsong.library.store.store import Store

        if self._complete is None:
            self._complete = Store(self.address, create=False)
        return self._complete

    def has_listens(self) -> bool:
        """Return whether there are histories, complete or not, or anything that will be one."""
        tables = ("listen_sources", "plays", "reactions")
        return any(self._file.value(f"SELECT 1 FROM {table} LIMIT 1") for table in tables)

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all that is read is of one moment."""
        return self._file.snapshot()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._complete is not None:
            self._complete.close()


def check_exists(address: str | os.PathLike[str] | None = None) -> None:
    """Raise a `LibraryError` if an address is a path without a file; whether a server has a library is not asked."""
    text = default_address() if address is None else os.fsdecode(address)
    if is_file_address(text) and not os.path.exists(path := file_of(text)):
        raise not_found(shown_path(path))


def open_to_read(address: str | os.PathLike[str] | None = None) -> "LightStore | Store":
    """Open a library that exists, to read from it: without SQLAlchemy if it is a SQLite file of this version."""
    text = default_address() if address is None else os.fsdecode(address)
    check_exists(text)
    if is_file_address(text):
        file = LightFile(file_of(text))
        if file.has_known_format():
            return LightStore(file)
        file.close()
    from nearsong.library.store.store import Store

    return Store(text, create=False)  # or it says what is wrong


class LightSongs:
    """What is counted and listed of songs; see `nearsong.library.store.songs`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def changes(self) -> int:
        """Return how often songs or embeddings were added, changed or removed."""
        return int(self._file.value("SELECT value FROM settings WHERE name = ?", CHANGES) or 0)

    def roots(self) -> list[str]:
        """Return the folders that were scanned, sorted."""
        return sorted(text_to_path(path) for (path,) in self._file.rows("SELECT path FROM roots"))

    def counts(self) -> dict[str, float]:
        """Return the number of songs of each kind; those of folders that were removed do not count."""
        starts = tuple(os.path.join(root, "") for root in self.roots())
        songs = [row for row in self._marked if row.is_song and (not row.missing or row.is_below(starts))]
        marked = [(row.artist_key, 1, row.seconds) for row in songs]
        artists, numbers, seconds = zip(*self._plain_artists, *marked, ("", 0, 0.0), strict=True)
        return {
            "songs": sum(numbers),
            "artists": len({*artists} - {""}),
            "missing": _count(row.missing for row in songs),
            "unreadable": _count(row.problem for row in self._marked),
            "set_aside": _count(row.set_aside for row in self._marked),
            "damaged": _count(row.damage for row in songs),
            "seconds": sum(seconds),
        }

    @cached_property
    def _marked(self) -> "list[_MarkedSong]":
        """The files that something is to be said about: usually few. Read once: a command shows one moment."""
        query = f"SELECT {', '.join(_MarkedSong._fields)} FROM songs WHERE NOT ({IS_PLAIN})"
        return [_MarkedSong(*row) for row in self._file.rows(query)]

    @property
    def _plain_artists(self) -> list[tuple[str, int, float]]:
        """The artists of all other songs, with their number and seconds; one pass is faster than a count of each."""
        query = f"SELECT artist_key, count(*), total(seconds) FROM songs WHERE {IS_PLAIN} GROUP BY artist_key"
        return self._file.rows(query)

    def embeddings(self, model_id: int) -> tuple[list[int], bytes]:
        """Return the ids of the songs that can be compared under a model, and their embeddings, one after another."""
        query = f"SELECT id FROM songs WHERE missing OR NOT ({IS_SONG})"
        left_out = {song for (song,) in self._file.rows(query)}
        query = "SELECT song_id, embedding FROM embeddings WHERE model_id = ? ORDER BY song_id"
        rows = self._file.rows(query, model_id)
        if left_out:
            rows = [row for row in rows if row[0] not in left_out]
        return [song for song, _ in rows], b"".join([embedding for _, embedding in rows])

    def has_comparable(self, model_id: int) -> bool:
        """Return whether any song can be compared under a model."""
        return bool(self._file.value(f"SELECT 1 {_COMPARABLE} LIMIT 1", model_id))

    def is_comparable(self, model_id: int, song: int) -> bool:
        """Return whether a song is among those that :meth:`embeddings` has."""
        return bool(self._file.value(f"SELECT 1 {_COMPARABLE} AND songs.id = ?", model_id, song))

    def is_missing(self, song: int) -> bool:
        """Return whether there is a song with this id, but not its file."""
        return bool(self._file.value(f"SELECT 1 FROM songs WHERE missing AND {IS_SONG} AND id = ?", song))

    def names(self, model_id: int) -> list[tuple[int, str, str, str, str]]:
        """Return id, path, artist, title and album of the songs that can be compared under a model."""
        rows = self._file.rows(f"SELECT id, path, artist, title, album {_COMPARABLE}", model_id)
        return [(id, text_to_path(path), *names) for id, path, *names in rows]

    def name(self, song: int) -> tuple[int, str, str, str, str]:
        """Return id, path, artist, title and album of a song."""
        id, path, *names = self.row(song, ("id", "path", "artist", "title", "album"))
        artist, title, album = names
        return id, text_to_path(path), artist, title, album

    def with_file_name(self, name: str) -> list[int]:
        """Return the ids of the songs whose file has a name, whether or not they can be compared."""
        text = path_to_text(name)
        has_name = "path = ?1 OR substr(path, -length(?1) - 1) = ?2 || ?1"
        return [id for (id,) in self._file.rows(f"SELECT id FROM songs WHERE {has_name}", text, os.sep)]

    def row(self, song: int, columns: Iterable[str]) -> tuple[Any, ...]:
        """Return columns of one song."""
        ((*values,),) = self._file.rows(f"SELECT {', '.join(columns)} FROM songs WHERE id = ?", song)
        return tuple(values)

    def not_analysed(self, encoder_ids: Iterable[int]) -> int:
        """Return how many songs with existing files have no vector of at least one of these encoders."""
        ids = list(encoder_ids)
        if all(self._has_all_vectors(encoder) for encoder in ids):
            return 0
        has = "EXISTS (SELECT 1 FROM song_vectors WHERE song_id = songs.id AND encoder_id = ?)"
        lacks = " OR ".join([f"NOT {has}"] * len(ids))
        query = f"SELECT count(*) FROM songs WHERE {IS_SONG} AND NOT missing AND ({lacks})"
        return int(self._file.value(query, *ids))

    def _has_all_vectors(self, encoder: int) -> bool:
        """Return whether all songs with existing files have a vector; counts are faster than a look at each song."""
        others = [str(row.id) for row in self._marked if row.missing or not row.is_song]
        is_other = f"song_id IN ({', '.join(others)})"
        query = f"SELECT count(*) - count(*) FILTER (WHERE {is_other}) FROM song_vectors WHERE encoder_id = ?"
        n_songs = self._file.value("SELECT count(*) FROM songs") - len(others)
        return bool(self._file.value(query, encoder) == n_songs)

    def problems(self) -> list[tuple[str, str]]:
        """Return the files (path, reason) that cannot be analysed, sorted."""
        return self._reasons("problem")

    def set_aside(self) -> list[tuple[str, str]]:
        """Return the files (path, reason) that are set aside, sorted."""
        return self._reasons("set_aside")

    def _reasons(self, column: str) -> list[tuple[str, str]]:
        rows = self._file.rows(f"SELECT path, {column} FROM songs WHERE {column} <> ''")
        return sorted((text_to_path(path), reason) for path, reason in rows)


class LightListens:
    """Which histories there are; see `nearsong.library.store.listens`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def histories(self) -> list[History]:
        """Return all complete histories."""
        columns = ", ".join(History.__dataclass_fields__)
        rows = self._file.rows(f"SELECT {columns} FROM listen_sources WHERE complete ORDER BY id")
        return [History(id, text_to_path(name), *rest) for id, name, *rest in rows]

    def digest(self) -> str:
        """Return a hash that changes when a history is added, replaced or removed."""
        return digest_of(self.histories())

    def n_users(self) -> int:
        """Return the number of users and playlists in all complete histories."""
        return len(_users_of(self._file, "complete"))


class LightModels:
    """Encoders, models and settings; see `nearsong.library.store.models`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def setting(self, name: str) -> str | None:
        """Return a setting."""
        found: str | None = self._file.value("SELECT value FROM settings WHERE name = ?", name)
        return found

    def keep(self, name: str, value: str) -> None:
        """Write a setting that can be computed again; not if the library cannot be written to now."""
        self._file.keep(name, value)

    @property
    def active(self) -> int | None:
        """The active model."""
        model_id = self.setting(ACTIVE)
        return None if model_id is None else int(model_id)

    def kind(self, model_id: int) -> str:
        """Return the kind of a model."""
        return str(self._file.value("SELECT kind FROM models WHERE id = ?", model_id))

    def encoder(self, encoder_id: int) -> bytes:
        """Return the bytes of an encoder."""
        return bytes(self._file.value("SELECT data FROM encoders WHERE id = ?", encoder_id))

    def encoders(self) -> list[EncoderRow]:
        """Return all encoders, the oldest first."""
        rows = self._file.rows("SELECT id, name, scanned, fitted_songs FROM encoders ORDER BY id")
        return [
            EncoderRow(id=id, name=name, scanned=bool(scanned), fitted_songs=songs)
            for id, name, scanned, songs in rows
        ]

    def scanned_encoders(self) -> dict[str, int]:
        """Return the encoders whose vectors scans compute: name -> id."""
        return {row.name: row.id for row in self.encoders() if row.scanned}

    def rows(self) -> list[ModelRow]:
        """Return all models, the oldest first."""
        members_of: dict[int, list[tuple[int, str]]] = {}
        for model_id, encoder_id, name in self._file.rows(
            "SELECT model_id, encoders.id, name FROM model_encoders JOIN encoders ON encoders.id = encoder_id "
            "ORDER BY position"
        ):
            members_of.setdefault(model_id, []).append((encoder_id, name))
        return [_model_row(row, members_of.get(row[0], [])) for row in self._model_rows()]

    def _model_rows(self) -> list[Any]:
        return self._file.rows("SELECT id, created, kind, uses_artists, facts FROM models ORDER BY id")

    def row(self, model_id: int) -> ModelRow:
        """Return one model."""
        for row in self.rows():
            if row.id == model_id:
                return row
        raise LibraryError(f"Model not found: {model_id}. List models with: nearsong models")


def _model_row(row: Any, members: list[tuple[int, str]]) -> ModelRow:
    id, created, kind, uses_artists, facts = row
    return ModelRow(
        id=id,
        created=created,
        kind=kind,
        encoder_ids=tuple(encoder_id for encoder_id, _ in members),
        encoders=tuple(name for _, name in members),
        uses_artists=bool(uses_artists),
        facts=json.loads(facts),
    )


class LightPlays:
    """Plays that were recorded; see `nearsong.library.store.recorded.plays`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def count(self) -> int:
        """Return the number of plays."""
        return int(self._file.value("SELECT count(*) FROM plays"))

    def extent(self) -> tuple[int, int]:
        """Return the id of the newest play, and how many there are."""
        return _extent_of(self._file, "plays")


class LightReactions:
    """Hearts, ratings and skips that were recorded; see `nearsong.library.store.recorded.reactions`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def extent(self) -> tuple[int, int]:
        """Return the id of the newest reaction, and how many there are."""
        return _extent_of(self._file, "reactions")


class LightListeners:
    """Who listens; see `nearsong.library.store.listener_rows`."""

    def __init__(self, file: LightFile) -> None:
        self._file = file

    def names(self) -> list[str]:
        """Return the names of all listeners: of accounts, of what was recorded, and of imported histories."""
        recorded = "SELECT name FROM accounts UNION SELECT listener FROM plays UNION SELECT listener FROM reactions"
        found = {name for (name,) in self._file.rows(recorded)}
        users = _users_of(self._file, "complete AND kind <> 'playlists'")
        people = self._file.rows("SELECT id, name FROM listen_users") if users else []
        return sorted(found.union(name for number, name in people if number in users))


def _extent_of(file: LightFile, table: str) -> tuple[int, int]:
    ((newest, n_rows),) = file.rows(f"SELECT coalesce(max(id), 0), count(*) FROM {table}")
    return int(newest), int(n_rows)


def _users_of(file: LightFile, histories: str) -> set[int]:
    """Return the numbers of the users and playlists of some histories, which a condition in SQL chooses."""
    users: set[int] = set()
    for (packed,) in file.rows(f"SELECT users FROM listen_sources WHERE {histories}"):
        ids = array("i")
        ids.frombytes(zlib.decompress(packed))
        users.update(ids)
    return users
