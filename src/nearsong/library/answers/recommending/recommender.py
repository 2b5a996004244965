"""The songs of a snapshot and its listeners -> what all recommendations have in common, computed once."""

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache, cachedmethod

from nearsong.caching import cached_property
from nearsong.library.answers.recommending.known_songs import GroupReaction, KnownSongs, SongRows
from nearsong.library.listeners.evidence import NamedRows, evidence_of, imported_rows, recorded_rows
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.listeners.matching import SongCatalogue
from nearsong.library.neighbours.space import Space
from nearsong.library.store import Store
from nearsong.names import visible_name
from nearsong.recommendation import (
    OverlapScores,
    Taste,
    Worth,
    blended_scores,
    strongest_rows,
    taste_scores,
    typical_squared_distance,
    without_disliked,
)
from nearsong.types import FloatArray

Mask = npt.NDArray[np.bool_]

Ints = npt.NDArray[np.int64]

MIN_LISTENERS = 100
"""Listeners in all histories from which on they count next to the embeddings."""

MIN_ARTIST_LISTENERS = 3
"""Listeners that an artist needs to be recommended by them."""

MAX_CACHED_LISTENERS = 64
"""Listeners whose imported histories are kept."""


class Recommender:
    """What recommendations need of a snapshot. Thread-safe.

    Parameters
    ----------
    store : Store
    space : Space
    catalogue : SongCatalogue
        Of all songs of the library.
    recordings : callable
        Returns which songs are copies of a recording, (n_songs,): the row of the first copy.
    plays : callable
        Returns how often everybody played each song of the space, (n_songs,).
    listeners : callable
        Returns who listens to which artists.
    songs_of : callable
        Album or artist, by its id -> ids of its songs; none for an unknown one.
    """

    def __init__(
        self,
        store: Store,
        space: Space,
        catalogue: SongCatalogue,
        recordings: Callable[[], Ints],
        plays: Callable[[], FloatArray],
        listeners: Callable[[], Listeners],
        songs_of: Callable[[str], Sequence[int]],
    ) -> None:
        self._store, self.space, self.plays = store, space, plays
        self._catalogue, self._listeners, self._songs_of = catalogue, listeners, songs_of
        self._recordings = recordings
        self._imported: LRUCache[str, list[NamedRows]] = LRUCache(MAX_CACHED_LISTENERS)
        self._lock = threading.Lock()

    @cached_property
    def typical(self) -> float:
        """The typical squared distance of two songs."""
        return typical_squared_distance(self.space.embeddings)

    @property
    def recordings(self) -> Ints:
        """Which songs are copies of a recording, (n_songs,): the row of the first copy."""
        return self._recordings()

    def copies_of(self, songs: Mask) -> Mask:
        """Return a mask of the songs in a mask and all their copies, (n_songs,)."""
        is_there = np.zeros(len(songs), bool)
        is_there[self.recordings[songs]] = True
        return is_there[self.recordings]

    def has_recorded_plays(self) -> bool:
        """Return whether anything was played here; else all plays are those of imported histories."""
        return self._store.plays.count() > 0

    def artist_listeners(self) -> FloatArray:
        """Return how many listeners the artist of each song has, (n_songs,)."""
        listeners, artists = self._listeners(), self.space.artists
        keys = [key for key, number in self.space.artist_numbers.items() if number >= 0]
        n_listeners = np.append(np.bincount(listeners.plays.indices, minlength=listeners.plays.shape[1]), 0)
        of_artists = np.append(n_listeners[listeners.columns(keys)], 0)  # the last is for songs without an artist
        return of_artists[artists].astype(np.float64)

    def known_songs(self, listener: str, at: float, worth: Worth) -> KnownSongs:
        """Return what a listener thinks of the songs, with all that was recorded until now.

        Parameters
        ----------
        listener : str
        at : float
            Now, in seconds since 1970.
        worth : Worth
        """
        name = visible_name(listener)
        histories = [*self._imported_rows(name), recorded_rows(self._store, name)]
        return self._rows.known(evidence_of(self._catalogue, histories), at, worth, self._groups(name))

    def scores(self, known: KnownSongs, ranked: Mask) -> tuple[FloatArray, Taste, Ints]:
        """Return how well every song fits a listener, (n_songs,), their taste, and the rows of its points.

        Parameters
        ----------
        known : KnownSongs
        ranked : array of bool and shape (n_songs,)
            The songs that may be recommended; others may have any score.
        """
        embeddings = self.space.embeddings
        points = strongest_rows(known.weights)
        taste = Taste(embeddings[points], known.weights[points])
        scores = taste_scores(embeddings, taste, self.typical)
        found = self._overlaps
        if found is None:
            return scores, taste, points
        listening, column = found
        has_artist = self.space.artists >= 0
        of_artists = self.space.artists[has_artist]
        both = []
        for weights in (np.maximum(known.weights, 0), np.maximum(-known.weights, 0)):
            of_columns = np.zeros(len(listening.n_listeners))
            of_columns[column[column >= 0]] = np.bincount(of_artists, weights[has_artist], len(column))[column >= 0]
            both.append(listening.scores(of_columns))
        liked, disliked = both
        by_column = np.append(without_disliked(liked, disliked) if (known.weights > 0).any() else -disliked, 0.0)
        enough = np.append(listening.n_listeners >= MIN_ARTIST_LISTENERS, False)
        song_column = np.where(has_artist, column[self.space.artists], -1)
        return blended_scores(scores, by_column[song_column], enough[song_column], ranked), taste, points

    @cached_property
    def _overlaps(self) -> tuple[OverlapScores, Ints] | None:
        """Who plays what, and the column of each artist of the space; None with too few listeners."""
        listeners = self._listeners()
        if listeners.n_listeners < MIN_LISTENERS:
            return None
        keys = [key for key, number in self.space.artist_numbers.items() if number >= 0]
        return OverlapScores(listeners.plays), listeners.columns(keys)

    def _groups(self, listener: str) -> list[GroupReaction]:
        row_of = self.space.row_of
        groups = []
        for action, item, _, stars in self._store.reactions.of_albums_and_artists(listener):
            rows = [row_of[song] for song in self._songs_of(item) if song in row_of]
            groups.append(GroupReaction(rows, action, stars))
        return groups

    @cached_property
    def _rows(self) -> SongRows:
        return SongRows(self.space, self._catalogue)

    @cachedmethod(attrgetter("_imported"), key=lambda self, listener: listener, lock=attrgetter("_lock"))
    def _imported_rows(self, listener: str) -> list[NamedRows]:
        return imported_rows(self._store, listener)
