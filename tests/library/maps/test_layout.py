import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial import cKDTree

from nearsong.errors import InvalidInputError
from nearsong.library.maps import layout as map_layout
from nearsong.library.maps.layout import group_labels, layout


def kinds_of_songs(n, kinds=4, rank=8, apart=6.0, seed=0):
    random = np.random.default_rng(seed)
    kind = random.integers(0, kinds, n)
    return random.normal(size=(kinds, rank))[kind] * apart + random.normal(size=(n, rank)), kind


@pytest.fixture
def small_sample(monkeypatch):
    """Make a library of a few hundred songs a large one."""
    monkeypatch.setattr(map_layout, "MAX_TSNE_SONGS", 90)


def nearest_of_the_same_kind(points, kind, k=5):
    near = cKDTree(points).query(points, k + 1)[1][:, 1:]
    return float((kind[near] == kind[:, None]).mean())


def test_near_songs_stay_near():
    embeddings, kind = kinds_of_songs(150)
    points = layout(embeddings)
    assert points.shape == (150, 2)
    assert points.dtype == np.float32
    assert nearest_of_the_same_kind(points, kind) > 0.98


def test_songs_beyond_the_sample_go_where_their_kind_is(small_sample):
    embeddings, kind = kinds_of_songs(700)
    points = layout(embeddings)
    assert nearest_of_the_same_kind(points, kind) > 0.98
    assert len(np.unique(points, axis=0)) == 700


def test_a_map_fills_the_square_whatever_the_unit_of_distance(small_sample):
    for unit in (1e-12, 1.0, 1e12):
        for n in (40, 300):
            points = layout(kinds_of_songs(n)[0] * unit)
            assert 0 <= points.min() <= 0.03
            assert 0.97 <= points.max() <= 1
            assert np.isfinite(points).all()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 11, 12])
def test_few_songs_have_a_map_too(n):
    points = layout(np.random.default_rng(n).normal(size=(n, 4)))
    assert points.shape == (n, 2)
    assert ((points >= 0) & (points <= 1)).all()
    assert len(np.unique(points, axis=0)) == n


def test_two_songs_are_apart_and_three_keep_their_triangle():
    assert np.linalg.norm(np.diff(layout([[0.0, 0.0], [3.0, 4.0]]), axis=0)) > 0.9
    triangle = np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    points = layout(triangle).astype(np.float64)
    sides = [np.linalg.norm(points[i] - points[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(np.array(sides) / sides[0], [1, 4 / 3, 5 / 3], rtol=1e-4)


@pytest.mark.parametrize("n", [2, 40, 300])
def test_songs_that_are_all_the_same_are_spread_evenly(n, small_sample):
    for embeddings in (np.full((n, 3), 0.1, dtype=np.float32), np.zeros((n, 3)), np.empty((n, 0))):
        points = layout(embeddings)
        gaps = cKDTree(points).query(points, 2)[0][:, 1]
        assert gaps.min() > 0.3 / np.sqrt(n)


def test_copies_of_a_song_do_not_cover_each_other(small_sample):
    for n in (80, 400):
        embeddings = np.repeat(np.random.default_rng(0).normal(size=(n // 20, 5)), 20, axis=0)
        points = layout(embeddings)
        assert len(np.unique(points, axis=0)) == n
        assert nearest_of_the_same_kind(points, np.arange(n) // 20, k=3) > 0.9


def test_one_dimension_is_enough(small_sample):
    for n in (50, 200):
        points = layout(np.linspace(0, 1, n)[:, None] ** 2)
        assert np.isfinite(points).all()
        assert len(np.unique(points, axis=0)) == n


def test_the_same_embeddings_and_seed_give_the_same_bytes(small_sample):
    for n in (60, 200):
        embeddings = kinds_of_songs(n)[0]
        assert layout(embeddings, seed=3).tobytes() == layout(embeddings.copy(), seed=3).tobytes()


def test_progress_goes_from_none_to_all_songs(small_sample):
    reported = []
    layout(kinds_of_songs(200)[0], progress=lambda *report: reported.append(report))
    assert reported[0] == ("map", 0, 200)
    assert reported[-1] == ("map", 200, 200)
    assert [done for _, done, _ in reported] == sorted(done for _, done, _ in reported)


def test_what_is_no_table_of_embeddings_is_refused():
    with pytest.raises(InvalidInputError, match=r"embeddings has shape \(3,\); \(n_songs, rank\) is needed"):
        layout([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="NaN or infinite"):
        layout([[1.0], [np.inf]])
    with pytest.raises(InvalidInputError, match="seed=-1"):
        layout([[1.0]], seed=-1)


def test_a_sample_has_its_share_of_every_kind():
    embeddings, kind = kinds_of_songs(1000, kinds=5)
    chosen = map_layout.spread_sample(embeddings.astype(np.float32), 100)
    assert len(set(chosen.tolist())) == 100
    share = np.bincount(kind[chosen], minlength=5) / np.bincount(kind, minlength=5)
    np.testing.assert_allclose(share, 0.1, atol=0.02)


def test_a_song_between_torn_neighbours_goes_to_the_many():
    corners = np.array([[[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [9.0, 9.0]]])
    middle = map_layout.robust_mean(np.array([[1.0, 1.0, 1.0, 1.0]]), corners)
    assert np.abs(middle).max() < 0.3


@settings(max_examples=40, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(0, 11), st.integers(0, 4)), elements=st.floats(-1e6, 1e6, width=32)
    )
)
def test_any_few_embeddings_give_finite_points_in_the_square(embeddings):
    points = layout(embeddings)
    assert points.shape == (len(embeddings), 2)
    assert ((points >= 0) & (points <= 1)).all()


# ---- labels


def test_a_name_goes_to_the_middle_of_its_songs():
    random = np.random.default_rng(0)
    points = np.vstack([random.normal([0.2, 0.3], 0.01, (30, 2)), random.normal([0.7, 0.8], 0.01, (20, 2))])
    first, second = group_labels(points, [7] * 30 + [4] * 20)
    assert (first.group, first.songs, second.group, second.songs) == (7, 30, 4, 20)
    np.testing.assert_allclose([first.x, first.y], points[:30].mean(axis=0))
    np.testing.assert_allclose(
        first.reach, np.sqrt(((points[:30] - points[:30].mean(axis=0)) ** 2).sum(axis=1).mean())
    )


def test_a_group_at_two_positions_is_named_twice_and_strays_do_not_count():
    random = np.random.default_rng(1)
    here, there = random.normal([0.2, 0.2], 0.01, (40, 2)), random.normal([0.8, 0.8], 0.01, (30, 2))
    labels = group_labels(np.vstack([here, there, [[0.5, 0.5]]]), [0] * 71)
    assert [(label.songs, round(label.x, 1)) for label in labels] == [(40, 0.2), (30, 0.8)]


def test_a_group_that_is_spread_out_has_a_label_too_and_one_in_small_pieces_only_one():
    random = np.random.default_rng(0)
    spread = 0.5 + 0.2 * random.uniform(-1, 1, size=(33, 2))
    (label,) = group_labels(spread, [0] * 33)
    assert label.songs >= 33 / 5
    assert abs(label.x - 0.5) < 0.2
    assert abs(label.y - 0.5) < 0.2
    corners = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9], [0.5, 0.5]])
    pieces = np.repeat(corners, [4, 3, 3, 3, 2], axis=0) + 0.01 * random.normal(size=(15, 2))
    assert [(label.songs, round(label.x, 1)) for label in group_labels(pieces, [0] * 15)] == [(4, 0.1)]


def test_songs_without_a_group_and_groups_of_two_have_no_name():
    assert group_labels(np.full((8, 2), 0.5), [-1] * 6 + [3] * 2) == []
    assert group_labels(np.empty((0, 2)), []) == []


def test_only_the_largest_groups_have_a_name():
    points = np.repeat([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]], [3, 5, 4], axis=0)
    labels = group_labels(points, np.repeat([0, 1, 2], [3, 5, 4]), max_labels=2)
    assert [label.group for label in labels] == [1, 2]


def test_groups_must_fit_the_points():
    with pytest.raises(InvalidInputError, match=r"groups has shape \(2,\); one group for each of 3 songs is needed"):
        group_labels(np.zeros((3, 2)), [0, 1])
