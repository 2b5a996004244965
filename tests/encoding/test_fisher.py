"""Fisher vectors against the literal sum, scikit-learn's densities, and the gradient they are defined by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from nearsong.encoding.fisher import ColumnScores, FisherVector, Whitening, signed_root
from nearsong.errors import InvalidInputError

N_FEATURES, N_COMPONENTS = 5, 4


def frames_of(seed: int, n: int = 400, d: int = N_FEATURES) -> np.ndarray:
    random = np.random.default_rng([seed, 1])
    kinds = random.integers(3, size=n)
    return random.normal(kinds[:, None] * 2.0, 1.0 + kinds[:, None], size=(n, d)) @ (
        np.eye(d) + np.random.default_rng(0).normal(size=(d, d)) / 3
    )


def mixture_of(frames: np.ndarray, n_components: int = N_COMPONENTS, n_axes: int | None = None) -> FisherVector:
    whitening = Whitening.fit(frames, n_axes)
    mixture = GaussianMixture(n_components, covariance_type="diag", random_state=0, max_iter=20, tol=1e-2)
    mixture.fit(whitening.transform(frames))
    return FisherVector(whitening, mixture.weights_, mixture.means_, mixture.covariances_)


@pytest.fixture(scope="module")
def fisher() -> FisherVector:
    return mixture_of(frames_of(0, 2_000))


def responsibilities(fisher: FisherVector, frames: np.ndarray) -> np.ndarray:
    """Return r (n_frames, n_components) as scikit-learn computes them."""
    mixture = GaussianMixture(len(fisher.weights), covariance_type="diag")
    mixture.weights_, mixture.means_, mixture.covariances_ = fisher.weights, fisher.means, fisher.variances
    mixture.precisions_cholesky_ = 1 / np.sqrt(fisher.variances)
    return mixture.predict_proba(fisher.whitening.transform(frames))


def literal_gradients(fisher: FisherVector, frames: np.ndarray) -> np.ndarray:
    """Sum over frames, Gaussians and axes, one at a time."""
    z, r, n = fisher.whitening.transform(frames), responsibilities(fisher, frames), len(frames)
    firsts, seconds = np.zeros_like(fisher.means), np.zeros_like(fisher.means)
    for i in range(n):
        for k, (weight, mean, variance) in enumerate(
            zip(fisher.weights, fisher.means, fisher.variances, strict=True)
        ):
            deviation = (z[i] - mean) / np.sqrt(variance)
            firsts[k] += r[i, k] * deviation / (n * np.sqrt(weight))
            seconds[k] += r[i, k] * (deviation**2 - 1) / (n * np.sqrt(2 * weight))
    return np.array([firsts.ravel(), seconds.ravel()])


def gradients_of(fisher: FisherVector, frames: np.ndarray, *cuts: int) -> np.ndarray:
    accumulator = fisher.start()
    for chunk in np.split(frames, cuts):
        accumulator.add(chunk)
    assert accumulator.n_frames == len(frames)
    return np.array(accumulator.gradients())


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 700])
def test_gradients_are_the_literal_sum(fisher, n):
    frames = frames_of(3, n)
    np.testing.assert_allclose(gradients_of(fisher, frames), literal_gradients(fisher, frames), atol=1e-10, rtol=1e-9)


def test_gradients_are_the_literal_sum_for_frames_as_songs_have_them():
    fisher = mixture_of(frames_of(0, 3_000, 39), 16)
    frames = frames_of(1, 1_000, 39).astype(np.float32)
    np.testing.assert_allclose(gradients_of(fisher, frames), literal_gradients(fisher, frames), atol=1e-10, rtol=1e-8)


def test_gradients_are_those_of_the_log_likelihood(fisher):
    """G1 is the derivative by a mean, times sqrt(v / p); G2 that by a deviation, times sqrt(v / 2 p)."""
    frames, step = frames_of(4, 200), 1e-5

    def likelihood(means: np.ndarray, deviations: np.ndarray) -> float:
        z = fisher.whitening.transform(frames)[:, None]
        logs = -0.5 * (((z - means) / deviations) ** 2).sum(axis=2) - np.log(deviations).sum(axis=1)
        return float(np.logaddexp.reduce(logs + np.log(fisher.weights), axis=1).mean())

    deviations = np.sqrt(fisher.variances)
    expected = np.zeros((2, *fisher.means.shape))
    for k, axis in np.ndindex(*fisher.means.shape):
        change = np.zeros_like(fisher.means)
        change[k, axis] = step
        slopes = [
            likelihood(fisher.means + change, deviations) - likelihood(fisher.means - change, deviations),
            likelihood(fisher.means, deviations + change) - likelihood(fisher.means, deviations - change),
        ]
        factors = deviations[k, axis] / np.sqrt(fisher.weights[k] * np.array([1.0, 2.0]))
        expected[:, k, axis] = np.array(slopes) / (2 * step) * factors
    np.testing.assert_allclose(gradients_of(fisher, frames), expected.reshape(2, -1), atol=1e-6)


def test_the_sample_a_mixture_was_fitted_to_has_hardly_any_gradient():
    frames = frames_of(0, 2_000)
    whitening = Whitening.fit(frames)
    z = whitening.transform(frames)
    mixture = GaussianMixture(3, covariance_type="diag", random_state=0, max_iter=2_000, tol=1e-10, reg_covar=0)
    mixture.fit(z)
    fisher = FisherVector(whitening, mixture.weights_, mixture.means_, mixture.covariances_)
    assert np.abs(gradients_of(fisher, frames)).max() < 1e-3
    assert np.abs(gradients_of(fisher, frames_of(9, 2_000) + 1)).max() > 0.1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=8).map(sorted))
def test_gradients_do_not_depend_on_chunks(fisher, cuts):
    frames = frames_of(5)
    assert gradients_of(fisher, frames, *cuts).tobytes() == gradients_of(fisher, frames).tobytes()


def test_threads_of_the_blas_do_not_change_a_byte():
    fisher, frames, results = mixture_of(frames_of(0, 2_000, 39), 16), frames_of(1, 1_000, 39), set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            results.add(gradients_of(fisher, frames).tobytes())
    assert len(results) == 1


def test_frames_far_from_every_gaussian_have_finite_gradients(fisher):
    frames = np.where(np.arange(500).reshape(100, 5) % 2, 1e30, -1e30)
    assert np.isfinite(gradients_of(fisher, frames)).all()


def test_a_song_without_frames_has_no_fisher_vector(fisher):
    with pytest.raises(InvalidInputError, match="at least one frame"):
        fisher.start().gradients()


# ---- whitening


@pytest.mark.parametrize("n_axes", [None, 3])
def test_whitening_is_that_of_scikit_learn(n_axes):
    frames = frames_of(1)
    whitened = Whitening.fit(frames, n_axes).transform(frames)
    expected = PCA(n_axes, whiten=True).fit_transform(frames)
    signs = np.sign((whitened * expected).sum(axis=0))
    np.testing.assert_allclose(whitened * np.sqrt((len(frames) - 1) / len(frames)), expected * signs, atol=1e-4)


def test_whitened_frames_can_be_restored():
    frames = frames_of(2)
    whitening = Whitening.fit(frames)
    np.testing.assert_allclose(whitening.restore(whitening.transform(frames)), frames, atol=1e-8)


def test_features_that_never_vary_are_not_divided_by_zero():
    frames = frames_of(3)
    frames[:, 1] = 4.0
    whitened = Whitening.fit(frames).transform(frames)
    assert np.isfinite(whitened).all()
    np.testing.assert_allclose(whitened[:, -1], 0.0, atol=1e-6)


# ---- normalisation


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_signed_roots_have_length_one_and_the_signs_of_the_numbers(numbers):
    vector = np.array(numbers)
    roots = signed_root(vector)
    assert np.linalg.norm(roots) == pytest.approx(1.0 if np.any(vector) else 0.0)
    np.testing.assert_array_equal(np.sign(roots), np.sign(vector))
    np.testing.assert_allclose(roots**2 * np.abs(vector).sum(), np.abs(vector), rtol=1e-9, atol=1e-300)


def test_columns_of_the_sampled_songs_have_mean_zero_and_deviation_one():
    vectors = np.random.default_rng(0).normal(5.0, 3.0, size=(20, 4))
    vectors[:, 2] = 7.0
    scores = ColumnScores.fit(vectors).transform(vectors)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scores.std(axis=0), [1.0, 1.0, 0.0, 1.0], atol=1e-12)
