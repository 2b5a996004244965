"""Songs of a library -> their embeddings under a model, some thousands in each transaction.

Where an embedding depends on the other songs of the artist (`Projector.uses_artists`), all songs of an artist are
embedded together. The transaction that changes a song marks its artist in `stale_artists`, and the transaction that
embeds the artist's songs removes the mark: whatever is interrupted in between is found and done by the next scan.
"""

from collections.abc import Collection

import numpy as np

from nearsong.library.store import ACTIVE, Connection, ModelRow, Store
from nearsong.model import SimilarityModel
from nearsong.types import Progress, no_progress

BLOCK_SONGS = 1_000
"""Songs that are embedded, with the rest of their last artist's, in a transaction."""

MAX_ARTIST_SONGS = 2_000
"""Songs of an artist that are embedded together; the next ones, such as those of "various artists", apart."""


class BlockEmbedder:
    """Embeds the songs of a library under one model, block by block.

    Parameters
    ----------
    store : Store
    row : ModelRow
    model : SimilarityModel, optional
        Read from the library by default.
    """

    def __init__(self, store: Store, row: ModelRow, model: SimilarityModel | None = None) -> None:
        self._songs, self._row = store.songs, row
        self._model = model or SimilarityModel.from_bytes(store.models.data(row.id))
        self._last = -1  # of the songs without an embedding, those up to this id are done

    def embed_next(self, connection: Connection) -> int | None:
        """Embed some songs that have no embedding, or whose artist has changed; None if there are none left.

        Reading and writing share the transaction, so that no embedding is computed from an outdated vector.
        """
        lacking = self._lacking(connection)
        if self._row.uses_artists:
            stale = self._songs.stale(connection, self._row.id)
            return self._embed_artists(connection, stale, lacking) if stale or lacking else None
        if not lacking:
            return None
        ids, vectors = self._songs.vectors_in(connection, self._row.encoder_ids, [song for song, _ in lacking])
        self._songs.put_embeddings(connection, self._row.id, ids, self._model.project(vectors).astype(np.float32))
        self._last = int(ids[-1])
        return len(ids)

    def _lacking(self, connection: Connection) -> list[tuple[int, bytes]]:
        """Return the next songs without an embedding, with their artists."""
        row = self._row
        lacking = self._songs.without_embedding(connection, row.id, row.encoder_ids, after=self._last)
        if not lacking and self._last >= 0:  # check for songs with lower ids added since
            self._last = -1
            lacking = self._songs.without_embedding(connection, row.id, row.encoder_ids)
        return lacking

    def _embed_artists(self, connection: Connection, stale: list[bytes], lacking: list[tuple[int, bytes]]) -> int:
        """Embed the songs of some artists, those that changed first, and songs without an artist."""
        alone = [song for song, artist in lacking if not artist]
        artists = list(dict.fromkeys([*stale, *(artist for _, artist in lacking if artist)]))[:BLOCK_SONGS]
        songs_of = self._songs.songs_of(connection, artists)
        done: set[bytes] = set()
        n_embedded, block = 0, [alone] if alone else []
        for artist in artists:
            if n_embedded >= BLOCK_SONGS:
                break
            ids = songs_of.get(artist, [])
            block += [ids[start : start + MAX_ARTIST_SONGS] for start in range(0, len(ids), MAX_ARTIST_SONGS)]
            done.add(artist)
            if sum(map(len, block)) >= BLOCK_SONGS:
                n_embedded += self._embed_groups(connection, block, alone)
                block = []
        n_embedded += self._embed_groups(connection, block, alone)
        self._songs.unmark_stale(connection, self._row.id, sorted(done))
        left = (song for song, artist in lacking if artist and artist not in done)
        if lacking:
            self._last = next(left, lacking[-1][0] + 1) - 1
        return n_embedded

    def _embed_groups(self, connection: Connection, groups: list[list[int]], alone: list[int]) -> int:
        """Embed groups of songs, each by itself; return how many songs have all vectors.

        One group a call of the model, so that the bytes of an artist's embeddings depend on its own songs only.
        """
        ids = sorted(song for group in groups for song in group)
        found, vectors = self._songs.vectors_in(connection, self._row.encoder_ids, ids)
        row_of = {song: row for row, song in enumerate(found.tolist())}
        embeddings = np.empty((len(found), self._model.rank), np.float32)
        for group in groups:
            rows = [row_of[song] for song in group if song in row_of]
            artists = np.full(len(rows), -1 if group is alone else 0)
            embeddings[rows] = self._model.project_database(vectors[rows], artists)
        if len(found):
            self._songs.put_embeddings(connection, self._row.id, found, embeddings)
        return len(found)


def update_embeddings(store: Store, progress: Progress = no_progress) -> None:
    """Embed under the active model what a scan has left to do: artists with new, changed or removed songs."""
    embedder: BlockEmbedder | None = None
    model_id, n_done = -1, 0
    while True:
        with store.writing() as connection:
            active = store.models.setting_in(connection, ACTIVE)
            if active is None:
                return
            if embedder is None or int(active) != model_id:  # another one was made active in the meantime
                row = store.models.row(int(active), connection)
                model = SimilarityModel.from_bytes(store.models.data(row.id, connection))
                embedder, model_id = BlockEmbedder(store, row, model), row.id
            n_embedded = embedder.embed_next(connection)
        if n_embedded is None:
            return
        n_done += n_embedded
        progress("embedding songs", n_done, 0)


class Embedder:
    """Embeds new songs under the model that is active when they are written.

    Where embeddings depend on the artist's other songs, the song is embedded by itself until the scan ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._models: dict[int, tuple[ModelRow, SimilarityModel]] = {}

    def embed(self, connection: Connection, song: int, encoder_ids: Collection[int]) -> None:
        """Write a song's embedding if one of the vectors written now, by encoder id, is of the active model."""
        active = self._store.models.setting_in(connection, ACTIVE)
        if active is None:
            return
        model_id = int(active)
        if model_id not in self._models:
            row = self._store.models.row(model_id, connection)
            model = SimilarityModel.from_bytes(self._store.models.data(model_id, connection))
            self._models = {model_id: (row, model)}
        row, model = self._models[model_id]
        if not set(row.encoder_ids) & set(encoder_ids):
            return
        ids, vectors = self._store.songs.vectors_in(connection, row.encoder_ids, [song])
        if len(ids):
            embedding = model.project_database(vectors, np.array([-1])).astype(np.float32)
            self._store.songs.put_embeddings(connection, model_id, ids, embedding)
