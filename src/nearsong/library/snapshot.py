"""A consistent view of the library -> results of queries; loaded once and shared by all threads."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cachetools import LRUCache, cachedmethod

from nearsong.audio.tags import Tags
from nearsong.caching import cached_property, copy_cached, is_cached
from nearsong.errors import InvalidInputError, LibraryError, NoSuchSongError
from nearsong.library.answers.cold_start import ColdStart, cold_start
from nearsong.library.answers.dial import has_dial, turned
from nearsong.library.answers.filters import FilterContext, Filters
from nearsong.library.answers.playlist.around_seeds import make_playlist
from nearsong.library.answers.playlist.between_songs import walk
from nearsong.library.answers.playlist.recordings import recording_numbers, without_copies
from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace
from nearsong.library.answers.seeds import (
    Seed,
    SeedLike,
    check_seeds,
    nearest_seed,
    seed_of_file,
    seed_of_song,
    seed_of_vector,
)
from nearsong.library.answers.similar import Query, run_queries
from nearsong.library.answers.why.distance_parts import blocks_of
from nearsong.library.answers.why.fused_reasons import FusedExplainer
from nearsong.library.answers.why.library_sounds import LibrarySounds, measure_library_sounds
from nearsong.library.answers.why.reasons import Why, WhyContext, describing_encoder, explain_pairs
from nearsong.library.answers.words.find_songs import FoundByWords, find_songs
from nearsong.library.answers.words.song_words import SongWords
from nearsong.library.answers.words.tag_encoders import library_words, tag_encoder_id
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.models.native_space import native_space
from nearsong.library.neighbours.exact import check_embeddings
from nearsong.library.neighbours.song_finder import id_in
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Neighbour, Song, VersionStamp
from nearsong.library.store import ModelRow, Store
from nearsong.listens.records import TrackName
from nearsong.model import SongEncoder
from nearsong.types import FloatArray
from nearsong.validation import check_choice

if TYPE_CHECKING:
    from nearsong.library.browsing.albums import AlbumIndex
    from nearsong.library.browsing.song_list import Browser

METRICS = ("active", "native")

MAX_CACHED_COLD_STARTS = 8


class Snapshot:
    """A consistent view of a library, for queries. Thread-safe.

    Expensive properties are computed once, on first use, and do not wait for each other. Queries accept a ``metric``:
    ``active`` or ``native``.

    Attributes
    ----------
    stamp : VersionStamp
        Differs from that of the library once the library has changed.
    space : Space
        The songs under the active model.
    model : ModelRow
        The active model.
    warming : float
        Seconds that :meth:`warm` took; 0 before it ran.
    """

    def __init__(self, store: Store, space: Space, model: ModelRow, stamp: VersionStamp) -> None:
        self._store = store
        self.space, self.model, self.stamp = space, model, stamp
        self.warming = 0.0
        self._condition = threading.Condition()
        self._cold_starts: LRUCache[Any, ColdStart] = LRUCache(MAX_CACHED_COLD_STARTS)
        self._counts: dict[Any, FloatArray] = {}

    def with_listens(self, stamp: VersionStamp) -> "Snapshot":
        """Return a snapshot of the same songs with the current listening histories."""
        other = Snapshot(self._store, self.space, self.model, stamp)
        copy_cached(self, other, "native", "sounds", "albums", "words", "recordings", "fused_explainer")
        return other

    # ---- computed on first use

    @cached_property
    def native(self) -> Space:
        """The same songs by sound alone; ``space`` itself if the active model is native."""
        return native_space(self._store, self.space, self.model)

    @cached_property
    def histories(self) -> Histories:
        """The listening histories, matched with the songs."""
        return Histories(self._store)

    @cached_property
    def listeners(self) -> Listeners:
        """Which artists share listeners."""
        if not self._store.listens.histories():  # skip the matching of names
            return Listeners(sp.csr_array((0, 0), dtype=bool), [])
        return Listeners.of(self.histories)

    @cached_property
    def plays(self) -> dict[int, float]:
        """Song id -> plays; without songs that were never played."""
        return self.histories.song_plays() if self._store.listens.histories() else {}

    @cached_property
    def sounds(self) -> LibrarySounds:
        """The average sound of the library and examples of each sound, from one pass over all song vectors."""
        encoder_ids, encoder = self._describing
        labels = encoder.labels()
        if labels is None or (blocks_of(self.space.model) and not encoder.has_shares):  # no sounds to describe
            return LibrarySounds(("",) * encoder.n_dimensions, np.zeros(encoder.n_dimensions), {})
        vectors = self._store.songs.vectors(encoder_ids)
        return measure_library_sounds(vectors, labels, self.space.ids, has_shares=encoder.has_shares)

    @cached_property
    def _describing(self) -> tuple[Sequence[int], SongEncoder]:
        return describing_encoder(self._store, self.space, self.model)

    @cached_property
    def words(self) -> SongWords | None:
        """The tags of all songs, if an encoder of the library has words."""
        return library_words(self._store, self.space)

    @cached_property
    def fused_explainer(self) -> FusedExplainer | None:
        """What explanations of a fused model have in common; None for other models."""
        return FusedExplainer(self.space, self.words) if blocks_of(self.space.model) else None

    @cached_property
    def recordings(self) -> npt.NDArray[np.int64]:
        """Which songs are copies of a recording, (n_songs,)."""
        return recording_numbers(self.space.songs)

    @cached_property
    def browser(self) -> "Browser":
        """Searches, sorts and pages through the songs."""
        from nearsong.library.browsing.song_list import Browser

        return Browser(self.space.songs, self.plays, self.space.finder)

    @cached_property
    def albums(self) -> "AlbumIndex":
        """Artists, albums and their songs."""
        from nearsong.library.browsing.albums import AlbumIndex

        return AlbumIndex(self.space.songs)

    def warm(self) -> None:
        """Compute what the first queries would wait for, the most frequent first."""
        start = time.monotonic()
        songs = [song.id for song in self.space.songs[:1]]
        for song in songs:
            self.similar([song])
            self.listeners.nearest_artists(self.song(song).artist_key)
        self.browser.page(limit=1)
        for song in songs:
            self.similar([song], metric="native")
        _ = self.albums, self.sounds, self.words, self.fused_explainer
        self.warming = time.monotonic() - start

    def is_ready(self, metric: str = "active") -> bool:
        """Return whether everything that :meth:`similar` needs is computed."""
        if not all(is_cached(self, name) for name in ("plays", "listeners")):
            return False
        space = self.space if metric == "active" else self.__dict__.get("native")
        return space is not None and is_cached(space, "index") and is_cached(space, "calibration")

    # ---- songs and seeds

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
        if row is not None:
            return self.space.songs[row]
        if song_id in self.space.missing:
            raise NoSuchSongError(f"the file of song {song_id} is missing; restore it and run `nearsong scan`.")
        raise NoSuchSongError(f"song not found: {song_id}; search for it by name.")

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
        text = os.path.expanduser(os.fspath(seed))
        song_id = id_in(text)
        if os.path.isfile(text) and song_id not in space.row_of:
            song = space.song_at(text)
            return seed_of_file(space, text, in_worker=in_worker) if song is None else seed_of_song(space, song)
        return seed_of_song(space, self.song(song_id) if song_id in space.missing else space.finder.find(text))

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

    # ---- queries

    @property
    def has_dial(self) -> bool:
        """Whether queries can be turned from familiar to adventurous."""
        return has_dial(self.space.model)

    @property
    def has_words(self) -> bool:
        """Whether songs can be found by words."""
        return tag_encoder_id(self._store) is not None

    def similar(
        self,
        seeds: Sequence[SeedLike],
        n: int = 10,
        filters: Filters | None = None,
        metric: str = "active",
        adventurousness: float = 0.0,
    ) -> list[Neighbour]:
        """Return the songs nearest to the seeds; see :meth:`nearsong.library.Library.similar`."""
        space = self.space_of(metric)
        query = Query([self.seed(seed, metric) for seed in seeds], n, filters or Filters(), adventurousness)
        return run_queries(space, [query], partial(self._play_counts, space))[0]

    def similar_batch(self, queries: Sequence[Query], metric: str = "active") -> list[list[Neighbour]]:
        """Return the results of several queries in one batch; the seeds must be of this snapshot and metric."""
        space = self.space_of(metric)
        return run_queries(space, queries, partial(self._play_counts, space))

    def agrees(self, seed: Seed, songs: Sequence[Song]) -> list[bool | None]:
        """Return for each song whether its artist is near the seed's by listeners too; None without listeners."""
        return [self.listeners.agree(seed.artist_key, song.artist_key) for song in songs]

    def why(self, seeds: Sequence[SeedLike], songs: Sequence[SeedLike]) -> list[Why]:
        """Explain why each song is near to, or far from, its nearest seed: by sound and by listeners."""
        resolved, others = ([self.seed(seed) for seed in group] for group in (seeds, songs))
        if not others:
            return []
        pairs = [(nearest_seed(resolved, other), other) for other in others]
        encoder_ids, encoder = self._describing
        context = WhyContext(
            store=self._store,
            space=self.space,
            encoder_ids=encoder_ids,
            encoder=encoder,
            listeners=self.listeners,
            sounds=self.sounds,
            fused=self.fused_explainer,
        )
        return explain_pairs(context, pairs)

    def find(self, text: str, n: int = 10, filters: Filters | None = None) -> FoundByWords:
        """Return the songs that some words describe; see `nearsong.library.answers.words.find_songs`."""
        filters = filters or Filters()
        allowed = filters.allowed(FilterContext(self.space, plays=partial(self._play_counts, self.space)))
        return find_songs(self.space, self.words, text, n, allowed=allowed, one_per_artist=filters.one_per_artist)

    def playlist(
        self,
        seeds: Sequence[SeedLike],
        rules: PlaylistRules | None = None,
        filters: Filters | None = None,
        to: SeedLike | None = None,
    ) -> tuple[list[Song], list[str]]:
        """Return a playlist around the seeds or ``to`` another; see :meth:`nearsong.library.Library.playlist`."""
        space = self.space
        resolved = [self.seed(seed) for seed in seeds]
        rules = rules or PlaylistRules()
        context = FilterContext(space, plays=partial(self._play_counts, space))
        allowed = (filters or Filters()).allowed(context)
        is_drawn = space.model.projector.uses_artists
        if is_drawn:
            rows = [space.row_of[seed.song.id] for seed in resolved if seed.song is not None]
            allowed &= without_copies(self.recordings, rows)
        candidates = PlaylistSpace.of(space.embeddings, space.artists, allowed, copies_are_near=not is_drawn)
        aims = turned(space.model, resolved, rules.adventurousness) if rules.adventurousness else None
        if to is None:
            check_seeds(resolved)
            starts = [seed.embedding if seed.song is None else space.row_of[seed.song.id] for seed in resolved]
            playlist = make_playlist(candidates, starts, rules, aims=aims)
        else:
            if len(resolved) != 1:
                raise InvalidInputError(f"a playlist `to` a song takes exactly one seed, not {len(resolved)}.")
            start, end = (_row_near(space, seed) for seed in (resolved[0], self.seed(to)))
            playlist = walk(candidates, start, end, rules)
            if aims is not None:
                playlist.notes.append("The dial changes nothing on the way between two songs.")
        return [space.songs[row] for row in playlist.songs], list(playlist.notes)

    @cachedmethod(attrgetter("_cold_starts"), condition=attrgetter("_condition"))  # threads share one computation
    def cold_start(self, n: int = 10, max_seeds: int = 2_000) -> ColdStart:
        """Return how often songs without plays are recommended; see `nearsong.library.answers.cold_start`."""
        return cold_start(self.space, self.native, self.plays, n, max_seeds)

    @cachedmethod(attrgetter("_counts"), key=lambda self, space: space.model_id, lock=attrgetter("_condition"))
    def _play_counts(self, space: Space) -> FloatArray:
        """Return how often each song of a space was played, (n_songs,)."""
        plays = self.plays
        return np.array([plays.get(song.id, 0.0) for song in space.songs])


def _row_near(space: Space, seed: Seed) -> int:
    """Return the row of a seed; of a file outside the library, that of the nearest song."""
    if seed.song is not None:
        return space.row_of[seed.song.id]
    nearest, _ = space.index.nearest(seed.embedding, 1)
    return space.row_of[int(nearest[0])]


def _other_model(name: str) -> LibraryError:
    return LibraryError(f"{name} was analysed for a model that is no longer active; submit it again.")
