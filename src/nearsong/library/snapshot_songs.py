"""A store and a space -> its songs by id, and the seeds of queries: songs, names, files, embeddings."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.audio.tags import Tags
from nearsong.caching import cached_property, is_cached
from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.answers.seeds import Seed, SeedLike, seed_of_file, seed_of_song, seed_of_vector, spread_songs
from nearsong.library.listeners.histories import Histories
from nearsong.library.models.native_space import native_space
from nearsong.library.neighbours.exact import check_embeddings
from nearsong.library.neighbours.named_songs import NamedSongs, no_such_song, song_named, songs_named
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.library.store import ModelRow, Store
from nearsong.listens.records import TrackName
from nearsong.validation import check_choice

METRICS = ("active", "native")

MAX_GROUP_SEEDS = 5
"""Songs that stand for an artist or an album, evenly spaced."""


class SnapshotSongs:
    """The part of `Snapshot` that knows its songs and makes seeds of them."""

    def __init__(self, store: Store, space: Space, model: ModelRow) -> None:
        self._store = store
        self.space, self.model = space, model

    @cached_property
    def native(self) -> Space:
        """The same songs by sound alone; ``space`` itself if the active model is native."""
        return native_space(self._store, self.space, self.model)

    @cached_property
    def histories(self) -> Histories:
        """The listening histories, matched with the songs."""
        return Histories(self._store)

    def space_of(self, metric: str) -> Space:
        """Return the songs under a metric: ``active`` or ``native``."""
        check_choice(metric, "metric", METRICS)
        return self.space if metric == "active" else self.native

    def song(self, song_id: int) -> Song:
        """Return a song by its id.

        Raises
        ------
        NoSuchSongError
            If there is none, or its file is missing.
        """
        row = self.space.row_of.get(song_id)
        if row is None:
            raise no_such_song(self.space, song_id)
        return self.space.songs[row]

    def songs_named(self, tracks: Sequence[TrackName]) -> list[Song | None]:
        """Return the song that each track name means; None if it is not in the library, or its file is missing."""
        rows = [self.space.row_of.get(song or 0) for song in self.histories.song_ids(tracks)]
        return [None if row is None else self.space.songs[row] for row in rows]

    def seed(self, seed: SeedLike, metric: str = "active", *, in_worker: bool = False) -> Seed:
        """Return the seed of a song, an id, a name or a path; a seed of another metric or snapshot is converted.

        A file outside the library is analysed, with ``in_worker`` in another process with limits of memory and time.
        A text may be a path and open a file: pass untrusted text to ``space.finder.find`` instead.
        """
        space = self.space_of(metric)
        if isinstance(seed, Seed):
            return self._renewed(seed, space, metric)
        if isinstance(seed, Song | int):
            return seed_of_song(space, self.song(seed.id if isinstance(seed, Song) else int(seed)))
        song_id = song_named(space, os.fspath(seed))
        if song_id is not None:
            return seed_of_song(space, self.song(song_id))
        path = os.path.expanduser(os.fspath(seed))
        song = space.song_at(path)
        return seed_of_file(space, path, in_worker=in_worker) if song is None else seed_of_song(space, song)

    def seeds(self, named: str | NamedSongs) -> tuple[str, list[Seed]]:
        """Return what a text names, and its seeds: one as :meth:`seed`, or some songs of an artist or album.

        What `LibraryReader.seeds` has found by a text is not looked up again.
        """
        found = songs_named(self.space, named) if isinstance(named, str) else named
        if found is None or not found.is_group:
            seed = self.seed(named if isinstance(named, str) else named.ids[0], in_worker=True)
            return seed.name, [seed]
        songs = spread_songs([self.song(song_id) for song_id in found.ids], MAX_GROUP_SEEDS)
        return found.text, [seed_of_song(self.space, song) for song in songs]

    def seed_of_vector(self, vector: npt.NDArray[Any], tags: Tags, name: str, metric: str = "active") -> Seed:
        """Return the seed of a file outside the library, from its song vector under the model's encoder."""
        return seed_of_vector(self.space_of(metric), vector, tags, name)

    def seed_of_embedding(self, embedding: npt.ArrayLike, model_id: int, name: str = "the file") -> Seed:
        """Return the seed of a file that was analysed before, from its embedding.

        Parameters
        ----------
        embedding : array of shape (rank,)
        model_id : int
            The model that the embedding belongs to.
        name : str

        Raises
        ------
        LibraryError
            If it is not a model of this snapshot.
        InvalidInputError
            If the embedding has another shape than this model's, or a NaN.
        """
        space = next((space for space in self._loaded_spaces() if space.model_id == model_id), None)
        if space is None:
            raise _other_model(name)
        row = check_embeddings(np.atleast_2d(np.asarray(embedding)), "embedding")
        if row.shape != (1, space.embeddings.shape[1]):
            raise InvalidInputError(
                f"embedding has shape {row.shape[1:]}; {space.embeddings.shape[1]} numbers are needed."
            )
        return Seed(name=name, embedding=row[0], model_id=model_id)

    def _renewed(self, seed: Seed, space: Space, metric: str) -> Seed:
        """Return a seed with its embedding in a space of this snapshot, recomputed if needed."""
        if seed.song is not None:
            song = self.song(seed.song.id)
            is_current = seed.model_id == space.model_id and seed.song is song
            return seed if is_current else seed_of_song(space, song)
        if seed.model_id == space.model_id:
            return seed
        if seed.vector is not None and seed.model_id in {loaded.model_id for loaded in self._loaded_spaces()}:
            return replace(seed, embedding=space.model.project(seed.vector), model_id=space.model_id)
        if seed.path:
            return self.seed(seed.path, metric)
        raise _other_model(seed.name)

    def _loaded_spaces(self) -> list[Space]:
        return [self.space, *([self.native] if is_cached(self, "native") else [])]


def _other_model(name: str) -> LibraryError:
    return LibraryError(f"{name} was analysed for a model that is no longer active; submit it again.")
