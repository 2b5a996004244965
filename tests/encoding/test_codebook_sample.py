"""Which songs and which runs make the bag a codebook is learned from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.encoding import codebook_bag, codebook_songs, random_run
from nearsong.errors import InvalidInputError


def numbered_song(n, d=3, first=0):
    """Frame i holds the number first + i in every coefficient."""
    return np.repeat(np.arange(first, first + n, dtype=np.float32)[:, None], d, axis=1)


# Songs


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), max_size=30), st.integers(0, 99))
def test_every_artist_gives_exactly_one_song(artists, seed):
    chosen = codebook_songs(artists, seed)
    assert sorted(artists[song] for song in chosen) == sorted(set(artists))
    assert (np.diff(chosen) > 0).all()
    assert chosen.dtype == np.int64


def test_the_same_seed_chooses_the_same_songs_and_another_seed_others():
    artists = np.random.default_rng(0).integers(50, size=500)
    np.testing.assert_array_equal(codebook_songs(artists, 3), codebook_songs(artists.tolist(), 3))
    assert codebook_songs(artists, 3).tolist() != codebook_songs(artists, 4).tolist()


def test_an_artists_song_does_not_depend_on_other_artists():
    few = ["nina"] * 7 + ["fela"] * 5
    chosen = codebook_songs(few, seed=1)
    many = np.array(["miles", *few, "nico", "miles"])
    again = codebook_songs(many, seed=1)
    mine = again[np.isin(many[again], ["nina", "fela"])]
    np.testing.assert_array_equal(mine - 1, chosen)


def test_all_songs_of_an_artist_are_equally_likely():
    chosen = [int(codebook_songs(["a"] * 5, seed)[0]) for seed in range(2000)]
    counts = np.bincount(chosen, minlength=5)
    assert counts.sum() == 2000
    assert np.sum((counts - 400) ** 2 / 400) < 18.5  # chi-squared with 4 degrees of freedom: one in a thousand


# Runs


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_a_run_is_consecutive_and_as_long_as_it_can_be(n, n_frames, seed):
    run = random_run(numbered_song(n), n_frames, rng=np.random.default_rng(seed))
    assert run.shape == (min(n, n_frames), 3)
    assert (np.diff(run[:, 0]) == 1).all()
    assert 0 <= run[0, 0] <= run[-1, 0] < n


def test_every_start_is_taken_the_first_and_last_included():
    rng = np.random.default_rng(0)
    starts = [int(random_run(numbered_song(7), 4, rng=rng)[0, 0]) for _ in range(200)]
    assert set(starts) == {0, 1, 2, 3}


def test_a_run_does_not_hold_on_to_its_song():
    song = numbered_song(10)
    run = random_run(song, 4, rng=np.random.default_rng(0))
    assert not np.shares_memory(run, song)


def test_five_seconds_are_taken_by_default():
    assert len(random_run(numbered_song(2000), rng=np.random.default_rng(0))) == 5 * 22_050 // 256 + 1 == 431
    assert len(codebook_bag([numbered_song(2000)] * 3)) == 3 * 431


# Bags


def test_a_bag_holds_a_run_of_every_song_in_their_order():
    songs = [numbered_song(30, first=100), numbered_song(3, first=200), numbered_song(30, first=300)]
    bag = codebook_bag(iter(songs), n_frames=5, seed=2)
    assert bag.dtype == np.float32
    assert (bag[:, 0] // 100).tolist() == [1] * 5 + [2] * 3 + [3] * 5


def test_the_same_seed_takes_the_same_runs_and_another_seed_others():
    songs = [numbered_song(1000)] * 5
    bags = [codebook_bag(songs, 10, seed) for seed in (1, 1, 2)]
    assert bags[0].tobytes() == bags[1].tobytes() != bags[2].tobytes()
    assert len(set(bags[0][::10, 0])) > 1


def test_a_songs_run_does_not_depend_on_the_other_songs():
    song = numbered_song(1000)
    first, second = (codebook_bag([other, song], 10, seed=4)[-10:] for other in (numbered_song(3), numbered_song(99)))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: codebook_bag([]), "songs is empty, so there is nothing to learn a codebook from"),
        (lambda: codebook_bag([np.ones((3, 2)), np.ones((3, 1))]), r"songs\[1\] has 1 coefficients per frame, .* 2"),
        (lambda: codebook_bag([np.ones((3, 2)), [[np.nan, 1.0]]]), r"songs\[1\] has a value that is NaN"),
        (lambda: codebook_bag([np.ones((3, 2))], n_frames=0), "n_frames=0 must be a whole number of at least 1"),
        (lambda: codebook_bag([np.ones((3, 2))], seed=-1), "seed=-1 must be a whole number of at least 0"),
        (lambda: codebook_songs("ab", seed=0.5), r"seed=0\.5 must be a whole number"),
        (lambda: random_run([1.0], rng=np.random.default_rng(0)), r"frames has shape \(1,\)"),
    ],
)
def test_mistakes_are_refused_by_name(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
