"""Listeners with a known taste -> what they play, like and skip, for measurements of what each is worth.

Songs are points; what a library knows of them is the points with noise. A listener has one to three favourite points
and likes what is near one of them, with some noise. They meet songs that they or others favour and random ones: what
they like they play, sometimes again, and heart now and then; of the rest they skip most, and let some play.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.types import FloatArray

N_SONGS, SONGS_EACH, N_DIMENSIONS = 2_000, 10, 8
NOISE = 0.8
"""Of what is known of a song, with its own deviation 1."""
LIKED_SHARE = 0.08
"""Of all songs, what a listener likes."""


@dataclass(frozen=True, eq=False)
class World:
    """Songs and listeners.

    Attributes
    ----------
    embeddings : array of shape (n_songs, n_dimensions)
        What is known of the songs.
    artists : array of shape (n_songs,)
    likes : array of bool and shape (n_listeners, n_songs)
        The truth.
    plays, skips, hearts : arrays of shape (n_listeners, n_songs)
    """

    embeddings: npt.NDArray[np.float32]
    artists: npt.NDArray[np.int64]
    likes: npt.NDArray[np.bool_]
    plays: FloatArray
    skips: FloatArray
    hearts: npt.NDArray[np.bool_]

    @property
    def met(self) -> npt.NDArray[np.bool_]:
        """Whether a listener met a song."""
        return (self.plays > 0) | (self.skips > 0)


def songs(random: np.random.Generator) -> tuple[FloatArray, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return true points of songs around their artists, what is known of them, and their artists."""
    artists = np.repeat(np.arange(N_SONGS // SONGS_EACH), SONGS_EACH)
    centres = random.standard_normal((N_SONGS // SONGS_EACH, N_DIMENSIONS))
    points = centres[artists] + 0.4 * random.standard_normal((N_SONGS, N_DIMENSIONS))
    known = points + NOISE * random.standard_normal(points.shape) * 0.5
    return points, known.astype(np.float32), artists


def liked_by(points: FloatArray, favourites: FloatArray, random: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return what somebody with some favourite points likes, (n_songs,)."""
    squares = np.square(points[:, None] - favourites[None]).sum(axis=2).min(axis=1)
    noisy = squares + 2.0 * random.standard_normal(len(points))
    return noisy <= np.quantile(noisy, LIKED_SHARE)


def favourites_of(points: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return the favourite points of a new listener."""
    return points[random.integers(len(points), size=random.integers(1, 4))]


def make_world(n_listeners: int, n_met: int, seed: int) -> World:
    """Simulate listeners who each meet some songs."""
    random = np.random.default_rng([26, seed])
    points, known, artists = songs(random)
    shape = (n_listeners, len(points))
    likes, plays, skips, hearts = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
    popularity = (1.0 + random.permutation(len(points))) ** -0.5
    for row in range(n_listeners):
        likes[row] = liked_by(points, favourites_of(points, random), random)
        chance = popularity / popularity.sum() + 1.5 * likes[row] / likes[row].sum()
        met = random.choice(len(points), n_met, replace=False, p=chance / chance.sum())
        good = likes[row, met]
        plays[row, met[good]] = 1 + random.poisson(1.0, good.sum())
        hearts[row, met[good]] = random.random(good.sum()) < 0.15
        left = random.random(len(met)) < 0.6
        skips[row, met[~good & left]] = 1
        plays[row, met[~good & ~left]] = 1
    return World(known, artists, likes, plays, skips, hearts)
