"""Song vectors and embeddings: the tables `song_vectors`, `embeddings` and `stale_artists`."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.light.records import CHANGES
from nearsong.library.store.schema import (
    IS_SONG,
    embeddings,
    encoders,
    model_encoders,
    models,
    settings,
    song_vectors,
    songs,
    stale_artists,
)

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Item = TypeVar("Item")

BLOCK_ROWS = 4096
"""Rows read or written together, ..."""

MAX_BLOCK_NUMBERS = 1 << 22
"""... or fewer, so that their vectors have at most this many numbers."""


class _VectorFormat(NamedTuple):
    """How the vectors of an encoder are stored."""

    n_dimensions: int
    dtype: str


class SongVectors:
    """Reads and writes vectors and embeddings of songs.

    A song has a row for every encoder that it was analysed with. The row is empty if the encoder has no vector of the
    song; such vectors are NaN when they are read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # ---- vectors

    def add_vectors(self, connection: Connection, song: int, vectors: Mapping[int, npt.NDArray[Any]]) -> None:
        """Write vectors of a song, by encoder id; its file is unchanged."""
        if not vectors:
            return
        formats = _formats(connection, vectors)
        for encoder_id, vector in vectors.items():
            row = {"song_id": song, "encoder_id": encoder_id, "vector": _to_bytes(vector, formats[encoder_id])}
            connection.execute(self._database.upsert(song_vectors, [row], ["encoder_id", "song_id"]), row)
        artist = connection.execute(sa.select(songs.c.artist_hash).where(songs.c.id == song)).scalar_one()
        self.mark_stale(connection, [artist], encoder_ids=vectors)

    def vectors_of(self, connection: Connection, song: int) -> dict[int, Vectors]:
        """Return all vectors of a song, by encoder id."""
        query = sa.select(song_vectors.c.encoder_id, song_vectors.c.vector).where(song_vectors.c.song_id == song)
        found = {encoder_id: bytes(data) for encoder_id, data in connection.execute(query).all()}
        formats = _formats(connection, found)
        return {encoder_id: _matrix([data], formats[encoder_id])[0] for encoder_id, data in found.items()}

    def vectors(self, encoder_ids: Sequence[int], ids: Iterable[int] | None = None) -> Iterator[tuple[Ids, Vectors]]:
        """Read the vectors of several encoders, side by side, by song id: some thousands of songs at a time.

        Parameters
        ----------
        encoder_ids : sequence of int
            The columns of the vectors are theirs, one after the other.
        ids : iterable of int, optional
            Songs; by default all. Those that lack a vector of one of the encoders are left out.

        Yields
        ------
        ids : array of int64 and shape (n_songs,)
        vectors : array of shape (n_songs, n_dimensions), float32
            NaN in the columns of an encoder that has no vector of a song.
        """
        with self._database.reading() as connection:
            n_rows = _block_rows(_formats(connection, encoder_ids).values())
        if ids is not None:
            for block in blocks_of(sorted({int(song) for song in ids}), n_rows):
                with self._database.reading() as connection:
                    page = self.vectors_in(connection, encoder_ids, block)
                if len(page[0]):
                    yield page
            return
        query = sa.select(song_vectors.c.song_id).where(song_vectors.c.encoder_id == encoder_ids[0])
        last = -1
        while True:  # by id and not by offset, so that songs added in the meantime do not shift the pages
            with self._database.reading() as connection:
                first_ids = query.where(song_vectors.c.song_id > last).order_by(song_vectors.c.song_id).limit(n_rows)
                block = [int(song) for song in connection.execute(first_ids).scalars()]
                page = self.vectors_in(connection, encoder_ids, block)
            if not block:
                return
            last = int(block[-1])
            if len(page[0]):
                yield page

    def vectors_in(
        self, connection: Connection, encoder_ids: Sequence[int], ids: Sequence[int]
    ) -> tuple[Ids, Vectors]:
        """Read the vectors of some songs, in ascending order, as :meth:`vectors` does, in a transaction."""
        formats = _formats(connection, encoder_ids)
        found: list[dict[int, bytes]] = []
        for encoder_id in encoder_ids:
            query = sa.select(song_vectors.c.song_id, song_vectors.c.vector)
            query = query.where(song_vectors.c.encoder_id == encoder_id)
            rows: dict[int, bytes] = {}
            for block in blocks_of(ids):
                rows |= {int(row[0]): row[1] for row in connection.execute(query.where(_is_in(block)))}
            found.append(rows)
        common = [song for song in ids if all(song in rows for rows in found)]
        columns = [
            _matrix([rows[song] for song in common], formats[encoder_id])
            for encoder_id, rows in zip(encoder_ids, found, strict=True)
            if encoder_id in formats
        ]
        return np.array(common, dtype=np.int64), np.hstack(columns) if columns else np.empty((0, 0), np.float32)

    def analysed(self, encoder_ids: Sequence[int]) -> int:
        """Return how many songs have a vector of every one of these encoders."""
        query = sa.select(sa.func.count()).select_from(song_vectors).where(*_has_vectors(encoder_ids))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def not_analysed(self, encoder_ids: Iterable[int]) -> int:
        """Return how many songs with existing files have no vector of at least one of these encoders."""
        lacks = [~_has_vector(songs.c.id, encoder_id) for encoder_id in encoder_ids]
        query = sa.select(sa.func.count()).select_from(songs)
        query = query.where(IS_SONG, ~songs.c.missing, sa.or_(sa.false(), *lacks))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    # ---- embeddings

    def embeddings(self, model_id: int) -> tuple[Ids, Vectors]:
        """Read the embeddings of all songs under a model, by id."""
        query = sa.select(embeddings.c.song_id, embeddings.c.embedding).where(embeddings.c.model_id == model_id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(embeddings.c.song_id)).all()
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        if not rows:
            return ids, np.empty((0, 0), np.float32)
        flat = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.float32)
        return ids, flat.reshape(len(rows), -1)

    def put_embeddings(self, connection: Connection, model_id: int, ids: Ids, matrix: Vectors) -> None:
        """Write embeddings."""
        rows = np.ascontiguousarray(matrix, dtype=np.float32)
        for start in range(0, len(ids), BLOCK_ROWS):
            numbers = np.asarray(ids[start : start + BLOCK_ROWS]).tolist()
            block = [
                (model_id, song, row.tobytes())
                for song, row in zip(numbers, rows[start : start + BLOCK_ROWS], strict=True)
            ]
            names = ("model_id", "song_id", "embedding")
            insert_rows(connection, embeddings, names, block, keys=("model_id", "song_id"))
        self._count_change(connection)

    def without_embedding(
        self, connection: Connection, model_id: int, encoder_ids: Sequence[int], after: int = -1
    ) -> list[tuple[int, bytes]]:
        """Return songs (id, hash of the artist) that could have an embedding under a model and have none.

        Some thousands of them at most, by id, from those after an id.
        """
        song = song_vectors.c.song_id
        embedded = sa.exists().where(embeddings.c.model_id == model_id, embeddings.c.song_id == song)
        query = sa.select(song, songs.c.artist_hash).join_from(song_vectors, songs)
        query = query.where(*_has_vectors(encoder_ids), song > after, ~embedded).order_by(song)
        n_rows = _block_rows(_formats(connection, encoder_ids).values())
        return [(row[0], bytes(row[1])) for row in connection.execute(query.limit(n_rows))]

    # ---- artists whose songs changed

    def mark_stale(
        self, connection: Connection, artists: Iterable[bytes], encoder_ids: Collection[int] | None = None
    ) -> None:
        """Note that songs of some artists changed, for models whose embeddings depend on an artist's other songs.

        Parameters
        ----------
        connection : Connection
        artists : iterable of bytes
            Hashes of artists; songs without an artist depend on no others.
        encoder_ids : collection of int, optional
            Only for models with one of these encoders.
        """
        query = sa.select(models.c.id).where(models.c.uses_artists)
        if encoder_ids is not None:
            members = sa.select(model_encoders.c.model_id).where(model_encoders.c.encoder_id.in_(list(encoder_ids)))
            query = query.where(models.c.id.in_(members))
        model_ids = connection.execute(query).scalars().all()
        rows = [
            {"model_id": model_id, "artist_hash": artist}
            for artist in sorted({bytes(artist) for artist in artists} - {b""})
            for model_id in model_ids
        ]
        if rows:
            insert: Any = (sqlite if self._database.is_sqlite else postgresql).insert(stale_artists)
            connection.execute(insert.on_conflict_do_nothing(), rows)

    def stale(self, connection: Connection, model_id: int) -> list[bytes]:
        """Return some thousands, at most, of the artists whose songs changed since a model embedded them."""
        query = sa.select(stale_artists.c.artist_hash).where(stale_artists.c.model_id == model_id)
        query = query.order_by(stale_artists.c.artist_hash).limit(BLOCK_ROWS)
        return [bytes(artist) for artist in connection.execute(query).scalars()]

    def unmark_stale(self, connection: Connection, model_id: int, artists: Sequence[bytes]) -> None:
        """Note that all songs of some artists are embedded under a model."""
        for block in blocks_of(artists):
            chosen = stale_artists.c.artist_hash.in_(block)
            connection.execute(stale_artists.delete().where(stale_artists.c.model_id == model_id, chosen))

    def songs_of(self, connection: Connection, artists: Sequence[bytes]) -> dict[bytes, list[int]]:
        """Return the songs of some artists, by id; artists without songs are left out."""
        found: dict[bytes, list[int]] = {}
        for block in blocks_of(artists):
            query = sa.select(songs.c.id, songs.c.artist_hash).where(songs.c.artist_hash.in_(block))
            for song, artist in connection.execute(query.where(IS_SONG).order_by(songs.c.id)):
                found.setdefault(bytes(artist), []).append(int(song))
        return found

    # ---- changes

    def changes(self) -> int:
        """Return how often songs or embeddings were added, changed or removed."""
        with self._database.reading() as connection:
            query = sa.select(settings.c.value).where(settings.c.name == CHANGES)
            return int(connection.execute(query).scalar() or 0)

    def _count_change(self, connection: Connection) -> None:
        number = sa.cast(sa.cast(settings.c.value, sa.BigInteger) + 1, sa.Text)
        done = connection.execute(settings.update().where(settings.c.name == CHANGES).values(value=number))
        if not done.rowcount:
            connection.execute(settings.insert(), {"name": CHANGES, "value": "1"})


def blocks_of(items: Sequence[Item], n_rows: int | None = None) -> Iterator[list[Item]]:
    """Cut a sequence into blocks that one query takes."""
    step = n_rows or BLOCK_ROWS
    for start in range(0, len(items), step):
        yield list(items[start : start + step])


def _formats(connection: Connection, encoder_ids: Iterable[int]) -> dict[int, _VectorFormat]:
    query = sa.select(encoders.c.id, encoders.c.n_dimensions, encoders.c.dtype)
    rows = connection.execute(query.where(encoders.c.id.in_(list(encoder_ids))))
    return {row.id: _VectorFormat(row.n_dimensions, row.dtype) for row in rows}


def _block_rows(formats: Iterable[_VectorFormat]) -> int:
    n_dimensions = sum(stored.n_dimensions for stored in formats)
    return max(1, min(BLOCK_ROWS, MAX_BLOCK_NUMBERS // max(1, n_dimensions)))


def _is_in(ids: Sequence[int]) -> Any:
    return song_vectors.c.song_id.in_([int(song) for song in ids])


def _has_vector(song: Any, encoder_id: int) -> Any:
    """Return the condition that a song has a vector of an encoder."""
    others = song_vectors.alias()
    return sa.exists().where(others.c.song_id == song, others.c.encoder_id == encoder_id)


def _has_vectors(encoder_ids: Sequence[int]) -> list[Any]:
    """Return the conditions that rows of `song_vectors` are of the first encoder, of songs that have all vectors."""
    song = song_vectors.c.song_id
    return [song_vectors.c.encoder_id == encoder_ids[0], *(_has_vector(song, other) for other in encoder_ids[1:])]


def _to_bytes(vector: npt.NDArray[Any], stored: _VectorFormat) -> bytes:
    if np.isnan(vector).all():
        return b""
    limit = np.finfo(stored.dtype).max
    return np.clip(np.asarray(vector, np.float64), -limit, limit).astype(stored.dtype).tobytes()


def _matrix(rows: Sequence[bytes], stored: _VectorFormat) -> Vectors:
    """Return stored vectors as rows (n_songs, n_dimensions)."""
    absent = np.full(stored.n_dimensions, np.nan, stored.dtype).tobytes() if b"" in rows else b""
    flat = np.frombuffer(b"".join(row or absent for row in rows), dtype=stored.dtype)
    return flat.reshape(len(rows), stored.n_dimensions).astype(np.float32)
