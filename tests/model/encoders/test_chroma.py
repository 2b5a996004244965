"""The chroma encoder: key-invariant frames by their definition, transposition, and both parts of the vector."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from nearsong.audio import SAMPLE_RATE, Chroma, DeltaMFCC
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.chroma import ChromaEncoder, key_invariant

MAJOR, MINOR, FIFTH = (0, 4, 7), (0, 3, 7), (0, 7)


def chroma_of(seed: int, n: int = 200) -> np.ndarray:
    """Return chroma over a little noise: of even seeds triads a fifth apart, of odd ones diminished chords rising."""
    random = np.random.default_rng([seed, 3])
    frames = random.random((n, 12)) * 0.1
    start, root = 0, 0
    while start < n:
        length = int(random.integers(2, 12))
        chord = np.array((0, 3, 6) if seed % 2 else (MAJOR, MINOR)[random.integers(2)])
        frames[start : start + length, (chord + root) % 12] += random.random(3) + 0.5
        root += 1 if seed % 2 else (5, 7)[random.integers(2)]
        start += length
    return (frames / np.linalg.norm(frames, axis=1, keepdims=True)).astype(np.float32)


SONGS = [chroma_of(seed) for seed in range(12)]


@pytest.fixture(scope="module")
def encoder() -> ChromaEncoder:
    return ChromaEncoder.fit(SONGS)


def by_definition(chroma: np.ndarray) -> np.ndarray:
    rows = []
    for t in range(len(chroma) - 4):
        magnitudes = np.abs(np.fft.fft(chroma[t].astype(np.float64)))[1:7]
        correlations = [chroma[t] @ np.roll(chroma[t + lag], -k) for lag in (1, 4) for k in range(12)]
        rows.append([*magnitudes, *correlations])
    return np.array(rows)


def test_key_invariant_frames_equal_their_definition():
    np.testing.assert_allclose(key_invariant(SONGS[0]), by_definition(SONGS[0]), atol=1e-6)


def test_fewer_than_five_frames_have_no_key_invariant_frame():
    assert key_invariant(SONGS[0][:4]).shape == (0, 30)
    assert key_invariant(SONGS[0][:5]).shape == (1, 30)


@pytest.mark.parametrize("semitones", range(1, 12))
def test_transposing_the_music_changes_nothing(encoder, semitones):
    for song in SONGS[:3]:
        transposed = np.roll(song, semitones, axis=1)
        np.testing.assert_allclose(key_invariant(transposed), key_invariant(song), atol=1e-12)
        np.testing.assert_allclose(encoder.encode(transposed), encoder.encode(song), atol=1e-8)


def test_a_change_of_chords_is_the_same_in_every_key_and_differs_from_others():
    def change(first: tuple[int, ...], second: tuple[int, ...], interval: int, key: int) -> np.ndarray:
        frames = np.zeros((5, 12), np.float32)
        frames[0, [(pitch + key) % 12 for pitch in first]] = 1
        frames[1:, [(pitch + interval + key) % 12 for pitch in second]] = 1
        return key_invariant(frames)[0]

    dominant = change(MAJOR, MAJOR, 7, 0)
    np.testing.assert_allclose(change(MAJOR, MAJOR, 7, 5), dominant)
    for other in (change(MAJOR, MAJOR, 2, 0), change(MAJOR, MINOR, 7, 0), change(FIFTH, FIFTH, 7, 0)):
        assert np.abs(other - dominant).max() > 0.2


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 100.0), st.integers(0, 11))
def test_only_the_proportions_of_a_frame_matter(factor, semitones):
    song = np.roll(SONGS[1], semitones, axis=1) * np.float32(factor)
    np.testing.assert_allclose(key_invariant(song), key_invariant(SONGS[1]), atol=1e-6)


def test_the_first_part_is_the_mean_and_the_logarithm_of_the_covariance(encoder):
    harmonies = [by_definition(song) for song in SONGS]
    scales = np.sqrt(np.mean([harmony.var(axis=0) for harmony in harmonies], axis=0))
    covariance = np.cov((harmonies[2] / scales).T, bias=True)
    logarithm = scipy.linalg.logm(covariance + 0.01 * np.eye(30))
    upper = np.triu_indices(30)
    factors = np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
    expected = np.concatenate([harmonies[2].mean(axis=0) / scales, logarithm[upper] * factors])
    np.testing.assert_allclose(encoder.encode(SONGS[2])[:495], expected, atol=1e-4)


def fisher_vector(encoder: ChromaEncoder, chroma: np.ndarray) -> np.ndarray:
    fisher = encoder.fisher
    whitened = (by_definition(chroma) - fisher.whitening.mean) @ fisher.whitening.axes
    mixture = GaussianMixture(len(fisher.weights), covariance_type="diag")
    mixture.weights_, mixture.means_, mixture.covariances_ = fisher.weights, fisher.means, fisher.variances
    mixture.precisions_cholesky_ = 1 / np.sqrt(fisher.variances)
    shares = mixture.predict_proba(whitened)
    first, second = [], []
    for k in range(len(fisher.weights)):
        z = (whitened - fisher.means[k]) / np.sqrt(fisher.variances[k])
        first.append(shares[:, k] @ z / (len(z) * np.sqrt(fisher.weights[k])))
        second.append(shares[:, k] @ (z**2 - 1) / (len(z) * np.sqrt(2 * fisher.weights[k])))
    gradients = np.concatenate([*first, *second])
    roots = np.sign(gradients) * np.sqrt(np.abs(gradients))
    return roots / np.linalg.norm(roots)


def test_the_second_part_is_the_fisher_vector_as_z_scores_among_sampled_songs(encoder):
    assert encoder.fisher.means.shape == (8, 20)
    vectors = np.array([fisher_vector(encoder, song) for song in SONGS])
    expected = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    found = encoder.encode_all(SONGS)[:, 495:]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_songs_of_the_same_harmony_are_near_each_other_in_any_key(encoder):
    random = np.random.default_rng(0)
    vectors = encoder.encode_all([np.roll(chroma_of(100 + i), random.integers(12), axis=1) for i in range(20)])
    scaled = vectors / encoder.scales(vectors)
    distances = np.linalg.norm(scaled[:, None] - scaled[None], axis=2) + np.diag(np.full(20, np.inf))
    assert np.mean(distances.argmin(axis=1) % 2 == np.arange(20) % 2) > 0.7


def test_a_song_shorter_than_five_frames_goes_on_as_it_ends(encoder):
    short = SONGS[0][:2]
    longer = np.concatenate([short, short[-1:].repeat(4, axis=0)])
    np.testing.assert_array_equal(encoder.encode(short), encoder.encode(longer))


def test_frames_stored_in_half_precision_give_nearly_the_same_vector(encoder):
    exact, rounded = (encoder.encode(song) for song in (SONGS[4], SONGS[4].astype(np.float16)))
    assert np.abs(exact - rounded).max() < 0.05


@pytest.mark.parametrize("level", [1e-6, 1.0, 1e5])
def test_sound_of_any_loudness_has_the_same_vector(encoder, level):
    time = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    chord = sum(np.sin(2 * np.pi * frequency * time) for frequency in (220.0, 277.2, 329.6))
    sound = (chord + np.random.default_rng(0).normal(0, 0.1, len(time))).astype(np.float32)
    louder = encoder.encode(sound * np.float32(level))
    np.testing.assert_allclose(louder, encoder.encode(sound), atol=1e-3)


def test_labels_name_harmony(encoder):
    labels = encoder.labels()
    assert len(labels) == 815
    assert labels[0] == "average chords"
    assert labels[10] == "average quick changes of harmony"
    assert labels[40] == "how chords and quick changes of harmony vary together"
    assert labels[-1] == "typical harmonies"


def test_other_features_and_no_songs_are_refused():
    with pytest.raises(InvalidInputError, match="reads chroma, not the features 'delta_mfcc'"):
        ChromaEncoder.fit(SONGS, features=DeltaMFCC())
    with pytest.raises(InvalidInputError, match="no songs to learn typical harmonies from"):
        ChromaEncoder.fit([], features=Chroma())
