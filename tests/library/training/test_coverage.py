"""Which songs the last fit learns from, what is left out, and how a report says so."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.training.coverage.records import Count, Coverage
from nearsong.library.training.coverage.songs import by_turn, cover, first_songs, songs_to_read
from nearsong.library.training.coverage.words import last_fit, left_out
from nearsong.library.training.data import TrainingData, TrainingSettings, choose_training_set
from nearsong.library.training.report import TrainingReport

catalogues = st.tuples(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=15),  # songs, listeners
    st.integers(1, 2),  # few artists have 3 listeners, so more than 2 would not be asked for
    st.integers(2, 40),
    st.integers(0, 9),
)


def data_of(artists, seed=0) -> TrainingData:
    """Artists with so many songs and so many listeners each."""
    random = np.random.default_rng(seed)
    song_artist = random.permutation(np.repeat(np.arange(len(artists)), [songs for songs, _ in artists]))
    plays = np.zeros((6, len(artists)), bool)
    for artist, (_, listeners) in enumerate(artists):
        plays[random.permutation(6)[:listeners], artist] = True
    return TrainingData(random.random((len(song_artist), 3)), song_artist, sp.csr_array(plays))


@given(catalogues)
@settings(max_examples=80, deadline=None)
def test_the_last_fit_has_a_song_of_every_artist_with_enough_listeners_and_the_sample_is_a_part_of_it(catalogue):
    artists, least, limit, seed = catalogue
    data = data_of(artists, seed)
    chosen_by = TrainingSettings(max_songs=4, final_min_listeners=least, max_final_songs=limit, seed=seed)
    training_set = choose_training_set(data, chosen_by)
    final = training_set.final
    enough = {artist for artist, (songs, listeners) in enumerate(artists) if songs and listeners >= least}
    used = set(final.columns.tolist())
    assert used <= enough
    assert used == enough or len(final.songs) == limit == len(used)
    assert len(final.songs) <= limit
    np.testing.assert_array_equal(final.columns, data.song_artist[final.songs])
    assert set(training_set.songs) <= set(final.songs)
    assert set(final.ranked) <= set(final.songs)


@given(catalogues)
@settings(max_examples=80, deadline=None)
def test_what_is_used_and_what_is_left_out_add_up_to_the_library(catalogue):
    artists, least, limit, seed = catalogue
    data = data_of(artists, seed)
    chosen_by = TrainingSettings(final_min_listeners=least, max_final_songs=limit, songs_an_artist=3, seed=seed)
    coverage = choose_training_set(data, chosen_by).final.coverage
    assert coverage.library == Count(sum(songs > 0 for songs, _ in artists), sum(songs for songs, _ in artists))
    for what in ("artists", "songs"):
        parts = [coverage.used, *coverage.left_out.values()]
        assert sum(getattr(part, what) for part in parts) == getattr(coverage.library, what)
    few = [songs for songs, listeners in artists if 0 < listeners < least and songs]
    assert coverage.left_out["few_listeners"] == Count(len(few), sum(few))
    unplayed = [songs for songs, listeners in artists if listeners == 0 and songs]
    assert coverage.left_out["unplayed"] == Count(len(unplayed), sum(unplayed))


def test_songs_that_were_not_read_and_of_unknown_artists_are_counted_too():
    data = data_of([(2, 4), (1, 4), (3, 1)])
    unread = TrainingData(
        data.vectors, data.song_artist, data.artist_plays, songs_of_artist=np.array([9, 1, 3]), n_unknown_songs=5
    )
    coverage = choose_training_set(unread, TrainingSettings()).final.coverage
    assert coverage.library == Count(3, 18)
    assert coverage.left_out["further"] == Count(0, 7)
    assert coverage.left_out["unplayed"] == Count(0, 5)
    assert coverage.left_out["few_listeners"] == Count(1, 3)


def test_rankings_are_of_fewer_songs_where_there_are_many():
    data = data_of([(4, 5)] * 10)
    final = choose_training_set(data, TrainingSettings(max_ranked_songs=12)).final
    assert len(final.songs) == 40
    assert len(final.ranked) == 12
    assert len(np.unique(data.song_artist[final.ranked])) == 10  # one of each first
    assert final.listening_data.n_songs == 12
    assert final.coverage.ranked == Count(10, 12)


def test_a_minimum_that_is_set_is_for_choosing_and_for_the_last_fit():
    data = data_of([(1, 5), (1, 3), (1, 2), (1, 4)])
    final = choose_training_set(data, TrainingSettings(min_listeners=4)).final
    np.testing.assert_array_equal(np.sort(final.columns), [0, 3])
    assert final.coverage.min_listeners == 4


@pytest.mark.parametrize(("n_known", "least"), [(40, 3), (39, 2)])
def test_where_few_artists_have_three_listeners_two_are_enough_for_the_last_fit_too(n_known, least):
    final = choose_training_set(data_of([(1, 5)] * n_known + [(1, 2)] * 9), TrainingSettings()).final
    assert final.coverage.min_listeners == least
    assert final.coverage.used.artists == n_known + (9 if least == 2 else 0)


def test_with_songs_as_units_the_listener_space_also_learns_from_artists_whose_songs_nobody_played():
    data = data_of([(2, 5), (2, 5), (3, 5)])
    is_played = data.song_artist < 2
    song_plays = sp.csr_array(np.tile(is_played, (6, 1)))
    with_songs = TrainingData(data.vectors, data.song_artist, data.artist_plays, song_plays)
    final = choose_training_set(with_songs, TrainingSettings(unit="song")).final
    np.testing.assert_array_equal(final.ranked, np.flatnonzero(is_played))
    np.testing.assert_array_equal(final.songs, np.arange(7))


@given(catalogues)
@settings(max_examples=60, deadline=None)
def test_fewer_songs_are_a_part_of_more(catalogue):
    artists, _, limit, seed = catalogue
    song_artist = data_of(artists, seed).song_artist
    few, more = (
        first_songs(song_artist, np.arange(len(song_artist)), n_songs=n, songs_an_artist=4, seed=seed)
        for n in (limit, 2 * limit)
    )
    assert set(few) <= set(more)
    songs, turns = by_turn(song_artist, np.arange(len(song_artist)), seed)
    for song, turn in zip(songs, turns, strict=True):  # how many of its artist's songs came before
        before = songs[: np.flatnonzero(songs == song)[0]]
        assert turn == (song_artist[before] == song_artist[song]).sum()


@given(catalogues)
@settings(max_examples=60, deadline=None)
def test_songs_are_read_of_every_artist_with_enough_listeners_and_played_ones_first(catalogue):
    artists, least, limit, seed = catalogue
    song_artist = np.append(data_of(artists, seed).song_artist, -1)
    listeners = np.array([n for _, n in artists])
    is_played = np.random.default_rng(seed).random(len(song_artist)) < 0.4
    rows = songs_to_read(
        song_artist, listeners, is_played, min_listeners=least, n_songs=limit, songs_an_artist=3, seed=seed
    )
    enough = [np.flatnonzero(song_artist == artist) for artist in np.flatnonzero(listeners >= least)]
    expected = sum(min(3, len(own)) for own in enough)
    assert len(rows) == len(set(rows.tolist())) == min(limit, expected)
    taken = [np.intersect1d(rows, own) for own in enough if len(own)]
    assert all(len(own) for own in taken) or len(rows) == limit
    for own, all_songs in zip(taken, (own for own in enough if len(own)), strict=True):
        assert is_played[own].sum() == min(len(own), is_played[all_songs].sum())


COVERAGE = Coverage(
    min_listeners=2,
    used=Count(11_546, 23_000),
    ranked=Count(11_546, 20_000),
    library=Count(20_000, 60_000),
    left_out={
        "unplayed": Count(5_641, 30_000),
        "few_listeners": Count(2_813, 3_000),
        "not_reached": Count(0, 0),
        "further": Count(0, 4_000),
    },
)


def test_a_report_keeps_its_coverage():
    report = TrainingReport("learned", "gain", coverage=COVERAGE)
    restored = TrainingReport.from_json(json.loads(json.dumps(report.as_json())))
    assert restored == report
    assert report.learned_from.startswith("11,546 artists")
    assert TrainingReport.from_json(TrainingReport("learned", "gain").as_json()).coverage is None


def test_a_damaged_coverage_is_refused():
    facts = TrainingReport("learned", "gain", coverage=COVERAGE).as_json()
    del facts["coverage"]["used"]
    with pytest.raises(InvalidInputError, match="cannot be read"):
        TrainingReport.from_json(facts)


def test_the_report_says_what_was_learned_from_and_left_out_and_why():
    assert last_fit(COVERAGE, method="combined") == (
        "Learned from 23,000 songs by 11,546 artists with 2 or more listeners (MLR from 20,000 songs by 11,546 "
        "artists of them)."
    )
    assert last_fit(COVERAGE, method="listener_space") == (
        "Learned from 23,000 songs by 11,546 artists with 2 or more listeners."
    )
    assert last_fit(COVERAGE, method="mlr").startswith("Learned from 20,000 songs by 11,546 artists")
    assert left_out(COVERAGE, method="combined") == (
        "Left out: 30,000 songs by 5,641 artists that nobody here plays, so listeners say nothing about them; 3,000 "
        "songs by 2,813 artists with fewer than 2 listeners, too few to compare; 4,000 further songs by the same "
        "artists, who have enough without them."
    )
    assert "7,000 further songs" in left_out(COVERAGE, method="mlr")


def test_nothing_is_said_where_nothing_is_left_out():
    coverage = cover(
        np.array([2, 1]), np.array([4, 4]), np.array([0, 0, 1]), np.array([0, 1]), n_unknown=0, min_listeners=2
    )
    assert left_out(coverage, method="listener_space") == ""
