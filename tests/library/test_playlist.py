"""Playlists and walks against a greedy list made by hand, and what must hold for every one of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.playlist import PlaylistRules, make_playlist, nearest_of_seeds, walk
from nearsong.library.playlist_rules import Space

WITHOUT_A_PLACE = np.where(np.arange(60)[:, None] == 7, [[np.nan, 0.0, 0.0, np.inf]], np.zeros((60, 4)))

dials = st.sampled_from([0.0, 0.3, 1.0])
rules_of_any_kind = st.builds(
    PlaylistRules,
    length=st.integers(1, 30),
    artist_gap=st.integers(0, 6),
    diversity=dials,
    drift=dials,
    seed=st.integers(0, 3),
)


def library(seed=0, n=60, r=4, n_artists=12, unknown=0.1):
    """Songs around their artists; some artists are not known."""
    rng = np.random.default_rng(seed)
    artists = rng.integers(n_artists, size=n)
    places = (2 * rng.standard_normal((n_artists, r)))[artists] + rng.standard_normal((n, r))
    return places.astype(np.float32), np.where(rng.random(n) < unknown, -1, artists)


def clashes(songs, artists, gap, first=1):
    """Return the places in the list, from ``first`` on, whose artist came less than ``gap`` before."""
    return [
        i
        for i in range(first, len(songs))
        for j in range(max(0, i - gap + 1), i)
        if artists[songs[i]] == artists[songs[j]] >= 0
    ]


def mean_distance(places, songs):
    chosen = places[list(songs)].astype(float)
    apart = np.linalg.norm(chosen[:, None] - chosen, axis=2)
    return apart[np.triu_indices(len(songs), 1)].mean()


def greedy(places, artists, seed, length, gap, drift):
    """Try every song at every step, in float64, straight from the rules."""
    places = places.astype(float)
    songs = [seed]
    while len(songs) < length:
        best, least = None, np.inf
        for i in range(len(places)):
            recent = artists[songs[max(0, len(songs) - gap + 1) :]] if gap > 1 else []
            if i in songs or (artists[i] >= 0 and artists[i] in recent):
                continue
            cost = (1 - drift) * np.linalg.norm(places[i] - places[seed])
            cost += drift * np.linalg.norm(places[i] - places[songs[-1]])
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
    places, artists = library(seed, r=6)
    rules = PlaylistRules(length=30, artist_gap=gap, drift=drift)
    assert make_playlist(places, artists, [seed], rules).songs == greedy(places, artists, seed, 30, gap, drift)


@settings(max_examples=50, deadline=None)
@given(
    rules=rules_of_any_kind,
    seed=st.integers(0, 100),
    n_seeds=st.integers(1, 4),
    n_artists=st.integers(1, 12),
    include=st.booleans(),
    share=st.sampled_from([None, 0.0, 0.5]),
)
def test_the_rules_hold_for_every_list(rules, seed, n_seeds, n_artists, include, share):
    places, artists = library(seed, n_artists=n_artists)
    rng = np.random.default_rng(seed)
    seeds = rng.choice(60, n_seeds, replace=False).tolist()
    allowed = None if share is None else rng.random(60) < share
    made = make_playlist(places, artists, seeds, rules, allowed=allowed, include_seeds=include)
    songs = made.songs
    given_songs = seeds[: rules.length] if include else []
    assert songs[: len(given_songs)] == given_songs
    assert len(set(songs)) == len(songs) <= rules.length
    assert not set(songs[len(given_songs) :]) & set(seeds)
    assert clashes(songs, artists, rules.artist_gap, first=len(given_songs) or 1) == []
    assert all(type(song) is int for song in songs)
    if allowed is not None:
        assert allowed[songs[len(given_songs) :]].all()
    assert (len(songs) < rules.length) == any("The list ends" in note for note in made.notes)
    assert make_playlist(places, artists, seeds, rules, allowed=allowed, include_seeds=include) == made


def test_it_ends_only_where_no_song_may_follow():
    places, _ = library(n=12)
    artists = np.repeat([0, 1], [10, 2])
    made = make_playlist(places, artists, [0], PlaylistRules(length=12, artist_gap=2))
    assert [int(artist) for artist in artists[made.songs]] == [0, 1, 0, 1, 0]
    assert made.notes == [
        "The list ends after 5 of 12 songs: all songs left are by the last 1 artists; let one come again sooner."
    ]
    everything = make_playlist(places, artists, [0], PlaylistRules(length=20, artist_gap=0))
    assert sorted(everything.songs) == list(range(12))
    assert everything.notes == ["The list ends after 12 of 20 songs: no other song is left to choose from."]


def test_unknown_artists_are_all_different():
    places, _ = library(n=20)
    assert len(make_playlist(places, np.full(20, -1), [3], PlaylistRules(length=20, artist_gap=9)).songs) == 20


def test_seeds_of_one_artist_stay_as_given_and_are_named():
    places, artists = library(unknown=0.0)
    first, second = np.flatnonzero(artists == np.bincount(artists).argmax())[:2].tolist()
    made = make_playlist(places, artists, [first, second, first], PlaylistRules(length=8))
    assert made.songs[:2] == [first, second]
    assert made.notes == ["Some seeds are by the same artist; they stay as given."]


def test_a_place_from_elsewhere_leads_to_the_songs_around_it():
    places, artists = library()
    elsewhere = places[7] + np.float32(0.3)
    made = make_playlist(places, artists, [elsewhere], PlaylistRules(length=1))
    assert made.songs == [int(np.linalg.norm(places - elsewhere, axis=1).argmin())]
    mixed = make_playlist(places, artists, [9, elsewhere.tolist()], PlaylistRules(length=3))
    assert mixed.songs[0] == 9
    assert made.songs[0] in mixed.songs


def test_the_same_recording_comes_once_even_if_the_seed_is_a_copy():
    places, artists = library(n=40, r=12)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(places.shape)
    noise *= 0.08 * mean_distance(places, range(40)) / np.linalg.norm(noise, axis=1, keepdims=True)
    twice, both = np.concatenate([places, places + noise]), np.tile(artists, 2)
    for dial in ({}, {"diversity": 1.0}, {"drift": 1.0}):
        rules = PlaylistRules(length=80, artist_gap=0, **dial)
        songs = make_playlist(twice, both, [5], rules).songs
        assert sorted(song % 40 for song in songs) == list(range(40))
        from_a_file = make_playlist(twice, both, [places[5]], rules).songs
        assert sorted(song % 40 for song in from_a_file) == [song for song in range(40) if song != 5]


def test_in_one_dimension_different_songs_may_be_near_each_other():
    places = np.random.default_rng(0).random((500, 1))
    assert len(make_playlist(places, np.arange(500), [0], PlaylistRules(length=25)).songs) == 25
    exact_copies = np.repeat(places[:30], 2, axis=0)
    songs = make_playlist(exact_copies, np.arange(60), [0], PlaylistRules(length=60)).songs
    assert len({song // 2 for song in songs}) == len(songs)


def test_several_seeds_each_have_their_share_though_one_lives_in_denser_company():
    rng = np.random.default_rng(0)
    dense, sparse = rng.standard_normal((200, 5)), 8 + 4 * rng.standard_normal((200, 5))
    places = np.concatenate([dense, sparse])
    made = make_playlist(places, np.arange(400), [0, 200], PlaylistRules(length=42))
    assert 12 <= sum(song >= 200 for song in made.songs[2:]) <= 28
    plain = np.minimum(*(np.linalg.norm(places - places[seed], axis=1) for seed in (0, 200)))
    assert (np.argsort(plain)[2:42] >= 200).sum() == 0  # what the unscaled nearest would give


def test_the_distance_to_seeds_is_the_nearest_in_units_of_the_25th_neighbour():
    away = np.random.default_rng(0).random((100, 3)) * [1, 5, 20]
    units = np.sort(away, axis=0)[24]
    np.testing.assert_allclose(nearest_of_seeds(away), np.min(away / units, axis=1) * units.mean())
    np.testing.assert_array_equal(nearest_of_seeds(away[:, :1]), away[:, 0])
    assert nearest_of_seeds(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


def test_diversity_spreads_the_list_and_drift_leads_away_from_the_seed():
    places, artists = library(3, n=3_000, r=8, n_artists=300)
    spread, away = {}, {}
    for dial in (0.0, 0.5, 1.0):
        spread[dial] = np.mean(
            [
                mean_distance(places, make_playlist(places, artists, [i], PlaylistRules(diversity=dial)).songs)
                for i in range(8)
            ]
        )
        lists = [make_playlist(places, artists, [i], PlaylistRules(drift=dial)).songs for i in range(8)]
        away[dial] = np.mean([np.linalg.norm(places[songs[1:]] - places[songs[0]], axis=1).mean() for songs in lists])
    assert 1.02 * spread[0.0] < spread[0.5]
    assert 1.02 * spread[0.5] < spread[1.0]
    assert away[0.0] < away[0.5] < away[1.0]


def test_another_seed_gives_another_list_only_where_chance_has_a_say():
    places, artists = library(n=300, n_artists=60)
    first, other = (make_playlist(places, artists, [4], PlaylistRules(diversity=0.5, seed=s)).songs for s in (0, 1))
    assert first != other
    first, other = (make_playlist(places, artists, [4], PlaylistRules(seed=seed)).songs for seed in (0, 1))
    assert first == other


def test_a_library_that_is_empty_or_all_the_same_gives_what_there_is():
    empty = make_playlist(np.zeros((0, 3)), np.zeros(0, int), [np.zeros(3)])
    assert empty.songs == []
    assert empty.notes == ["The list ends after 0 of 25 songs: no other song is left to choose from."]
    assert make_playlist(np.ones((9, 3)), np.arange(9), [4]).songs == [4]
    assert make_playlist(np.ones((1, 3)), [0], [0]).songs == [0]


# Walks


@settings(max_examples=50, deadline=None)
@given(rules=rules_of_any_kind, seed=st.integers(0, 100), share=st.sampled_from([None, 0.0, 0.6]))
def test_a_walk_has_its_ends_keeps_the_rules_and_never_turns_back(rules, seed, share):
    if rules.length < 2:
        return
    places, artists = library(seed)
    allowed = None if share is None else np.random.default_rng(seed).random(60) < share
    start, end = np.random.default_rng(seed).choice(60, 2, replace=False).tolist()
    made = walk(places, artists, start, end, rules, allowed=allowed)
    songs = made.songs
    assert (songs[0], songs[-1]) == (start, end)
    assert len(set(songs)) == len(songs) <= rules.length
    if allowed is not None:
        assert allowed[songs[1:-1]].all()
    gap = rules.artist_gap
    ends_alone = songs == [start, end] or (len(songs) <= gap and artists[start] == artists[end] >= 0)
    if not ends_alone:
        assert clashes(songs, artists, gap) == []
    line = (places[end] - places[start]).astype(float)
    along = (places[songs] - places[start]) @ line / (line @ line)
    assert (np.diff(along) > -1e-5).all()
    assert (len(songs) < rules.length) == any("The walk has" in note for note in made.notes)
    assert walk(places, artists, start, end, rules, allowed=allowed) == made


def test_a_walk_goes_forward_evenly_and_close_to_the_line():
    places, artists = library(1, n=5_000, r=5, n_artists=500)
    end = int(np.argsort(np.linalg.norm(places - places[0], axis=1))[2_500])
    songs = walk(places, artists, 0, end, PlaylistRules(length=15)).songs
    line = (places[end] - places[0]).astype(float)
    along = (places[songs] - places[0]) @ line / (line @ line)
    np.testing.assert_allclose(along, np.linspace(0, 1, 15), atol=0.5 / 14 + 1e-6)
    off = np.linalg.norm(places[songs] - places[0] - along[:, None] * line, axis=1)
    all_along = (places - places[0]) @ line / (line @ line)
    inside = (all_along > 0) & (all_along < 1)
    all_off = np.linalg.norm(places - places[0] - all_along[:, None] * line, axis=1)[inside]
    assert (off[1:-1] < np.quantile(all_off, 0.1)).all()
    steps = np.linalg.norm(np.diff(places[songs], axis=0), axis=1)
    assert steps.max() < 0.5 * np.linalg.norm(line)


def test_where_all_songs_of_a_slice_are_on_offer_no_way_is_better():
    checked = 0
    for seed in range(100):
        places, _ = library(seed, n=220, r=2, n_artists=30)
        apart = np.linalg.norm(places - places[0], axis=1)
        end = int(np.argsort(apart)[150])
        line = (places[end] - places[0]).astype(float)
        along = (places - places[0]) @ line / (line @ line)
        slices = [np.flatnonzero(np.abs(along - middle) <= 1 / 8) for middle in (0.25, 0.5, 0.75)]
        if not all(16 <= len(rows) <= 32 for rows in slices):
            continue
        checked += 1
        away = [((places[slices[i]] - places[0] - (i + 1) / 4 * line) ** 2).sum(axis=1) for i in range(3)]
        first, second, third = (places[rows].astype(float) for rows in slices)
        total = (((first - places[0]) ** 2).sum(axis=1) + away[0])[:, None, None]
        total = total + (((first[:, None] - second) ** 2).sum(axis=2) + away[1])[:, :, None]
        total = total + ((second[:, None] - third) ** 2).sum(axis=2)
        total += away[2] + ((third - places[end]) ** 2).sum(axis=1)
        best = np.unravel_index(total.argmin(), total.shape)
        expected = [0, *(int(rows[i]) for rows, i in zip(slices, best, strict=True)), end]
        assert walk(places, np.full(220, -1), 0, end, PlaylistRules(length=5)).songs == expected
    assert checked > 5


def test_a_walk_takes_each_song_in_between_when_there_are_just_enough():
    places = np.array([[0.0], [5.0], [1.0], [3.0], [2.0], [4.0], [9.0], [-3.0]])
    assert walk(places, np.arange(8), 0, 1, PlaylistRules(length=6)).songs == [0, 2, 4, 3, 5, 1]
    short = walk(places, np.arange(8), 0, 1, PlaylistRules(length=9))
    assert short.songs == [0, 2, 4, 3, 5, 1]
    assert len(short.notes) == 1
    assert short.notes[0].startswith("The walk has 6 of 9 songs: the rules allow no more in between; ask for fewer")


def test_a_walk_between_two_copies_is_just_the_two():
    places, artists = library()
    places[1] = places[0]
    made = walk(places, artists, 0, 1, PlaylistRules(length=5))
    assert made.songs == [0, 1]
    assert "The walk has 2 of 5 songs" in made.notes[-1]


def test_a_walk_of_two_is_its_ends_and_says_when_they_share_an_artist():
    places, artists = library(unknown=0.0)
    first, second = np.flatnonzero(artists == np.bincount(artists).argmax())[:2].tolist()
    made = walk(places, artists, first, second, PlaylistRules(length=2))
    assert made.songs == [first, second]
    assert made.notes == ["Both ends are by the same artist; they stay as given."]


def test_a_walk_does_not_take_both_copies_of_a_song():
    places, _ = library(n=200, r=12, n_artists=200)
    noise = np.random.default_rng(0).standard_normal(places.shape)
    noise *= 0.08 * mean_distance(places, range(200)) / np.linalg.norm(noise, axis=1, keepdims=True)
    twice = np.concatenate([places, places + noise])
    for seed in range(10):
        songs = walk(twice, np.full(400, -1), seed, 399 - seed, PlaylistRules(length=30)).songs
        assert len({song % 200 for song in songs}) == len(songs) > 20


def test_another_seed_walks_another_way_where_chance_has_a_say():
    places, artists = library(n=600, n_artists=100)
    ways = [walk(places, artists, 0, 1, PlaylistRules(length=9, diversity=1.0, seed=seed)).songs for seed in (0, 1)]
    assert ways[0] != ways[1]


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
def test_rules_that_cannot_be_kept_are_refused(wrong, message):
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
            r"a seed has shape \(2,\) or a NaN; give the row of a song, or a place of 4 finite",
        ),
        ({"seeds": [[np.nan] * 4]}, r"a seed has shape \(4,\) or a NaN"),
        ({"places": np.zeros(60)}, r"places has shape \(60,\); songs x dimensions is needed"),
        ({"places": WITHOUT_A_PLACE}, "places has a NaN or too large a value, first in row 7; leave such songs out"),
        ({"places": np.eye(60, 4) * 1e30}, "places has a NaN or too large a value, first in row 0"),
        ({"artists": np.zeros(3, int)}, r"artists is int64 of shape \(3,\); an int for each of 60 songs is needed"),
        ({"artists": np.zeros(60)}, r"artists is float64 of shape \(60,\); an int for each of 60 songs is needed"),
        ({"allowed": np.zeros(60)}, r"allowed is float64 of shape \(60,\); a bool for each of 60 songs is needed"),
        ({"pool": 0}, "pool=0 must be a whole number of at least 1"),
    ],
)
def test_what_cannot_make_a_playlist_is_refused(change, message):
    places, artists = library()
    arguments = {"places": places, "artists": artists, "seeds": [0]} | change
    with pytest.raises(InvalidInputError, match=message):
        make_playlist(**arguments)


@pytest.mark.parametrize(
    ("start", "end", "length", "message"),
    [
        (3, 3, 25, "start and end are the same song; choose two songs to walk between"),
        (3, 99, 25, "end=99 is not one of the 60 songs"),
        (-2, 1, 25, "start=-2 is not one of the 60 songs"),
        (0, 1, 1, "length=1 leaves no room for a start and an end; choose at least 2"),
    ],
)
def test_what_cannot_be_walked_is_refused(start, end, length, message):
    places, artists = library()
    with pytest.raises(InvalidInputError, match=message):
        walk(places, artists, start, end, PlaylistRules(length=length))


@pytest.mark.parametrize("gap", [0, 1, 2, 17, 18, 40, 500])
def test_who_may_follow_is_told_alike_for_few_and_for_many_artists(gap):
    artists = np.random.default_rng(gap).integers(-1, 60, size=400)
    space = Space.of(np.zeros((400, 1)), artists, None)
    songs = list(range(0, 400, 7))
    recent = {artists[song] for song in songs[max(0, len(songs) - max(gap - 1, 0)) :]} if gap > 1 else set()
    expected = [artist == -1 or artist not in recent for artist in artists.tolist()]
    assert space.not_by(songs, gap).tolist() == expected
