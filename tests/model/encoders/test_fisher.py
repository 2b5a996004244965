"""The Fisher encoder against the steps of its definition; the sums themselves are tested in tests/encoding."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from nearsong.encoding.fisher import signed_root
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.fisher import FisherEncoder, fit_fisher_vector


def song(seed: int, n: int = 300) -> np.ndarray:
    random = np.random.default_rng([seed, 5])
    sounds = np.random.default_rng(0).normal(0, 3, size=(6, 39))
    kinds = random.choice(6, size=n, p=random.dirichlet(np.ones(6)))
    return (sounds[kinds] + random.normal(size=(n, 39)) @ (np.eye(39) + 0.1)).astype(np.float32)


SONGS = [song(seed) for seed in range(12)]


@pytest.fixture(scope="module")
def encoder() -> FisherEncoder:
    return FisherEncoder.fit(SONGS)


def gradients(encoder: FisherEncoder, frames: np.ndarray) -> list[np.ndarray]:
    """Return G1 and G2 from scikit-learn's responsibilities."""
    fisher = encoder.fisher
    mixture = GaussianMixture(len(fisher.weights), covariance_type="diag")
    mixture.weights_, mixture.means_, mixture.covariances_ = fisher.weights, fisher.means, fisher.variances
    mixture.precisions_cholesky_ = 1 / np.sqrt(fisher.variances)
    z = fisher.whitening.transform(frames.astype(np.float64))
    r = mixture.predict_proba(z)[:, :, None] / np.sqrt(fisher.weights)[:, None]
    deviations = (z[:, None] - fisher.means) / np.sqrt(fisher.variances)
    return [(r * deviations).mean(axis=0).ravel(), (r * (deviations**2 - 1) / np.sqrt(2)).mean(axis=0).ravel()]


def test_each_part_is_the_z_score_of_the_signed_root_of_the_literal_sum(encoder):
    def unscaled(frames: np.ndarray) -> np.ndarray:
        return np.concatenate([signed_root(part) for part in gradients(encoder, frames)])

    sampled = np.array([unscaled(frames) for frames in SONGS])
    other = song(40, 1_000)
    expected = (unscaled(other) - sampled.mean(axis=0)) / sampled.std(axis=0)
    np.testing.assert_allclose(encoder.encode(other), expected, atol=1e-6)


def test_the_mixture_describes_the_songs_as_well_as_scikit_learns(encoder):
    fisher = encoder.fisher
    z = fisher.whitening.transform(np.concatenate([song(seed) for seed in range(50, 60)]))

    def likelihood(mixture: GaussianMixture) -> float:
        return float(mixture.score(z))

    ours = GaussianMixture(16, covariance_type="diag")
    ours.weights_, ours.means_, ours.covariances_ = fisher.weights, fisher.means, fisher.variances
    ours.precisions_cholesky_ = 1 / np.sqrt(fisher.variances)
    peer = GaussianMixture(16, covariance_type="diag", reg_covar=1e-3, max_iter=60, random_state=0)
    peer.fit(fisher.whitening.transform(np.concatenate(SONGS)[::5]))
    assert likelihood(ours) > likelihood(peer) - 0.5


def test_sixty_frames_of_each_song_are_white():
    songs = [song(seed, 60) for seed in range(12)]
    z = fit_fisher_vector(songs, 4).whitening.transform(np.concatenate(songs))
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.eye(39), atol=1e-4)


def test_the_variance_has_a_floor():
    frames = [np.repeat(np.random.default_rng(seed).normal(size=(3, 39)), 20, axis=0) for seed in range(4)]
    fisher = fit_fisher_vector(frames, 16)
    assert len(fisher.weights) <= 12  # no more than different frames
    assert fisher.variances.min() >= 1e-6
    assert fisher.variances[:, :11].min() >= 0.9e-3


def test_a_library_of_silence_has_a_mixture_of_one_gaussian():
    encoder = FisherEncoder.fit([np.full((100, 39), -3.0, np.float32)] * 3)
    assert len(encoder.fisher.weights) == 1
    assert np.isfinite(encoder.encode(SONGS[0])).all()
    assert len(encoder.labels()) == encoder.n_dimensions == 78


def test_fewer_axes_are_those_of_the_largest_variance():
    fisher = fit_fisher_vector(SONGS, 8, n_axes=20)
    assert fisher.means.shape == (8, 20)
    full = fit_fisher_vector(SONGS, 8)
    np.testing.assert_allclose(fisher.whitening.axes, full.whitening.axes[:, :20])


def test_songs_of_any_length_are_sampled():
    songs = [SONGS[0][:1], SONGS[1][:59], *SONGS[2:], np.empty((0, 39))]
    assert FisherEncoder.fit(songs).n_dimensions == 1248
    with pytest.raises(InvalidInputError, match="no frames"):
        FisherEncoder.fit([])


def test_every_gaussian_has_words(encoder):
    labels = encoder.labels()
    assert len(labels) == 1248
    assert len(set(labels)) <= 32
    assert labels[0].endswith(" (average)")
    assert labels[624] == labels[0].replace("average", "variety")
