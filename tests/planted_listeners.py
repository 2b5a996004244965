"""Songs whose sound tells what kind of listeners their artists have, and the listener space written out naively."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Music:
    phi: np.ndarray  # (n_songs, d), rows of length 1
    song_artist: np.ndarray  # columns of plays
    plays: sp.csr_array  # listeners x (artists with songs + others)


def planted_music(n_artists=14, n_others=9, n_songs=60, d=30, n_listeners=150, rarity=1.5, seed=0):
    """Artists have a taste vector; listeners play artists near theirs; songs sound like their artist's taste.

    The higher the rarity, the fewer artists a listener plays, and the more they are the popular ones.
    """
    random = np.random.default_rng(seed)
    n_columns = n_artists + n_others
    taste = 2.0 * unit(random.normal(size=(n_columns, 4)))
    fame = 1.5 * taste[:, 0] + 0.5 * random.normal(size=n_columns)  # some kinds of music are popular
    drawn = random.normal(size=(n_listeners, 4)) @ taste.T + fame
    plays = drawn + random.normal(size=drawn.shape) > rarity
    song_artist = np.sort(
        np.concatenate([np.arange(n_artists), random.integers(n_artists, size=n_songs - n_artists)])
    )
    sound = taste[song_artist] @ random.normal(size=(4, d)) + 1.5 * random.normal(size=(n_songs, d))
    sound -= sound.mean(axis=0)
    return Music(sound / np.linalg.norm(sound, axis=1, keepdims=True), song_artist, sp.csr_array(plays))


def unit(rows):
    sizes = np.sqrt(np.sum(rows**2, axis=-1, keepdims=True))
    return rows / np.where(sizes > 0, sizes, 1)


def jaccard(plays, i, j):
    first, second = set(np.flatnonzero(plays[:, i])), set(np.flatnonzero(plays[:, j]))
    return len(first & second) / len(first | second) if first | second else 0.0


def naive_targets(plays, artists, anchors, *, own=1.0, n_factors=12, factor_anchors=None):
    """Y, A and S, entry by entry; plays is dense, without the listens of held-out artists."""
    Y = np.array([[0.0 if i == j else jaccard(plays, i, j) ** 0.5 for j in artists] for i in artists])
    Y /= Y.max(axis=1, keepdims=True)
    Y[np.arange(len(Y)), np.arange(len(Y))] = own
    A = unit(np.array([[0.0 if i == j else jaccard(plays, i, j) ** 0.5 for j in anchors] for i in artists]))
    chosen = plays[:, factor_anchors].astype(float)
    chosen = chosen[chosen.sum(axis=1) > 0]
    scaled = chosen / np.sqrt(chosen.sum(axis=1, keepdims=True)) / np.sqrt(chosen.sum(axis=0))
    vectors = np.linalg.svd(scaled, full_matrices=False)[2][:n_factors].T
    S = unit(np.array([vectors[list(factor_anchors).index(i)] for i in artists]))
    return Y, A, S


def naive_prediction(phi, training, codes, target, query, penalty=0.3):
    """F(x) of the recipe, in its dual form."""
    mean = phi[training].mean(axis=0)
    scale = np.sqrt(np.mean(np.sum((phi[training] - mean) ** 2, axis=1)))
    psi, x = (phi[training] - mean) / scale, (query - mean) / scale
    weights = 1.0 / np.bincount(codes)[codes]
    weights /= weights.mean()
    centred = target[codes] - target.mean(axis=0)
    return x @ psi.T @ np.linalg.solve(psi @ psi.T + penalty * np.diag(1 / weights), centred)
