"""Cross-entropies against closed forms and SciPy, and rankings that depend on nothing but the query."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nearsong.baselines import DiagonalMixture, GaussianMixtureSimilarity, fit_mixtures
from nearsong.errors import InvalidInputError


def gaussian(mean, variance):
    return DiagonalMixture([1.0], [mean], [variance])


def songs(rng, n=5, d=4):
    return [rng.normal(rng.normal(0, 1, d), rng.uniform(0.5, 2, d), (120, d)) for _ in range(n)]


def test_the_cross_entropy_of_two_gaussians_is_entropy_plus_kl_divergence():
    rng = np.random.default_rng(0)
    d, m = 6, 100_000
    mean_q, var_q, mean_x, var_x = (
        rng.normal(0, 1, d),
        rng.uniform(0.5, 2, d),
        rng.normal(0, 1, d),
        rng.uniform(1, 3, d),
    )
    ranker = GaussianMixtureSimilarity(n_samples=m).fit([gaussian(mean_x, var_x), gaussian(mean_q, var_q)])
    to_other, to_itself = ranker.distances([gaussian(mean_q, var_q)])[0]
    entropy = 0.5 * np.log(2 * np.pi * np.e * var_q).sum()
    divergence = 0.5 * (np.log(var_x / var_q) + (var_q + (mean_q - mean_x) ** 2) / var_x - 1).sum()
    # -log p_x(z) is a sum over features of (z - mean_x)^2 / (2 var_x), a scaled non-central chi-square
    shift = (mean_q - mean_x) ** 2 / var_q
    standard_error = np.sqrt((0.25 * (var_q / var_x) ** 2 * (2 + 4 * shift)).sum() / m)
    assert to_other == pytest.approx(entropy + divergence, abs=4 * standard_error)
    assert to_itself == pytest.approx(entropy, abs=4 * np.sqrt(d / 2 / m))


def test_distances_are_mean_negative_log_densities_of_one_sample_by_scipy():
    rng = np.random.default_rng(1)
    mixtures = fit_mixtures(songs(rng), n_components=3)
    query = mixtures[2]
    row = GaussianMixtureSimilarity(n_samples=500, random_state=7).fit(mixtures).distances([query])[0]
    sample = query.sample(500, np.random.default_rng(7))
    for mixture, distance in zip(mixtures, row, strict=True):
        density = sum(
            w * multivariate_normal(m, np.diag(v)).pdf(sample)
            for w, m, v in zip(mixture.weights, mixture.means, mixture.variances, strict=True)
        )
        assert distance == pytest.approx(-np.log(density).mean(), abs=1e-4)


def test_2048_samples_are_enough_for_stable_cross_entropies():
    rng = np.random.default_rng(2)
    mixtures = fit_mixtures(songs(rng, n=12, d=8), n_components=2)
    few = GaussianMixtureSimilarity().fit(mixtures).distances(mixtures)
    many = GaussianMixtureSimilarity(n_samples=50_000, random_state=1).fit(mixtures).distances(mixtures)
    spread = many.max(axis=1, keepdims=True) - many.min(axis=1, keepdims=True)
    assert (np.abs(few - many) / spread).max() < 0.1


def test_a_querys_ranking_depends_neither_on_the_other_queries_nor_on_the_threads_nor_on_what_was_asked_before():
    rng = np.random.default_rng(3)
    database, queries = songs(rng, n=40), songs(rng, n=6)
    ranker = GaussianMixtureSimilarity(n_components=2, n_samples=100, threads=2).fit(database)
    table = ranker.distances(queries)
    np.testing.assert_array_equal(ranker.distances(queries[::-1])[::-1], table)
    np.testing.assert_array_equal(ranker.rank(queries[3])[1], np.sort(table[3]))
    alone = GaussianMixtureSimilarity(n_components=2, n_samples=100, threads=1).fit(iter(database))
    np.testing.assert_array_equal(alone.distances(iter(queries)), table)


def test_ready_mixtures_stand_for_their_songs_in_the_database_and_as_queries():
    rng = np.random.default_rng(4)
    database = songs(rng)
    ranker = GaussianMixtureSimilarity(n_components=2, n_samples=64).fit(database)
    mixtures = fit_mixtures(database, n_components=2)
    table = GaussianMixtureSimilarity(n_components=2, n_samples=64).fit(mixtures).distances(mixtures)
    np.testing.assert_array_equal(ranker.distances(database), table)
    np.testing.assert_array_equal(ranker.mixtures_[1].means, mixtures[1].means)


def test_another_random_state_draws_other_frames():
    mixtures = fit_mixtures(songs(np.random.default_rng(5)), n_components=2)
    one, other = (GaussianMixtureSimilarity(random_state=s).fit(mixtures).distances(mixtures) for s in (0, 1))
    assert (one != other).all()


def test_silence_is_closest_to_silence():
    rng = np.random.default_rng(6)
    database = [*songs(rng, n=4), np.zeros((100, 4)), np.full((90, 4), 1e-4)]
    ids, distances = GaussianMixtureSimilarity().fit(database).rank(np.zeros((10, 4)), k=2)
    assert ids.tolist() == [4, 5]
    assert np.isfinite(GaussianMixtureSimilarity().fit(database).distances(database)).all()
    assert np.isfinite(distances).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be"),
        ({"n_samples": 0}, "n_samples=0 must be"),
        ({"random_state": None}, "random_state=None must be"),
        ({"threads": 0}, "threads=0 must be"),
    ],
)
def test_a_wrong_parameter_is_named(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        GaussianMixtureSimilarity(**parameters).fit([np.eye(3)])


def test_songs_of_different_width_are_named():
    with pytest.raises(InvalidInputError, match="song 1 has 2 features per frame, the other songs have 3"):
        GaussianMixtureSimilarity().fit([np.eye(3), np.eye(2)])
    with pytest.raises(InvalidInputError, match="query 0 has 2 features per frame, the fitted songs have 3"):
        GaussianMixtureSimilarity().fit([np.eye(3)]).distances([np.eye(2)])
