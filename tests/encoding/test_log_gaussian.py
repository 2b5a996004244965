"""Moments in chunks against numpy on all frames at once, and the logarithm of a covariance against scipy's logm."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nearsong.encoding.frames import FrameTiles
from nearsong.encoding.log_gaussian import TILE_FRAMES, LogGaussian, MomentAccumulator, Moments
from nearsong.errors import InvalidInputError

# logm warns about errors of 1e-13, far below the tolerances here
pytestmark = pytest.mark.filterwarnings("ignore:logm result may be inaccurate")


def moments_of(frames: np.ndarray, *cuts: int) -> Moments:
    accumulator = MomentAccumulator(frames.shape[1])
    for chunk in np.split(frames, cuts):
        accumulator.add(chunk)
    assert accumulator.n_frames == len(frames)
    return accumulator.moments()


def song(seed: int, n: int = 500, d: int = 6) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(3.0, 2.0, size=(n, d)) @ random.normal(size=(d, d))


# ---- tiles


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 7))
def test_tiles_and_rest_are_all_rows_in_order(sizes, n_rows):
    rows = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    tiles = FrameTiles(n_rows, 2)
    full = [
        tile.copy() for chunk in np.split(rows, np.cumsum(sizes)[:-1] if sizes else []) for tile in tiles.cut(chunk)
    ]
    assert all(len(tile) == n_rows for tile in full)
    np.testing.assert_array_equal(np.concatenate([*full, tiles.rest]), rows)
    assert len(tiles.rest) < n_rows


# ---- moments


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 900), st.floats(0, 1e4), st.floats(0.01, 100))
def test_moments_are_mean_and_covariance_of_all_frames(seed, n, mean, scale):
    frames = mean + scale * song(seed, n)
    moments = moments_of(frames)
    np.testing.assert_allclose(moments.mean, frames.mean(axis=0), rtol=1e-12)
    expected = np.cov(frames.T, bias=True)
    np.testing.assert_allclose(moments.covariance, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 600), max_size=8).map(sorted))
def test_moments_do_not_depend_on_chunks(cuts):
    frames = song(1, 600)
    expected, moments = moments_of(frames), moments_of(frames, *cuts)
    assert moments.mean.tobytes() == expected.mean.tobytes()
    assert moments.scatter.tobytes() == expected.scatter.tobytes()


def test_a_large_mean_loses_no_digits():
    noise = song(0, 5_000)
    shifted = noise + 2.0**24
    np.testing.assert_allclose(moments_of(shifted).covariance, np.cov((shifted - 2.0**24).T, bias=True), rtol=1e-8)


def test_one_frame_has_a_mean_and_no_spread():
    moments = moments_of(np.array([[2.0, 5.0]]))
    assert (moments.mean.tolist(), moments.covariance.tolist()) == ([2.0, 5.0], [[0.0, 0.0], [0.0, 0.0]])


def test_no_frames_have_no_moments():
    with pytest.raises(InvalidInputError, match="no frames were added"):
        MomentAccumulator(3).moments()


# ---- vectors


@pytest.mark.parametrize("regularisation", [1e-3, 1e-2])
@pytest.mark.parametrize("n", [2, 7, 40, 3 * TILE_FRAMES])
def test_the_covariance_part_is_the_matrix_logarithm(n, regularisation):
    frames, scales = song(3, n), np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
    scaled = np.cov(frames.T, bias=True) / np.outer(scales, scales) + regularisation * np.eye(6)
    logarithm = scipy.linalg.logm(scaled)
    vector = LogGaussian(scales, regularisation).covariance(moments_of(frames))
    expected = [logarithm[i, j] * (1 if i == j else np.sqrt(2)) for i in range(6) for j in range(i, 6)]
    np.testing.assert_allclose(vector, expected, atol=1e-9)


def test_the_mean_part_is_the_scaled_mean():
    frames, scales = song(4), np.arange(1.0, 7.0)
    np.testing.assert_allclose(
        LogGaussian(scales, 1e-3).mean(moments_of(frames)), frames.mean(axis=0) / scales, rtol=1e-12
    )


def test_the_distance_of_covariance_parts_is_that_of_the_logarithms():
    gaussian = LogGaussian(np.ones(6), 1e-3)
    first, second = moments_of(song(5)), moments_of(song(6))
    logarithms = [scipy.linalg.logm(moments.covariance + 1e-3 * np.eye(6)) for moments in (first, second)]
    distance = np.linalg.norm(gaussian.covariance(first) - gaussian.covariance(second))
    assert distance == pytest.approx(np.linalg.norm(logarithms[0] - logarithms[1]))


def test_units_of_the_features_do_not_matter():
    units = np.array([1.0, 10.0, 0.1, 5.0, 2.0, 1000.0])
    songs = [song(seed) for seed in range(5)]
    vectors = []
    for rows in (songs, [frames * units for frames in songs]):
        moments = [moments_of(frames) for frames in rows]
        gaussian = LogGaussian.fit(moments, 1e-3)
        vectors.append(np.concatenate([gaussian.mean(moments[0]), gaussian.covariance(moments[0])]))
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-9)


def test_scales_are_the_typical_deviation_within_songs():
    songs = [song(seed) for seed in range(5)]
    gaussian = LogGaussian.fit([moments_of(frames) for frames in songs], 1e-3)
    np.testing.assert_allclose(gaussian.scales, np.sqrt(np.mean([frames.var(axis=0) for frames in songs], axis=0)))


def test_features_that_never_vary_have_scale_one():
    frames = song(7)
    frames[:, 2] = -5.0
    gaussian = LogGaussian.fit([moments_of(frames)], 1e-3)
    assert gaussian.scales[2] == 1.0
    assert np.isfinite(gaussian.covariance(moments_of(frames))).all()


def test_eigenvalues_below_zero_are_rounding():
    line = np.linspace(-1e30, 1e30, 999)[:, None] * np.ones(6)
    vector = LogGaussian(np.ones(6), 1e-3).covariance(moments_of(line))
    assert np.isfinite(vector).all()


def test_no_songs_have_no_scales():
    with pytest.raises(InvalidInputError, match="at least one"):
        LogGaussian.fit([], 1e-3)


def test_threads_of_the_blas_do_not_change_a_byte():
    frames = np.random.default_rng(0).normal(size=(2_000, 39))
    gaussian, results = LogGaussian(np.ones(39), 1e-3), set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            results.add(gaussian.covariance(moments_of(frames)).tobytes())
    assert len(results) == 1
