"""Evidence about a listener -> a weight of every song, and which songs they know."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.library.listeners.evidence import Evidence
from nearsong.library.listeners.matching import SongCatalogue
from nearsong.library.neighbours.space import Space
from nearsong.listens.records import Action
from nearsong.recommendation import Worth, item_weights, recency
from nearsong.types import FloatArray

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KnownSongs:
    """What a listener thinks of the songs of a space.

    Attributes
    ----------
    weights : array of shape (n_songs,)
        Above 0 for what they like, below 0 for what they dislike, 0 where nothing is known.
    is_known : array of bool and shape (n_songs,)
        Whether they played, liked, rated or skipped the song itself.
    plays : array of shape (n_songs,)
        How often they played each song, however long ago.
    last_played : array of int64 and shape (n_songs,)
        When they last did, in seconds since 1970; 0 if never, or at an unknown time.
    is_loved : array of bool and shape (n_songs,)
        Whether they gave the song a heart.
    n_plays : int
        Plays of songs and artists of the library.
    """

    weights: FloatArray
    is_known: Mask
    plays: FloatArray
    last_played: Ints
    is_loved: Mask
    n_plays: int


@dataclass(frozen=True, eq=False)
class GroupReaction:
    """A heart or rating of an album or artist: its songs as rows of a space, the action, and the stars."""

    rows: Sequence[int]
    action: Action
    stars: int = 0


class SongRows:
    """Turns evidence about a catalogue into weights of the songs of a space.

    Parameters
    ----------
    space : Space
    catalogue : SongCatalogue
        Of the songs that evidence is about, among them those of the space.
    """

    def __init__(self, space: Space, catalogue: SongCatalogue) -> None:
        self._n_songs = len(space.songs)
        row_of = space.row_of
        self._row = np.array([row_of.get(song, -1) for song in catalogue.song_ids.tolist()], dtype=np.int64)
        self._artist = np.full(self._n_songs, -1, np.int64)
        present = self._row >= 0
        self._artist[self._row[present]] = catalogue.song_artist[present]
        self._songs_of_artist = np.bincount(self._artist[self._artist >= 0], minlength=len(catalogue.artists))

    def known(self, evidence: Evidence, at: float, worth: Worth, groups: Sequence[GroupReaction] = ()) -> KnownSongs:
        """Return the weights of all songs; what is known of an artist alone is shared by the artist's songs.

        Parameters
        ----------
        evidence : Evidence
        at : float
            Now, in seconds since 1970.
        worth : Worth
        groups : sequence of GroupReaction
            Hearts and ratings of albums and artists, shared by their songs.
        """
        row = np.where(evidence.song >= 0, self._row[evidence.song], -1) if len(self._row) else evidence.song
        of_songs = _Counts.of(evidence, row, self._n_songs, at, worth)
        by_artist = np.where(evidence.song < 0, evidence.artist, -1)
        of_artists = _Counts.of(evidence, by_artist, len(self._songs_of_artist), at, worth)
        shared = of_artists.weights(worth) / np.maximum(self._songs_of_artist, 1)
        weights = of_songs.weights(worth)
        has_artist = self._artist >= 0
        weights[has_artist] += shared[self._artist[has_artist]]
        for group in groups:
            hearts, stars = [group.action == Action.HEART], [float(group.stars or np.nan)]
            (weight,) = item_weights([0.0], [0.0], hearts, stars, worth)
            weights[list(group.rows)] += weight / max(len(group.rows), 1)
        is_known = np.zeros(self._n_songs, bool)
        is_known[row[row >= 0]] = True
        listens = (row >= 0) & (evidence.action == Action.LISTEN)
        last_played = np.zeros(self._n_songs, np.int64)
        np.maximum.at(last_played, row[listens], evidence.time[listens])
        return KnownSongs(
            weights=weights,
            is_known=is_known,
            plays=np.bincount(row[listens], evidence.plays[listens], self._n_songs).astype(np.float64),
            last_played=last_played,
            is_loved=of_songs.hearts,
            n_plays=evidence.n_plays,
        )


@dataclass(frozen=True, eq=False)
class _Counts:
    """Plays, skips, hearts and stars of items, each (n_items,)."""

    plays: FloatArray
    skips: FloatArray
    hearts: Mask
    stars: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, item: Ints, n_items: int, at: float, worth: Worth) -> "_Counts":
        """Count what is known of items; rows with item -1 are left out."""
        counts = recency(evidence.time, at, worth)
        is_of = {action: (item >= 0) & (evidence.action == action) for action in Action}
        listens, skips, hearts, ratings = (
            is_of[action] for action in (Action.LISTEN, Action.SKIP, Action.HEART, Action.RATING)
        )
        liked, stars = np.zeros(n_items, bool), np.full(n_items, np.nan)
        liked[item[hearts]] = True
        rated = np.flatnonzero(ratings)
        rated = rated[np.argsort(evidence.time[rated], kind="stable")]  # the latest rating is written last
        stars[item[rated]] = evidence.plays[rated]
        played = (counts * evidence.plays)[listens]
        return cls(
            plays=np.bincount(item[listens], weights=played, minlength=n_items).astype(np.float64),
            skips=np.bincount(item[skips], weights=counts[skips], minlength=n_items).astype(np.float64),
            hearts=liked,
            stars=stars,
        )

    def weights(self, worth: Worth) -> FloatArray:
        """Return the weight of each item, (n_items,)."""
        return item_weights(self.plays, self.skips, self.hearts, self.stars, worth)
