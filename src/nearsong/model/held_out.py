"""Songs and listeners -> splits of the artists, and who is relevant to whom in each (paper IV-A, IV-B).

Artists are parted, never songs: a metric that heard one song of an artist knows the studio of the others. A query's
relevant songs are those of its nearest units *within the database*; a unit is an artist, as in the paper, or a song.
The database is the training songs or, as nobody's plays reach new music, the songs of artists that no metric saw.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation import RankingScores, artist_split, ranking_scores, scores_from_distances
from nearsong.relevance import jaccard_neighbors, relevant_songs
from nearsong.validation import check_choice

Indices = npt.NDArray[np.int64]
Neighbours = npt.NDArray[np.int32]

UNITS = ("artist", "song")
"""What listeners are asked about: whom they listen to, or which of their songs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Audience:
    """Songs, whose they are, and who listens to what.

    Attributes
    ----------
    song_artist : array of shape (n_songs,)
        The artist of each song, 0 ... n_artists - 1.
    plays : csr_array of bool and shape (listeners, n_artists) or (listeners, n_songs)
        Who listens to which unit.
    unit : {"artist", "song"}, default="artist"
        What the columns of ``plays`` are.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong.model.held_out import Audience, neighbours_among
    >>> plays = sp.csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=bool))
    >>> audience = Audience(song_artist=np.array([0, 0, 1, 2]), plays=plays)
    >>> neighbours_among(audience, np.arange(3), n_relevant=1).ravel()
    array([1, 0, 1], dtype=int32)
    """

    song_artist: Indices
    plays: sp.csr_array
    unit: str = "artist"

    def __post_init__(self) -> None:
        check_choice(self.unit, "unit", UNITS)
        if self.unit == "song" and self.plays.shape[1] != len(self.song_artist):
            raise InvalidInputError(
                f"plays has {self.plays.shape[1]} columns and there are {len(self.song_artist)} songs; with "
                'unit="song" there is a column for each.'
            )

    @property
    def n_songs(self) -> int:
        """Songs."""
        return len(self.song_artist)

    @property
    def n_artists(self) -> int:
        """Artists."""
        return self.plays.shape[1] if self.unit == "artist" else int(self.song_artist.max(initial=-1)) + 1

    @property
    def song_unit(self) -> Indices:
        """The unit of each song: its artist or itself."""
        return self.song_artist if self.unit == "artist" else np.arange(self.n_songs)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Queries, the database they rank, and which of its songs are relevant to which query."""

    queries: Indices
    database: Indices
    relevant: sp.csr_array
    ignored: sp.csr_array

    def score_vectors(self, vectors: npt.NDArray[Any]) -> RankingScores | None:
        """Score Euclidean distances of vectors (all songs x d); None if no query is usable."""
        return self._scored(ranking_scores, vectors[self.queries], vectors[self.database])

    def score_distances(self, distances: npt.NDArray[Any]) -> RankingScores | None:
        """Score a table of distances (all songs x all songs)."""
        return self.score_table(distances[np.ix_(self.queries, self.database)])

    def score_table(self, distances: npt.NDArray[Any]) -> RankingScores | None:
        """Score a table of distances (queries x database)."""
        return self._scored(scores_from_distances, distances)

    def _scored(self, score: Any, *arguments: Any) -> RankingScores | None:
        try:
            scores: RankingScores = score(*arguments, self.relevant, self.ignored, threads=1)
        except NoUsableQueryError:
            return None
        return scores


Score = Callable[[Ranking], RankingScores | None]
"""Something that ranks, and what its ranking is worth."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of the artists, and the rankings it is judged by.

    ``training`` teaches a metric, ``validation`` chooses among metrics, ``test`` is looked at once: ``known`` ranks
    the training songs, ``unknown`` the songs of validation artists.
    """

    number: int
    training: Ranking
    validation: Ranking
    test_known: Ranking
    test_unknown: Ranking


def make_split(audience: Audience, number: int, *, n_relevant: int, seed: int) -> Split:
    """Return a split of the artists: 40 % training, 30 % validation, 30 % test.

    Parameters
    ----------
    audience : Audience
        With at least three artists.
    number : int
        Which split.
    n_relevant : int
        Relevant units of each unit, within the database.
    seed : int
        The same number and seed give the same split.

    Returns
    -------
    Split
        Its rankings may be without a usable query, see :func:`n_usable`.
    """
    parts = artist_split(audience.n_artists, number, seed)
    training, validation, test = (np.flatnonzero(np.isin(audience.song_artist, part)) for part in parts)
    near_training = neighbours_among(audience, np.unique(audience.song_unit[training]), n_relevant)
    near_validation = neighbours_among(audience, np.unique(audience.song_unit[validation]), n_relevant)
    return Split(
        number,
        training=ranking_of(audience, training, training, near_training),
        validation=ranking_of(audience, validation, training, near_training),
        test_known=ranking_of(audience, test, training, near_training),
        test_unknown=ranking_of(audience, test, validation, near_validation),
    )


def neighbours_among(audience: Audience, units: Indices, n_relevant: int) -> Neighbours:
    """Return every unit's nearest units within some (all units x n_relevant, padded with -1).

    A song's neighbours are songs of other artists: that people who play a song play the rest of its record too says
    nothing about music.
    """
    if audience.unit == "artist":
        return jaccard_neighbors(audience.plays, k=n_relevant, min_plays=1, among=units, n_jobs=1)[0]
    own = int(np.bincount(audience.song_artist[units]).max(initial=0))
    near = jaccard_neighbors(audience.plays, k=n_relevant + own, min_plays=1, among=units, n_jobs=1)[0]
    strange = (near >= 0) & (audience.song_artist[near] != audience.song_artist[:, None])
    order = np.argsort(~strange, axis=1, kind="stable")[:, :n_relevant]
    return np.where(np.take_along_axis(strange, order, axis=1), np.take_along_axis(near, order, axis=1), np.int32(-1))


def ranking_of(audience: Audience, queries: Indices, database: Indices, near: Neighbours) -> Ranking:
    """Return who is relevant to whom, given each unit's neighbours; songs of the query's artist are ignored."""
    unit, artist = audience.song_unit, audience.song_artist
    relevant, ignored = relevant_songs(near, unit[queries], unit[database])
    if audience.unit == "song":
        nobody = np.full((audience.n_artists, 1), -1)
        ignored = relevant_songs(nobody, artist[queries], artist[database])[1]
    if queries is database:  # a song is no neighbour of itself, and own_artist="ignore" leaves it out
        ignored = sp.csr_array(ignored + sp.eye_array(len(queries), dtype=bool, format="csr"))
    return Ranking(queries, database, relevant, ignored)


def judged_by(audience: Audience, ranking: Ranking, plays: sp.csr_array, n_relevant: int) -> Ranking:
    """Return a ranking's queries and database with relevance as other listeners have it."""
    others = replace(audience, plays=plays)
    units = np.unique(audience.song_unit[ranking.database])
    return ranking_of(others, ranking.queries, ranking.database, neighbours_among(others, units, n_relevant))


def n_usable(ranking: Ranking) -> int:
    """Return how many queries have both a relevant and an irrelevant song."""
    n_relevant = np.diff(ranking.relevant.indptr)
    n_judged = len(ranking.database) - np.diff(ranking.ignored.indptr)
    return int(((n_relevant > 0) & (n_relevant < n_judged)).sum())
