"""Songs and listeners -> splits of the artists, and which songs are relevant to which in each (paper IV-A, IV-B).

Splits are by artist, never by song: songs of an artist share a studio, so training on one of them would leak
information about the others. The relevant songs of a query are those of its nearest units *within the database*; a
unit is an artist, as in the paper, or a song. The database is the training songs or, to represent new music, songs by
unseen artists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation import RankingScores, artist_split, ranking_scores, scores_from_distances
from nearsong.model.units import UNITS
from nearsong.relevance import jaccard_neighbors, relevant_songs
from nearsong.validation import check_choice

Indices = npt.NDArray[np.int64]
Neighbours = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class ListeningData:
    """Songs, their artists, and who listens to what.

    Attributes
    ----------
    song_artist : array of shape (n_songs,)
        The artist of each song, 0 ... n_artists - 1.
    plays : csr_array of bool and shape (listeners, n_artists) or (listeners, n_songs)
        Which listener plays which unit.
    unit : {"artist", "song"}, default="artist"
        What a column of ``plays`` represents.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong.model.held_out import ListeningData, neighbours_among
    >>> plays = sp.csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=bool))
    >>> listening_data = ListeningData(song_artist=np.array([0, 0, 1, 2]), plays=plays)
    >>> neighbours_among(listening_data, np.arange(3), n_relevant=1).ravel()
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

    def score_embeddings(self, queries: npt.NDArray[Any], database: npt.NDArray[Any]) -> RankingScores | None:
        """Score Euclidean distances of embeddings of the queries (queries x d) and of the database (database x d).

        For methods that embed a song in the database otherwise than as a query, such as near its artist's songs.
        """
        return self._scored(ranking_scores, queries, database)

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
"""Scores a method on a ranking; None if no query is usable."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of the artists, and its rankings.

    A metric is learned on ``training``, chosen on ``validation`` and scored once on the test artists: ``test_known``
    ranks the training songs, ``test_unknown`` the songs of validation artists, which the metric was not trained on.
    """

    number: int
    training: Ranking
    validation: Ranking
    test_known: Ranking
    test_unknown: Ranking


def make_split(listening_data: ListeningData, number: int, *, n_relevant: int, seed: int) -> Split:
    """Return a split of the artists: 40 % training, 30 % validation, 30 % test.

    Parameters
    ----------
    listening_data : ListeningData
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
        Its rankings may have no usable query, see :func:`n_usable`.
    """
    parts = artist_split(listening_data.n_artists, number, seed)
    training, validation, test = (np.flatnonzero(np.isin(listening_data.song_artist, part)) for part in parts)
    near_training = neighbours_among(listening_data, np.unique(listening_data.song_unit[training]), n_relevant)
    near_validation = neighbours_among(listening_data, np.unique(listening_data.song_unit[validation]), n_relevant)
    return Split(
        number,
        training=ranking_of(listening_data, training, training, near_training),
        validation=ranking_of(listening_data, validation, training, near_training),
        test_known=ranking_of(listening_data, test, training, near_training),
        test_unknown=ranking_of(listening_data, test, validation, near_validation),
    )


def neighbours_among(listening_data: ListeningData, units: Indices, n_relevant: int) -> Neighbours:
    """Return the nearest units of every unit, out of ``units`` (all units x n_relevant, padded with -1).

    The neighbours of a song are by other artists: that people also play the rest of an album says nothing about how
    the song sounds.
    """
    if listening_data.unit == "artist":
        return jaccard_neighbors(listening_data.plays, k=n_relevant, min_plays=1, among=units, n_jobs=1)[0]
    own = int(np.bincount(listening_data.song_artist[units]).max(initial=0))
    near = jaccard_neighbors(listening_data.plays, k=n_relevant + own, min_plays=1, among=units, n_jobs=1)[0]
    is_other_artist = (near >= 0) & (listening_data.song_artist[near] != listening_data.song_artist[:, None])
    order = np.argsort(~is_other_artist, axis=1, kind="stable")[:, :n_relevant]
    return np.where(
        np.take_along_axis(is_other_artist, order, axis=1), np.take_along_axis(near, order, axis=1), np.int32(-1)
    )


def ranking_of(listening_data: ListeningData, queries: Indices, database: Indices, near: Neighbours) -> Ranking:
    """Return which songs are relevant to each query, given each unit's neighbours; its own artist's are ignored."""
    unit, artist = listening_data.song_unit, listening_data.song_artist
    relevant, ignored = relevant_songs(near, unit[queries], unit[database])
    if listening_data.unit == "song":
        nobody = np.full((listening_data.n_artists, 1), -1)
        ignored = relevant_songs(nobody, artist[queries], artist[database])[1]
    if queries is database:  # a song is not its own neighbour, and own_artist="ignore" does not cover it
        ignored = sp.csr_array(ignored + sp.eye_array(len(queries), dtype=bool, format="csr"))
    return Ranking(queries, database, relevant, ignored)


def mixed_ranking(listening_data: ListeningData, split: Split, n_relevant: int) -> Ranking:
    """Return the ranking of the songs of training and validation artists together, for the test queries."""
    database = np.sort(np.concatenate([split.training.queries, split.validation.queries]))
    units = np.unique(listening_data.song_unit[database])
    near = neighbours_among(listening_data, units, n_relevant)
    return ranking_of(listening_data, split.test_known.queries, database, near)


def unseen_validation(listening_data: ListeningData, split: Split, n_relevant: int) -> Ranking:
    """Return the ranking of the songs of validation artists for each other: what is chosen for unseen artists.

    No song of it is known to the metric, as in ``test_unknown``; the query's own artist is ignored.
    """
    songs = split.validation.queries
    near = neighbours_among(listening_data, np.unique(listening_data.song_unit[songs]), n_relevant)
    return ranking_of(listening_data, songs, songs, near)


def popularity_terciles(listening_data: ListeningData, ranking: Ranking) -> tuple[Ranking, Ranking, Ranking]:
    """Divide the database of a ranking into thirds of equally popular units, from the least to the most popular.

    Each ranking has all queries and a third of the database. A score within it compares songs of similar popularity
    only, so that little can be gained by preferring popular ones. What is relevant stays the same.

    Parameters
    ----------
    listening_data : ListeningData
        Its listeners make units popular: the more, the more popular.
    ranking : Ranking
        Of which the database is divided, unit by unit.
    """
    units, unit_of_song = np.unique(listening_data.song_unit[ranking.database], return_inverse=True)
    n_listeners = np.bincount(listening_data.plays.indices, minlength=listening_data.plays.shape[1])[units]
    tercile = np.empty(len(units), np.int64)
    tercile[np.argsort(n_listeners, kind="stable")] = np.arange(len(units)) * 3 // max(len(units), 1)
    first, second, third = (
        _restricted(ranking, np.flatnonzero(tercile[unit_of_song] == number)) for number in range(3)
    )
    return first, second, third


def _restricted(ranking: Ranking, songs: Indices) -> Ranking:
    """Return the same ranking of some songs of its database."""
    return Ranking(
        ranking.queries,
        ranking.database[songs],
        sp.csr_array(ranking.relevant[:, songs]),
        sp.csr_array(ranking.ignored[:, songs]),
    )


def mean_tercile_auc(rankings: Sequence[Ranking], score: Score) -> float | None:
    """Return the AUC within terciles: of each query the mean over the terciles it can be scored in, then the mean.

    Parameters
    ----------
    rankings : sequence of Ranking
        As :func:`popularity_terciles` returns them.
    score : callable
        Scores a ranking.

    Returns
    -------
    float or None
        None if no query has a relevant and an irrelevant song of the same tercile.
    """
    scored = [scores.per_query["auc"] for scores in map(score, rankings) if scores is not None]
    if not scored:
        return None
    table = np.array(scored)
    n_terciles = np.isfinite(table).sum(axis=0)
    sums = np.nansum(table, axis=0)
    return float((sums[n_terciles > 0] / n_terciles[n_terciles > 0]).mean())


def with_relevance_from(
    listening_data: ListeningData, ranking: Ranking, plays: sp.csr_array, n_relevant: int
) -> Ranking:
    """Return a ranking with the same queries and database, and relevance from other listeners."""
    other_data = replace(listening_data, plays=plays)
    units = np.unique(listening_data.song_unit[ranking.database])
    return ranking_of(other_data, ranking.queries, ranking.database, neighbours_among(other_data, units, n_relevant))


def n_usable(ranking: Ranking) -> int:
    """Return how many queries have both a relevant and an irrelevant song."""
    n_relevant = np.diff(ranking.relevant.indptr)
    n_ranked = len(ranking.database) - np.diff(ranking.ignored.indptr)
    return int(((n_relevant > 0) & (n_relevant < n_ranked)).sum())
