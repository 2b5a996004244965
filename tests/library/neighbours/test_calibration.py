"""Similarity against counts of pairs, on random libraries and on very small ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import kstest

from nearsong.errors import InvalidInputError
from nearsong.library.neighbours.calibration import Calibration


def library(rng, n, r, levels=None):
    return rng.standard_normal((n, r)) if levels is None else rng.integers(levels, size=(n, r)).astype(float)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 40),
    r=st.integers(1, 5),
    levels=st.sampled_from([None, 1, 2, 5]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_it_descends_from_1_at_distance_0_to_0_at_the_farthest_pair(seed, n, r, levels, scale):
    rng = np.random.default_rng(seed)
    embeddings = scale * library(rng, n, r, levels)
    calibration = Calibration.fit(embeddings)
    farthest = pdist(embeddings).max() if n > 1 else 0.0
    similarity = calibration.similarity(np.linspace(0, 2 * farthest, 500))
    assert similarity[0] == 1
    assert (np.diff(similarity) <= 0).all()
    assert similarity.min() >= 0
    assert calibration.similarity(np.nextafter(farthest, np.inf)) == 0
    assert calibration.similarity(1e300) == 0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), levels=st.sampled_from([None, 2, 5]))
def test_it_is_the_counted_share_at_every_knot(seed, n, levels):
    embeddings = library(np.random.default_rng(seed), n, 3, levels)
    calibration = Calibration.fit(embeddings)
    apart = np.sqrt([((embeddings[i] - embeddings[j]) ** 2).sum() for i in range(n) for j in range(i)])
    for knot in calibration.distances[1:]:
        assert calibration.similarity(knot) == pytest.approx((apart > knot * (1 + 1e-12)).mean(), abs=1e-12)


def test_with_few_pairs_every_pair_is_a_knot():
    embeddings = np.array([[0.0], [1.0], [3.0], [7.0]])
    calibration = Calibration.fit(embeddings)
    assert calibration.distances.tolist() == [0, 1, 2, 3, 4, 6, 7]
    np.testing.assert_allclose(calibration.farther, 1 - np.arange(7) / 6)


@pytest.mark.parametrize("r", [2, 30])
def test_fresh_pairs_are_spread_evenly_over_0_to_1(r):
    rng = np.random.default_rng(5)
    embeddings = rng.standard_normal((3_000, r)).astype(np.float32)
    embeddings[:1_500] *= 3
    calibration = Calibration.fit(embeddings)
    assert calibration.pairs == 200_000
    one, step = rng.integers(3_000, size=50_000), rng.integers(1, 3_000, size=50_000)
    apart = np.linalg.norm(embeddings[one].astype(float) - embeddings[(one + step) % 3_000], axis=1)
    similarity = calibration.similarity(apart)
    assert kstest(similarity, "uniform").statistic < 0.01  # 1.63 sqrt(1 / 50,000 + 1 / 200,000) = 0.008
    for share in (0.001, 0.01, 0.1):  # of random pairs, this share is at least 1 - share similar
        assert (similarity >= 1 - share).mean() == pytest.approx(share, rel=0.15, abs=4 * np.sqrt(share / 50_000))


def test_the_near_end_is_resolved_down_to_single_pairs():
    calibration = Calibration.fit(np.random.default_rng(0).standard_normal((2_000, 4)))
    nearer = 1 - calibration.farther
    assert nearer[1] == pytest.approx(1 / 200_000)
    assert (nearer < 0.01).sum() > 20
    assert len(nearer) < 130


def test_songs_that_are_there_twice_stay_at_1_and_the_rest_is_counted():
    embeddings = np.repeat(np.array([[0.0], [1.0], [2.0]]), 2, axis=0)  # 3 of 15 pairs at 0, 8 at 1, 4 at 2
    calibration = Calibration.fit(embeddings)
    np.testing.assert_allclose(calibration.similarity([0.0, 1.0, 2.0]), [1, 4 / 15, 0])


@pytest.mark.parametrize("embeddings", [[], np.zeros((0, 3)), np.zeros((1, 3)), np.ones((2, 3)), np.ones((1_000, 3))])
def test_without_two_different_songs_only_the_same_sound_is_similar(embeddings):
    calibration = Calibration.fit(embeddings)
    assert calibration.similarity([0.0, 1e-9, 5.0]).tolist() == [1, 0, 0]


def test_two_songs_make_one_pair():
    calibration = Calibration.fit(np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert calibration.similarity([0.0, 2.5, 5.0, 6.0]).tolist() == [1, 0.5, 0, 0]


def test_the_seed_chooses_the_pairs_and_nothing_else_does():
    embeddings = np.random.default_rng(0).standard_normal((1_000, 3))
    first, again, other = (Calibration.fit(embeddings, seed=seed).distances.tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_it_keeps_the_shape_of_what_is_asked():
    calibration = Calibration.fit(np.random.default_rng(0).standard_normal((50, 3)))
    assert calibration.similarity(1.0).shape == ()
    assert calibration.similarity(np.ones((2, 3))).shape == (2, 3)
    assert calibration.similarity([]).shape == (0,)


@pytest.mark.parametrize("distance", [-1.0, float("nan"), [0.0, -1e-9]])
def test_a_distance_that_cannot_be_is_refused(distance):
    calibration = Calibration.fit(np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="negative or NaN value"):
        calibration.similarity(distance)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.array([[0.0], [np.nan]]), "embeddings has a NaN or infinite value; leave such songs out"),
        (np.array([0.0, 1.0]), r"embeddings has shape \(2,\); songs x dimensions is needed"),
    ],
)
def test_embeddings_that_cannot_work_are_refused(embeddings, message):
    with pytest.raises(InvalidInputError, match=message):
        Calibration.fit(embeddings)
