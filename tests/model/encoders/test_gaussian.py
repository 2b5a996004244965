"""The Gaussian of a song, against numpy on all frames at once and scipy's matrix logarithm."""

import numpy as np
import pytest
import scipy.linalg

from nearsong.audio import DeltaMFCC
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.gaussian import GaussianEncoder

# logm warns about errors of 1e-13, far below the tolerances here
pytestmark = pytest.mark.filterwarnings("ignore:logm result may be inaccurate")


def song(seed: int, n: int = 300) -> np.ndarray:
    random = np.random.default_rng([seed, 3])
    frames = random.normal(size=(n, 39)) @ random.normal(size=(39, 39)) * np.linspace(20, 0.5, 39)
    return (random.normal(0, 5, 39) + frames).astype(np.float32)


SONGS = [song(seed) for seed in range(8)]


@pytest.fixture(scope="module")
def encoder() -> GaussianEncoder:
    return GaussianEncoder.fit(SONGS)


def test_it_is_the_scaled_mean_and_the_logarithm_of_the_scaled_covariance(encoder):
    scales = np.sqrt(np.mean([frames.astype(np.float64).var(axis=0) for frames in SONGS], axis=0))
    for frames in (SONGS[0], song(20, 1_000), song(21, 5)):
        rows = frames.astype(np.float64) / scales
        logarithm = scipy.linalg.logm(np.cov(rows.T, bias=True) + 1e-3 * np.eye(39))
        upper = [logarithm[i, j] * (1 if i == j else np.sqrt(2)) for i in range(39) for j in range(i, 39)]
        np.testing.assert_allclose(encoder.encode(frames), [*rows.mean(axis=0), *upper], rtol=1e-6, atol=1e-6)


def test_silence_is_far_below_the_usual_variance(encoder):
    vector = encoder.encode(np.full((100, 39), -7.0, np.float32))
    np.testing.assert_allclose(vector[:39], -7.0 / encoder.gaussian.scales)
    covariance = np.zeros((39, 39))
    covariance[np.triu_indices(39)] = vector[39:]
    np.testing.assert_allclose(covariance, np.log(1e-3) * np.eye(39), atol=1e-12)


def test_means_count_for_less_than_covariances(encoder):
    vectors = encoder.encode_all(SONGS)
    variances = (vectors / encoder.scales(vectors)).var(axis=0)
    assert [variances[:39].sum(), variances[39:].sum()] == pytest.approx([0.11, 1.0])


def test_songs_without_frames_are_left_out_of_the_sample(encoder):
    again = GaussianEncoder.fit([*SONGS, np.empty((0, 39))])
    assert again.key == encoder.key
    with pytest.raises(InvalidInputError, match="at least one"):
        GaussianEncoder.fit([np.empty((0, 39))])


def test_every_dimension_is_named_and_the_names_are_few(encoder):
    labels = encoder.labels()
    assert len(labels) == 819
    assert labels[0] == "average loudness"
    assert labels[39] == "variation of loudness"
    assert labels[40] == "how loudness and timbre vary together"
    assert len(set(labels)) == 9


def test_other_numbers_of_coefficients_have_their_own_length():
    features = DeltaMFCC(n_mfcc=5)
    encoder = GaussianEncoder.fit([frames[:, :15] for frames in SONGS], features=features)
    assert encoder.encode(SONGS[0][:, :15]).shape == (15 + 120,)


def test_what_was_learned_from_few_songs_is_outgrown_by_four_times_as_many():
    encoder = GaussianEncoder.fit([np.random.default_rng(0).normal(size=(300, 39))])
    assert not encoder.is_outgrown(10, 39)
    assert encoder.is_outgrown(10, 40)
    assert not encoder.is_outgrown(100, 600)
