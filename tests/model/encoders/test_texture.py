"""Texture against the definition, window by window."""

import numpy as np
import pytest
import scipy.linalg

from nearsong.model.encoders.texture import TextureEncoder

# logm warns about errors of 1e-13, far below the tolerances here
pytestmark = pytest.mark.filterwarnings("ignore:logm result may be inaccurate")


def song(seed: int, n: int = 700) -> np.ndarray:
    random = np.random.default_rng([seed, 9])
    swell = 1 + np.abs(np.sin(np.arange(n) / 30))[:, None]
    return (swell * random.normal(size=(n, 39)) @ random.normal(size=(39, 39)) + random.normal(size=39)).astype(
        np.float32
    )


SONGS = [song(seed) for seed in range(6)]
NEVER_CHANGES = [np.log(1e-2) if i == j else 0.0 for i in range(26) for j in range(i, 26)]


@pytest.fixture(scope="module")
def encoder() -> TextureEncoder:
    return TextureEncoder.fit(SONGS)


def windows(frames: np.ndarray) -> np.ndarray:
    rows = frames[:, :13].astype(np.float64)
    cut = [rows[start : start + 22] for start in range(0, len(rows) - 21, 11)]
    return np.array([[*w.mean(axis=0), *(0.5 * np.log(np.maximum(w.var(axis=0), 1e-3)))] for w in cut])


@pytest.mark.parametrize("n", [33, 43, 44, 363, 364, 374, 704, 2_584])
def test_it_is_the_logarithm_of_the_covariance_of_windows(encoder, n):
    scales = np.sqrt(np.mean([windows(frames).var(axis=0) for frames in SONGS], axis=0))
    frames = song(30, n)
    logarithm = scipy.linalg.logm(np.cov((windows(frames) / scales).T, bias=True) + 1e-2 * np.eye(26))
    expected = [logarithm[i, j] * (1 if i == j else np.sqrt(2)) for i in range(26) for j in range(i, 26)]
    np.testing.assert_allclose(encoder.encode(frames), expected, atol=1e-6)


@pytest.mark.parametrize("n", [1, 10, 21, 22, 32])
def test_a_song_of_one_window_or_none_never_changes(encoder, n):
    np.testing.assert_allclose(encoder.encode(song(31, n)), NEVER_CHANGES, atol=1e-12)


def test_a_constant_song_never_changes(encoder):
    np.testing.assert_allclose(encoder.encode(np.full((500, 39), 4.0, np.float32)), NEVER_CHANGES, atol=1e-9)


def test_only_the_static_coefficients_count(encoder):
    frames = song(32)
    changed = frames.copy()
    changed[:, 13:] += 100
    assert encoder.encode(frames).tobytes() == encoder.encode(changed).tobytes()


def test_the_order_of_frames_counts(encoder):
    frames = song(33)
    shuffled = np.random.default_rng(0).permutation(frames)
    assert np.linalg.norm(encoder.encode(frames) - encoder.encode(shuffled)) > 1


def test_short_songs_do_not_decide_what_is_usual(encoder):
    again = TextureEncoder.fit([*SONGS, song(34, 10), song(35, 22), np.empty((0, 39))])
    assert again.key == encoder.key
    assert np.isfinite(TextureEncoder.fit([song(36, 10)]).encode(SONGS[0])).all()


def test_every_dimension_is_named(encoder):
    labels = encoder.labels()
    assert len(labels) == 351
    assert labels[0] == "development of loudness"
    assert labels[1] == "development of loudness with development of timbre"
    assert labels[-1] == "liveliness of timbre"
    assert len(set(labels)) == 10
