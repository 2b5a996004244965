"""Who takes part, and who is relevant to whom in each split (paper IV-A, IV-B).

Artists with enough listeners make the experiment set; the others' songs make the codebook and nothing else. Each
split has training, validation and test artists. A query's relevant songs are those of its artist's nearest artists
*within the database*: the training songs, as in the paper, or the songs of validation artists, which no metric saw.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import DatasetError, NoUsableQueryError
from nearsong.evaluation import RankingScores, artist_split, ranking_scores, scores_from_distances
from nearsong.experiment.dataset import Dataset
from nearsong.experiment.settings import Settings
from nearsong.relevance import jaccard_neighbors, relevant_songs

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Population:
    """The songs that take part.

    Attributes
    ----------
    songs : array of shape (n,)
        Their places in the data set.
    song_artist : array of shape (n,)
        Their artists, numbered 0 ... n_artists - 1.
    artists : array of shape (n_artists,)
        The artists' places in the data set.
    plays : csr_array of bool and shape (users, n_artists)
        Who listens to whom.
    codebook_songs, codebook_artists : arrays
        Songs of the other artists, and whose they are (places in the data set).
    """

    songs: Indices
    song_artist: Indices
    artists: Indices
    plays: sp.csr_array
    codebook_songs: Indices
    codebook_artists: Indices

    @property
    def n_artists(self) -> int:
        """Artists of the experiment set."""
        return len(self.artists)


def choose_population(data: Dataset, settings: Settings) -> Population:
    """Part the artists by their listeners."""
    listens = sp.csc_array(data.plays >= settings.min_plays)
    listeners = np.diff(listens.indptr)
    known = listeners >= settings.min_listeners
    if known.sum() < 10:
        raise DatasetError(
            f"{data.folder}: {int(known.sum())} artists have {settings.min_listeners} listeners with at least "
            f"{settings.min_plays:g} plays; at least 10 are needed: lower --min-listeners (the 10th most heard has "
            f"{int(np.sort(listeners)[::-1][:10][-1])})."
        )
    artists = np.flatnonzero(known)
    number = np.full(len(known), -1)
    number[artists] = np.arange(len(artists))
    taking_part = known[data.song_artist]
    songs, others = np.flatnonzero(taking_part), np.flatnonzero(~taking_part)
    return Population(
        songs=songs,
        song_artist=number[data.song_artist[songs]],
        artists=artists,
        plays=sp.csr_array(listens[:, artists]).astype(bool),
        codebook_songs=others,
        codebook_artists=data.song_artist[others],
    )


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


def make_split(population: Population, number: int, settings: Settings) -> Split:
    """Return a split; the same number and seed give the same."""
    parts = artist_split(population.n_artists, number, settings.seed)
    songs = [np.flatnonzero(np.isin(population.song_artist, part)) for part in parts]
    training, validation, test = songs
    near_training = neighbours_among(population, parts.training, settings)
    near_validation = neighbours_among(population, parts.validation, settings)
    split = Split(
        number,
        training=_ranking(population, training, training, near_training),
        validation=_ranking(population, validation, training, near_training),
        test_known=_ranking(population, test, training, near_training),
        test_unknown=_ranking(population, test, validation, near_validation),
    )
    for name in ("training", "validation", "test_known"):
        if not n_usable(getattr(split, name)):
            part = name.removesuffix("_known")
            raise DatasetError(
                f"split {number}: no {part} song has both a relevant and an irrelevant song among the training "
                "songs, so there is nothing to learn or to score; lower --relevant or --min-listeners."
            )
    return split


def neighbours_among(population: Population, artists: Indices, settings: Settings) -> npt.NDArray[np.int32]:
    """Return every artist's nearest artists within some."""
    return jaccard_neighbors(population.plays, k=settings.n_relevant, min_plays=1, among=artists, n_jobs=1)[0]


def training_on(population: Population, split: Split, artists: Indices, settings: Settings) -> Ranking:
    """Return what a metric learns from if only some of the training artists are known."""
    songs = split.training.queries[np.isin(population.song_artist[split.training.queries], artists)]
    return _ranking(population, songs, songs, neighbours_among(population, artists, settings))


def judged_by(population: Population, ranking: Ranking, plays: sp.csr_array, settings: Settings) -> Ranking:
    """Return a ranking's queries and database with relevance as other listeners have it."""
    others = replace(population, plays=plays)
    database_artists = np.unique(population.song_artist[ranking.database])
    return _ranking(others, ranking.queries, ranking.database, neighbours_among(others, database_artists, settings))


def shuffled_training(population: Population, split: Split, settings: Settings) -> Ranking:
    """Return the training relation with the artists' neighbour lists given to one another by chance."""
    ranking = split.training
    artists = np.unique(population.song_artist[ranking.queries])
    near = neighbours_among(population, artists, settings)
    random = np.random.default_rng([settings.seed, split.number, 7])
    strange = near.copy()
    # names are exchanged on one side only: everyone keeps a list of real neighbours, of somebody else
    strange[artists] = near[random.permutation(artists)]
    strange[strange == np.arange(len(strange))[:, None]] = -1
    return _ranking(population, ranking.queries, ranking.queries, strange)


def describe_part(ranking: Ranking, population: Population) -> dict[str, Any]:
    """Return the numbers of the paper's table of splits for one part."""
    counts = np.diff(ranking.relevant.indptr)
    return {
        "artists": len(np.unique(population.song_artist[ranking.queries])),
        "songs": len(ranking.queries),
        "relevant": float(counts.mean()),
        "relevant_std": float(counts.std()),
        "queries": n_usable(ranking),
    }


def _ranking(population: Population, queries: Indices, database: Indices, near: npt.NDArray[np.int32]) -> Ranking:
    relevant, ignored = relevant_songs(near, population.song_artist[queries], population.song_artist[database])
    if queries is database:  # a song is no neighbour of itself, and own_artist="ignore" leaves it out
        ignored = sp.csr_array(ignored + sp.eye_array(len(queries), dtype=bool, format="csr"))
    return Ranking(queries, database, relevant, ignored)


def n_usable(ranking: Ranking) -> int:
    """Return how many queries have both a relevant and an irrelevant song."""
    n_relevant = np.diff(ranking.relevant.indptr)
    n_judged = len(ranking.database) - np.diff(ranking.ignored.indptr)
    return int(((n_relevant > 0) & (n_relevant < n_judged)).sum())
