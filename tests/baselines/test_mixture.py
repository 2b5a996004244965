"""Densities against SciPy, EM against scikit-learn and against what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from nearsong.baselines import DiagonalMixture, fit_mixture, fit_mixtures
from nearsong.baselines.kernels import em_pass, exp2_all
from nearsong.baselines.mixture import MIN_VARIANCE
from nearsong.baselines.songs import map_in_threads
from nearsong.errors import InvalidInputError


def random_mixture(rng, k=8, d=39):
    """A mixture about as spread as the MFCCs of a song."""
    weights = rng.dirichlet(np.full(k, 5.0))
    return DiagonalMixture(weights, rng.normal(0, 20, (k, d)), 10 ** rng.uniform(0, 2, (k, d)))


def frames_like_a_song(rng, n=3000, d=39):
    mixture = random_mixture(rng, d=d)
    return mixture.sample(n, rng).astype(np.float32)


# Densities and samples


def test_log_density_is_scipys():
    rng = np.random.default_rng(0)
    mixture = random_mixture(rng, k=3, d=5)
    frames = rng.normal(0, 30, (40, 5))
    parts = [
        np.log(w) + multivariate_normal(m, np.diag(v)).logpdf(frames)
        for w, m, v in zip(mixture.weights, mixture.means, mixture.variances, strict=True)
    ]
    np.testing.assert_allclose(mixture.log_density(frames), logsumexp(parts, axis=0), rtol=1e-12)


def test_log_density_does_not_underflow_far_out():
    mixture = DiagonalMixture([0.5, 0.5], [[0.0], [1.0]], [[1.0], [1.0]])
    assert mixture.log_density([[1e6]])[0] == pytest.approx(-0.5 * (1e6 - 1) ** 2, rel=1e-9)


def test_samples_have_the_mixtures_mean_and_variance():
    mixture = DiagonalMixture([0.3, 0.7], [[0.0, 5.0], [4.0, 5.0]], [[1.0, 0.25], [4.0, 9.0]])
    n = 200_000
    sample = mixture.sample(n, np.random.default_rng(1))
    mean = mixture.weights @ mixture.means
    variance = mixture.weights @ (mixture.variances + (mixture.means - mean) ** 2)
    np.testing.assert_array_less(np.abs(sample.mean(axis=0) - mean), 5 * np.sqrt(variance / n))
    fourth = ((sample - mean) ** 4).mean(axis=0)
    np.testing.assert_array_less(np.abs(sample.var(axis=0) - variance), 5 * np.sqrt((fourth - variance**2) / n))
    near_first = np.abs(sample[:, 0]) < 0.1  # the density at 0 in the first feature, from both components
    at_zero = 0.3 / np.sqrt(2 * np.pi) + 0.7 * np.exp(-2) / np.sqrt(8 * np.pi)
    assert near_first.mean() / 0.2 == pytest.approx(at_zero, abs=5 * np.sqrt(at_zero / 0.2 / n) + 1e-3)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([[1.0]], [[0.0]], [[1.0]]), r"weights have shape \(1, 1\)"),
        (([1.0], [0.0], [1.0]), r"means \(1,\)"),
        (([0.5, 0.5], [[0.0]], [[1.0]]), "2 weights, means of shape"),
        (([1.0], [[0.0]], [[1.0, 2.0]]), "give one weight, mean and variance per component"),
        (([1.0], [[np.nan]], [[1.0]]), "a mean that is not finite"),
        (([1.0], [[0.0]], [[0.0]]), "a variance that is not above 0"),
        (([0.5, 0.6], [[0.0], [1.0]], [[1.0], [1.0]]), "weights must be above 0 and sum to 1"),
        (([1.0, 0.0], [[0.0], [1.0]], [[1.0], [1.0]]), "weights must be above 0 and sum to 1"),
    ],
)
def test_parts_that_make_no_mixture_are_named(parts, message):
    with pytest.raises(InvalidInputError, match=message):
        DiagonalMixture(*parts)


# The kernel


def test_the_kernels_power_of_two_is_exact_to_single_precision():
    x = -np.concatenate([[0.0, 1.0, 99.5, 100.0], np.random.default_rng(2).exponential(20, 10_000)])
    x = np.maximum(x, -100).astype(np.float32)
    powers = np.empty_like(x)
    exp2_all(x, powers)
    np.testing.assert_allclose(powers, np.exp2(x.astype(np.float64)), rtol=4e-7)
    far = np.array([-101.0, -1e30, -np.inf], np.float32)
    exp2_all(far, far)
    np.testing.assert_array_equal(far, np.float32(2.0**-100))


@pytest.mark.parametrize("n", [1, 127, 128, 129, 700])
@pytest.mark.parametrize("hard", [False, True])
def test_a_pass_adds_up_shares_as_the_definition_says(n, hard):
    rng = np.random.default_rng(3)
    k, d = 5, 4
    frames = rng.standard_normal((n, d)).astype(np.float32)
    means = rng.standard_normal((k, d)).astype(np.float32)
    precisions = rng.uniform(0.2, 2, (k, d)).astype(np.float32)
    constants = rng.standard_normal(k).astype(np.float32)
    counts, firsts, seconds = np.full(k, 9.0), np.full((k, d), 9.0), np.full((k, d), 9.0)
    total = em_pass(np.ascontiguousarray(frames.T), hard, constants, means, precisions, counts, firsts, seconds)

    differences = frames[:, None].astype(np.float64) - means
    scores = constants - (precisions * differences**2).sum(axis=2)
    shares = np.eye(k)[scores.argmax(axis=1)] if hard else np.exp2(scores) / np.exp2(scores).sum(axis=1)[:, None]
    assert total == pytest.approx(0.0 if hard else np.log2(np.exp2(scores).sum(axis=1)).sum(), rel=1e-5)
    np.testing.assert_allclose(counts, shares.sum(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(firsts, np.einsum("nk,nkd->kd", shares, differences), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(seconds, np.einsum("nk,nkd->kd", shares, differences**2), rtol=1e-4, atol=1e-4)


# EM


def scikit_learn(frames, start, n_iter):
    """Run scikit-learn's EM in double precision from a start, with nothing added to the variances."""
    model = GaussianMixture(
        len(start.weights),
        covariance_type="diag",
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=1 / start.variances,
        reg_covar=0.0,
        tol=0.0,
        max_iter=n_iter,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(frames.astype(np.float64))
    return model


@pytest.mark.parametrize("n_iter", [1, 2, 60])
def test_em_takes_the_steps_of_scikit_learns(n_iter):
    rng = np.random.default_rng(4)
    frames = frames_like_a_song(rng)
    start = fit_mixture(frames, max_iter=1)
    ours = fit_mixture(frames, start=start, max_iter=n_iter, tol=1e-300, variance_floor=1e-9)
    theirs = scikit_learn(frames, start, n_iter)
    scale = frames.std(axis=0)
    np.testing.assert_allclose(ours.weights, theirs.weights_, atol=1e-4)
    np.testing.assert_allclose(ours.means / scale, theirs.means_ / scale, atol=1e-4)
    np.testing.assert_allclose(ours.variances, theirs.covariances_, rtol=1e-4)
    assert ours.log_density(frames).mean() == pytest.approx(theirs.score(frames), abs=1e-4)


def test_from_its_own_start_em_ends_about_as_high_as_scikit_learns():
    rng = np.random.default_rng(5)
    gains = []
    for _ in range(5):
        frames = frames_like_a_song(rng, n=1500) + rng.standard_t(4, (1500, 39)).astype(np.float32)
        theirs = GaussianMixture(8, covariance_type="diag", random_state=0).fit(frames.astype(np.float64))
        gains.append(fit_mixture(frames).log_density(frames).mean() - theirs.score(frames))
    assert np.mean(gains) > -0.2  # of about 130 nats; k-means starts differ more than that among themselves


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([1e-3, 0.3]))
def test_the_likelihood_never_falls(seed, k, variance_floor):
    rng = np.random.default_rng(seed)
    frames = rng.standard_t(2, (80, 3)) * [1, 100, 0.01] + [0, 50, 1]
    state = fit_mixture(frames, k, seed=seed, max_iter=1, variance_floor=variance_floor)
    before = state.log_density(frames).mean()
    for _ in range(12):
        state = fit_mixture(frames, start=state, max_iter=1, variance_floor=variance_floor)
        after = state.log_density(frames).mean()
        assert after >= before - 1e-5
        before = after


def test_planted_components_are_found():
    rng = np.random.default_rng(6)
    planted = DiagonalMixture([0.2, 0.3, 0.5], [[0, 0], [10, 0], [0, 10]], [[1, 4], [2, 1], [1, 1]])
    found = fit_mixture(planted.sample(20_000, rng), 3)
    order = [int(np.abs(found.means - mean).sum(axis=1).argmin()) for mean in planted.means]
    np.testing.assert_allclose(found.weights[order], planted.weights, atol=0.02)
    np.testing.assert_allclose(found.means[order], planted.means, atol=0.1)
    np.testing.assert_allclose(found.variances[order], planted.variances, rtol=0.1)


def test_one_component_is_the_mean_and_variance_of_the_frames():
    frames = np.random.default_rng(7).normal(3, 5, (500, 4))
    mixture = fit_mixture(frames, 1)
    np.testing.assert_allclose(mixture.means[0], frames.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(mixture.variances[0], frames.var(axis=0), rtol=1e-5)


# Songs that are not nice


@pytest.mark.parametrize("value", [0.0, -431.7, 1e9])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_digital_silence_has_one_narrow_component(value, dtype):
    if dtype == np.float16 and value > 1e4:
        value = 6e4
    frames = np.full((1000, 39), value, dtype)
    mixture = fit_mixture(frames)
    np.testing.assert_array_equal(mixture.weights, [1.0])
    np.testing.assert_allclose(mixture.means[0], frames[0].astype(float), rtol=1e-12)
    np.testing.assert_allclose(mixture.variances, MIN_VARIANCE)
    assert np.isfinite(mixture.log_density(frames)).all()


def test_a_song_that_begins_in_silence_and_a_feature_that_never_moves_have_a_finite_density():
    rng = np.random.default_rng(8)
    frames = frames_like_a_song(rng)
    frames[:900] = -500.0
    frames[:, 7] = 3.0
    mixture = fit_mixture(frames)
    assert np.isfinite(mixture.log_density(frames)).all()
    moving = np.delete(np.arange(39), 7)
    floor = 1e-3 * frames[:, moving].var(axis=0, dtype=np.float64)
    assert (mixture.variances[:, moving] >= floor * (1 - 1e-6)).all()
    np.testing.assert_allclose(mixture.variances[:, moving].min(axis=0), floor, rtol=1e-5)  # the silence
    np.testing.assert_allclose(mixture.variances[:, 7], MIN_VARIANCE)


@pytest.mark.parametrize("n_frames", [1, 2, 5])
def test_fewer_frames_than_components_use_fewer_components(n_frames):
    frames = np.random.default_rng(9).standard_normal((n_frames, 39))
    mixture = fit_mixture(frames, 8)
    assert 1 <= len(mixture.weights) <= n_frames
    assert np.isfinite(mixture.log_density(frames)).all()


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e4, 1e4, width=32))
)
def test_any_frames_give_a_mixture(frames):
    mixture = fit_mixture(frames, 3)
    assert len(mixture.weights) <= len(np.unique(frames, axis=0))
    assert np.isfinite(mixture.log_density(frames)).all()


@pytest.mark.parametrize(("scale", "shift"), [(1e-2, 0.0), (1e3, 0.0), (8.0, 1e4)])
def test_a_mixture_moves_and_grows_with_its_frames(scale, shift):
    frames = frames_like_a_song(np.random.default_rng(10), n=1000).astype(np.float64)
    once, moved = fit_mixture(frames, max_iter=5), fit_mixture(frames * scale + shift, max_iter=5)
    np.testing.assert_allclose(moved.weights, once.weights, rtol=1e-3)
    np.testing.assert_allclose((moved.means - shift) / scale, once.means, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(moved.variances / scale**2, once.variances, rtol=1e-2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16])
def test_the_type_of_the_frames_does_not_matter(dtype):
    frames = frames_like_a_song(np.random.default_rng(11), n=800).round().astype(dtype)
    one, other = fit_mixture(frames, max_iter=3), fit_mixture(frames.astype(np.float64), max_iter=3)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(one.variances, other.variances, rtol=1e-3)


# Many songs


def test_a_songs_mixture_depends_neither_on_the_others_nor_on_the_threads():
    rng = np.random.default_rng(12)
    songs = [frames_like_a_song(rng, n, d=6) for n in (50, 5000, 1, 300)]
    for mixtures in (fit_mixtures(songs, threads=1), fit_mixtures(songs[::-1], threads=3)[::-1]):
        for mixture, song in zip(mixtures, songs, strict=True):
            alone = fit_mixture(song)
            np.testing.assert_array_equal(mixture.means, alone.means)
            np.testing.assert_array_equal(mixture.variances, alone.variances)


def test_the_seed_chooses_the_start():
    frames = np.random.default_rng(13).standard_t(3, (500, 5))
    same, again, other = (fit_mixture(frames, seed=seed).means for seed in (1, 1, 2))
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)


def test_songs_are_read_only_a_few_ahead():
    read, seen = [], []

    def songs():
        for number in range(50):
            read.append(number)
            yield number

    for result in map_in_threads(lambda number: number, songs(), threads=2):
        seen.append(result)
        assert len(read) - len(seen) <= 5
    assert seen == list(range(50))


def test_mixtures_among_the_songs_are_passed_through():
    ready = DiagonalMixture([1.0], [[0.0, 0.0]], [[1.0, 1.0]])
    fitted = fit_mixtures([ready, np.eye(2)])
    assert fitted[0] is ready
    assert fit_mixtures([]) == []


FRAMES = np.eye(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_mixture([1.0, 2.0]), r"frames is float64 of shape \(2,\)"),
        (lambda: fit_mixture([[np.nan]]), "frames has a NaN or infinite value, first in frame 0"),
        (lambda: fit_mixture(FRAMES, 0), "n_components=0 must be"),
        (lambda: fit_mixture(FRAMES, seed=-1), "seed=-1 must be"),
        (lambda: fit_mixture(FRAMES, max_iter=0), "max_iter=0 must be"),
        (lambda: fit_mixture(FRAMES, tol=0), "tol=0 must be"),
        (lambda: fit_mixture(FRAMES, variance_floor=-1.0), "variance_floor=-1.0 must be"),
        (lambda: fit_mixture(FRAMES[:, :2], start=fit_mixture(FRAMES)), "start has 3 features per frame"),
        (lambda: fit_mixtures([FRAMES, FRAMES[:, :2]]), "song 1 has 2 features per frame, the other songs have 3"),
        (lambda: fit_mixtures([FRAMES, FRAMES[:0]]), r"song 1 is float64 of shape \(0, 3\)"),
        (lambda: fit_mixtures(FRAMES), r"song 0 is float64 of shape \(3,\)"),
        (lambda: fit_mixtures([FRAMES], threads=0), "threads=0 must be"),
        (lambda: fit_mixture(FRAMES).log_density(FRAMES[:, :1]), "frames has 1 features per frame"),
        (lambda: fit_mixture(FRAMES).sample(0, np.random.default_rng()), "n=0 must be"),
    ],
)
def test_a_mistake_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
