"""The closed form against the definition, and what short or silent songs need."""

import numpy as np
import pytest
from scipy import stats

from nearsong.baselines.single_gaussian import Gaussian, SingleGaussianSimilarity
from nearsong.errors import InvalidInputError


def songs(rng, n=5, width=4):
    return [rng.normal(rng.normal(0, 2, width), 1, (80, width)) @ rng.normal(0, 1, (width, width)) for _ in range(n)]


def divergence(p, q):
    """Return KL(p, q) of two Gaussians, from the definition."""
    difference = q.mean - p.mean
    inverse = np.linalg.inv(q.covariance)
    log_determinants = np.linalg.slogdet(q.covariance)[1] - np.linalg.slogdet(p.covariance)[1]
    return 0.5 * (
        np.trace(inverse @ p.covariance) + difference @ inverse @ difference - len(difference) + log_determinants
    )


def test_distances_are_the_symmetrised_divergence():
    ranker = SingleGaussianSimilarity().fit(songs(np.random.default_rng(0)))
    expected = [[divergence(p, q) + divergence(q, p) for q in ranker.gaussians_] for p in ranker.gaussians_]
    np.testing.assert_allclose(ranker.distances(ranker.gaussians_), expected, rtol=1e-9, atol=1e-9)


def test_one_feature_agrees_with_the_expected_log_ratio_of_densities():
    first, second = Gaussian(np.array([0.0]), np.array([[1.0]])), Gaussian(np.array([1.5]), np.array([[4.0]]))
    densities = [stats.norm(0.0, 1.0), stats.norm(1.5, 2.0)]
    expected = sum(p.expect(lambda x, p=p, q=q: p.logpdf(x) - q.logpdf(x))
                   for p, q in (densities, densities[::-1]))  # fmt: skip
    assert SingleGaussianSimilarity().fit([first]).distances([second])[0, 0] == pytest.approx(expected)


def test_units_and_levels_of_features_do_not_matter():
    rng = np.random.default_rng(1)
    database = songs(rng)
    units, levels = np.array([1e-1, 1.0, 50.0, 1e4]), np.array([-2.0, 0.0, 1e3, -1e5])
    table = SingleGaussianSimilarity().fit(database).distances(database)
    changed = [song * units + levels for song in database]
    np.testing.assert_allclose(
        SingleGaussianSimilarity().fit(changed).distances(changed), table, rtol=1e-6, atol=1e-6
    )


def test_songs_shorter_than_their_features_and_silence_have_finite_distances():
    rng = np.random.default_rng(2)
    database = [*songs(rng, n=3), np.zeros((50, 4)), rng.normal(0, 1, (2, 4)), rng.normal(0, 1, (1, 4))]
    table = SingleGaussianSimilarity().fit(database).distances(database)
    assert np.isfinite(table).all()
    np.testing.assert_allclose(table, table.T, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(table.argmin(axis=1), np.arange(6))


def test_copies_of_a_song_tie_and_summaries_survive_packing():
    database = songs(np.random.default_rng(3))
    ranker = SingleGaussianSimilarity().fit([*database, database[0]])
    table = ranker.distances(database)
    np.testing.assert_array_equal(table[:, 0], table[:, -1])
    unpacked = ranker.unpack(ranker.pack(ranker.gaussians_))
    np.testing.assert_array_equal(SingleGaussianSimilarity().fit(unpacked).distances(unpacked[:5]), table)


def test_shrinkage_is_a_share():
    with pytest.raises(InvalidInputError, match=r"shrinkage=1\.5 must be"):
        SingleGaussianSimilarity(shrinkage=1.5).fit(songs(np.random.default_rng(4)))
