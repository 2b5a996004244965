"""A consistent view of the library -> results of queries; loaded once and shared by all threads."""

import threading
import time
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cachetools import LRUCache, cachedmethod

from nearsong.caching import cached_property, copy_cached, is_cached
from nearsong.errors import InvalidInputError
from nearsong.library.answers.cold_start import ColdStart, cold_start
from nearsong.library.answers.dial import has_dial, turned
from nearsong.library.answers.filters import FilterContext, Filters
from nearsong.library.answers.playlist.around_seeds import make_playlist
from nearsong.library.answers.playlist.between_songs import walk
from nearsong.library.answers.playlist.recordings import recording_numbers, without_copies
from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace
from nearsong.library.answers.recommending.for_you import for_you
from nearsong.library.answers.recommending.radio import next_songs
from nearsong.library.answers.recommending.recommender import Recommender
from nearsong.library.answers.recommending.records import ForYou, Heard, Recommendation
from nearsong.library.answers.seeds import Seed, SeedLike, check_seeds, nearest_seed
from nearsong.library.answers.similar import Query, run_queries
from nearsong.library.answers.why.distance_parts import blocks_of
from nearsong.library.answers.why.fused_reasons import FusedExplainer
from nearsong.library.answers.why.library_sounds import LibrarySounds, measure_library_sounds
from nearsong.library.answers.why.reasons import Why, WhyContext, describing_encoder, explain_pairs
from nearsong.library.answers.words.find_songs import FoundByWords, find_songs
from nearsong.library.answers.words.song_words import SongWords
from nearsong.library.answers.words.sound_traits import SongTraits
from nearsong.library.answers.words.tag_encoders import library_traits, library_words, tag_encoder_id
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Neighbour, Song, VersionStamp
from nearsong.library.snapshot_songs import SnapshotSongs
from nearsong.library.store import ModelRow, Store
from nearsong.model import SongEncoder
from nearsong.recommendation import Worth
from nearsong.types import FloatArray

if TYPE_CHECKING:
    from nearsong.library.browsing.album_list import AlbumBrowser
    from nearsong.library.browsing.albums import AlbumIndex
    from nearsong.library.browsing.home import Home
    from nearsong.library.browsing.song_list import Browser

MAX_CACHED_COLD_STARTS = 8


class Snapshot(SnapshotSongs):
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
        super().__init__(store, space, model)
        self.stamp = stamp
        self.warming = 0.0
        self._condition = threading.Condition()
        self._cold_starts: LRUCache[Any, ColdStart] = LRUCache(MAX_CACHED_COLD_STARTS)
        self._counts: dict[Any, FloatArray] = {}

    def with_listens(self, stamp: VersionStamp) -> "Snapshot":
        """Return a snapshot of the same songs with the current listening histories."""
        other = Snapshot(self._store, self.space, self.model, stamp)
        copy_cached(self, other, "native", "sounds", "albums", "words", "traits", "recordings", "fused_explainer")
        return other

    # ---- computed on first use

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
    def plays_known(self) -> bool:
        """Whether a song without plays was never played; histories that name artists only do not tell."""
        return bool(self.plays) and self.histories.tell_songs()

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
    def traits(self) -> SongTraits | None:
        """The words that hold for the sound of each song, if scans of the library use the encoder that has them."""
        return library_traits(self._store, self.space)

    @cached_property
    def fused_explainer(self) -> FusedExplainer | None:
        """What explanations of a fused model have in common; None for other models."""
        return FusedExplainer(self.space, self.words) if blocks_of(self.space.model) else None

    @cached_property
    def recordings(self) -> npt.NDArray[np.int64]:
        """Which songs are copies of a recording, (n_songs,)."""
        return recording_numbers(self.space.songs)

    @cached_property
    def recommender(self) -> Recommender:
        """What recommendations have in common."""
        plays = partial(self._play_counts, self.space)
        return Recommender(
            store=self._store,
            space=self.space,
            catalogue=self.histories.catalogue,
            recordings=lambda: self.recordings,
            plays=plays,
            listeners=lambda: self.listeners,
            songs_of=self._songs_of,
        )

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

    @cached_property
    def album_browser(self) -> "AlbumBrowser":
        """Searches, sorts and pages through albums and artists, and finds similar ones."""
        from nearsong.library.browsing.album_list import AlbumBrowser

        return AlbumBrowser(self.albums, self.space, self.plays)

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
        _ = self.albums, self.sounds, self.words, self.traits, self.fused_explainer
        self.warming = time.monotonic() - start

    def is_ready(self, metric: str = "active") -> bool:
        """Return whether everything that :meth:`similar` needs is computed."""
        if not all(is_cached(self, name) for name in ("plays", "listeners")):
            return False
        space = self.space if metric == "active" else self.__dict__.get("native")
        return space is not None and is_cached(space, "index") and is_cached(space, "calibration")

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
        *,
        without: Sequence[SeedLike] = (),
    ) -> list[Neighbour]:
        """Return the songs nearest to the seeds; see :meth:`nearsong.library.Library.similar`."""
        space = self.space_of(metric)
        plus, minus = ([self.seed(seed, metric) for seed in group] for group in (seeds, without))
        query = Query(plus, n, filters or Filters(), adventurousness, minus)
        return run_queries(space, [query], partial(self._play_counts, space))[0]

    def similar_batch(self, queries: Sequence[Query], metric: str = "active") -> list[list[Neighbour]]:
        """Return the results of several queries in one batch; the seeds must be of this snapshot and metric."""
        space = self.space_of(metric)
        return run_queries(space, queries, partial(self._play_counts, space))

    def for_you(
        self,
        listener: str,
        n: int = 50,
        filters: Filters | None = None,
        *,
        include_played: bool = False,
        at: float | None = None,
    ) -> ForYou:
        """Return songs for a listener; see :meth:`nearsong.library.Library.for_you`."""
        return for_you(self.recommender, listener, n, filters or Filters(), include_played=include_played, at=at)

    def radio(
        self,
        seeds: Sequence[SeedLike],
        heard: Sequence[Heard] = (),
        n: int = 1,
        filters: Filters | None = None,
        *,
        listener: str | None = None,
        surprise: float = 0.0,
        seed: int = 0,
    ) -> list[Recommendation]:
        """Return the next songs of a radio; see :meth:`nearsong.library.Library.radio`."""
        given = [self.seed(one) for one in seeds]
        played = [(self.seed(one.song), one.reaction) for one in heard]
        known = None if listener is None else self.recommender.known_songs(listener, time.time(), Worth())
        return next_songs(
            self.recommender, given, played, n, filters or Filters(), known=known, surprise=surprise, seed=seed
        )

    def home(self, listener: str, n: int = 12, *, at: float | None = None) -> "Home":
        """Return what a first page shows a listener; see `nearsong.library.browsing.home`."""
        from nearsong.library.browsing.home import home

        return home(self.recommender, self.album_browser, listener, n, at=at, plays_known=self.plays_known)

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
            traits=self.traits,
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

    def _songs_of(self, item: str) -> list[int]:
        """Return the ids of the songs of an album or artist, by its id; none of an unknown one."""
        songs: Sequence[Song] = ()
        if self.albums.has_album(item):
            songs = self.albums.album(item).songs
        elif self.albums.has_artist(item):
            songs = self.albums.artist(item).songs
        return [song.id for song in songs]

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
