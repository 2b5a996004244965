"""Queries -> the nearest songs of the library.

With several seeds, songs are ranked by the distance to their nearest seed, scaled per seed as in a playlist: the mean
of a piano and a drum sounds like neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nearsong.library.answers.dial import check_adventurousness, turned
from nearsong.library.answers.filters import FilterContext, Filters
from nearsong.library.answers.minus_seeds import pushed_distances
from nearsong.library.answers.playlist.around_seeds import SPREAD_NEIGHBOURS
from nearsong.library.answers.seeds import Seed, check_seeds
from nearsong.library.neighbours.closeness import closeness_word
from nearsong.library.neighbours.exact import squared_distances
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Neighbour, Song
from nearsong.names import title_key
from nearsong.types import FloatArray
from nearsong.validation import check_count

if TYPE_CHECKING:
    from nearsong.library.answers.filters import PlayCounts

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FETCH_FACTOR = 4
"""If too few songs are left after filtering, this many times as many are fetched."""

MAX_FILTERED_AFTER = 200
"""Up to this many exclusions are filtered after the search; beyond it the index gets a mask."""

MAX_COPY_DISTANCE = 1e-6
"""Songs with the same artist and title within this distance are copies, ..."""

MAX_COPY_SECONDS = 2.0
"""... if their durations differ by no more than this: some models embed all songs of an artist at one point."""


@dataclass(frozen=True, eq=False)
class Query:
    """A query for similar songs: seeds, the number of results, filters, the dial from -1 to 1, and minus seeds."""

    seeds: Sequence[Seed]
    n: int = 10
    filters: Filters = field(default_factory=Filters)
    adventurousness: float = 0.0
    without: Sequence[Seed] = ()

    def __post_init__(self) -> None:
        check_count(self.n, "n")
        check_adventurousness(self.adventurousness)
        check_seeds(self.seeds)


def run_queries(space: Space, queries: Sequence[Query], plays: "PlayCounts | None" = None) -> list[list[Neighbour]]:
    """Return the nearest songs of each query.

    Queries that exclude few songs share one matrix product; results do not depend on how queries are batched.

    Parameters
    ----------
    space : Space
    queries : sequence of Query
        With seeds of this space.
    plays : callable, optional
        Returns the number of plays of each song of the space, (n_songs,); for the filter ``fewer_plays``.

    Returns
    -------
    list of list of Neighbour
        The nearest first, without seeds and their copies (the same artist and title at distance 0). The dial and
        minus seeds change which songs come and in which order, not how near two songs are: distances are to the
        nearest seed as it is, and need not ascend; see `nearsong.library.answers.minus_seeds`.
    """
    searches = [_Search(space, query, plays) for query in queries]
    while pending := [search for search in searches if not search.done]:
        _take_together(space, [search for search in pending if not (search.masked or search.query.without)])
        for search in pending:
            if search.query.without:
                search.take_pushed()
            elif search.masked:
                search.take(*space.index.nearest(search.embeddings, search.k, allowed=search.allowed))
    return _scored(space, [search.answer() for search in searches])


def _scored(space: Space, answers: Sequence[Sequence[tuple[Song, float]]]) -> list[list[Neighbour]]:
    """Return songs and distances as neighbours, calibrated together."""
    distances_of_all = [distance for answer in answers for _, distance in answer]
    similarities = space.calibration.similarity(distances_of_all)
    closeness = space.calibration.closeness(similarities).tolist()
    scores = zip(similarities.tolist(), closeness, map(closeness_word, closeness), strict=True)
    return [[Neighbour(song, distance, *next(scores)) for song, distance in answer] for answer in answers]


def _take_together(space: Space, batch: Sequence["_Search"]) -> None:
    """Continue all searches without a mask, with one matrix product."""
    if not batch:
        return
    k = max(search.k for search in batch)
    ids, distances = space.index.nearest(np.concatenate([search.embeddings for search in batch]), k)
    first = 0
    for search in batch:
        part = slice(first, first + len(search.embeddings))
        search.take(ids[part, : search.k], distances[part, : search.k])
        first = part.stop


class _Search:
    """One query in progress: songs are fetched and filtered, and more are fetched if too few are left."""

    def __init__(self, space: Space, query: Query, plays: "PlayCounts | None") -> None:
        self._space, self.query = space, query
        self.embeddings = turned(space.model, query.seeds, query.adventurousness)
        self.allowed = (
            query.filters.allowed(FilterContext(space, query.seeds, plays)) if query.filters.excludes_songs else None
        )
        given = [*query.seeds, *query.without]
        self._seed_ids = {seed.song.id for seed in given if seed.song is not None} & space.row_of.keys()
        n_songs = len(space.songs)
        self._n_allowed = (
            n_songs - len(self._seed_ids) if self.allowed is None else int(np.count_nonzero(self.allowed))
        )
        self._n_excluded = n_songs - self._n_allowed
        self.masked = self.allowed is not None and self._n_excluded > MAX_FILTERED_AFTER
        self._n_fetched = min(query.n + len(query.seeds), self._n_allowed)
        self.chosen: list[tuple[Song, float]] = []
        self.done = not self._n_fetched

    def answer(self) -> list[tuple[Song, float]]:
        """Return the chosen songs and their distances to the nearest seed, wherever the dial moved it."""
        if not self.query.adventurousness or not self.chosen:
            return self.chosen
        songs = [song for song, _ in self.chosen]
        embeddings = np.array([self._space.embedding_of(song) for song in songs], dtype=np.float32)
        seeds = [np.asarray(seed.embedding, dtype=np.float32) for seed in self.query.seeds]
        own = np.min([np.sqrt(squared_distances(embeddings, seed)) for seed in seeds], axis=0)
        return list(zip(songs, own.tolist(), strict=True))

    @property
    def k(self) -> int:
        """Number of songs to fetch for each seed."""
        if self.masked:
            return self._n_fetched
        return max(self._n_fetched + self._n_excluded, self._unit_rank if len(self.embeddings) > 1 else 0)

    @property
    def _unit_rank(self) -> int:
        return min(SPREAD_NEIGHBOURS, len(self._space.songs))

    def take(self, ids: Ids, distances: FloatArray) -> None:
        """Continue with the nearest songs of each seed, both (n_seeds, k)."""
        if len(ids) > 1:
            rows, nearest = self._merge(ids, distances)
        else:
            rows, nearest = ids[0], distances[0]
            if not self.masked:
                allowed = self._is_allowed(rows)
                rows, nearest = rows[allowed], nearest[allowed]
        self.chosen = self._choose(rows[: self._n_fetched], nearest[: self._n_fetched])
        self.done = len(self.chosen) == self.query.n or self._n_fetched == self._n_allowed
        self._n_fetched = min(self._n_fetched * FETCH_FACTOR, self._n_allowed)

    def take_pushed(self) -> None:
        """Choose among all songs, those near a minus seed last."""
        space = self._space
        minus = [np.asarray(seed.embedding, dtype=np.float32) for seed in self.query.without]
        ranked, distances = pushed_distances(space.embeddings, self.embeddings, minus)
        allowed = space.all_but(self._seed_ids)
        rows = np.flatnonzero(allowed if self.allowed is None else allowed & self.allowed)
        rows = rows[np.argsort(ranked[rows], kind="stable")]
        for n_first in (FETCH_FACTOR * (self.query.n + len(self._seed_ids)), len(rows)):
            first = rows[:n_first]
            self.chosen = self._choose(space.ids[first], distances[first])
            if len(self.chosen) == self.query.n:
                break
        self.done = True

    def _is_allowed(self, ids: Ids) -> Mask:
        if self.allowed is None:
            return np.array([song not in self._seed_ids for song in ids.tolist()], dtype=bool)
        allowed: Mask = self.allowed[self._space.rows(ids)]
        return allowed

    def _merge(self, ids: Ids, distances: FloatArray) -> tuple[Ids, FloatArray]:
        """Return the songs by scaled distance to their nearest seed, and their unscaled distances.

        A song among the first k overall is among the first k of its nearest seed.
        """
        units = distances[:, self._unit_rank - 1 :][:, :1].copy()
        if self.masked:
            units = self._space.index.nearest(self.embeddings, self._unit_rank)[1][:, -1:]
        units[units == 0] = 1
        merged, scaled = ids.ravel(), (distances / units).ravel()
        if not self.masked:
            allowed = self._is_allowed(merged)
            merged, scaled = merged[allowed], scaled[allowed]
        merged = merged[np.lexsort((merged, scaled))]
        merged = merged[np.sort(np.unique(merged, return_index=True)[1])[: self._n_fetched]]
        embeddings = self._space.embeddings[self._space.rows(merged)]
        to_seeds = [np.sqrt(squared_distances(embeddings, seed)) for seed in self.embeddings]
        return merged, np.min(to_seeds, axis=0)

    def _choose(self, ids: Ids, distances: FloatArray) -> list[tuple[Song, float]]:
        """Return the first ``n`` songs, without copies of a seed or of one another."""
        one_per_artist = self.query.filters.one_per_artist
        copies = _Copies(self.query.seeds, self.embeddings, distances)
        chosen: list[tuple[Song, float]] = []
        artists: set[str] = set()
        for row, distance in zip(self._space.rows(ids), distances.tolist(), strict=True):
            song = self._space.songs[row]
            if copies.has(song, distance) or (one_per_artist and song.artist_key in artists):
                continue
            if song.artist_key:
                artists.add(song.artist_key)
            chosen.append((song, distance))
            if len(chosen) == self.query.n:
                break
        return chosen


class _Copies:
    """Recognises copies of a seed or of an earlier result, by artist, title, duration and distance."""

    def __init__(self, seeds: Sequence[Seed], queries: npt.NDArray[np.float32], distances: FloatArray) -> None:
        own = np.array([seed.embedding for seed in seeds], dtype=np.float32)
        from_queries = np.sqrt(squared_distances(own, queries))  # 0, unless the dial moved the queries
        ascending = np.sort(np.concatenate([distances, np.unique(from_queries)]))
        # otherwise titles need not be normalised
        self._possible = np.diff(ascending).min(initial=np.inf) < MAX_COPY_DISTANCE
        self._earlier: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
        for seed, distance in zip(seeds, from_queries.tolist(), strict=True):
            if seed.title_key:
                seconds = None if seed.song is None else seed.song.seconds
                self._earlier.setdefault((seed.artist_key, seed.title_key), []).append((distance, seconds))

    def has(self, song: Song, distance: float) -> bool:
        """Return whether a song is a copy; otherwise remember it."""
        if not self._possible:
            return False
        earlier = self._earlier.setdefault((song.artist_key, title_key(song.title)), [])
        for other, seconds in earlier:
            same_length = seconds is None or abs(seconds - song.seconds) <= MAX_COPY_SECONDS
            if same_length and abs(other - distance) < MAX_COPY_DISTANCE:
                return True
        earlier.append((distance, song.seconds))
        return False
