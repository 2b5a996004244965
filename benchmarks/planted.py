"""Ranking problems with a known low-rank truth, at any size.

Artists live in a latent space of taste; listeners relate each artist to its nearest ones, with some noise; a song's
vector shows its artist's place through a random mixing, under noise whose variance falls like a power law, as PCA
coordinates do.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


@dataclass(frozen=True)
class PlantedProblem:
    """Songs, the relevant ones of each and those to ignore (same artist)."""

    X: npt.NDArray[np.float64]
    relevant: sp.csr_array
    ignored: sp.csr_array


def planted_problem(
    n_artists: int = 806,
    d: int = 253,
    rank: int = 12,
    neighbours: int = 10,
    songs_an_artist: float = 2.69,
    seed: int = 0,
) -> PlantedProblem:
    """Draw a problem; the defaults give about 2,170 songs with 27 relevant ones each."""
    random = np.random.default_rng(seed)
    taste = random.normal(size=(n_artists, rank)) * np.linspace(1.5, 0.5, rank)
    artist = np.repeat(np.arange(n_artists), 1 + random.poisson(songs_an_artist - 1, size=n_artists))
    n = len(artist)
    mixing = random.normal(size=(rank, d)) / np.sqrt(rank)
    sound = taste[artist] + 0.3 * random.normal(size=(n, rank))
    X = (0.35 * sound @ mixing + random.normal(size=(n, d))) * np.arange(1, d + 1) ** -0.6
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(np.sum(X * X, axis=1)))
    nearest = _noisy_neighbours(taste, neighbours, random)
    songs = sp.csr_array((np.ones(n, np.int8), (np.arange(n), artist)), shape=(n, n_artists))
    pairs = (np.repeat(np.arange(n_artists), neighbours), nearest.ravel())
    related = sp.csr_array((np.ones(n_artists * neighbours, np.int8), pairs), shape=(n_artists, n_artists))
    return PlantedProblem(X, (songs @ related @ songs.T).tocsr(), (songs @ songs.T).tocsr())


def _noisy_neighbours(
    taste: npt.NDArray[np.float64], neighbours: int, random: np.random.Generator, block: int = 1024
) -> npt.NDArray[np.int64]:
    """Return each artist's nearest others after noise on the squared distances."""
    squares = np.sum(taste * taste, axis=1)
    nearest = np.empty((len(taste), neighbours), dtype=np.int64)
    for start in range(0, len(taste), block):
        rows = slice(start, min(start + block, len(taste)))
        distance = squares[rows, None] + squares - 2.0 * taste[rows] @ taste.T
        distance += 2.0 * random.normal(size=distance.shape)
        distance[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = np.inf
        nearest[rows] = np.argpartition(distance, neighbours, axis=1)[:, :neighbours]
    return nearest
