"""Songs in an embedding space, and comparisons of answers about them."""

import numpy as np


def assert_same(ours, other):
    np.testing.assert_array_equal(ours[0], other[0])
    np.testing.assert_array_equal(ours[1], other[1])


def songs(n=2_000, r=12, seed=0, n_queries=40):
    """Songs around their artists, and new songs of the same artists."""
    rng = np.random.default_rng(seed)
    artists = 2 * rng.standard_normal((n // 10 + 1, r))
    drawn = artists[rng.integers(len(artists), size=n + n_queries)] + rng.standard_normal((n + n_queries, r))
    return drawn[:n].astype(np.float32), drawn[n:].astype(np.float32)


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), true.tolist(), strict=True)])
