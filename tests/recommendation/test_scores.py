"""Scores of songs by a taste, by listeners and by both, against sums written out one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.recommendation import (
    OverlapScores,
    Taste,
    best_rows,
    blended_scores,
    nearest_liked,
    strongest_rows,
    taste_scores,
    typical_squared_distance,
)
from nearsong.recommendation import scores as scores_module


@pytest.fixture
def songs():
    return np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)


def naive_scores(songs, points, weights, width):
    total = sum(abs(weight) for weight in weights)
    pairs = list(zip(points, weights, strict=True))
    scores = []
    for song in songs.astype(float):
        pulls = [w * np.exp(-np.sum((song - point) ** 2) / width) for point, w in pairs]
        liked, disliked = sum(pull for pull in pulls if pull > 0), -sum(pull for pull in pulls if pull < 0)
        scores.append(max(liked - disliked, liked / 2) / total)
    return scores


def test_scores_are_the_pulls_of_what_is_liked_less_those_of_dislikes_whatever_the_block(songs, monkeypatch):
    weights = np.array([2.0, 0.5, -1.0])
    expected = naive_scores(songs, songs[:3].astype(float), weights, 0.5 * 4.0)
    for block in (4_000_000, 7):
        monkeypatch.setattr(scores_module, "_BLOCK_NUMBERS", block)
        found = taste_scores(songs, Taste(songs[:3], weights), typical=4.0, bandwidth=0.5)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_scores_do_not_depend_on_where_the_origin_is(songs):
    weights = np.ones(4)
    near = taste_scores(songs, Taste(songs[:4], weights), typical=4.0)
    moved = songs + np.float32(100)
    np.testing.assert_allclose(taste_scores(moved, Taste(moved[:4], weights), typical=4.0), near, atol=1e-3)


def test_a_dislike_lowers_its_neighbours_most(songs):
    liked = Taste(songs[:1], np.ones(1))
    both = Taste(songs[:2], np.array([1.0, -1.0]))
    before, after = taste_scores(songs, liked, 4.0), 2 * taste_scores(songs, both, 4.0)
    assert (after <= before + 1e-6).all()
    to_liked, to_disliked = (np.square(songs - songs[row]).sum(axis=1) for row in (0, 1))
    share = (after / before)[np.argsort(to_disliked - to_liked)]
    assert (np.diff(share) >= -1e-3).all()
    assert share[0] < share[-1]


def test_a_song_near_a_liked_one_comes_before_songs_near_none_however_much_is_disliked():
    songs = np.array([[0.0], [0.5], [0.6], [9.0]], np.float32)
    taste = Taste(songs[:2], np.array([1.0, -50.0]))
    scores = taste_scores(songs, taste, typical=4.0)
    assert scores[2] > scores[3] >= 0


def test_if_nothing_is_liked_songs_unlike_the_disliked_ones_come_first(songs):
    scores = taste_scores(songs, Taste(songs[:1], -np.ones(1)), 4.0)
    distances = np.linalg.norm(songs - songs[0], axis=1)
    assert (np.diff(scores[np.argsort(distances)]) >= -1e-6).all()
    assert scores[0] == pytest.approx(-1.0)


def test_no_taste_scores_nothing_and_has_no_nearest_liked_song(songs):
    nobody = Taste(songs[:0], np.zeros(0))
    assert not taste_scores(songs, nobody).any()
    disliked = Taste(songs[:2], -np.ones(2))
    assert (nearest_liked(songs, disliked) == -1).all()


def test_weights_must_belong_to_points(songs):
    with pytest.raises(InvalidInputError, match="do not belong together"):
        Taste(songs[:3], np.ones(2))


def test_the_strongest_rows_are_those_of_the_largest_weights_ties_to_the_lower():
    assert strongest_rows(np.array([0.0, 1.0, -3.0, 1.0, 0.5]), 2).tolist() == [1, 2]
    assert strongest_rows(np.array([0.0, 1.0, -3.0]), 9).tolist() == [1, 2]


def test_many_strong_dislikes_leave_room_for_what_is_liked():
    weights = np.array([-3.0, 0.5, -3.0, -3.0, 0.4, 0.6, -2.0])
    assert strongest_rows(weights, 4).tolist() == [0, 1, 2, 5]
    assert strongest_rows(weights[:3], 2).tolist() == [0, 1]
    assert strongest_rows(-weights, 6).tolist() == [0, 1, 2, 3, 4, 5]


def test_the_typical_distance_is_about_the_median_of_all_pairs(songs):
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(songs) for b in songs[:i]]
    assert typical_squared_distance(songs) == pytest.approx(np.median(pairs), rel=0.1)
    assert typical_squared_distance(songs[:1]) == typical_squared_distance(np.zeros((5, 2))) == 1.0


# ---- listeners


def naive_co_listening(plays, weights):
    n_listeners, n_artists = plays.shape
    found = np.zeros(n_artists)
    for a in range(n_artists):
        for b in range(n_artists):
            if a == b or not plays[:, a].any() or not plays[:, b].any():
                continue
            shared = sum(plays[u, a] * plays[u, b] / plays[u].sum() for u in range(n_listeners) if plays[u].any())
            found[a] += weights[b] * shared / np.sqrt(plays[:, a].sum() * plays[:, b].sum())
    return found


def test_co_listening_is_the_sum_over_listeners_and_artists_written_out():
    random = np.random.default_rng(1)
    plays = (random.random((30, 9)) < 0.3).astype(float)
    plays[:, 8] = 0
    plays[3] = 0
    weights = random.standard_normal(9)
    found = OverlapScores(sp.csr_array(plays)).scores(weights)
    np.testing.assert_allclose(found, naive_co_listening(plays, weights), atol=1e-5)
    assert OverlapScores(sp.csr_array(plays)).n_listeners.tolist() == plays.sum(axis=0).tolist()


def test_co_listening_needs_a_weight_for_each_artist():
    with pytest.raises(InvalidInputError, match="each of 2 artists"):
        OverlapScores(sp.csr_array(np.ones((3, 2)))).scores(np.ones(3))


# ---- both


def test_known_and_unseen_songs_are_ranked_apart_and_joined_by_rank():
    random = np.random.default_rng(2)
    by_embedding, by_listeners = random.random(40), random.random(40)
    known = np.arange(40) < 30
    found = blended_scores(by_embedding, by_listeners, known, np.ones(40, bool), listener_share=1.0)
    assert np.argsort(-found[:30]).tolist() == np.argsort(-by_listeners[:30]).tolist()
    assert np.argsort(-found[30:]).tolist() == np.argsort(-by_embedding[30:]).tolist()
    first = np.argsort(-found, kind="stable")[:20]
    assert np.count_nonzero(first >= 30) == 5  # a quarter of the songs, a quarter of the first places


def test_songs_that_are_not_ranked_change_nothing():
    random = np.random.default_rng(3)
    values = random.random((2, 20))
    known, ranked = np.arange(20) % 2 == 0, np.arange(20) < 12
    found = blended_scores(*values, known, ranked)
    alone = blended_scores(*values[:, :12], known[:12], np.ones(12, bool))
    np.testing.assert_array_equal(found[:12], alone)
    assert not found[12:].any()


def test_equal_scores_go_to_the_lower_row():
    same = np.ones(4)
    assert (np.diff(blended_scores(same, same, np.ones(4, bool), np.ones(4, bool))) < 0).all()


# ---- ranking


def naive_best(scores, allowed, artists, n, per_artist):
    first, later, counts = [], [], {}
    for row in sorted(np.flatnonzero(allowed).tolist(), key=lambda row: (-scores[row], row)):
        artist = artists[row]
        counts[artist] = counts.get(artist, 0) + 1
        (later if artist >= 0 and counts[artist] > per_artist else first).append(row)
    return first, later


@pytest.mark.parametrize("seed", range(5))
def test_the_best_rows_are_those_of_a_loop_over_all_songs(seed):
    random = np.random.default_rng(seed)
    scores, artists = random.integers(5, size=50) / 4, random.integers(-1, 8, size=50)
    allowed = random.random(50) < 0.8
    first, later = naive_best(scores, allowed, artists, 50, 2)
    assert best_rows(scores, allowed, artists, 50, per_artist=2).tolist() == first + later
    assert best_rows(scores, allowed, artists, 50, per_artist=2, only=True).tolist() == first
    assert best_rows(scores, allowed, artists, 5, per_artist=2).tolist() == (first + later)[:5]
    plain = best_rows(scores, allowed, artists, 12).tolist()
    assert plain == sorted(np.flatnonzero(allowed).tolist(), key=lambda row: (-scores[row], row))[:12]


def test_nothing_allowed_is_nothing_found():
    assert best_rows(np.ones(3), np.zeros(3, bool), np.zeros(3, np.int64), 2, per_artist=1).tolist() == []
