"""The library at one moment -> answers: everything that a question needs, made once and shared by all threads."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, LibraryError, NoSuchSongError
from nearsong.library.beside import native_space
from nearsong.library.cold_start import ColdStart, cold_start
from nearsong.library.fullest import LibrarySounds, hear_library
from nearsong.library.learning import Histories
from nearsong.library.made_once import is_made, made_once, take_over
from nearsong.library.near_places import check_places
from nearsong.library.overlaps import Listeners
from nearsong.library.playlist import PlaylistRules, make_playlist
from nearsong.library.recommend import (
    Filters,
    Question,
    Seed,
    seed_of_song,
    seed_of_sound,
    similar,
    similar_each,
    walk_between,
)
from nearsong.library.records import Neighbour, Song, Tags
from nearsong.library.sound_words import describe_model
from nearsong.library.space import Space
from nearsong.library.store import ModelRow, Store
from nearsong.library.why import Why, explain_pairs
from nearsong.validation import check_choice

if TYPE_CHECKING:
    from nearsong.library.browse import Browser
    from nearsong.library.shelves import Shelves

METRICS = ("active", "native")

KEPT_COLD_STARTS = 8

RELOAD_SECONDS = 2.0
"""Seconds for which songs that another process adds may go unseen ..."""

RELOAD_SHARE = 4.0
"""... or so many times what it takes to read them all and to make ready, if that is more."""


class Snapshot:
    """A library as it is at one moment; threads may share it.

    What takes long is made when first asked for, once, and asking for one thing waits for no other.

    Attributes
    ----------
    stamp : tuple of int
        Another one means that the library has changed since.
    space : Space
        The songs in the space of the model that answers.
    model : ModelRow
        That model.
    warming : float
        Seconds that :meth:`warm` took; 0 before.
    """

    def __init__(self, store: Store, space: Space, model: ModelRow, stamp: tuple[int, ...]) -> None:
        self._store = store
        self.space, self.model, self.stamp = space, model, stamp
        self.warming = 0.0
        self._counting = threading.Lock()
        self._cold_starts: dict[tuple[int, int], ColdStart] = {}
        self._counts: dict[int, npt.NDArray[np.float64]] = {}

    def with_listens(self, stamp: tuple[int, ...]) -> "Snapshot":
        """Return the same songs beside other listening histories."""
        other = Snapshot(self._store, self.space, self.model, stamp)
        take_over(other, self, "native", "sounds", "shelves")
        return other

    # ---- what is made when first asked for

    @made_once
    def native(self) -> Space:
        """Return the same songs by sound alone; ``space`` itself if nothing else answers."""
        return native_space(self._store, self.space, self.model)

    @made_once
    def histories(self) -> Histories:
        """Return the listening histories beside the songs."""
        return Histories(self._store)

    @made_once
    def listeners(self) -> Listeners:
        """Return who listens to whom."""
        if not self._store.listens.sources():  # not even the names of artists are needed then
            return Listeners(sp.csr_array((0, 0), dtype=bool), [])
        return Listeners.of(self.histories)

    @made_once
    def plays(self) -> dict[int, float]:
        """Return how often songs were played, by id; those that never were are not in it."""
        return self.histories.song_plays() if self._store.listens.sources() else {}

    @made_once
    def sounds(self) -> LibrarySounds:
        """Return what the library sounds like as a whole, from one pass over it."""
        words = describe_model(self.space.model)
        return hear_library(self._store.songs.vectors(self.model.ear_id), words, self.space.ids)

    @made_once
    def browser(self) -> "Browser":
        """Return what searches, sorts and turns pages."""
        from nearsong.library.browse import Browser

        return Browser(self.space.songs, self.plays, self.space.finder)

    @made_once
    def shelves(self) -> "Shelves":
        """Return artists, albums and their songs."""
        from nearsong.library.shelves import Shelves

        return Shelves(self.space.songs)

    def warm(self) -> None:
        """Make what the first questions would wait for: what most ask for first, what few ask for last."""
        begun = time.monotonic()
        self._prepare(self.space)
        for song in self.space.songs[:1]:
            self.listeners.nearest_artists(song.artist_key)
        self.browser.page(limit=1)
        self._prepare(self.native)
        _ = self.shelves, self.sounds
        self.warming = time.monotonic() - begun

    def _prepare(self, space: Space) -> None:
        similar(space, [seed_of_song(space, song) for song in space.songs[:1]])

    # ---- questions

    def space_of(self, metric: str) -> Space:
        """Return the songs as a metric has them: ``active`` or ``native``."""
        check_choice(metric, "metric", METRICS)
        return self.space if metric == "active" else self.native

    def song(self, song_id: int) -> Song:
        """Return a song by its id.

        Raises
        ------
        NoSuchSongError
            If there is none, or its file is gone.
        """
        row = self.space.row_of.get(song_id)
        if row is not None:
            return self.space.songs[row]
        if song_id in self.space.missing:
            raise NoSuchSongError(f"the file of song {song_id} is gone; bring it back and run `nearsong scan`.")
        raise NoSuchSongError(f"there is no song {song_id}; search for it by its name.")

    def seed(self, song_id: int, metric: str = "active") -> Seed:
        """Return a song as a seed."""
        return seed_of_song(self.space_of(metric), self.song(song_id))

    def seed_of_sound(self, vector: npt.NDArray[Any], tags: Tags, name: str, metric: str = "active") -> Seed:
        """Return a seed for a file outside the library, heard by the model's ear."""
        return seed_of_sound(self.space_of(metric), vector, tags, name)

    def seed_at(self, place: npt.ArrayLike, model_id: int, name: str = "a file") -> Seed:
        """Return a seed for a file that was heard before, of which only its place is left.

        Parameters
        ----------
        place : array of shape (rank,)
        model_id : int
            The model under which it is there.
        name : str

        Raises
        ------
        LibraryError
            If another model answers by now.
        InvalidInputError
            If the place is not one of this model's.
        """
        spaces = [self.space, *([self.native] if is_made(self, "native") else [])]
        space = next((one for one in spaces if one.model_id == model_id), None)
        if space is None:
            raise _of_another_model(name)
        where = check_places(np.atleast_2d(np.asarray(place)), "place")
        if where.shape != (1, space.places.shape[1]):
            raise InvalidInputError(
                f"a place of shape {where.shape} came; {space.places.shape[1]} numbers are needed."
            )
        return Seed(name, where[0], None, None, "", "", model_id)

    def similar(
        self, seeds: Sequence[Seed], n: int = 10, filters: Filters | None = None, metric: str = "active"
    ) -> list[Neighbour]:
        """Return the nearest songs; see :func:`nearsong.library.recommend.similar`."""
        space = self.space_of(metric)
        return similar(space, [self._as(space, seed) for seed in seeds], n, filters, self._plays_for(filters, space))

    def similar_each(self, questions: Sequence[Question], metric: str = "active") -> list[list[Neighbour]]:
        """Return the nearest songs of each question, as :meth:`similar` does, in a fraction of the time.

        Their seeds must be of this snapshot and metric; none may ask for ``fewer_plays``.
        """
        return similar_each(self.space_of(metric), questions)

    def is_ready(self, metric: str = "active") -> bool:
        """Say whether near songs can be told at once, without making or reading anything first."""
        if not all(is_made(self, name) for name in ("plays", "listeners")):
            return False
        space = self.space if metric == "active" else self.__dict__.get("native")
        return space is not None and is_made(space, "index") and is_made(space, "calibration")

    def agrees(self, seed: Seed, songs: Sequence[Song]) -> list[bool | None]:
        """Say for each song whether listeners find its artist near the seed's too; None where they cannot tell."""
        return [self.listeners.agree(seed.artist_key, song.artist_key) for song in songs]

    def why(self, query: Seed, others: Sequence[Seed]) -> list[Why]:
        """Explain why songs are near a query, or far from it."""
        return self.why_pairs([(query, other) for other in others])

    def why_pairs(self, pairs: Sequence[tuple[Seed, Seed]]) -> list[Why]:
        """Explain several pairs of songs at once."""
        space = self.space
        found = [(self._as(space, query), self._as(space, other)) for query, other in pairs]
        return (
            explain_pairs(self._store, space, self.model.ear_id, found, self.listeners, self.sounds) if found else []
        )

    def playlist(
        self,
        seeds: Sequence[Seed],
        rules: PlaylistRules | None = None,
        filters: Filters | None = None,
        to: Seed | None = None,
    ) -> tuple[list[Song], list[str]]:
        """Make a playlist from seeds, or from the one seed ``to`` another; return songs, and what was not kept to."""
        space = self.space
        found = [self._as(space, seed) for seed in seeds]
        rules = rules or PlaylistRules()
        allowed = (filters or Filters()).allowed(space, [], self._plays_for(filters, space))
        if to is not None:
            made = walk_between(space, [*found, self._as(space, to)], rules, allowed)
        else:
            if not found:
                raise InvalidInputError("no seed came; give a song, a file or its name.")
            places = [seed.place if seed.song is None else space.row_of[seed.song.id] for seed in found]
            made = make_playlist(space.places, space.artists, places, rules, allowed=allowed)
        return [space.songs[row] for row in made.songs], list(made.notes)

    def cold_start(self, n: int = 10, most: int = 2_000) -> ColdStart:
        """Say how much of what was never played comes up; see :func:`nearsong.library.cold_start.cold_start`."""
        with self._counting:
            if (n, most) not in self._cold_starts:
                if len(self._cold_starts) >= KEPT_COLD_STARTS:
                    self._cold_starts.clear()
                self._cold_starts[n, most] = cold_start(self.space, self.native, self.plays, n, most)
            return self._cold_starts[n, most]

    def _as(self, space: Space, seed: Seed) -> Seed:
        """Return a seed where a space has it now; it may have been made a while ago, or for the other metric."""
        if seed.song is not None:
            song = self.song(seed.song.id)
            fits = seed.model_id == space.model_id and seed.song is song
            return seed if fits else seed_of_song(space, song)
        if seed.model_id == space.model_id:
            return seed
        here = {self.space.model_id} | ({self.native.model_id} if is_made(self, "native") else set())
        if seed.vector is None or seed.model_id not in here:
            raise _of_another_model(seed.name)
        return replace(seed, place=space.model.project(seed.vector), model_id=space.model_id)

    def _plays_for(self, filters: Filters | None, space: Space) -> npt.NDArray[np.float64] | None:
        if filters is None or filters.fewer_plays is None:
            return None
        counts = self._counts.get(space.model_id)
        if counts is None:
            plays = self.plays
            counts = self._counts[space.model_id] = np.array([plays.get(song.id, 0.0) for song in space.songs])
        return counts


def _of_another_model(name: str) -> LibraryError:
    return LibraryError(f"{name} was heard for another model than the one that answers now; give it again.")


class Newest:
    """The newest snapshot of a library: kept while nothing changes, read anew when something has.

    Threads may share it; those that see the same change read it once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: Snapshot | None = None
        self._read, self._took = 0.0, 0.0

    def stamp(self) -> tuple[int, ...]:
        """Return numbers that change when another model answers, or songs or listens come, go or change."""
        sources = [(source.id, source.rows, source.imported) for source in self._store.listens.sources()]
        digest = blake2b(repr(sources).encode(), digest_size=7).digest()
        return (*self._store.stamp(), int.from_bytes(digest, "big"))

    def get(self, *, now: bool = False) -> Snapshot:
        """Return the library as it is.

        Parameters
        ----------
        now : bool, default=False
            Whether songs that have just come must be there; otherwise they may go unseen for some seconds, so that
            not every question reads all songs again while a scan writes one after the other.

        Raises
        ------
        EmptyLibraryError
            If there is nothing to compare yet.
        """
        kept = self._kept
        if kept is not None and self._serves(kept, self.stamp(), now):
            return kept
        with self._lock:
            kept, stamp = self._kept, self.stamp()  # another thread may have read it while this one waited
            if kept is None or not self._serves(kept, stamp, now):
                kept = self._kept = self._load(kept, stamp, now)
            return kept

    def forget(self) -> None:
        """Read everything anew at the next question."""
        with self._lock:
            self._kept = None

    def _serves(self, kept: Snapshot, stamp: tuple[int, ...], now: bool) -> bool:
        return kept.stamp[2:] == stamp[2:] and self._has_songs(kept, stamp, now)

    def _has_songs(self, kept: Snapshot, stamp: tuple[int, ...], now: bool) -> bool:
        """Say whether the songs that were read will do."""
        if kept.stamp[:2] == stamp[:2] or kept.stamp[0] != stamp[0] or now:
            return kept.stamp[:2] == stamp[:2]
        return time.monotonic() - self._read < max(RELOAD_SECONDS, RELOAD_SHARE * (self._took + kept.warming))

    def _load(self, kept: Snapshot | None, stamp: tuple[int, ...], now: bool) -> Snapshot:
        if kept is not None and self._has_songs(kept, stamp, now):  # only listens are new
            return kept.with_listens((*kept.stamp[:2], *stamp[2:]))
        begun = time.monotonic()
        space = Space.load(self._store)
        found = Snapshot(self._store, space, self._store.models.row(space.model_id), stamp)
        self._read = time.monotonic()
        self._took = self._read - begun
        return found
