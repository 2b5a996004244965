"""The nearest songs against brute force in float64; the graph, its file and what becomes of damage."""

import os
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library import index as index_module
from nearsong.library import near_places
from nearsong.library.index import PlaceIndex


def brute_force(places, ids, queries, k, allowed=None):
    """Every distance in float64, sorted by distance and then by id."""
    places, queries = (np.asarray(rows, np.float32).astype(np.float64) for rows in (places, queries))
    ids = np.asarray(ids)
    kept = np.arange(len(ids)) if allowed is None else np.flatnonzero(allowed)
    found, distances = [], []
    for query in queries:
        away = np.sqrt(((places[kept] - query) ** 2).sum(axis=1))
        first = np.lexsort((ids[kept], away))[:k]
        found.append(ids[kept][first])
        distances.append(away[first])
    return np.array(found).reshape(len(queries), -1), np.array(distances).reshape(len(queries), -1)


def assert_same(ours, other):
    np.testing.assert_array_equal(ours[0], other[0])
    np.testing.assert_array_equal(ours[1], other[1])


def songs(n=2_000, r=12, seed=0, n_queries=40):
    """Songs around their artists, and new songs of the same artists."""
    rng = np.random.default_rng(seed)
    artists = 2 * rng.standard_normal((n // 10 + 1, r))
    drawn = artists[rng.integers(len(artists), size=n + n_queries)] + rng.standard_normal((n + n_queries, r))
    return drawn[:n].astype(np.float32), drawn[n:].astype(np.float32)


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
    with patch.multiple(near_places, GROUP=group, AT_ONCE=at_once, TOGETHER=2, LOOKED_AT=8):
        ours = PlaceIndex.build(drawn[:n], ids).nearest(drawn[n:], k, allowed=allowed)
    assert_same(ours, brute_force(drawn[:n], ids, drawn[n:], k, allowed))


@pytest.mark.parametrize("k", [1, 7, 20, 100])
def test_a_library_of_some_size_with_a_filter_in_one_stretch_is_brute_force_too(k):
    places, queries = songs(5_000)
    index = PlaceIndex.build(places, np.arange(5_000))
    for allowed in (None, np.arange(5_000) < 1_300, np.arange(5_000) >= 4_950):
        expected = brute_force(places, np.arange(5_000), queries, k, allowed)
        for at_once in (near_places.AT_ONCE, 5_120, 5_001):
            with patch.object(near_places, "AT_ONCE", at_once):
                assert_same(index.nearest(queries, k, allowed=allowed), expected)


def test_more_songs_as_near_as_the_kth_than_the_best_groups_hold_are_all_looked_at():
    places = np.ones((2_000, 3), np.float32)
    places[1_500:] = 0
    index = PlaceIndex.build(places, np.arange(2_000))
    allowed = np.arange(2_000) % 7 > 0
    for mask in (None, allowed):
        expected = brute_force(places, np.arange(2_000), places[[0, 1_999]], 5, mask)
        assert_same(index.nearest(places[[0, 1_999]], 5, allowed=mask), expected)


def test_a_distance_that_float32_products_lose_is_found():
    rng = np.random.default_rng(3)
    places = (1_000 + 1e-3 * rng.standard_normal((500, 40))).astype(np.float32)  # |x|^2 = 4e7, distances 1e-2
    index = PlaceIndex.build(places, np.arange(500))
    assert_same(index.nearest(places[:20], 10), brute_force(places, np.arange(500), places[:20], 10))


def test_the_same_sound_is_at_distance_zero_and_the_lower_id_comes_first():
    places, _ = songs(300)
    twice = np.concatenate([places, places])
    ids = np.concatenate([np.arange(300) + 1_000, np.arange(300)])
    found, distances = PlaceIndex.build(twice, ids).nearest(places, 2)
    np.testing.assert_array_equal(found, np.stack([np.arange(300), np.arange(300) + 1_000], axis=1))
    np.testing.assert_array_equal(distances, 0)


def test_a_float64_query_finds_the_song_it_was_rounded_to():
    place = np.array([[0.1, 0.2, 0.3]])
    assert PlaceIndex.build(place, [1]).nearest(place[0], 1)[1].tolist() == [0.0]


def test_one_query_gives_one_row():
    places, queries = songs(100)
    index = PlaceIndex.build(places, np.arange(100))
    many = index.nearest(queries, 5)
    for i, query in enumerate(queries):
        assert_same(index.nearest(query, 5), (many[0][i], many[1][i]))
    assert index.nearest(queries[:0], 5)[0].shape == (0, 5)


def test_blocks_of_queries_change_nothing_and_bound_the_memory(monkeypatch):
    places, queries = songs(3_000, n_queries=2_000)
    index = PlaceIndex.build(places, np.arange(3_000))
    whole = index.nearest(queries, 20)
    monkeypatch.setattr(near_places, "TOGETHER", 10)
    monkeypatch.setattr(near_places, "LOOKED_AT", 1_000)
    tracemalloc.start()
    parts = index.nearest(queries, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_same(parts, whole)
    assert peak < 3e6  # 10 queries at once; all 2,000 would be 24 MB


def test_no_songs_or_none_allowed_give_no_neighbours():
    empty = PlaceIndex.build(np.zeros((0, 3)), [])
    assert empty.nearest(np.zeros((2, 3)), 5)[0].shape == (2, 0)
    assert len(PlaceIndex.build([], [])) == 0
    some = PlaceIndex.build(np.zeros((4, 3)), np.arange(4))
    assert some.nearest(np.zeros(3), 5, allowed=np.zeros(4, bool))[0].shape == (0,)
    assert some.nearest(np.zeros(3), 0)[1].shape == (0,)


def test_places_of_no_dimension_are_all_the_same():
    found, distances = PlaceIndex.build(np.zeros((3, 0)), [5, 4, 9], approximate_above=0).nearest(np.zeros((1, 0)), 2)
    assert found.tolist() == [[4, 5]]
    assert distances.tolist() == [[0.0, 0.0]]


# Refusals


@pytest.mark.parametrize(
    ("places", "ids", "message"),
    [
        ([[0.0], [np.nan]], [1, 2], r"places has a NaN or infinite value, first in row 1; leave out"),
        ([[np.inf], [0.0]], [1, 2], r"places has a NaN or infinite value, first in row 0"),
        ([[1e30]], [1], r"places has a value of 1.0e\+30; its square overflows, so scale the places"),
        ([0.0, 1.0], [1, 2], r"places has shape \(2,\); songs x dimensions is needed"),
        ([["a"]], [1], r"places cannot be read as an array of numbers"),
        ([[0.0], [1.0]], [1], r"ids is int64 of shape \(1,\); an int for each of 2 places is needed"),
        ([[0.0], [1.0]], [1.0, 2.0], r"ids is float64 of shape \(2,\); an int for each of 2 places"),
        ([[0.0], [1.0], [2.0]], [7, 3, 7], r"id 7 comes twice; give every place an id of its own"),
    ],
)
def test_places_and_ids_that_cannot_work_are_refused(places, ids, message):
    with pytest.raises(InvalidInputError, match=message):
        PlaceIndex.build(places, ids)


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
    index = PlaceIndex.build(np.zeros((3, 2)), np.arange(3))
    with pytest.raises(InvalidInputError, match=message):
        index.nearest(query, k, allowed=allowed)


# Graph


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), true.tolist(), strict=True)])


@pytest.fixture(scope="module")
def graphed():
    """Songs in an order other than their ids', an index with a graph and an exact one."""
    places, queries = songs(4_000, r=16)
    ids = np.random.default_rng(1).permutation(4_000) * 3
    with patch.object(index_module, "SAMPLE", 4):  # so few that the graph is on its own
        graph = PlaceIndex.build(places, ids, approximate_above=3_999)
    return places, queries, ids, graph, PlaceIndex.build(places, ids)


def test_a_graph_is_used_above_a_size_only(graphed):
    places, _, ids, graph, _ = graphed
    assert not graph.is_exact
    assert PlaceIndex.build(places, ids, approximate_above=4_000).is_exact


def test_the_graph_finds_nearly_all_and_its_distances_are_exact(graphed):
    places, queries, ids, graph, exact = graphed
    found, distances = graph.nearest(queries, 20)
    true, _ = exact.nearest(queries, 20)
    assert recall(found, true) > 0.99
    row_of = {int(song): row for row, song in enumerate(ids)}
    for query, one, away in zip(queries, found, distances, strict=True):
        rows = [row_of[int(song)] for song in one]
        differences = places[rows].astype(np.float64) - query
        np.testing.assert_array_equal(away, np.sqrt((differences**2).sum(axis=1)))
        assert (np.diff(away) >= 0).all()
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


def test_asking_for_nearly_all_songs_is_answered_exactly(graphed):
    _, queries, _, graph, exact = graphed
    for k in (3_000, 5_000):
        assert_same(graph.nearest(queries[:3], k), exact.nearest(queries[:3], k))


@pytest.mark.parametrize("share", [None, 0.5])
def test_a_graph_that_leads_astray_is_noticed_and_all_songs_are_looked_at(graphed, monkeypatch, share):
    places, queries, ids, _, exact = graphed
    graph = PlaceIndex.build(places, ids, approximate_above=3_999)
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
def test_the_graph_does_not_mind_the_size_of_the_places(scale, monkeypatch):
    monkeypatch.setattr(index_module, "SAMPLE", 4)
    places, queries = songs(1_500)
    index = PlaceIndex.build(places * scale, np.arange(1_500), approximate_above=0)
    true, _ = PlaceIndex.build(places * scale, np.arange(1_500)).nearest(queries * scale, 10)
    assert recall(index.nearest(queries * scale, 10)[0], true) > 0.99


def test_places_that_are_all_zero_have_a_graph_too():
    index = PlaceIndex.build(np.zeros((50, 3)), np.arange(50), approximate_above=0)
    assert index.nearest(np.ones(3), 4)[1].tolist() == [np.sqrt(3)] * 4


def test_progress_ends_at_the_number_of_songs(monkeypatch):
    monkeypatch.setattr(index_module, "ADD_AT_ONCE", 100)
    said = []
    PlaceIndex.build(songs(250)[0], np.arange(250), approximate_above=0, progress=lambda *step: said.append(step))
    assert said == [("index", 0, 250), ("index", 100, 250), ("index", 200, 250), ("index", 250, 250)]


# The graph's file


@pytest.fixture
def makes(monkeypatch):
    """Count how often a graph is made."""
    made = []
    make = index_module._Graph._make.__func__

    def counted(cls, places, progress):
        made.append(len(places))
        return make(cls, places, progress)

    monkeypatch.setattr(index_module._Graph, "_make", classmethod(counted))
    return made


def build(places, cache, **options):
    return PlaceIndex.build(places, np.arange(len(places)), approximate_above=0, cache=cache, **options)


def test_a_kept_graph_is_used_again_and_answers_the_same(tmp_path, makes):
    places, queries = songs(800)
    first = build(places, tmp_path / "new" / "folder")
    again = build(places, tmp_path / "new" / "folder")
    assert makes == [800]
    assert_same(again.nearest(queries, 10), first.nearest(queries, 10))
    assert [file.suffix for file in (tmp_path / "new" / "folder").iterdir()] == [".graph"]


def test_a_small_graph_made_again_answers_the_same():
    places, queries = songs(2_000)
    first, again = (build(places, None).nearest(queries, 10) for _ in range(2))
    assert_same(first, again)


def test_changed_places_have_a_graph_of_their_own(tmp_path, makes):
    places, _ = songs(300)
    build(places, tmp_path)
    changed = places.copy()
    changed[17, 3] = np.nextafter(changed[17, 3], np.float32(np.inf))
    build(changed, tmp_path)
    assert makes == [300, 300]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "folder", "trailer", "another"])
def test_a_damaged_graph_is_made_again(tmp_path, makes, damage):
    places, queries = songs(400)
    answer = build(places, tmp_path).nearest(queries, 5)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    if damage == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif damage == "changed":
        file.write_bytes(content)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "folder":
        file.unlink()
        file.mkdir()
    elif damage == "trailer":
        os.truncate(file, 20)
    else:
        build(places[:300], tmp_path / "other")
        (other,) = (tmp_path / "other").iterdir()
        os.replace(other, file)
        makes.pop()
    assert_same(build(places, tmp_path).nearest(queries, 5), answer)
    assert makes == [400, 400]
    if damage != "folder":
        build(places, tmp_path)
        assert makes == [400, 400]


def test_a_cache_that_cannot_be_written_is_passed_over(tmp_path, makes):
    (tmp_path / "file").write_text("not a folder")
    assert not build(songs(200)[0], tmp_path / "file").is_exact
    assert makes == [200]


def test_only_a_cached_graph_is_used_when_asked(tmp_path, makes):
    places, queries = songs(300)
    exact = build(places, tmp_path, only_cached=True)
    assert exact.is_exact
    assert makes == []
    assert build(places, None, only_cached=True).is_exact
    build(places, tmp_path)
    graph = build(places, tmp_path, only_cached=True)
    assert not graph.is_exact
    assert recall(graph.nearest(queries, 5)[0], exact.nearest(queries, 5)[0]) > 0.99


def test_ctrl_c_while_a_graph_is_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(songs(200)[0], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_three_graphs_used_last_are_kept_and_old_unfinished_files_are_removed(tmp_path):
    old, fresh = tmp_path / "a.graph.1.partial", tmp_path / "b.graph.2.partial"
    for file in (old, fresh):
        file.write_bytes(b"")
    os.utime(old, (0, 0))
    places, _ = songs(160)
    names = []
    for i in range(4):
        build(places[: 100 + i], tmp_path)
        (name,) = {file.name for file in tmp_path.glob("*.graph")} - set(names)
        names.append(name)
        os.utime(tmp_path / name, (i + 1, i + 1))
        if i == 2:
            build(places[:100], tmp_path)  # the first is used once more
    assert {file.name for file in tmp_path.iterdir()} == {names[0], names[2], names[3], fresh.name}
