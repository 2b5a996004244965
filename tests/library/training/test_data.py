import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.training.data import TrainingData, TrainingSettings, choose_training_set, sample_songs


def data_of(song_artist, artist_listeners, song_listeners=None, listeners=None) -> TrainingData:
    """Unit u is listened to by listeners 0 ... n[u] - 1."""
    listeners = listeners or max(artist_listeners, default=0) + 2

    def plays(counts):
        return sp.csr_array(np.arange(listeners)[:, None] < np.asarray(counts, dtype=int).reshape(1, -1))

    random = np.random.default_rng(0)
    return TrainingData(
        vectors=random.dirichlet(np.ones(6), size=len(song_artist)).astype(np.float32),
        song_artist=np.asarray(song_artist, dtype=np.int64),
        artist_plays=plays(artist_listeners),
        song_plays=None if song_listeners is None else plays(song_listeners),
    )


def test_artists_with_enough_listeners_and_a_song_take_part():
    data = data_of([0, 0, 1, 2, -1], [5, 2, 4, 9])  # artist 3 has listeners and no song
    training_set = choose_training_set(data, TrainingSettings(min_listeners=4))
    np.testing.assert_array_equal(training_set.songs, [0, 1, 3])
    np.testing.assert_array_equal(training_set.listening_data.song_artist, [0, 0, 1])
    assert (training_set.artists_known, training_set.songs_known, training_set.listening_data.n_artists) == (2, 3, 2)
    np.testing.assert_array_equal(training_set.listening_data.plays.sum(axis=0), [4, 4])


def test_only_listeners_of_two_units_are_learned_from():
    data = data_of([0, 1], [5, 3])
    assert choose_training_set(data, TrainingSettings(min_listeners=2)).n_listeners == 3


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        ([120] * 500 + [60] * 100, 100),
        ([120] * 499 + [60], 50),
        ([12] * 300 + [6] * 150 + [3] * 49 + [2] * 5000, 3),
        ([12] * 30 + [3] * 10 + [2] * 5, 3),
        ([12] * 30 + [3] * 9 + [2] * 5, 2),
        ([], 2),
    ],
)
def test_the_better_known_artists_are_taken_where_there_are_plenty(listeners, expected):
    training_set = choose_training_set(data_of(np.arange(len(listeners)), listeners), TrainingSettings())
    assert training_set.min_listeners == expected


@pytest.mark.parametrize(
    ("artists", "n_relevant", "n_splits"),
    [(25, 2, 10), (59, 3, 10), (60, 3, 8), (150, 8, 5), (500, 10, 4), (501, 10, 3)],
)
def test_few_artists_are_held_out_more_often_and_have_fewer_neighbours(artists, n_relevant, n_splits):
    training_set = choose_training_set(data_of(np.arange(artists), [3] * artists), TrainingSettings(min_listeners=3))
    assert (training_set.n_relevant, training_set.n_splits) == (n_relevant, n_splits)
    given = TrainingSettings(min_listeners=3, n_relevant=4, n_splits=6)
    training_set = choose_training_set(data_of(np.arange(artists), [3] * artists), given)
    assert (training_set.n_relevant, training_set.n_splits) == (4, 6)


@pytest.mark.parametrize(("dense", "sparse", "unit"), [(500, 500, "song"), (499, 0, "artist"), (500, 501, "artist")])
def test_songs_are_learned_from_where_enough_of_them_have_listeners(dense, sparse, unit):
    n = dense + sparse
    data = data_of(np.arange(n) // 10, [12] * -(-n // 10), [10] * dense + [9] * sparse)
    training_set = choose_training_set(data, TrainingSettings(max_songs=n))
    assert training_set.listening_data.unit == unit


def test_with_songs_as_units_those_with_enough_listeners_take_part():
    data = data_of([0, 0, 1, 1, -1], [9, 9], [4, 2, 3, 5, 9])
    training_set = choose_training_set(data, TrainingSettings(unit="song", min_listeners=3))
    np.testing.assert_array_equal(training_set.songs, [0, 2, 3])
    assert training_set.listening_data.plays.shape[1] == 3
    assert training_set.n_relevant == 5
    np.testing.assert_array_equal(training_set.listening_data.song_artist, [0, 1, 1])


def test_songs_need_plays_of_songs():
    with pytest.raises(InvalidInputError, match="unit='song' needs listens that name songs"):
        choose_training_set(data_of([0, 1], [3, 3]), TrainingSettings(unit="song"))


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    max_songs=st.integers(2, 60),
    most=st.integers(1, 8),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_a_song_of_every_artist_is_taken_before_a_second_of_any(sizes, max_songs, most, seed):
    song_artist = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    chosen_by = TrainingSettings(max_songs=max_songs, songs_an_artist=most, seed=seed)
    songs = sample_songs(song_artist, np.arange(len(song_artist)), chosen_by)
    assert len(set(songs)) == len(songs) == min(max_songs, sum(min(size, most) for size in sizes))
    assert (np.diff(songs) > 0).all()
    taken = np.bincount(song_artist[songs], minlength=len(sizes))
    assert (taken <= np.minimum(sizes, most)).all()
    fewest = min((n for n, size in zip(taken, sizes, strict=True) if n < min(size, most)), default=taken.max())
    assert taken.max() <= fewest + 1
    np.testing.assert_array_equal(songs, sample_songs(song_artist, np.arange(len(song_artist)), chosen_by))


def test_another_seed_takes_other_songs():
    song_artist = np.repeat(np.arange(5), 100)
    first, second = (
        sample_songs(song_artist, np.arange(500), TrainingSettings(max_songs=50, seed=seed)) for seed in (0, 1)
    )
    assert set(first) != set(second)


def test_plays_that_are_zero_or_come_twice_count_once():
    plays = sp.coo_array(([1, 1, 0, 1, 1], ([0, 0, 1, 1, 2], [0, 0, 0, 1, 1])), shape=(3, 2)).tocsr()
    data = TrainingData(np.full((2, 3), 1 / 3), np.array([0, 1]), plays)
    training_set = choose_training_set(data, TrainingSettings(min_listeners=1))
    assert training_set.artists_known == 2
    assert choose_training_set(data, TrainingSettings(min_listeners=2)).artists_known == 1


def test_a_library_that_nobody_listens_to_has_nobody_to_learn_from():
    empty = TrainingData(np.empty((0, 4)), np.empty(0, dtype=int), sp.csr_array((0, 0), dtype=bool))
    assert choose_training_set(empty, TrainingSettings()).listening_data.n_artists == 0
    unknown = TrainingData(np.full((3, 4), 0.25), np.full(3, -1), sp.csr_array((5, 0), dtype=bool))
    assert len(choose_training_set(unknown, TrainingSettings()).songs) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": "album"}, "unit='album' is unknown; choose one of artist, auto, song"),
        ({"losses": ()}, r"losses=\(\) must be a tuple with at least one value"),
        ({"losses": "auc"}, "losses='auc' must be a tuple"),
        ({"losses": ("hinge",)}, "loss='hinge' is unknown"),
        ({"Cs": (1.0, 1.0)}, "Cs has a value twice"),
        ({"Cs": (0.0,)}, "C=0.0 must be a finite number above 0"),
        ({"n_splits": 0}, "n_splits=0 must be a whole number of at least 1"),
        ({"min_listeners": 0}, "min_listeners=0"),
        ({"n_relevant": -1}, "n_relevant=-1"),
        ({"max_songs": 1}, "max_songs=1"),
        ({"seed": -1}, "seed=-1"),
        ({"tol": 0.0}, "tol=0.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainingSettings(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"song_artist": np.array([0])}, "song_artist: 1 given for 2 songs; give one per song"),
        (
            {"song_artist": np.array([0, 2])},
            r"song_artist goes from 0 to 2 and artist_plays has 2 columns; use 0 to 1",
        ),
        ({"song_artist": np.array([-2, 0])}, "song_artist goes from -2 to 0"),
        ({"song_ids": np.array([7])}, "song_ids: 1 given for"),
        ({"song_plays": sp.csr_array((3, 5), dtype=bool)}, "the columns of song_plays: 5 given for"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    fitting = {
        "vectors": np.full((2, 3), 1 / 3),
        "song_artist": np.array([0, 1]),
        "artist_plays": sp.csr_array((3, 2), dtype=bool),
    }
    TrainingData(**fitting)
    with pytest.raises(InvalidInputError, match=message):
        TrainingData(**{**fitting, **change})
