"""Who takes part, and who is relevant to whom in each split (paper IV-A, IV-B).

Artists with enough listeners make the experiment set; the others' songs make the codebook and nothing else. What a
split is, and who is relevant to whom in it, is shared with the library: :mod:`nearsong.model.held_out`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset import Dataset
from nearsong.experiment.settings import Settings
from nearsong.model import held_out
from nearsong.model.held_out import Audience, Indices, Ranking, Split, n_usable, neighbours_among, ranking_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Population(Audience):
    """The songs that take part, numbered anew; so are their artists.

    Attributes
    ----------
    songs : array of shape (n,)
        Their places in the data set.
    artists : array of shape (n_artists,)
        The artists' places in the data set.
    codebook_songs, codebook_artists : arrays
        Songs of the other artists, and whose they are (places in the data set).
    """

    songs: Indices
    artists: Indices
    codebook_songs: Indices
    codebook_artists: Indices


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


def make_split(population: Population, number: int, settings: Settings) -> Split:
    """Return a split; the same number and seed give the same."""
    split = held_out.make_split(population, number, n_relevant=settings.n_relevant, seed=settings.seed)
    for name in ("training", "validation", "test_known"):
        if not n_usable(getattr(split, name)):
            part = name.removesuffix("_known")
            raise DatasetError(
                f"split {number}: no {part} song has both a relevant and an irrelevant song among the training "
                "songs, so there is nothing to learn or to score; lower --relevant or --min-listeners."
            )
    return split


def training_on(population: Population, split: Split, artists: Indices, settings: Settings) -> Ranking:
    """Return what a metric learns from if only some of the training artists are known."""
    songs = split.training.queries[np.isin(population.song_artist[split.training.queries], artists)]
    return ranking_of(population, songs, songs, neighbours_among(population, artists, settings.n_relevant))


def shuffled_training(population: Population, split: Split, settings: Settings) -> Ranking:
    """Return the training relation with the artists' neighbour lists given to one another by chance."""
    ranking = split.training
    artists = np.unique(population.song_artist[ranking.queries])
    near = neighbours_among(population, artists, settings.n_relevant)
    random = np.random.default_rng([settings.seed, split.number, 7])
    strange = near.copy()
    # names are exchanged on one side only: everyone keeps a list of real neighbours, of somebody else
    strange[artists] = near[random.permutation(artists)]
    strange[strange == np.arange(len(strange))[:, None]] = -1
    return ranking_of(population, ranking.queries, ranking.queries, strange)


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
