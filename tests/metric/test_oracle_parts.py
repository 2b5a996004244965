"""What the oracles stand on: their sort against numpy's, and pairs counted by a grid against all pairs compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nearsong.metric.oracles.auc import count_swapped_pairs
from nearsong.metric.oracles.sorting import BUCKETS, argsort_into
from oracle_numbers import DISTANCES, KEYS


def argsorted(keys):
    n = len(keys)
    order, spare = np.full((2, n + 3), -1, np.int32)
    image, spare_image = np.zeros((2, n + 3), np.uint32)
    argsort_into(keys, n, order, spare, image, spare_image, np.empty(BUCKETS, np.int64))
    assert (order[n:] == -1).all()
    return order[:n]


@pytest.mark.parametrize("kind", KEYS)
def test_argsort_equals_the_stable_argsort_of_numpy(kind):
    rng = np.random.default_rng(11)
    for n in [0, 1, 2, 3, 47, 48, 49, 50, 100, *rng.integers(51, 900, 20), 3000]:
        keys = KEYS[kind](rng, n)
        np.testing.assert_array_equal(argsorted(keys), np.argsort(keys, kind="stable"))


@given(hnp.arrays(np.float64, st.integers(0, 120), elements=st.floats(allow_nan=False, allow_infinity=False)))
@settings(max_examples=150, deadline=None)
def test_argsort_sorts_any_finite_keys(keys):
    np.testing.assert_array_equal(argsorted(keys), np.argsort(keys, kind="stable"))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, 1e-30, 7.0]), min_size=49, max_size=200))
@settings(max_examples=150, deadline=None)
def test_argsort_gives_ties_to_the_lower_index(keys):
    np.testing.assert_array_equal(argsorted(np.array(keys)), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("kind", [*DISTANCES, *(kind for kind in KEYS if kind != "overflowing spread")])
def test_counting_by_grid_equals_comparing_all_pairs(kind):
    rng = np.random.default_rng(13)
    for n_relevant in (1, 2, 40, 97, 300):
        if kind in DISTANCES:
            near, far = DISTANCES[kind](rng, (1, n_relevant))[0], DISTANCES[kind](rng, (1, 200))[0]
        else:
            near, far = KEYS[kind](rng, n_relevant), KEYS[kind](rng, 200)
        near = np.sort(near)
        edges = [near + 0.5, np.nextafter(near + 0.5, -np.inf), np.nextafter(near + 0.5, np.inf)]
        row = rng.permutation(np.concatenate([far, *edges, [np.inf, np.inf, near[0] - 1e9]]))
        swapped, insertion = np.full(len(row), -7, np.int32), np.full(n_relevant + 2, -7)
        count_swapped_pairs(row, near, n_relevant, swapped, insertion)
        wrong = row[None, :] < near[:, None] + 0.5
        np.testing.assert_array_equal(swapped, wrong.sum(axis=0))
        np.testing.assert_array_equal(insertion, [*wrong.sum(axis=1), -7, -7])
