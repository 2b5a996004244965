"""relevant_songs against a loop over all pairs of songs."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.relevance import jaccard_neighbors, relevant_songs

POLICIES = ["ignore", "relevant", "irrelevant"]


def brute_force(neighbors, queries, database, own_artist):
    """Judge every pair of songs by itself."""
    same_songs = database is None
    database = queries if same_songs else database
    relevant = np.zeros((len(queries), len(database)), bool)
    ignored = np.zeros_like(relevant)
    for q, artist in enumerate(queries):
        for song, other in enumerate(database):
            if artist == -1 or other == -1:
                continue
            if same_songs and song == q:
                ignored[q, song] = True
            elif artist == other:
                relevant[q, song] = own_artist == "relevant"
                ignored[q, song] = own_artist == "ignore"
            else:
                relevant[q, song] = other in neighbors[artist]
    return relevant, ignored


def random_neighbors(rng, n_artists, k):
    """Draw lists of other artists, of different lengths, padded with -1."""
    neighbors = np.full((n_artists, k), -1)
    for artist in range(n_artists):
        others = rng.permutation(np.delete(np.arange(n_artists), artist))[: rng.integers(0, k + 1)]
        neighbors[artist, : others.size] = others
    return neighbors


@pytest.mark.parametrize("own_artist", POLICIES)
@pytest.mark.parametrize("seed", range(30))
def test_every_pair_is_judged_as_a_loop_over_pairs_judges_it(seed, own_artist):
    rng = np.random.default_rng(seed)
    n_artists = int(rng.integers(1, 9))
    neighbors = random_neighbors(rng, n_artists, int(rng.integers(0, 5)))
    queries = rng.integers(-1, n_artists, rng.integers(0, 25))
    for database in (None, rng.integers(-1, n_artists, rng.integers(0, 25))):
        found = relevant_songs(neighbors, queries, database, own_artist)
        for matrix, expected in zip(found, brute_force(neighbors, queries, database, own_artist), strict=True):
            assert isinstance(matrix, sp.csr_array)
            assert matrix.dtype == bool
            assert matrix.has_canonical_format
            assert matrix.data.all()
            np.testing.assert_array_equal(matrix.toarray(), expected)


@settings(deadline=None)
@given(st.data())
def test_no_song_is_both_relevant_and_ignored(data):
    n_artists = data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    artists = data.draw(st.lists(st.integers(-1, n_artists - 1), max_size=12))
    relevant, ignored = relevant_songs(
        random_neighbors(rng, n_artists, 3), np.array(artists, int), own_artist=data.draw(st.sampled_from(POLICIES))
    )
    assert not (relevant.toarray() & ignored.toarray()).any()
    assert (ignored.diagonal() == (np.array(artists) >= 0)).all()


def test_relevance_of_songs_is_as_directed_as_that_of_artists():
    relevant, _ = relevant_songs([[1], [-1]], [0, 1])
    assert relevant.toarray().tolist() == [[False, True], [False, False]]


def test_own_songs_are_neither_unless_the_caller_says_otherwise():
    neighbors, artists = [[1], [0]], [0, 0, 1]
    for own_artist, relevant_of_0, ignored_of_0 in [
        ("ignore", [0, 0, 1], [1, 1, 0]),
        ("relevant", [0, 1, 1], [1, 0, 0]),
        ("irrelevant", [0, 0, 1], [1, 0, 0]),
    ]:
        relevant, ignored = relevant_songs(neighbors, artists, own_artist=own_artist)
        assert relevant.toarray()[0].tolist() == relevant_of_0
        assert ignored.toarray()[0].tolist() == ignored_of_0


def test_a_separate_database_has_no_song_to_ignore_for_being_the_query():
    relevant, ignored = relevant_songs([[-1]], [0, 0], [0, 0], own_artist="relevant")
    assert relevant.toarray().all()
    assert ignored.nnz == 0


def test_unknown_artists_ask_for_nothing_and_are_relevant_for_nobody():
    for own_artist in POLICIES:
        relevant, ignored = relevant_songs([[1], [0]], [-1, 0], [1, -1, 0], own_artist)
        assert relevant.toarray()[0].sum() == ignored.toarray()[0].sum() == 0
        assert relevant.toarray()[:, 1].sum() == ignored.toarray()[:, 1].sum() == 0


def test_an_artist_named_twice_counts_once():
    relevant, _ = relevant_songs([[1, 1], [-1, -1]], [0, 1])
    assert relevant.nnz == 1


def test_neighbours_from_listening_data_go_straight_in():
    plays = np.array([[10, 10, 0], [10, 10, 0], [0, 10, 10]])
    ids, _ = jaccard_neighbors(plays, k=1)
    relevant, ignored = relevant_songs(ids, [0, 1, 1, 2])
    assert relevant.toarray().astype(int).tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0]]
    assert ignored.nnz == 1 + 4 + 1


def test_memory_follows_the_relevant_pairs_and_not_all_pairs():
    rng = np.random.default_rng(0)
    n_artists = 20_000
    neighbors = (np.arange(n_artists)[:, None] + rng.integers(1, n_artists, (n_artists, 5))) % n_artists
    database = np.repeat(np.arange(n_artists), 3)
    tracemalloc.start()
    try:
        relevant, ignored = relevant_songs(neighbors, database)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 890_000 < relevant.nnz <= 900_000
    assert ignored.nnz == 180_000
    assert peak < 60e6  # one bit for each pair of songs would already take 450 MB


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [0]), r"artist_neighbors has shape \(2,\) .*; an artists x k array of artist indices is needed"),
        (([[0.5]], [0]), "artist_neighbors has shape .* and holds float64 values"),
        (([[1], [0, 2]], [0]), "artist_neighbors cannot be read as an array .*; an artists x k array"),
        (([[1], [2]], [0]), "names artist 2 as a neighbour of artist 1, but has 2 rows; use 0 to 1, or -1"),
        (([[1], [-2]], [0]), "names artist -2 as a neighbour of artist 1"),
        (([[1], [1]], [0]), "artist 1 as its own neighbour; remove it and set own_artist"),
        (([[1], [0]], [[0]]), r"song_artists has shape \(1, 1\) .*; one artist index per song \(-1: unknown\) is"),
        (([[1], [0]], ["a"]), "song_artists has shape .* and holds <U1 values"),
        (([[1], [0]], [0, 2]), "song_artists gives song 1 the artist 2, but .* 2 rows; use 0 to 1, or -1"),
        (([[1], [0]], [-2]), "song_artists gives song 0 the artist -2"),
        (([[1], [0]], [0], [5]), "database_artists gives song 0 the artist 5"),
        (([[1], [0]], [0], [True]), "database_artists has shape .* and holds bool values"),
        (([[1], [0]], [0], None, "skip"), "own_artist='skip' is unknown; choose one of ignore, irrelevant, relevant"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        relevant_songs(*arguments)
