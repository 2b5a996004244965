"""Songs, what they sound like, and where that puts them: the tables `songs`, `sounds`, `places` and `roots`."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.library.records import Song, Tags
from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import places, roots, settings, songs, sounds
from nearsong.library.store.text import clean_text, path_key, path_to_text, text_to_path
from nearsong.names import artist_key, primary_artist

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

BLOCK = 4096
"""Rows read or written together."""

CHANGES = "changes"
"""A setting that counts what happened to songs and places."""


class KnownFile(NamedTuple):
    """What the library knows of a file without looking at it."""

    id: int
    size: int
    modified: int
    missing: bool
    problem: str
    heard: bool


class Twin(NamedTuple):
    """A song whose file had a certain content when it was last looked at."""

    id: int
    path: str
    size: int
    modified: int
    seconds: float
    damage: str
    heard: bool


@dataclass(frozen=True, eq=False)
class ScannedFile:
    """A file as a scan found it; ``vector`` is None if it gives no sound."""

    path: str
    size: int
    modified: int
    content: str
    tags: Tags
    seconds: float = 0.0
    vector: Vectors | None = None
    problem: str = ""
    damage: str = ""


class SongTable:
    """Reads and writes songs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ---- what a scan needs

    def known_files(self, ear_id: int | None) -> dict[str, KnownFile]:
        """Return all files by path; ``heard`` says whether there is a sound for this ear."""
        query = sa.select(songs.c.path, *_FACTS).select_from(songs.outerjoin(sounds, _heard_by(ear_id)))
        with self._database.reading() as connection:
            return {
                text_to_path(path): KnownFile(song, size, modified, missing, problem, sound is not None)
                for path, song, size, modified, missing, problem, sound in connection.execute(query).all()
            }

    def known_file(self, path: str, ear_id: int, connection: Connection | None = None) -> KnownFile | None:
        """Return one file as it is now, another scan's work included."""
        if connection is None:
            with self._database.reading() as reader:
                return self.known_file(path, ear_id, reader)
        query = sa.select(*_FACTS).select_from(songs.outerjoin(sounds, _heard_by(ear_id)))
        row = connection.execute(query.where(songs.c.path_key == path_key(path))).first()
        return None if row is None else KnownFile(*row[:5], row[5] is not None)

    def with_content(self, connection: Connection, content: str, ear_id: int) -> list[Twin]:
        """Return songs with a file of this content, by id; ``heard`` says whether there is a sound for this ear."""
        facts = (songs.c.id, songs.c.path, songs.c.size, songs.c.modified, songs.c.seconds, songs.c.damage)
        query = (
            sa.select(*facts, sounds.c.song_id)
            .select_from(songs.outerjoin(sounds, _heard_by(ear_id)))
            .where(songs.c.content == content, songs.c.problem == "")
            .order_by(songs.c.id)
        )
        return [
            Twin(song, text_to_path(path), size, modified, seconds, damage, sound is not None)
            for song, path, size, modified, seconds, damage, sound in connection.execute(query)
        ]

    def put(self, connection: Connection, file: ScannedFile, ear_id: int | None) -> int:
        """Write a file and its sound; a file that is there under the same path keeps its id."""
        row = {
            **_path_columns(file.path),
            "size": file.size,
            "modified": file.modified,
            "content": file.content,
            "missing": False,
            "problem": clean_text(file.problem),
            "damage": clean_text(file.damage),
            "seconds": file.seconds,
            **tag_columns(file.tags),
        }
        statement = self._database.upsert(songs, [row], ["path_key"]).returning(songs.c.id)
        song = int(connection.execute(statement, {**row, "added": time.time()}).scalar_one())
        # whatever was known of the sound belongs to the file as it was
        connection.execute(sounds.delete().where(sounds.c.song_id == song))
        connection.execute(places.delete().where(places.c.song_id == song))
        if file.vector is not None and ear_id is not None:
            self.add_sound(connection, song, ear_id, file.vector)
        self._count_change(connection)
        return song

    def add_sound(self, connection: Connection, song: int, ear_id: int, vector: Vectors) -> None:
        """Write what a song sounds like to another ear; the file is the same."""
        row = {"song_id": song, "ear_id": ear_id, "vector": np.ascontiguousarray(vector, np.float32).tobytes()}
        connection.execute(self._database.upsert(sounds, [row], ["ear_id", "song_id"]), row)

    def sound(self, connection: Connection, song: int, ear_id: int) -> Vectors | None:
        """Return what a song sounds like to an ear."""
        query = sa.select(sounds.c.vector).where(sounds.c.song_id == song, sounds.c.ear_id == ear_id)
        data = connection.execute(query).scalar()
        return None if data is None else np.frombuffer(data, dtype=np.float32)

    def move(self, connection: Connection, song: int, path: str, size: int, modified: int, tags: Tags) -> None:
        """Write that a song's file has another path now.

        A song that was known under that path gets the old path and waits there, missing, for its file to turn up.
        """
        old = connection.execute(sa.select(songs.c.path_key, songs.c.path).where(songs.c.id == song)).one()
        in_the_way = connection.execute(
            sa.select(songs.c.id, songs.c.problem).where(songs.c.path_key == path_key(path), songs.c.id != song)
        ).first()
        if in_the_way is not None and in_the_way.problem:
            connection.execute(songs.delete().where(songs.c.id == in_the_way.id))
        elif in_the_way is not None:
            _update(connection, in_the_way.id, path_key=b"", missing=True, modified=NEVER)
        file = {**_path_columns(path), "size": size, "modified": modified, "missing": False}
        _update(connection, song, **file, **tag_columns(tags))
        if in_the_way is not None and not in_the_way.problem:
            _update(connection, in_the_way.id, path_key=old.path_key, path=old.path)
        self._count_change(connection)

    def touch(self, connection: Connection, song: int, size: int, modified: int, tags: Tags) -> None:
        """Write that a file has another date and, but for its tags perhaps, the same content."""
        _update(connection, song, size=size, modified=modified, missing=False, **tag_columns(tags))
        self._count_change(connection)

    def set_missing(self, ids: Sequence[int], missing: bool) -> None:
        """Write which songs' files are gone, or are back."""
        with self._database.writing() as connection:
            for block in _blocks(ids):
                connection.execute(songs.update().where(songs.c.id.in_(block)), {"missing": missing})
            self._count_change(connection)

    def remove(self, ids: Sequence[int]) -> None:
        """Forget songs."""
        with self._database.writing() as connection:
            for block in _blocks(ids):
                for table, column in ((places, places.c.song_id), (sounds, sounds.c.song_id), (songs, songs.c.id)):
                    connection.execute(table.delete().where(column.in_(block)))
            self._count_change(connection)

    def _count_change(self, connection: Connection) -> None:
        number = sa.cast(sa.cast(settings.c.value, sa.BigInteger) + 1, sa.Text)
        done = connection.execute(settings.update().where(settings.c.name == CHANGES).values(value=number))
        if not done.rowcount:
            connection.execute(settings.insert(), {"name": CHANGES, "value": "1"})

    # ---- roots

    def add_root(self, path: str) -> None:
        """Remember a folder, and that it was scanned now."""
        row = {**_path_columns(path), "scanned": time.time()}
        with self._database.writing() as connection:
            connection.execute(self._database.upsert(roots, [row], ["path_key"]), row)

    def roots(self) -> list[str]:
        """Return the folders that were scanned, sorted."""
        with self._database.reading() as connection:
            found = connection.execute(sa.select(roots.c.path)).scalars()
            return sorted(text_to_path(path) for path in found)  # each database sorts texts in its own way

    # ---- what everyone else needs

    def all(self, ids: Iterable[int] | None = None) -> list[Song]:
        """Return songs that give a sound, by id; some or all of them."""
        query = sa.select(*(songs.c[name] for name in Song.__slots__)).where(songs.c.problem == "")
        found: list[Song] = []
        with self._database.reading() as connection:
            if ids is None:
                found = [_song(row) for row in connection.execute(query.order_by(songs.c.id))]
            else:
                for block in _blocks(sorted(set(ids))):
                    rows = connection.execute(query.where(songs.c.id.in_(block)).order_by(songs.c.id))
                    found.extend(_song(row) for row in rows)
        return found

    def problems(self) -> list[tuple[str, str]]:
        """Return the files (path, why) that give no sound, sorted."""
        query = sa.select(songs.c.path, songs.c.problem).where(songs.c.problem != "")
        with self._database.reading() as connection:
            return sorted((text_to_path(path), problem) for path, problem in connection.execute(query))

    def counts(self, ear_id: int | None) -> dict[str, float]:
        """Return how many songs there are, of which kind."""
        good = songs.c.problem == ""
        query = sa.select(
            sa.func.count().filter(good),
            sa.func.count(sa.distinct(songs.c.artist_key)).filter(sa.and_(good, songs.c.artist_key != "")),
            sa.func.count().filter(sa.and_(good, songs.c.missing)),
            sa.func.count().filter(~good),
            sa.func.count().filter(sa.and_(good, songs.c.damage != "")),
            sa.func.coalesce(sa.func.sum(songs.c.seconds).filter(good), 0.0),
        )
        names = ("songs", "artists", "missing", "unreadable", "damaged", "seconds")
        with self._database.reading() as connection:
            row = connection.execute(query).one()
            heard = sa.select(sa.func.count()).where(sounds.c.ear_id == (-1 if ear_id is None else ear_id))
            return {**dict(zip(names, row, strict=True)), "heard": connection.execute(heard).scalar_one()}

    def unheard(self, ear_id: int) -> int:
        """Return how many songs are there and give a sound, but none for this ear yet."""
        sound = sa.exists().where(_heard_by(ear_id))
        query = sa.select(sa.func.count()).select_from(songs).where(songs.c.problem == "", ~songs.c.missing, ~sound)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def stamp(self) -> int:
        """Return a number that changes when songs or places come, go or change."""
        with self._database.reading() as connection:
            query = sa.select(settings.c.value).where(settings.c.name == CHANGES)
            return int(connection.execute(query).scalar() or 0)

    def vectors(self, ear_id: int, ids: Iterable[int] | None = None) -> Iterator[tuple[Ids, Vectors]]:
        """Read vectors by id, some thousands at a time."""
        query = sa.select(sounds.c.song_id, sounds.c.vector).where(sounds.c.ear_id == ear_id)
        if ids is not None:
            for block in _blocks(sorted(set(ids))):
                with self._database.reading() as connection:
                    some = query.where(sounds.c.song_id.in_(block)).order_by(sounds.c.song_id)
                    found = _matrix(connection.execute(some).all())
                yield found
            return
        last = -1
        while True:  # by id and not by offset: what comes in meanwhile moves nothing
            with self._database.reading() as connection:
                page = query.where(sounds.c.song_id > last).order_by(sounds.c.song_id).limit(BLOCK)
                rows = connection.execute(page).all()
            if not rows:
                return
            last = int(rows[-1][0])
            yield _matrix(rows)

    def places(self, model_id: int) -> tuple[Ids, Vectors]:
        """Read the places of all songs under a model, by id."""
        query = sa.select(places.c.song_id, places.c.place).where(places.c.model_id == model_id)
        with self._database.reading() as connection:
            return _matrix(connection.execute(query.order_by(places.c.song_id)).all())

    def put_places(self, connection: Connection, model_id: int, ids: Ids, matrix: Vectors) -> None:
        """Write places."""
        rows = np.ascontiguousarray(matrix, dtype=np.float32)
        for start in range(0, len(ids), BLOCK):
            numbers = np.asarray(ids[start : start + BLOCK]).tolist()
            block = [
                (model_id, song, row.tobytes())
                for song, row in zip(numbers, rows[start : start + BLOCK], strict=True)
            ]
            names = ("model_id", "song_id", "place")
            insert_rows(connection, places, names, block, keys=("model_id", "song_id"))
        self._count_change(connection)

    def without_place(
        self, connection: Connection, model_id: int, ear_id: int, after: int = -1
    ) -> tuple[Ids, Vectors]:
        """Read the vectors of songs that have none under a model, by id: some thousands of those after an id."""
        placed = sa.exists().where(places.c.model_id == model_id, places.c.song_id == sounds.c.song_id)
        query = sa.select(sounds.c.song_id, sounds.c.vector).where(
            sounds.c.ear_id == ear_id, sounds.c.song_id > after, ~placed
        )
        return _matrix(connection.execute(query.order_by(sounds.c.song_id).limit(BLOCK)).all())


NEVER = -(1 << 62)
"""A date that no file has: one that was known with it is looked at again."""

_FACTS = (songs.c.id, songs.c.size, songs.c.modified, songs.c.missing, songs.c.problem, sounds.c.song_id)


def _heard_by(ear_id: int | None) -> sa.ColumnElement[bool]:
    return sa.and_(sounds.c.song_id == songs.c.id, sounds.c.ear_id == (-1 if ear_id is None else ear_id))


def _path_columns(path: str) -> dict[str, Any]:
    return {"path_key": path_key(path), "path": path_to_text(path)}


def _update(connection: Connection, song: int, **columns: Any) -> None:
    connection.execute(songs.update().where(songs.c.id == song), columns)


def tag_columns(tags: Tags) -> dict[str, Any]:
    """Return the columns that tags fill."""
    names = ("artist", "title", "album", "genre", "recording_mbid", "artist_mbid")
    columns: dict[str, Any] = {name: clean_text(getattr(tags, name)) for name in names}
    artist = columns["artist"]
    year = tags.year if tags.year is not None and abs(tags.year) < 10_000 else None
    return {**columns, "year": year, "artist_key": artist_key(primary_artist(artist)) if artist else ""}


def _song(row: Any) -> Song:
    facts: Mapping[str, Any] = row._mapping
    return Song(**{**facts, "path": text_to_path(facts["path"])})


def _matrix(rows: Sequence[Any]) -> tuple[Ids, Vectors]:
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    if not rows:
        return ids, np.empty((0, 0), np.float32)
    flat = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.float32)
    return ids, flat.reshape(len(rows), -1)


def _blocks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), BLOCK):
        yield [int(song) for song in ids[start : start + BLOCK]]
