"""Walks from one song to another: what must hold for every one of them, and the best one found by trying all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.answers.playlist.rules import PlaylistRules
from playlist_songs import clashes, library, mean_distance, rules_of_any_kind, walk


@settings(max_examples=50, deadline=None)
@given(rules=rules_of_any_kind, seed=st.integers(0, 100), share=st.sampled_from([None, 0.0, 0.6]))
def test_a_walk_has_its_ends_keeps_the_rules_and_never_turns_back(rules, seed, share):
    if rules.length < 2:
        return
    embeddings, artists = library(seed)
    allowed = None if share is None else np.random.default_rng(seed).random(60) < share
    start, end = np.random.default_rng(seed).choice(60, 2, replace=False).tolist()
    made = walk(embeddings, artists, start, end, rules, allowed=allowed)
    songs = made.songs
    assert (songs[0], songs[-1]) == (start, end)
    assert len(set(songs)) == len(songs) <= rules.length
    if allowed is not None:
        assert allowed[songs[1:-1]].all()
    gap = rules.artist_gap
    ends_alone = songs == [start, end] or (len(songs) <= gap and artists[start] == artists[end] >= 0)
    if not ends_alone:
        assert clashes(songs, artists, gap) == []
    line = (embeddings[end] - embeddings[start]).astype(float)
    along = (embeddings[songs] - embeddings[start]) @ line / (line @ line)
    assert (np.diff(along) > -1e-5).all()
    assert (len(songs) < rules.length) == any("The playlist has" in note for note in made.notes)
    assert walk(embeddings, artists, start, end, rules, allowed=allowed) == made


def test_a_walk_goes_forward_evenly_and_close_to_the_line():
    embeddings, artists = library(1, n=5_000, r=5, n_artists=500)
    end = int(np.argsort(np.linalg.norm(embeddings - embeddings[0], axis=1))[2_500])
    songs = walk(embeddings, artists, 0, end, PlaylistRules(length=15)).songs
    line = (embeddings[end] - embeddings[0]).astype(float)
    along = (embeddings[songs] - embeddings[0]) @ line / (line @ line)
    np.testing.assert_allclose(along, np.linspace(0, 1, 15), atol=0.5 / 14 + 1e-6)
    off = np.linalg.norm(embeddings[songs] - embeddings[0] - along[:, None] * line, axis=1)
    all_along = (embeddings - embeddings[0]) @ line / (line @ line)
    inside = (all_along > 0) & (all_along < 1)
    all_off = np.linalg.norm(embeddings - embeddings[0] - all_along[:, None] * line, axis=1)[inside]
    assert (off[1:-1] < np.quantile(all_off, 0.1)).all()
    steps = np.linalg.norm(np.diff(embeddings[songs], axis=0), axis=1)
    assert steps.max() < 0.5 * np.linalg.norm(line)


def test_where_all_songs_of_a_slice_are_on_offer_no_way_is_better():
    checked = 0
    for seed in range(100):
        embeddings, _ = library(seed, n=220, r=2, n_artists=30)
        apart = np.linalg.norm(embeddings - embeddings[0], axis=1)
        end = int(np.argsort(apart)[150])
        line = (embeddings[end] - embeddings[0]).astype(float)
        along = (embeddings - embeddings[0]) @ line / (line @ line)
        slices = [np.flatnonzero(np.abs(along - middle) <= 1 / 8) for middle in (0.25, 0.5, 0.75)]
        if not all(16 <= len(rows) <= 32 for rows in slices):
            continue
        checked += 1
        distances = [
            ((embeddings[slices[i]] - embeddings[0] - (i + 1) / 4 * line) ** 2).sum(axis=1) for i in range(3)
        ]
        first, second, third = (embeddings[rows].astype(float) for rows in slices)
        total = (((first - embeddings[0]) ** 2).sum(axis=1) + distances[0])[:, None, None]
        total = total + (((first[:, None] - second) ** 2).sum(axis=2) + distances[1])[:, :, None]
        total = total + ((second[:, None] - third) ** 2).sum(axis=2)
        total += distances[2] + ((third - embeddings[end]) ** 2).sum(axis=1)
        best = np.unravel_index(total.argmin(), total.shape)
        expected = [0, *(int(rows[i]) for rows, i in zip(slices, best, strict=True)), end]
        assert walk(embeddings, np.full(220, -1), 0, end, PlaylistRules(length=5)).songs == expected
    assert checked > 5


def test_a_walk_takes_each_song_in_between_when_there_are_just_enough():
    embeddings = np.array([[0.0], [5.0], [1.0], [3.0], [2.0], [4.0], [9.0], [-3.0]])
    assert walk(embeddings, np.arange(8), 0, 1, PlaylistRules(length=6)).songs == [0, 2, 4, 3, 5, 1]
    short = walk(embeddings, np.arange(8), 0, 1, PlaylistRules(length=9))
    assert short.songs == [0, 2, 4, 3, 5, 1]
    assert len(short.notes) == 1
    assert short.notes[0].startswith(
        "The playlist has 6 of 9 songs: the rules allow no others in between; ask for fewer"
    )


def test_a_walk_between_two_copies_is_just_the_two():
    embeddings, artists = library()
    embeddings[1] = embeddings[0]
    made = walk(embeddings, artists, 0, 1, PlaylistRules(length=5))
    assert made.songs == [0, 1]
    assert "The playlist has 2 of 5 songs" in made.notes[-1]


def test_a_walk_of_two_is_its_ends_and_says_when_they_share_an_artist():
    embeddings, artists = library(unknown=0.0)
    first, second = np.flatnonzero(artists == np.bincount(artists).argmax())[:2].tolist()
    made = walk(embeddings, artists, first, second, PlaylistRules(length=2))
    assert made.songs == [first, second]
    assert made.notes == ["Both ends are by the same artist; they are kept as given."]


def test_a_walk_does_not_take_both_copies_of_a_song():
    embeddings, _ = library(n=200, r=12, n_artists=200)
    noise = np.random.default_rng(0).standard_normal(embeddings.shape)
    noise *= 0.08 * mean_distance(embeddings, range(200)) / np.linalg.norm(noise, axis=1, keepdims=True)
    twice = np.concatenate([embeddings, embeddings + noise])
    for seed in range(10):
        songs = walk(twice, np.full(400, -1), seed, 399 - seed, PlaylistRules(length=30)).songs
        assert len({song % 200 for song in songs}) == len(songs) > 20


def test_another_seed_walks_another_way_where_chance_has_a_say():
    embeddings, artists = library(n=600, n_artists=100)
    ways = [
        walk(embeddings, artists, 0, 1, PlaylistRules(length=9, diversity=1.0, seed=seed)).songs for seed in (0, 1)
    ]
    assert ways[0] != ways[1]


@pytest.mark.parametrize(
    ("start", "end", "length", "message"),
    [
        (3, 3, 25, "start and end are the same song; choose two different songs"),
        (3, 99, 25, "end=99 is not one of the 60 songs"),
        (-2, 1, 25, "start=-2 is not one of the 60 songs"),
        (0, 1, 1, "length=1 is too short for a start and an end; choose at least 2"),
    ],
)
def test_what_cannot_be_walked_is_refused(start, end, length, message):
    embeddings, artists = library()
    with pytest.raises(InvalidInputError, match=message):
        walk(embeddings, artists, start, end, PlaylistRules(length=length))
