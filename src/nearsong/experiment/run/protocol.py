"""Data set and settings -> experiment set, codebook set and splits (paper IV-A, IV-B).

Artists with enough listeners form the experiment set; songs of all others are only used for the codebook. Splits and
relevance are shared with the library: :mod:`nearsong.model.held_out`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.run.settings import Settings
from nearsong.model import held_out
from nearsong.model.held_out import Indices, ListeningData, Ranking, Split, n_usable, neighbours_among, ranking_of

MIN_ARTISTS = 10
"""Artists that the experiment set must have."""

MIN_OUTSIDE_LISTENERS = 3
"""Listeners that an artist outside the experiment set must have to be stored."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Population(ListeningData):
    """The experiment set, with songs and artists renumbered, and the codebook set.

    Attributes
    ----------
    songs : array of shape (n,)
        Rows of the songs in the data set.
    artists : array of shape (n_artists,)
        Rows of the artists in the data set.
    codebook_songs, codebook_artists : arrays of shape (n_codebook_songs,)
        Rows in the data set of the songs of all other artists, and of their artists.
    all_plays : csr_array of bool and shape (n_all_users, n_artists + n_outside_artists)
        Which user listens to which artist: the columns of ``plays``, then the artists outside the experiment set,
        with or without songs, that have enough listeners. The first rows are those of ``plays``.
    """

    songs: Indices
    artists: Indices
    codebook_songs: Indices
    codebook_artists: Indices
    all_plays: sp.csr_array


def choose_population(data: Dataset, settings: Settings) -> Population:
    """Divide the artists into experiment set and codebook set by their number of listeners."""
    listens = sp.csc_array(data.plays >= settings.min_plays)
    listeners = np.diff(listens.indptr)
    included = listeners >= settings.min_listeners
    if included.sum() < MIN_ARTISTS:
        popular = np.sort(listeners)[::-1][:MIN_ARTISTS]
        raise DatasetError(
            f"{data.folder}: {int(included.sum())} artists have {settings.min_listeners} listeners with at least "
            f"{settings.min_plays:g} plays, {MIN_ARTISTS} are needed; lower --min-listeners (artist number "
            f"{len(popular)} by listeners has {int(popular[-1])})."
        )
    artists = np.flatnonzero(included)
    new_number = np.full(len(included), -1)
    new_number[artists] = np.arange(len(artists))
    in_experiment = included[data.song_artist]
    songs, codebook_songs = np.flatnonzero(in_experiment), np.flatnonzero(~in_experiment)
    own_plays = sp.csr_array(listens[:, artists]).astype(bool)
    return Population(
        songs=songs,
        song_artist=new_number[data.song_artist[songs]],
        artists=artists,
        plays=own_plays,
        codebook_songs=codebook_songs,
        codebook_artists=data.song_artist[codebook_songs],
        all_plays=_with_outside_artists(own_plays, listens[:, ~included], data.other_plays >= settings.min_plays),
    )


def _with_outside_artists(own: sp.csr_array, *outside: Any) -> sp.csr_array:
    """Append columns of artists outside the experiment set; rows beyond those of ``own`` are further users."""
    n_users = max(own.shape[0], *(plays.shape[0] for plays in outside))
    columns = [_with_rows(own, n_users)]
    for plays in outside:
        listeners = np.bincount(sp.csr_array(plays).indices, minlength=plays.shape[1])
        columns.append(_with_rows(plays[:, np.flatnonzero(listeners >= MIN_OUTSIDE_LISTENERS)], n_users))
    return sp.csr_array(sp.hstack(columns, format="csr"), dtype=bool)


def _with_rows(plays: Any, n_users: int) -> sp.csr_array:
    """Append empty rows."""
    rows = sp.csr_array(plays, dtype=bool)
    rows.eliminate_zeros()
    ends = np.concatenate([rows.indptr, np.full(n_users - rows.shape[0], rows.indptr[-1])])
    return sp.csr_array((rows.data, rows.indices, ends), shape=(n_users, rows.shape[1]))


def make_split(population: Population, number: int, settings: Settings) -> Split:
    """Return a split; the same number and seed give the same split."""
    split = held_out.make_split(population, number, n_relevant=settings.n_relevant, seed=settings.seed)
    for name in ("training", "validation", "test_known"):
        if not n_usable(getattr(split, name)):
            part = name.removesuffix("_known")
            raise DatasetError(
                f"split {number}: no {part} song has both relevant and irrelevant training songs, so nothing can be "
                "learned or scored; lower --relevant or --min-listeners."
            )
    return split


def training_on(population: Population, split: Split, artists: Indices, settings: Settings) -> Ranking:
    """Return the training relation restricted to some of the training artists."""
    songs = split.training.queries[np.isin(population.song_artist[split.training.queries], artists)]
    return ranking_of(population, songs, songs, neighbours_among(population, artists, settings.n_relevant))


def shuffled_training(population: Population, split: Split, settings: Settings) -> Ranking:
    """Return the training relation with the artists' neighbour lists randomly permuted."""
    ranking = split.training
    artists = np.unique(population.song_artist[ranking.queries])
    neighbours = neighbours_among(population, artists, settings.n_relevant)
    random = np.random.default_rng([settings.seed, split.number, 7])
    shuffled = neighbours.copy()
    # every artist gets the complete list of another artist, so that lists stay realistic
    shuffled[artists] = neighbours[random.permutation(artists)]
    shuffled[shuffled == np.arange(len(shuffled))[:, None]] = -1
    return ranking_of(population, ranking.queries, ranking.queries, shuffled)


def describe_part(ranking: Ranking, population: Population) -> dict[str, Any]:
    """Return the columns of the paper's Table I for one part of a split."""
    counts = np.diff(ranking.relevant.indptr)
    return {
        "artists": len(np.unique(population.song_artist[ranking.queries])),
        "songs": len(ranking.queries),
        "relevant": float(counts.mean()),
        "relevant_std": float(counts.std()),
        "queries": n_usable(ranking),
    }
