"""Songs and scanned folders: the tables `songs` and `roots`."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.audio.tags import TAG_FIELDS, Tags, Value
from nearsong.clock import now
from nearsong.library.records import SONG_COLUMNS, Song
from nearsong.library.store.database import Connection
from nearsong.library.store.light.songs import song_of_row
from nearsong.library.store.schema import IS_SONG, embeddings, encoders, models, roots, song_vectors, songs
from nearsong.library.store.text import clean_text, key_of, path_key, path_to_text, text_to_path
from nearsong.library.store.vectors import SongVectors, blocks_of
from nearsong.names import artist_key, primary_artist

NEVER = -(1 << 62)
"""A modification time that no file has: a file stored with it is analysed again."""


class KnownFile(NamedTuple):
    """A stored file; ``analysed`` has the ids of the encoders it has a vector of."""

    id: int
    size: int
    modified: int
    missing: bool
    problem: str
    set_aside: str
    analysed: frozenset[int]

    @property
    def is_song(self) -> bool:
        """Whether it could be analysed, and is music."""
        return not self.problem and not self.set_aside


class SameContent(NamedTuple):
    """A song with the same file content; ``analysed`` has the ids of the encoders it has a vector of."""

    id: int
    path: str
    size: int
    modified: int
    seconds: float
    damage: str
    analysed: frozenset[int]


class RootFacts(NamedTuple):
    """A scanned folder: when it was last scanned, and the numbers of songs, missing songs and unreadable files."""

    path: str
    scanned: float
    songs: int
    missing: int
    unreadable: int


@dataclass(frozen=True, eq=False)
class ScannedFile:
    """A file as a scan read it; ``vectors`` by encoder id, none if it has a problem or is set aside."""

    path: str
    size: int
    modified: int
    content: str
    tags: Tags
    seconds: float = 0.0
    vectors: Mapping[int, npt.NDArray[np.floating[Any]]] = field(default_factory=dict)
    problem: str = ""
    set_aside: str = ""
    damage: str = ""


class SongTable(SongVectors):
    """Reads and writes songs, their vectors and embeddings."""

    # ---- scanning

    def known_files(self) -> dict[str, KnownFile]:
        """Return all files by path."""
        known = {}
        with self._database.reading() as connection:
            songs_of: dict[int, set[int]] = {}
            for encoder_id in connection.execute(sa.select(encoders.c.id)).scalars().all():
                query = sa.select(song_vectors.c.song_id).where(song_vectors.c.encoder_id == encoder_id)
                songs_of[encoder_id] = set(connection.execute(query).scalars())
            groups: dict[tuple[int, ...], frozenset[int]] = {}  # few, shared by many songs
            rows = connection.execute(sa.select(songs.c.path, *_FILE_FACTS))
            for path, song, size, modified, missing, problem, set_aside in rows:
                ids = tuple([encoder_id for encoder_id, analysed in songs_of.items() if song in analysed])
                if ids not in groups:
                    groups[ids] = frozenset(ids)
                known[text_to_path(path)] = KnownFile(
                    id=song,
                    size=size,
                    modified=modified,
                    missing=missing,
                    problem=problem,
                    set_aside=set_aside,
                    analysed=groups[ids],
                )
        return known

    def known_file(self, path: str, connection: Connection | None = None) -> KnownFile | None:
        """Return a file as currently stored, possibly by a concurrent scan."""
        if connection is None:
            with self._database.reading() as reader:
                return self.known_file(path, reader)
        row = connection.execute(sa.select(*_FILE_FACTS).where(songs.c.path_key == path_key(path))).first()
        return None if row is None else KnownFile(*row, _analysed(connection, row.id))

    def known_at(self, paths: Sequence[str]) -> dict[str, KnownFile]:
        """Return those of some files that are stored, by path, as they are now."""
        with self._database.reading() as connection:
            return {path: known for path in paths if (known := self.known_file(path, connection)) is not None}

    def with_content(self, content: str, connection: Connection | None = None) -> list[SameContent]:
        """Return songs whose file has or had this content, by id."""
        if connection is None:
            with self._database.reading() as reader:
                return self.with_content(content, reader)
        columns = (songs.c.id, songs.c.path, songs.c.size, songs.c.modified, songs.c.seconds, songs.c.damage)
        query = sa.select(*columns).where(songs.c.content == content, IS_SONG).order_by(songs.c.id)
        return [
            SameContent(row.id, text_to_path(row.path), *row[2:], _analysed(connection, row.id))
            for row in connection.execute(query).all()
        ]

    def put(self, connection: Connection, file: ScannedFile) -> int:
        """Write a file and its vectors; a file that is stored under the same path keeps its id."""
        row = {
            **_path_columns(file.path),
            "size": file.size,
            "modified": file.modified,
            "content": file.content,
            "missing": False,
            "problem": clean_text(file.problem),
            "set_aside": clean_text(file.set_aside),
            "damage": clean_text(file.damage),
            "seconds": file.seconds,
            **tag_columns(file.tags),
        }
        previous = connection.execute(_ARTIST_HASH.where(songs.c.path_key == row["path_key"])).scalar()
        statement = self._database.upsert(songs, [row], ["path_key"]).returning(songs.c.id)
        song = int(connection.execute(statement, {**row, "added": time.time()}).scalar_one())
        # vectors and embeddings of the previous content
        connection.execute(song_vectors.delete().where(song_vectors.c.song_id == song))
        connection.execute(embeddings.delete().where(embeddings.c.song_id == song))
        self.add_vectors(connection, song, file.vectors)
        self.mark_stale(connection, [row["artist_hash"], previous or b""])
        self._count_change(connection)
        return song

    def move(self, connection: Connection, song: int, path: str, size: int, modified: int, tags: Tags) -> bool:
        """Change the path of a song; return whether it has another artist now.

        A song that is stored under that path gets the old path and is missing until its file is found again.
        """
        old = connection.execute(sa.select(songs.c.path_key, songs.c.path).where(songs.c.id == song)).one()
        in_the_way = connection.execute(
            sa.select(songs.c.id, IS_SONG.label("is_song")).where(
                songs.c.path_key == path_key(path), songs.c.id != song
            )
        ).first()
        if in_the_way is not None and not in_the_way.is_song:
            connection.execute(songs.delete().where(songs.c.id == in_the_way.id))
        elif in_the_way is not None:
            _update(connection, in_the_way.id, path_key=b"", missing=True, modified=NEVER)
        file = {**_path_columns(path), "size": size, "modified": modified, "missing": False}
        has_other_artist = self._update_tags(connection, song, tags, file)
        if in_the_way is not None and in_the_way.is_song:
            _update(connection, in_the_way.id, path_key=old.path_key, path=old.path)
        self._count_change(connection)
        return has_other_artist

    def touch(self, connection: Connection, song: int, size: int, modified: int, tags: Tags) -> bool:
        """Update the date and tags of a file whose audio is unchanged; return whether it has another artist now."""
        file = {"size": size, "modified": modified, "missing": False}
        has_other_artist = self._update_tags(connection, song, tags, file)
        self._count_change(connection)
        return has_other_artist

    def _update_tags(self, connection: Connection, song: int, tags: Tags, file: dict[str, Any]) -> bool:
        columns = tag_columns(tags)
        artists = {bytes(connection.execute(_ARTIST_HASH.where(songs.c.id == song)).scalar_one())}
        artists.add(columns["artist_hash"])
        _update(connection, song, **file, **columns)
        if len(artists) == 1:
            return False
        self.mark_stale(connection, artists)
        if not columns["artist_hash"]:  # no artist's songs will be embedded again with it
            dependent = sa.select(models.c.id).where(models.c.uses_artists)
            is_dependent = embeddings.c.model_id.in_(dependent)
            connection.execute(embeddings.delete().where(embeddings.c.song_id == song, is_dependent))
        return True

    def set_missing(self, ids: Sequence[int], missing: bool) -> None:
        """Mark songs as missing, or as found again."""
        with self._database.writing() as connection:
            for block in blocks_of([int(song) for song in ids]):
                connection.execute(songs.update().where(songs.c.id.in_(block)), {"missing": missing})
            self._count_change(connection)

    def remove(self, ids: Sequence[int]) -> None:
        """Delete songs."""
        with self._database.writing() as connection:
            self._remove(connection, ids)
            self._count_change(connection)

    def _remove(self, connection: Connection, ids: Sequence[int]) -> None:
        for block in blocks_of([int(song) for song in ids]):
            self.mark_stale(connection, connection.execute(_ARTIST_HASH.where(songs.c.id.in_(block))).scalars())
            connection.execute(embeddings.delete().where(embeddings.c.song_id.in_(block)))
            connection.execute(song_vectors.delete().where(song_vectors.c.song_id.in_(block)))
            connection.execute(songs.delete().where(songs.c.id.in_(block)))

    # ---- roots

    def add_root(self, path: str) -> None:
        """Store a scanned folder with the current time."""
        row = {**_path_columns(path), "scanned": now()}
        with self._database.writing() as connection:
            connection.execute(self._database.upsert(roots, [row], ["path_key"]), row)

    def roots(self) -> list[str]:
        """Return the folders that were scanned, sorted."""
        with self._database.reading() as connection:
            paths = connection.execute(sa.select(roots.c.path)).scalars()
            return sorted(text_to_path(path) for path in paths)  # databases sort text differently

    def root_facts(self) -> list[RootFacts]:
        """Return the scanned folders, sorted, with the numbers of files below each."""
        columns = (
            sa.func.count().filter(sa.and_(IS_SONG, ~songs.c.missing)),
            sa.func.count().filter(sa.and_(IS_SONG, songs.c.missing)),
            sa.func.count().filter(songs.c.problem != ""),
        )
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(roots.c.path, roots.c.scanned)).all()
            found = [
                RootFacts(path, scanned, *connection.execute(sa.select(*columns).where(_is_below(path))).one())
                for path, scanned in ((text_to_path(text), scanned) for text, scanned in rows)
            ]
        return sorted(found)

    def remove_root(self, path: str, *, forget: bool = False) -> int:
        """Scan a folder no longer; return how many songs are only there.

        They are marked missing, so that all about them is back when it is scanned again, or removed with ``forget``;
        files that are no songs are removed in any case.
        """
        with self._database.writing() as connection:
            others = [text_to_path(text) for text in connection.execute(sa.select(roots.c.path)).scalars()]
            outside = [~_is_below(other) for other in others if other != path]
            query = sa.select(songs.c.id, IS_SONG.label("is_song")).where(_is_below(path), *outside)
            files = connection.execute(query).all()
            there = [file.id for file in files if file.is_song]
            self._remove(connection, [file.id for file in files if forget or not file.is_song])
            for block in blocks_of([] if forget else there):
                connection.execute(songs.update().where(songs.c.id.in_(block)), {"missing": True})
            connection.execute(roots.delete().where(roots.c.path_key == path_key(path)))
            self._count_change(connection)
        return len(there)

    def scanned(self) -> float | None:
        """Return when the folder was scanned whose last scan is longest ago; None without folders."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(sa.func.min(roots.c.scanned))).scalar()

    # ---- reading

    def all(self, ids: Iterable[int] | None = None) -> list[Song]:
        """Return songs that could be analysed and are not set aside, by id; some or all of them."""
        query = sa.select(*(songs.c[name] for name in SONG_COLUMNS)).where(IS_SONG)
        result: list[Song] = []
        shared: dict[Any, Any] = {}
        with self._database.reading() as connection:
            if ids is None:
                result = [song_of_row(row._mapping, shared) for row in connection.execute(query.order_by(songs.c.id))]
            else:
                for block in blocks_of(sorted({int(song) for song in ids})):
                    rows = connection.execute(query.where(songs.c.id.in_(block)).order_by(songs.c.id))
                    result.extend(song_of_row(row._mapping, shared) for row in rows)
        return result

    def problems(self) -> list[tuple[str, str]]:
        """Return the files (path, reason) that cannot be analysed, sorted."""
        return self._reasons(songs.c.problem)

    def set_aside(self) -> list[tuple[str, str]]:
        """Return the files (path, reason) that are set aside, sorted."""
        return self._reasons(songs.c.set_aside)

    def _reasons(self, column: sa.Column[str]) -> list[tuple[str, str]]:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(songs.c.path, column).where(column != ""))
            return sorted((text_to_path(path), reason) for path, reason in rows)

    def damaged(self) -> list[tuple[str, str]]:
        """Return the files (path, what is wrong) of which only a part is used, sorted."""
        query = sa.select(songs.c.path, songs.c.damage).where(IS_SONG, songs.c.damage != "", ~songs.c.missing)
        with self._database.reading() as connection:
            return sorted((text_to_path(path), damage) for path, damage in connection.execute(query))

    def digest(self, encoder_ids: Sequence[int]) -> str:
        """Return a hash of what can be learned from songs: their content, names and vectors, not where files are."""
        columns = ("id", "content", "missing", "artist_key", "title", "recording_mbid", "artist_mbid")
        query = sa.select(*(songs.c[name] for name in columns)).where(IS_SONG).order_by(songs.c.id)
        n_vectors = sa.select(sa.func.count()).where(song_vectors.c.encoder_id.in_(list(encoder_ids)))
        digest = blake2b(digest_size=16)
        with self._database.reading() as connection:
            for row in connection.execute(query):
                digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
            digest.update(str(connection.execute(n_vectors).scalar()).encode())
        return digest.hexdigest()

    def counts(self) -> dict[str, float]:
        """Return the number of songs of each kind; those of folders that were removed do not count."""
        good = sa.and_(IS_SONG, ~self._is_of_removed_folder())
        query = sa.select(
            sa.func.count().filter(good),
            sa.func.count(sa.distinct(songs.c.artist_key)).filter(sa.and_(good, songs.c.artist_key != "")),
            sa.func.count().filter(sa.and_(good, songs.c.missing)),
            sa.func.count().filter(songs.c.problem != ""),
            sa.func.count().filter(songs.c.set_aside != ""),
            sa.func.count().filter(sa.and_(good, songs.c.damage != "")),
            sa.func.coalesce(sa.func.sum(songs.c.seconds).filter(good), 0.0),
        )
        names = ("songs", "artists", "missing", "unreadable", "set_aside", "damaged", "seconds")
        with self._database.reading() as connection:
            return dict(zip(names, connection.execute(query).one(), strict=True))

    def _is_of_removed_folder(self) -> sa.ColumnElement[bool]:
        """Return a condition for songs that are missing since their folder is scanned no longer."""
        return sa.and_(songs.c.missing, *(~_is_below(path) for path in self.roots()))


_FILE_FACTS = (songs.c.id, songs.c.size, songs.c.modified, songs.c.missing, songs.c.problem, songs.c.set_aside)
_ARTIST_HASH = sa.select(songs.c.artist_hash)


def _analysed(connection: Connection, song: int) -> frozenset[int]:
    """Return the encoders that a song has a vector of."""
    query = sa.select(song_vectors.c.encoder_id).where(song_vectors.c.song_id == song)
    return frozenset(connection.execute(query).scalars())


def _is_below(folder: str) -> sa.ColumnElement[bool]:
    """Return a condition for files in a folder or those inside it; LIKE would ignore case in SQLite."""
    start = path_to_text(os.path.join(folder, ""))
    return sa.func.substr(songs.c.path, 1, len(start)) == start


def _path_columns(path: str) -> dict[str, Any]:
    return {"path_key": path_key(path), "path": path_to_text(path)}


def _update(connection: Connection, song: int, **columns: Any) -> None:
    connection.execute(songs.update().where(songs.c.id == song), columns)


def tag_columns(tags: Tags) -> dict[str, Any]:
    """Return the values of the columns for tags."""
    columns = {field.name: _column_value(getattr(tags, field.name)) for field in TAG_FIELDS}
    artist = columns["artist"]
    key = artist_key(primary_artist(artist)) if artist else ""
    return {**columns, "artist_key": key, "artist_hash": key_of(key.encode()) if key else b""}


def _column_value(value: Value) -> Any:
    """Return a value that every database takes: a text without NUL, or a number of at most 32 bits."""
    if isinstance(value, str):
        return clean_text(value)
    return value if value is None or abs(value) < 1 << 31 else None
