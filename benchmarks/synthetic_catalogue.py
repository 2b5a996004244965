"""A catalogue with a known truth, at any size: taste -> who plays whom, and what songs sound like.

Artists have a taste and a fame; listeners play the artists nearest to theirs, famous ones more often, so that most
artists have few listeners, as in a real play log. A song's vector shows its artist's taste through a random mixing,
under noise of its own whose variance falls like a power law. The truth is the taste itself: which artists are nearest
without fame and chance.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_BLOCK_LISTENERS = 256


@dataclass(frozen=True)
class SyntheticCatalogue:
    """Songs and listeners.

    Attributes
    ----------
    vectors : array of shape (n_songs, n_dimensions), float32
        What songs sound like.
    song_artist : array of shape (n_songs,)
        The artist of each song; every artist has one song or more.
    plays : csr_array of bool and shape (n_listeners, n_artists)
        Who plays whom.
    taste : array of shape (n_artists, n_tastes)
        The truth.
    """

    vectors: npt.NDArray[np.float32]
    song_artist: npt.NDArray[np.int64]
    plays: sp.csr_array
    taste: npt.NDArray[np.float32]


def synthetic_catalogue(
    n_artists: int,
    n_songs: int,
    n_listeners: int,
    *,
    n_dimensions: int = 300,
    n_tastes: int = 12,
    mean_artists: float = 30.0,
    seed: int = 0,
) -> SyntheticCatalogue:
    """Draw a catalogue; ``mean_artists`` is how many artists a listener plays on average."""
    random = np.random.default_rng([seed, 71])
    weights = np.linspace(1.6, 0.4, n_tastes).astype(np.float32)
    taste = random.standard_normal((n_artists, n_tastes), dtype=np.float32) * weights
    fame = 1.2 * random.gumbel(size=n_artists).astype(np.float32)
    extra = random.choice(n_artists, n_songs - n_artists, p=_shares(random.pareto(1.5, n_artists) + 1.0))
    song_artist = np.sort(np.concatenate([np.arange(n_artists), extra])).astype(np.int64)
    return SyntheticCatalogue(
        vectors=_sound(taste, song_artist, n_dimensions, random),
        song_artist=song_artist,
        plays=_listens(taste, fame, n_listeners, mean_artists, random),
        taste=taste,
    )


def _shares(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(numbers / numbers.sum())


def _sound(
    taste: npt.NDArray[np.float32],
    song_artist: npt.NDArray[np.int64],
    n_dimensions: int,
    random: np.random.Generator,
) -> npt.NDArray[np.float32]:
    """Return song vectors; a squared part of each taste is audible too, which no linear map can undo."""
    n_tastes = taste.shape[1]
    bent = np.hstack([taste, 0.5 * (np.square(taste) - np.square(taste).mean(axis=0))])
    mixing = random.standard_normal((2 * n_tastes, n_dimensions), dtype=np.float32) / np.sqrt(n_tastes)
    spectrum = (np.arange(1, n_dimensions + 1) ** -0.6).astype(np.float32)
    vectors = np.empty((len(song_artist), n_dimensions), np.float32)
    for start in range(0, len(vectors), 8_192):
        part = bent[song_artist[start : start + 8_192]] @ mixing
        noise = random.standard_normal(part.shape, dtype=np.float32)
        vectors[start : start + 8_192] = (0.5 * part + noise) * spectrum
    return vectors


def _listens(
    taste: npt.NDArray[np.float32],
    fame: npt.NDArray[np.float32],
    n_listeners: int,
    mean_artists: float,
    random: np.random.Generator,
) -> sp.csr_array:
    n_artists = len(taste)
    most = min(n_artists // 2, int(8 * mean_artists))
    n_played = np.clip(random.lognormal(np.log(mean_artists) - 0.32, 0.8, n_listeners), 2, most).astype(int)
    rows, columns = [], []
    for start in range(0, n_listeners, _BLOCK_LISTENERS):
        counts = n_played[start : start + _BLOCK_LISTENERS]
        likes = random.standard_normal((len(counts), taste.shape[1]), dtype=np.float32)
        drawn = likes @ taste.T + fame
        chance = random.standard_exponential(drawn.shape, dtype=np.float32)
        drawn -= np.log(np.maximum(chance, np.float32(1e-30)))  # Gumbel noise: plays follow a softmax
        best = np.argpartition(-drawn, most, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(drawn, best, axis=1), axis=1)
        best = np.take_along_axis(best, order, axis=1)
        for listener, count in enumerate(counts):
            rows.append(np.full(count, start + listener))
            columns.append(best[listener, :count])
    entries = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.ones(len(entries[0]), bool), entries), shape=(n_listeners, n_artists))
