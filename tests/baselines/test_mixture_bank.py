"""Mean log densities by matrix products against direct evaluation in double precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import nearsong.baselines.mixture_bank as mixture_bank
from nearsong.baselines import DiagonalMixture
from nearsong.baselines.kernels import add_log_densities
from nearsong.baselines.mixture_bank import MixtureBank


def songs_as_mixtures(rng, n, k=8, d=39):
    """Mixtures like those of songs: features of very different size, songs that differ, components within them."""
    size = 10 ** rng.uniform(-1, 2, d)
    mixtures = []
    for _ in range(n):
        means = size * (5 + rng.normal(0, 1, d) + rng.normal(0, 0.7, (k, d)))
        mixtures.append(
            DiagonalMixture(rng.dirichlet(np.full(k, 3.0)), means, size**2 * rng.uniform(0.05, 1, (k, d)))
        )
    return mixtures


def directly(mixtures, frames):
    return np.array([mixture.log_density(frames).mean() for mixture in mixtures])


def test_it_is_within_a_thousandth_of_a_nat_of_double_precision_for_songs_like_real_ones():
    rng = np.random.default_rng(0)
    mixtures = songs_as_mixtures(rng, 60)
    samples = [mixture.sample(700, rng) for mixture in mixtures[:5]]
    table = MixtureBank(mixtures).mean_log_densities(samples)
    for row, sample in zip(table, samples, strict=True):
        np.testing.assert_allclose(row, directly(mixtures, sample), rtol=0, atol=1e-3)


@pytest.mark.parametrize("variance", [1e-4, 1e-6, 1e-10])
def test_it_stays_so_for_a_song_of_hardly_any_variance_far_from_the_others(variance):
    rng = np.random.default_rng(1)
    mixtures = songs_as_mixtures(rng, 20)
    spread = np.sqrt(np.mean([m.variances.mean(axis=0) for m in mixtures], axis=0))
    silence = DiagonalMixture([0.5, 0.5], np.array([[9.0], [9.001]]) * spread, np.tile(variance * spread**2, (2, 1)))
    mixtures.insert(7, silence)
    sample = silence.sample(500, rng)
    row = MixtureBank(mixtures).mean_log_densities([sample])[0]
    assert abs(row[7] - silence.log_density(sample).mean()) < 1e-3
    np.testing.assert_allclose(row, directly(mixtures, sample), rtol=1e-6, atol=1e-3)
    other = mixtures[0].sample(500, rng)  # whose density under the silence is astronomically small
    np.testing.assert_allclose(
        MixtureBank(mixtures).mean_log_densities([other])[0], directly(mixtures, other), rtol=1e-6, atol=1e-3
    )


def test_single_precision_is_left_before_it_costs_a_thousandth_of_a_nat():
    rng = np.random.default_rng(8)
    mixtures = songs_as_mixtures(rng, 20)
    in_double = []
    for variance in np.geomspace(1.0, 1e-4, 25):
        narrow = DiagonalMixture([1.0], mixtures[0].means[:1], variance * mixtures[0].variances[:1])
        sample = narrow.sample(500, rng)
        bank = MixtureBank([*mixtures, narrow])
        assert abs(bank.mean_log_densities([sample])[0, -1] - narrow.log_density(sample).mean()) < 1e-3
        in_double.append(bank._n_single < 21)
    assert not in_double[0]
    assert in_double[-1]


def test_frames_out_of_all_proportion_have_a_finite_density():
    rng = np.random.default_rng(2)
    mixtures = songs_as_mixtures(rng, 3, d=4)
    frames = np.full((5, 4), 1e15)
    row = MixtureBank(mixtures).mean_log_densities([frames])[0]
    np.testing.assert_allclose(row, directly(mixtures, frames), rtol=1e-6)


def test_the_most_extreme_songs_the_checks_let_in_have_a_finite_density():
    silence = DiagonalMixture([1.0], np.full((1, 3), 1e15), np.full((1, 3), 1e-6))
    other = DiagonalMixture([1.0], np.full((1, 3), -1e15), np.full((1, 3), 1e-6))
    two = DiagonalMixture([0.5, 0.5], np.array([[0.0] * 3, [1e15] * 3]), np.full((2, 3), 1e-6))
    for mixtures in ([silence, other], [silence, other, two]):  # with and without padding
        table = MixtureBank(mixtures).mean_log_densities([silence.means, other.means])
        expected = [directly(mixtures, sample) for sample in (silence.means, other.means)]
        # 1e36 variances between the means: double precision knows which song is which, and no digit of the rest
        np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert (table[0, 0] > table[0, 1]) & (table[1, 1] > table[1, 0])


def test_mixtures_may_have_different_numbers_of_components():
    rng = np.random.default_rng(3)
    mixtures = [songs_as_mixtures(rng, 1, k, d=5)[0] for k in (1, 8, 3, 2)]
    frames = rng.normal(5, 10, (100, 5))
    np.testing.assert_allclose(
        MixtureBank(mixtures).mean_log_densities([frames])[0], directly(mixtures, frames), rtol=1e-6, atol=1e-4
    )
    alone = MixtureBank(mixtures[:1]).mean_log_densities([frames])[0]
    np.testing.assert_allclose(alone, directly(mixtures[:1], frames), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("n_frames", [1, 2047, 2049, 16384, 16385, 40_000])
def test_samples_of_any_length_are_averaged_over_all_their_frames(n_frames):
    rng = np.random.default_rng(4)
    mixtures = songs_as_mixtures(rng, 3, k=2, d=3)
    frames = rng.normal(5, 10, (n_frames, 3))
    np.testing.assert_allclose(
        MixtureBank(mixtures).mean_log_densities([frames])[0], directly(mixtures, frames), rtol=1e-6, atol=1e-4
    )


def test_copies_of_a_mixture_tie_exactly():
    rng = np.random.default_rng(5)
    mixtures = songs_as_mixtures(rng, 37, k=3, d=7)
    table = MixtureBank(mixtures + mixtures[::-1]).mean_log_densities([rng.normal(5, 10, (300, 7))])
    np.testing.assert_array_equal(table[:, :37], table[:, :36:-1])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads):
    rng = np.random.default_rng(6)
    mixtures = songs_as_mixtures(rng, 100, k=3, d=7)
    samples = [rng.normal(5, 10, (n, 7)) for n in (100, 3000)]
    bank = MixtureBank(mixtures)
    expected = bank.mean_log_densities(samples, threads=1)
    np.testing.assert_array_equal(bank.mean_log_densities(samples, threads=threads), expected)


def test_blocks_change_nothing_but_the_last_digits(monkeypatch):
    rng = np.random.default_rng(7)
    mixtures = songs_as_mixtures(rng, 50, k=3, d=7)
    samples = [rng.normal(5, 10, (3000, 7))]
    expected = MixtureBank(mixtures).mean_log_densities(samples)
    for name, value in [("_BLOCK_FRAMES", 100), ("_ROUND_FRAMES", 700), ("_BLOCK_BYTES", 5000)]:
        monkeypatch.setattr(mixture_bank, name, value)
        np.testing.assert_allclose(MixtureBank(mixtures).mean_log_densities(samples), expected, rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([1, 5, 128, 300]), st.booleans())
def test_the_kernel_sums_logarithms_of_sums(seed, k, n, double):
    rng = np.random.default_rng(seed)
    scores = (10 ** rng.uniform(0, 4) * rng.standard_normal((2 * k, n))).astype(np.float64 if double else np.float32)
    sums = np.array([3.0, -1.0])
    add_log_densities(scores, k, sums)
    parts = scores.astype(np.float64).reshape(2, k, n) * np.log(2)
    expected = logsumexp(parts, axis=1).sum(axis=1) / np.log(2) + [3.0, -1.0]
    np.testing.assert_allclose(sums, expected, rtol=1e-6, atol=1e-6 * n * np.abs(scores).max())


@pytest.mark.parametrize("k", [1, 2, 8, 300])
def test_the_kernels_products_do_not_overflow_when_all_components_are_equal(k):
    n = 128 * 150
    sums = np.zeros(1)
    add_log_densities(np.zeros((k, n), np.float32), k, sums)
    assert sums[0] == pytest.approx(n * np.log2(k), rel=1e-6)
