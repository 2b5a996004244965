"""The nearest songs against brute force in float64, exactly and by a graph."""

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.neighbours import exact as exact
from nearsong.library.neighbours import index as index_module
from nearsong.library.neighbours.index import NeighbourIndex
from neighbour_songs import assert_same, recall, songs


def brute_force(embeddings, ids, queries, k, allowed=None):
    """Every distance in float64, sorted by distance and then by id."""
    embeddings, queries = (np.asarray(rows, np.float32).astype(np.float64) for rows in (embeddings, queries))
    ids = np.asarray(ids)
    candidates = np.arange(len(ids)) if allowed is None else np.flatnonzero(allowed)
    found, distances = [], []
    for query in queries:
        row_distances = np.sqrt(((embeddings[candidates] - query) ** 2).sum(axis=1))
        first = np.lexsort((ids[candidates], row_distances))[:k]
        found.append(ids[candidates][first])
        distances.append(row_distances[first])
    return np.array(found).reshape(len(queries), -1), np.array(distances).reshape(len(queries), -1)


# Exact


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    r=st.integers(1, 9),
    k=st.integers(1, 70) | st.integers(1, 5),
    levels=st.sampled_from([None, 2, 4]),
    exponent=st.integers(-30, 14),
    offset=st.sampled_from([0.0, 1.0, 1e4]),
    share=st.sampled_from([None, 0.1, 0.6]),
    group=st.sampled_from([2, 3, 64]),
    at_once=st.sampled_from([1, 14, 32, 8_192]),
)
def test_it_is_brute_force_to_the_bit_for_any_size_offset_tie_and_filter(
    seed, n, r, k, levels, exponent, offset, share, group, at_once
):
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((n + 3, r)) if levels is None else rng.integers(levels, size=(n + 3, r)).astype(float)
    drawn = np.clip((drawn + offset) * 10.0**exponent, -1e15, 1e15)
    ids = rng.choice(1_000, size=n, replace=False)
    allowed = None if share is None else rng.random(n) < share
    with patch.multiple(exact, GROUP_SONGS=group, BLOCK_PRODUCTS=at_once, BATCH_QUERIES=2, BATCH_CANDIDATES=8):
        ours = NeighbourIndex.build(drawn[:n], ids).nearest(drawn[n:], k, allowed=allowed)
    assert_same(ours, brute_force(drawn[:n], ids, drawn[n:], k, allowed))


@pytest.mark.parametrize("k", [1, 7, 20, 100])
def test_a_library_of_some_size_with_a_filter_in_one_stretch_is_brute_force_too(k):
    embeddings, queries = songs(5_000)
    index = NeighbourIndex.build(embeddings, np.arange(5_000))
    for allowed in (None, np.arange(5_000) < 1_300, np.arange(5_000) >= 4_950):
        expected = brute_force(embeddings, np.arange(5_000), queries, k, allowed)
        for at_once in (exact.BLOCK_PRODUCTS, 5_120, 5_001):
            with patch.object(exact, "BLOCK_PRODUCTS", at_once):
                assert_same(index.nearest(queries, k, allowed=allowed), expected)


def test_more_songs_as_near_as_the_kth_than_the_best_groups_hold_are_all_looked_at():
    embeddings = np.ones((2_000, 3), np.float32)
    embeddings[1_500:] = 0
    index = NeighbourIndex.build(embeddings, np.arange(2_000))
    allowed = np.arange(2_000) % 7 > 0
    for mask in (None, allowed):
        expected = brute_force(embeddings, np.arange(2_000), embeddings[[0, 1_999]], 5, mask)
        assert_same(index.nearest(embeddings[[0, 1_999]], 5, allowed=mask), expected)


def test_a_distance_that_float32_products_lose_is_found():
    rng = np.random.default_rng(3)
    embeddings = (1_000 + 1e-3 * rng.standard_normal((500, 40))).astype(np.float32)  # |x|^2 = 4e7, distances 1e-2
    index = NeighbourIndex.build(embeddings, np.arange(500))
    assert_same(index.nearest(embeddings[:20], 10), brute_force(embeddings, np.arange(500), embeddings[:20], 10))


def test_the_same_sound_is_at_distance_zero_and_the_lower_id_comes_first():
    embeddings, _ = songs(300)
    twice = np.concatenate([embeddings, embeddings])
    ids = np.concatenate([np.arange(300) + 1_000, np.arange(300)])
    found, distances = NeighbourIndex.build(twice, ids).nearest(embeddings, 2)
    np.testing.assert_array_equal(found, np.stack([np.arange(300), np.arange(300) + 1_000], axis=1))
    np.testing.assert_array_equal(distances, 0)


def test_a_float64_query_finds_the_song_it_was_rounded_to():
    embedding = np.array([[0.1, 0.2, 0.3]])
    assert NeighbourIndex.build(embedding, [1]).nearest(embedding[0], 1)[1].tolist() == [0.0]


def test_one_query_gives_one_row():
    embeddings, queries = songs(100)
    index = NeighbourIndex.build(embeddings, np.arange(100))
    many = index.nearest(queries, 5)
    for i, query in enumerate(queries):
        assert_same(index.nearest(query, 5), (many[0][i], many[1][i]))
    assert index.nearest(queries[:0], 5)[0].shape == (0, 5)


def test_blocks_of_queries_change_nothing_and_bound_the_memory(monkeypatch):
    embeddings, queries = songs(3_000, n_queries=2_000)
    index = NeighbourIndex.build(embeddings, np.arange(3_000))
    complete = index.nearest(queries, 20)
    monkeypatch.setattr(exact, "BATCH_QUERIES", 10)
    monkeypatch.setattr(exact, "BATCH_CANDIDATES", 1_000)
    tracemalloc.start()
    parts = index.nearest(queries, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_same(parts, complete)
    assert peak < 3e6  # 10 queries at once; all 2,000 would be 24 MB


def test_no_songs_or_none_allowed_give_no_neighbours():
    empty = NeighbourIndex.build(np.zeros((0, 3)), [])
    assert empty.nearest(np.zeros((2, 3)), 5)[0].shape == (2, 0)
    assert len(NeighbourIndex.build([], [])) == 0
    some = NeighbourIndex.build(np.zeros((4, 3)), np.arange(4))
    assert some.nearest(np.zeros(3), 5, allowed=np.zeros(4, bool))[0].shape == (0,)
    assert some.nearest(np.zeros(3), 0)[1].shape == (0,)


def test_embeddings_of_no_dimension_are_all_the_same():
    found, distances = NeighbourIndex.build(np.zeros((3, 0)), [5, 4, 9], approximate_above=0).nearest(
        np.zeros((1, 0)), 2
    )
    assert found.tolist() == [[4, 5]]
    assert distances.tolist() == [[0.0, 0.0]]


# Refusals


@pytest.mark.parametrize(
    ("embeddings", "ids", "message"),
    [
        ([[0.0], [np.nan]], [1, 2], r"embeddings has a NaN or infinite value, first in row 1; leave such songs out"),
        ([[np.inf], [0.0]], [1, 2], r"embeddings has a NaN or infinite value, first in row 0"),
        ([[1e30]], [1], r"embeddings has a value of 1.0e\+30; its square overflows, so scale the embeddings"),
        ([0.0, 1.0], [1, 2], r"embeddings has shape \(2,\); songs x dimensions is needed"),
        ([["a"]], [1], r"embeddings cannot be read as an array of numbers"),
        ([[0.0], [1.0]], [1], r"ids is int64 of shape \(1,\); an int for each of 2 embeddings is needed"),
        ([[0.0], [1.0]], [1.0, 2.0], r"ids is float64 of shape \(2,\); an int for each of 2 embeddings"),
        ([[0.0], [1.0], [2.0]], [7, 3, 7], r"id 7 is not unique; give each embedding its own id"),
    ],
)
def test_embeddings_and_ids_that_cannot_work_are_refused(embeddings, ids, message):
    with pytest.raises(InvalidInputError, match=message):
        NeighbourIndex.build(embeddings, ids)


@pytest.mark.parametrize(
    ("query", "k", "allowed", "message"),
    [
        ([np.nan, 0.0], 1, None, r"queries has a NaN or infinite value, first in row 0"),
        ([0.0], 1, None, r"queries have 1 dimension\(s\) and the songs have 2; project both with one model"),
        ([0.0, 0.0], -1, None, r"k=-1 must be a whole number of at least 0"),
        ([0.0, 0.0], 1, [True], r"allowed is bool of shape \(1,\); a bool for each of 3 songs is needed"),
        ([0.0, 0.0], 1, [0, 1, 2], r"allowed is int64 of shape \(3,\); a bool for each of 3 songs is needed"),
    ],
)
def test_queries_and_filters_that_cannot_work_are_refused(query, k, allowed, message):
    index = NeighbourIndex.build(np.zeros((3, 2)), np.arange(3))
    with pytest.raises(InvalidInputError, match=message):
        index.nearest(query, k, allowed=allowed)


# Graph


@pytest.fixture(scope="module")
def graphed():
    """Songs in an order other than their ids', an index with a graph and an exact one."""
    embeddings, queries = songs(4_000, r=16)
    ids = np.random.default_rng(1).permutation(4_000) * 3
    with patch.object(index_module, "SAMPLE_SONGS", 4):  # so few that the graph is on its own
        graph = NeighbourIndex.build(embeddings, ids, approximate_above=3_999)
    return embeddings, queries, ids, graph, NeighbourIndex.build(embeddings, ids)


def test_a_graph_is_used_above_a_size_only(graphed):
    embeddings, _, ids, graph, _ = graphed
    assert not graph.is_exact
    assert NeighbourIndex.build(embeddings, ids, approximate_above=4_000).is_exact


def test_the_graph_finds_nearly_all_and_its_distances_are_exact(graphed):
    embeddings, queries, ids, graph, exact = graphed
    found, distances = graph.nearest(queries, 20)
    true, _ = exact.nearest(queries, 20)
    assert recall(found, true) > 0.99
    row_of = {int(song): row for row, song in enumerate(ids)}
    for query, one, row_distances in zip(queries, found, distances, strict=True):
        rows = [row_of[int(song)] for song in one]
        differences = embeddings[rows].astype(np.float64) - query
        np.testing.assert_array_equal(row_distances, np.sqrt((differences**2).sum(axis=1)))
        assert (np.diff(row_distances) >= 0).all()
    assert_same(graph.nearest(queries[0], 20), (found[0], distances[0]))


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_filter_on_a_graph_gives_k_allowed_songs_and_the_right_ones(graphed, share):
    _, queries, ids, graph, exact = graphed
    allowed = np.random.default_rng(2).random(4_000) < share
    found, _ = graph.nearest(queries, 15, allowed=allowed)
    assert found.shape == (40, 15)
    assert set(found.ravel().tolist()) <= set(ids[allowed].tolist())
    assert recall(found, exact.nearest(queries, 15, allowed=allowed)[0]) > 0.99


def test_a_filter_that_bars_exactly_the_near_songs_is_answered_exactly(graphed):
    _, queries, ids, graph, exact = graphed
    near, _ = exact.nearest(queries[0], 500)
    allowed = ~np.isin(ids, near)
    assert_same(graph.nearest(queries[0], 10, allowed=allowed), exact.nearest(queries[0], 10, allowed=allowed))


def test_a_query_for_nearly_all_songs_is_answered_exactly(graphed):
    _, queries, _, graph, exact = graphed
    for k in (3_000, 5_000):
        assert_same(graph.nearest(queries[:3], k), exact.nearest(queries[:3], k))


@pytest.mark.parametrize("share", [None, 0.5])
def test_a_graph_that_leads_astray_is_noticed_and_all_songs_are_looked_at(graphed, monkeypatch, share):
    embeddings, queries, ids, _, exact = graphed
    graph = NeighbourIndex.build(embeddings, ids, approximate_above=3_999)
    allowed = None if share is None else np.random.default_rng(2).random(4_000) < share
    right = graph._graph.propose

    def astray(asked, count):
        found = right(asked, count)
        found[3] = right(-10 * asked[3:4], count)[0]  # songs on the other side
        return found

    monkeypatch.setattr(graph._graph, "propose", astray)
    ours, true = (index.nearest(queries, 10, allowed=allowed) for index in (graph, exact))
    assert_same((ours[0][3], ours[1][3]), (true[0][3], true[1][3]))
    monkeypatch.setattr(graph, "_sample_above", np.full_like(graph._sample_above, np.inf))
    assert (graph.nearest(queries, 10, allowed=allowed)[1][3] > true[1][3]).all()  # what would have come


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_the_graph_does_not_mind_the_size_of_the_embeddings(scale, monkeypatch):
    monkeypatch.setattr(index_module, "SAMPLE_SONGS", 4)
    embeddings, queries = songs(1_500)
    index = NeighbourIndex.build(embeddings * scale, np.arange(1_500), approximate_above=0)
    true, _ = NeighbourIndex.build(embeddings * scale, np.arange(1_500)).nearest(queries * scale, 10)
    assert recall(index.nearest(queries * scale, 10)[0], true) > 0.99


def test_embeddings_that_are_all_zero_have_a_graph_too():
    index = NeighbourIndex.build(np.zeros((50, 3)), np.arange(50), approximate_above=0)
    assert index.nearest(np.ones(3), 4)[1].tolist() == [np.sqrt(3)] * 4


def test_progress_ends_at_the_number_of_songs(monkeypatch):
    monkeypatch.setattr("nearsong.library.neighbours.graph.BATCH_EMBEDDINGS", 100)
    reported = []
    NeighbourIndex.build(
        songs(250)[0], np.arange(250), approximate_above=0, progress=lambda *step: reported.append(step)
    )
    assert reported == [("index", 0, 250), ("index", 100, 250), ("index", 200, 250), ("index", 250, 250)]
