"""Playlists against a greedy list made by hand, and what must hold for every one of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.answers.playlist.around_seeds import nearest_of_seeds
from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace
from playlist_songs import clashes, library, make_playlist, mean_distance, rules_of_any_kind

WITHOUT_A_PLACE = np.where(np.arange(60)[:, None] == 7, [[np.nan, 0.0, 0.0, np.inf]], np.zeros((60, 4)))


def greedy(embeddings, artists, seed, length, gap, drift):
    """Try every song at every step, in float64, straight from the rules."""
    embeddings = embeddings.astype(float)
    songs = [seed]
    while len(songs) < length:
        best, least = None, np.inf
        for i in range(len(embeddings)):
            recent = artists[songs[max(0, len(songs) - gap + 1) :]] if gap > 1 else []
            if i in songs or (artists[i] >= 0 and artists[i] in recent):
                continue
            cost = (1 - drift) * np.linalg.norm(embeddings[i] - embeddings[seed])
            cost += drift * np.linalg.norm(embeddings[i] - embeddings[songs[-1]])
            if cost < least - 1e-9:
                best, least = i, cost
        if best is None:
            break
        songs.append(best)
    return songs


# Around seeds


@pytest.mark.parametrize("drift", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("gap", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_without_diversity_it_is_the_greedy_list(seed, gap, drift):
    embeddings, artists = library(seed, r=6)
    rules = PlaylistRules(length=30, artist_gap=gap, drift=drift)
    assert make_playlist(embeddings, artists, [seed], rules).songs == greedy(
        embeddings, artists, seed, 30, gap, drift
    )


@settings(max_examples=50, deadline=None)
@given(
    rules=rules_of_any_kind,
    seed=st.integers(0, 100),
    n_seeds=st.integers(1, 4),
    n_artists=st.integers(1, 12),
    share=st.sampled_from([None, 0.0, 0.5]),
)
def test_the_rules_hold_for_every_list(rules, seed, n_seeds, n_artists, share):
    embeddings, artists = library(seed, n_artists=n_artists)
    rng = np.random.default_rng(seed)
    seeds = rng.choice(60, n_seeds, replace=False).tolist()
    allowed = None if share is None else rng.random(60) < share
    made = make_playlist(embeddings, artists, seeds, rules, allowed=allowed)
    songs = made.songs
    given_songs = seeds[: rules.length]
    assert songs[: len(given_songs)] == given_songs
    assert len(set(songs)) == len(songs) <= rules.length
    assert not set(songs[len(given_songs) :]) & set(seeds)
    assert clashes(songs, artists, rules.artist_gap, first=len(given_songs)) == []
    assert all(type(song) is int for song in songs)
    if allowed is not None:
        assert allowed[songs[len(given_songs) :]].all()
    assert (len(songs) < rules.length) == any("The playlist ends" in note for note in made.notes)
    assert make_playlist(embeddings, artists, seeds, rules, allowed=allowed) == made


def test_it_ends_only_where_no_song_may_follow():
    embeddings, _ = library(n=12)
    artists = np.repeat([0, 1], [10, 2])
    made = make_playlist(embeddings, artists, [0], PlaylistRules(length=12, artist_gap=2))
    assert [int(artist) for artist in artists[made.songs]] == [0, 1, 0, 1, 0]
    assert made.notes == [
        "The playlist ends after 5 of 12 songs: "
        "all remaining songs are by the last 1 artists; use a smaller artist gap."
    ]
    everything = make_playlist(embeddings, artists, [0], PlaylistRules(length=20, artist_gap=0))
    assert sorted(everything.songs) == list(range(12))
    assert everything.notes == ["The playlist ends after 12 of 20 songs: no other songs are left."]


def test_unknown_artists_are_all_different():
    embeddings, _ = library(n=20)
    assert len(make_playlist(embeddings, np.full(20, -1), [3], PlaylistRules(length=20, artist_gap=9)).songs) == 20


def test_seeds_of_one_artist_stay_as_given_and_are_named():
    embeddings, artists = library(unknown=0.0)
    first, second = np.flatnonzero(artists == np.bincount(artists).argmax())[:2].tolist()
    made = make_playlist(embeddings, artists, [first, second, first], PlaylistRules(length=8))
    assert made.songs[:2] == [first, second]
    assert made.notes == ["Some seeds are by the same artist; they are kept as given."]


def test_an_embedding_from_elsewhere_leads_to_the_songs_around_it():
    embeddings, artists = library()
    elsewhere = embeddings[7] + np.float32(0.3)
    made = make_playlist(embeddings, artists, [elsewhere], PlaylistRules(length=1))
    assert made.songs == [int(np.linalg.norm(embeddings - elsewhere, axis=1).argmin())]
    mixed = make_playlist(embeddings, artists, [9, elsewhere.tolist()], PlaylistRules(length=3))
    assert mixed.songs[0] == 9
    assert made.songs[0] in mixed.songs


def test_the_same_recording_comes_once_even_if_the_seed_is_a_copy():
    embeddings, artists = library(n=40, r=12)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(embeddings.shape)
    noise *= 0.08 * mean_distance(embeddings, range(40)) / np.linalg.norm(noise, axis=1, keepdims=True)
    twice, both = np.concatenate([embeddings, embeddings + noise]), np.tile(artists, 2)
    for dial in ({}, {"diversity": 1.0}, {"drift": 1.0}):
        rules = PlaylistRules(length=80, artist_gap=0, **dial)
        songs = make_playlist(twice, both, [5], rules).songs
        assert sorted(song % 40 for song in songs) == list(range(40))
        from_a_file = make_playlist(twice, both, [embeddings[5]], rules).songs
        assert sorted(song % 40 for song in from_a_file) == [song for song in range(40) if song != 5]


def test_in_one_dimension_different_songs_may_be_near_each_other():
    embeddings = np.random.default_rng(0).random((500, 1))
    assert len(make_playlist(embeddings, np.arange(500), [0], PlaylistRules(length=25)).songs) == 25
    exact_copies = np.repeat(embeddings[:30], 2, axis=0)
    songs = make_playlist(exact_copies, np.arange(60), [0], PlaylistRules(length=60)).songs
    assert len({song // 2 for song in songs}) == len(songs)


def test_several_seeds_each_have_their_share_though_one_lives_in_denser_company():
    rng = np.random.default_rng(0)
    dense, sparse = rng.standard_normal((200, 5)), 8 + 4 * rng.standard_normal((200, 5))
    embeddings = np.concatenate([dense, sparse])
    made = make_playlist(embeddings, np.arange(400), [0, 200], PlaylistRules(length=42))
    assert 12 <= sum(song >= 200 for song in made.songs[2:]) <= 28
    plain = np.minimum(*(np.linalg.norm(embeddings - embeddings[seed], axis=1) for seed in (0, 200)))
    assert (np.argsort(plain)[2:42] >= 200).sum() == 0  # what the unscaled nearest would give


def test_the_distance_to_seeds_is_the_nearest_in_units_of_the_25th_neighbour():
    distances = np.random.default_rng(0).random((100, 3)) * [1, 5, 20]
    units = np.sort(distances, axis=0)[24]
    np.testing.assert_allclose(nearest_of_seeds(distances), np.min(distances / units, axis=1) * units.mean())
    np.testing.assert_array_equal(nearest_of_seeds(distances[:, :1]), distances[:, 0])
    assert nearest_of_seeds(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


def test_diversity_spreads_the_list_and_drift_leads_far_from_the_seed():
    embeddings, artists = library(3, n=3_000, r=8, n_artists=300)
    spread, distances = {}, {}
    for dial in (0.0, 0.5, 1.0):
        spread[dial] = np.mean(
            [
                mean_distance(
                    embeddings, make_playlist(embeddings, artists, [i], PlaylistRules(diversity=dial)).songs
                )
                for i in range(8)
            ]
        )
        lists = [make_playlist(embeddings, artists, [i], PlaylistRules(drift=dial)).songs for i in range(8)]
        distances[dial] = np.mean(
            [np.linalg.norm(embeddings[songs[1:]] - embeddings[songs[0]], axis=1).mean() for songs in lists]
        )
    assert 1.02 * spread[0.0] < spread[0.5]
    assert 1.02 * spread[0.5] < spread[1.0]
    assert distances[0.0] < distances[0.5] < distances[1.0]


@pytest.mark.parametrize("diversity", [0.0, 0.15, 0.25, 0.5])
def test_the_nearest_songs_are_on_the_list_also_those_of_the_seeds_own_artist(diversity):
    """With variety too: a listener who asks for what is mostly close must not miss what is closest."""
    embeddings, artists = library(5, n=400, r=6, n_artists=80, unknown=0)
    embeddings[1:4] = embeddings[0] + np.array([[1.1], [1.15], [1.2]]) * np.eye(6)[:3]
    assert np.argsort(np.linalg.norm(embeddings - embeddings[0], axis=1))[:4].tolist() == [0, 1, 2, 3]
    artists[:4] = 80, 80, 80, 81  # an artist gap moves the first two ...
    for seed in range(5):
        songs = make_playlist(embeddings, artists, [0], PlaylistRules(diversity=diversity, seed=seed)).songs
        assert {1, 2, 3} <= set(songs)  # ... and drops none
        assert songs.index(3) <= 2
        assert songs.index(1) < songs.index(2) <= 12
        assert clashes(songs, artists, PlaylistRules.artist_gap) == []


def test_another_seed_gives_another_list_only_where_chance_has_a_say():
    embeddings, artists = library(n=300, n_artists=60)
    first, other = (
        make_playlist(embeddings, artists, [4], PlaylistRules(diversity=0.5, seed=s)).songs for s in (0, 1)
    )
    assert first != other
    first, other = (make_playlist(embeddings, artists, [4], PlaylistRules(seed=seed)).songs for seed in (0, 1))
    assert first == other


def test_a_library_that_is_empty_or_all_the_same_gives_what_there_is():
    empty = make_playlist(np.zeros((0, 3)), np.zeros(0, int), [np.zeros(3)])
    assert empty.songs == []
    assert empty.notes == ["The playlist ends after 0 of 25 songs: no other songs are left."]
    assert make_playlist(np.ones((9, 3)), np.arange(9), [4]).songs == [4]
    assert make_playlist(np.ones((1, 3)), [0], [0]).songs == [0]


# Refusals


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"length": 0}, "length=0 must be a whole number of at least 1"),
        ({"artist_gap": -1}, "artist_gap=-1 must be a whole number of at least 0"),
        ({"diversity": 1.5}, "diversity=1.5 must be a number from 0 to 1"),
        ({"drift": float("nan")}, "drift=nan must be a number from 0 to 1"),
        ({"drift": True}, "drift=True must be a number from 0 to 1"),
        ({"seed": -3}, "seed=-3 must be a whole number of at least 0"),
    ],
)
def test_rules_that_cannot_be_met_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        PlaylistRules(**wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": []}, "there is no seed; a playlist needs at least one song to start from"),
        ({"seeds": [60]}, "seed=60 is not one of the 60 songs, counted from 0"),
        ({"seeds": [-1]}, "seed=-1 is not one of the 60 songs"),
        ({"seeds": [True]}, "seed=True is not one of the 60 songs"),
        (
            {"seeds": [[1.0, 2.0]]},
            r"a seed has shape \(2,\) or a NaN; give the row of a song, or an embedding of 4 finite",
        ),
        ({"seeds": [[np.nan] * 4]}, r"a seed has shape \(4,\) or a NaN"),
        ({"embeddings": np.zeros(60)}, r"embeddings has shape \(60,\); songs x dimensions is needed"),
        (
            {"embeddings": WITHOUT_A_PLACE},
            "embeddings has a NaN or too large a value, first in row 7; leave such songs out",
        ),
        ({"embeddings": np.eye(60, 4) * 1e30}, "embeddings has a NaN or too large a value, first in row 0"),
        ({"artists": np.zeros(3, int)}, r"artists is int64 of shape \(3,\); an int for each of 60 songs is needed"),
        ({"artists": np.zeros(60)}, r"artists is float64 of shape \(60,\); an int for each of 60 songs is needed"),
        ({"allowed": np.zeros(60)}, r"allowed is float64 of shape \(60,\); a bool for each of 60 songs is needed"),
    ],
)
def test_what_cannot_make_a_playlist_is_refused(change, message):
    embeddings, artists = library()
    arguments = {"embeddings": embeddings, "artists": artists, "seeds": [0]} | change
    with pytest.raises(InvalidInputError, match=message):
        make_playlist(**arguments)


@pytest.mark.parametrize("gap", [0, 1, 2, 17, 18, 40, 500])
def test_who_may_follow_is_decided_alike_for_few_and_for_many_artists(gap):
    artists = np.random.default_rng(gap).integers(-1, 60, size=400)
    space = PlaylistSpace.of(np.zeros((400, 1)), artists, None)
    songs = list(range(0, 400, 7))
    recent = {artists[song] for song in songs[max(0, len(songs) - max(gap - 1, 0)) :]} if gap > 1 else set()
    expected = [artist == -1 or artist not in recent for artist in artists.tolist()]
    assert space.by_other_artists(songs, gap).tolist() == expected
