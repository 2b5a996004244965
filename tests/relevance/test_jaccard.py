"""jaccard_neighbors against sets and fractions, the slow and obvious way."""

import json
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nearsong.errors import InvalidInputError
from nearsong.relevance import arrangement, jaccard_neighbors

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_jaccard.py"


def similarity(plays, min_plays, i, j):
    """Return the Jaccard index of two items' sets of users, as an exact fraction."""
    a, b = (set(np.flatnonzero(plays[:, item] >= min_plays)) for item in (i, j))
    return Fraction(len(a & b), len(a | b)) if a | b else Fraction(0)


def brute_force(plays, k, min_plays, candidates=None):
    """Compare every pair of items, sort exactly by falling similarity and rising index."""
    n_items = plays.shape[1]
    candidates = range(n_items) if candidates is None else sorted(candidates)
    ids, similarities = np.full((n_items, k), -1), np.zeros((n_items, k))
    for i in range(n_items):
        scored = [(-similarity(plays, min_plays, i, j), j) for j in candidates if j != i]
        for column, (negative, j) in enumerate(sorted(pair for pair in scored if pair[0] < 0)[:k]):
            ids[i, column], similarities[i, column] = j, float(-negative)
    return ids, similarities


def random_plays(rng, n_users, n_items, density):
    return rng.integers(1, 21, (n_users, n_items)) * (rng.random((n_users, n_items)) < density)


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("seed", range(60))
def test_neighbours_are_those_of_a_brute_force_over_sets(seed):
    rng = np.random.default_rng(seed)
    plays = random_plays(rng, rng.integers(1, 25), rng.integers(1, 20), rng.choice([0.1, 0.3, 0.8]))
    k = int(rng.integers(1, 13))
    assert_same(jaccard_neighbors(plays, k=k), brute_force(plays, k, 10))


@pytest.mark.parametrize("seed", range(40))
def test_among_restricts_the_neighbours_but_not_the_rows(seed):
    rng = np.random.default_rng(seed)
    plays = random_plays(rng, 18, 14, 0.4)
    mask = rng.random(14) < rng.choice([0.1, 0.5, 0.9])
    expected = brute_force(plays, 4, 10, np.flatnonzero(mask))
    assert_same(jaccard_neighbors(plays, k=4, among=mask), expected)
    assert_same(jaccard_neighbors(plays, k=4, among=rng.permutation(np.flatnonzero(mask))), expected)


def test_repeated_ids_in_among_count_once():
    plays = random_plays(np.random.default_rng(0), 20, 9, 0.6)
    assert_same(jaccard_neighbors(plays, among=[4, 2, 4]), jaccard_neighbors(plays, among=[2, 4]))


def test_an_empty_among_leaves_nobody_a_neighbour():
    ids, similarities = jaccard_neighbors(np.full((3, 4), 10), k=2, among=[])
    assert (ids == -1).all()
    assert (similarities == 0).all()


def test_ties_go_to_the_lower_index():
    # All items have the same listeners: every pair is a tie at 1.
    ids, similarities = jaccard_neighbors(np.full((3, 6), 10), k=3)
    assert ids.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert (similarities == 1).all()


def test_equal_fractions_of_different_numbers_are_ties():
    # Item 0 shares 1 of 3 users with item 2 and 2 of 6 users with item 1: 1/3 = 2/6.
    listeners = [{0, 1, 2}, {1, 2, 3, 4, 5}, {0}]
    plays = np.zeros((6, 3), int)
    for item, users in enumerate(listeners):
        plays[list(users), item] = 10
    ids, similarities = jaccard_neighbors(plays, k=2)
    assert ids[0].tolist() == [1, 2]
    assert similarities[0].tolist() == [1 / 3, 1 / 3]


@pytest.mark.parametrize("block", [1, 2, 7, 50, 10**6])
@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_neither_the_block_nor_the_threads_change_the_result(block, n_jobs):
    rng = np.random.default_rng(8)
    # Small counts and many items: ties at every cut.
    plays = 10 * (rng.random((40, 120)) < 0.08 + 0.5 * (np.arange(120) % 30 == 0))
    mask = rng.random(120) < 0.5
    assert_same(jaccard_neighbors(plays, k=5, block=block, n_jobs=n_jobs), brute_force(plays, 5, 10))
    assert_same(
        jaccard_neighbors(plays, k=5, among=mask, block=block, n_jobs=n_jobs),
        jaccard_neighbors(plays, k=5, among=mask),
    )


def test_renaming_items_by_popularity_leaves_no_trace():
    plays = random_plays(np.random.default_rng(2), 60, 25, 0.3)
    order = np.random.default_rng(3).permutation(25)
    similarities = jaccard_neighbors(plays, k=6)[1]
    np.testing.assert_array_equal(jaccard_neighbors(plays[:, order], k=6)[1], similarities[order])


def test_a_user_listens_from_min_plays_on():
    plays = np.array([[10, 10], [9, 50], [50, 9]])
    assert jaccard_neighbors(plays, k=1, min_plays=10)[1].tolist() == [[1 / 3], [1 / 3]]
    assert jaccard_neighbors(plays, k=1, min_plays=9)[1].tolist() == [[1.0], [1.0]]
    assert jaccard_neighbors(plays, k=1, min_plays=9.5)[1].tolist() == [[1 / 3], [1 / 3]]
    assert jaccard_neighbors(plays, k=1, min_plays=10.5)[0].tolist() == [[-1], [-1]]


def test_entries_given_twice_are_summed_before_the_threshold():
    user, item, plays = [0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [6, 4, 10, 9, 10]
    matrix = sp.coo_array((plays, (user, item)), shape=(2, 2))
    assert jaccard_neighbors(matrix, k=1)[1].tolist() == [[0.5], [0.5]]
    unsummed = sp.csr_array((np.array(plays), np.array(item), np.array([0, 3, 5])), shape=(2, 2))
    assert unsummed.nnz == 5
    assert jaccard_neighbors(unsummed, k=1)[1].tolist() == [[0.5], [0.5]]
    assert unsummed.nnz == 5


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_sums_of_small_integers_do_not_overflow(dtype):
    plays = np.array([100, 100, 100, 100], dtype)
    matrix = sp.coo_array((plays, ([0, 0, 0, 0], [0, 0, 0, 1])), shape=(1, 2))
    assert jaccard_neighbors(matrix, k=1)[0].tolist() == [[1], [0]]


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_sparse_format_gives_the_dense_answer(layout):
    plays = random_plays(np.random.default_rng(1), 15, 12, 0.4)
    assert_same(jaccard_neighbors(sp.coo_array(plays).asformat(layout)), jaccard_neighbors(plays))
    assert_same(jaccard_neighbors(sp.coo_matrix(plays).asformat(layout)), jaccard_neighbors(plays))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32])
def test_every_kind_of_count_gives_the_same_answer(dtype):
    plays = random_plays(np.random.default_rng(1), 15, 12, 0.4)
    assert_same(jaccard_neighbors(plays.astype(dtype)), jaccard_neighbors(plays))


def test_truth_values_count_as_one_play():
    listened = np.random.default_rng(1).random((15, 12)) < 0.4
    assert_same(jaccard_neighbors(listened, min_plays=1), jaccard_neighbors(listened * 10))


def test_the_matrix_of_the_caller_stays_as_it_was():
    unsorted = sp.csr_array((np.array([20, 10, 30]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    jaccard_neighbors(unsorted)
    assert unsorted.indices.tolist() == [2, 0, 1]
    assert unsorted.data.tolist() == [20, 10, 30]


def test_items_without_listeners_have_and_are_no_neighbours():
    plays = np.zeros((4, 5), int)
    plays[:, [1, 3]] = 10
    plays[0, 4] = 3  # too few plays
    ids, similarities = jaccard_neighbors(plays, k=2)
    assert ids.tolist() == [[-1, -1], [3, -1], [-1, -1], [1, -1], [-1, -1]]
    assert similarities.tolist() == [[0, 0], [1, 0], [0, 0], [1, 0], [0, 0]]


def test_explicit_zeros_are_no_listens():
    plays = sp.csr_array((np.array([0.0, 10.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert (jaccard_neighbors(plays, min_plays=0.5)[0] == -1).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_matrices_without_users_or_items_give_padding_only(shape):
    ids, similarities = jaccard_neighbors(sp.csr_array(shape, dtype=int), k=2)
    assert ids.shape == similarities.shape == (shape[1], 2)
    assert (ids == -1).all()
    assert (similarities == 0).all()


def test_more_neighbours_than_items_are_padded():
    ids, similarities = jaccard_neighbors(np.full((2, 2), 10), k=4)
    assert ids.tolist() == [[1, -1, -1, -1], [0, -1, -1, -1]]
    assert similarities.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]


def test_being_a_neighbour_is_not_mutual():
    # Items 0 and 1 share all their users; item 2 shares one of them, and has nobody closer.
    plays = np.array([[10, 10, 10], [10, 10, 0], [0, 0, 10]])
    assert jaccard_neighbors(plays, k=1)[0].tolist() == [[1], [0], [0]]


@settings(deadline=None, max_examples=150)
@given(
    plays=hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 4)),
    k=st.integers(1, 9),
    block=st.integers(1, 30),
)
def test_similarities_are_exact_sorted_and_in_the_unit_interval(plays, k, block):
    ids, similarities = jaccard_neighbors(plays, k=k, min_plays=2, block=block, n_jobs=2)
    assert_same((ids, similarities), brute_force(plays, k, 2))
    assert ids.dtype == np.int32
    assert similarities.dtype == np.float64
    real = ids >= 0
    assert ((similarities > 0) == real).all()
    assert (similarities <= 1).all()
    assert (np.diff(similarities, axis=1) <= 0).all()
    assert (ids != np.arange(len(ids))[:, None]).all()
    for i, column in np.argwhere(real):
        assert similarities[i, column] == float(similarity(plays, 2, ids[i, column], i))


def test_memory_grows_with_listens_and_not_with_the_square_of_the_items():
    rng = np.random.default_rng(0)
    n_users, n_items, n_listens = 2_000, 30_000, 60_000
    users, items = rng.integers(0, n_users, n_listens), rng.integers(0, n_items, n_listens)
    plays = sp.csr_array((np.full(n_listens, 10), (users, items)), shape=(n_users, n_items))
    jaccard_neighbors(plays[:10], k=10, n_jobs=2)  # compile outside the measurement
    tracemalloc.start()
    try:
        jaccard_neighbors(plays, k=10, n_jobs=2, block=10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25e6  # one bit for each pair of items would already take 112 MB


def test_embeddings_beyond_32_bits_give_the_same_answer(monkeypatch):
    plays = random_plays(np.random.default_rng(5), 30, 20, 0.4)
    expected = jaccard_neighbors(plays)
    monkeypatch.setattr(arrangement, "_SLOTS_OF_32_BITS", 0)
    assert_same(jaccard_neighbors(plays), expected)


@pytest.mark.parametrize(
    ("plays", "message"),
    [
        (np.ones(4), r"plays has 1 dimension\(s\); a users x items matrix of play counts is needed"),
        (np.ones((2, 2, 2)), r"plays has 3 dimension\(s\)"),
        (sp.coo_array(np.ones(4)), r"plays has 1 dimension\(s\)"),
        (7, r"plays has 0 dimension\(s\)"),
        ([[1, 2], [3]], "plays cannot be read as an array of numbers"),
        ([["a", "b"]], "plays holds <U1 values, which are not counts; use integers or floats"),
        (np.ones((2, 2), complex), "plays holds complex128 values"),
        (np.array([[1, -2]]), "plays has the value -2 at user 0, item 1, but a play count is finite"),
        (sp.csc_array([[0.0, 1.0], [np.nan, 0.0]]), "plays has the value nan at user 1, item 0"),
        (np.array([[np.inf]]), "plays has the value inf at user 0, item 0, .*; drop or repair such entries"),
        (sp.coo_array(([-5, 20], ([0, 0], [1, 1])), shape=(1, 2)), "the value -5 at user 0, item 1"),
        (sp.coo_array((1, 2**31)), r"plays has shape \(1, 2147483648\), but .* 32 bits; split a matrix"),
    ],
)
def test_plays_that_are_no_counts_are_refused(plays, message):
    with pytest.raises(InvalidInputError, match=message):
        jaccard_neighbors(plays)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"k": 2.5}, "k=2.5 must be a whole number"),
        ({"min_plays": 0}, "min_plays=0 must be a finite number above 0"),
        ({"min_plays": float("nan")}, "min_plays=nan must be a finite number above 0"),
        ({"block": 0}, "block=0 must be a whole number of at least 1"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number of at least 1"),
        ({"among": [0, 3]}, "among has item 3, but plays has 3 items; use 0 to 2"),
        ({"among": [-1]}, "among has item -1, but plays has 3 items"),
        ({"among": [True, False]}, r"among has shape \(2,\) and holds bool values; .* mask of 3 booleans"),
        ({"among": [0.5]}, r"among has shape \(1,\) and holds float64 values; use a list of item indices"),
        ({"among": [[0, 1]]}, r"among has shape \(1, 2\)"),
    ],
)
def test_arguments_that_cannot_work_are_refused(argument, message):
    with pytest.raises(InvalidInputError, match=message):
        jaccard_neighbors(np.full((2, 3), 10), **argument)


@pytest.mark.skipif(not BENCHMARK.exists(), reason="the benchmarks are not part of this copy")
def test_the_benchmark_prints_one_line_with_its_own_seconds_and_memory():
    command = [sys.executable, str(BENCHMARK), "--profile", "smoke"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    (line,) = map(json.loads, lines)
    assert line["case"] == "jaccard_smoke"
    assert line["seconds"] > 0
    assert line["peak_gb"] >= line["matrix_gb"] > 0
    if "peer" in line:
        assert line["ratio"] > 0
