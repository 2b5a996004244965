import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.model.held_out import (
    ListeningData,
    make_split,
    n_usable,
    neighbours_among,
    ranking_of,
    with_relevance_from,
)


def make_listening_data(seed: int, unit: str = "artist", n_artists: int = 12, listeners: int = 40) -> ListeningData:
    random = np.random.default_rng(seed)
    song_artist = np.sort(np.concatenate([np.arange(n_artists), random.integers(n_artists, size=2 * n_artists)]))
    columns = n_artists if unit == "artist" else len(song_artist)
    plays = sp.csr_array(random.random((listeners, columns)) < 0.25)
    return ListeningData(song_artist=song_artist, plays=plays, unit=unit)


def jaccard(plays: np.ndarray, a: int, b: int) -> float:
    either = (plays[:, a] | plays[:, b]).sum()
    return (plays[:, a] & plays[:, b]).sum() / either if either else 0.0


def nearest(listening_data: ListeningData, unit: int, among: np.ndarray, k: int) -> list[int]:
    """Sort all units but one's own artist's, by falling similarity, then by number."""
    plays = listening_data.plays.toarray()
    artist = np.arange(listening_data.n_artists) if listening_data.unit == "artist" else listening_data.song_artist
    found = sorted((-jaccard(plays, unit, other), other) for other in among if artist[other] != artist[unit])
    return [other for similarity, other in found[:k] if similarity < 0]


@pytest.mark.parametrize("unit", ["artist", "song"])
@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_the_nearest_units_of_other_artists(unit, seed):
    listening_data = make_listening_data(seed, unit)
    n_units = listening_data.plays.shape[1]
    among = np.sort(np.random.default_rng(seed).permutation(n_units)[: n_units // 2])
    near = neighbours_among(listening_data, among, n_relevant=4)
    for one in range(n_units):
        assert [other for other in near[one] if other >= 0] == nearest(listening_data, one, among, 4)
        assert near[one].shape == (4,)


def test_with_fewer_units_than_asked_for_the_rest_is_padding():
    listening_data = make_listening_data(0, "song", n_artists=3)
    near = neighbours_among(listening_data, np.array([0, 1]), n_relevant=30)
    assert near.shape == (listening_data.n_songs, 30)
    assert (near >= 0).sum(axis=1).max() <= 2


@pytest.mark.parametrize("unit", ["artist", "song"])
@pytest.mark.parametrize("name", ["training", "validation", "test_known", "test_unknown"])
def test_relevant_are_the_songs_of_the_nearest_units_in_the_database(unit, name):
    listening_data = make_listening_data(5, unit)
    ranking = getattr(make_split(listening_data, 1, n_relevant=3, seed=2), name)
    units = np.unique(listening_data.song_unit[ranking.database])
    relevant, ignored = ranking.relevant.toarray(), ranking.ignored.toarray()
    for row, query in enumerate(ranking.queries):
        near = nearest(listening_data, listening_data.song_unit[query], units, 3)
        np.testing.assert_array_equal(relevant[row], np.isin(listening_data.song_unit[ranking.database], near))
        own = listening_data.song_artist[ranking.database] == listening_data.song_artist[query]
        np.testing.assert_array_equal(ignored[row], own)


@given(seed=st.integers(0, 10_000), number=st.integers(0, 20), unit=st.sampled_from(["artist", "song"]))
@settings(max_examples=25, deadline=None)
def test_no_artist_is_in_two_parts_and_every_song_is_in_one(seed, number, unit):
    listening_data = make_listening_data(seed, unit)
    split = make_split(listening_data, number, n_relevant=2, seed=seed)
    parts = [split.training.queries, split.validation.queries, split.test_known.queries]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(listening_data.n_songs))
    artists = [set(listening_data.song_artist[songs].tolist()) for songs in parts]
    assert sum(map(len, artists)) == len(set.union(*artists)) == listening_data.n_artists
    np.testing.assert_array_equal(split.test_known.database, parts[0])
    np.testing.assert_array_equal(split.test_unknown.database, parts[1])
    for ranking in (split.training, split.validation, split.test_known, split.test_unknown):
        assert ranking.relevant.multiply(ranking.ignored).nnz == 0


@pytest.mark.parametrize("unit", ["artist", "song"])
def test_usable_queries_are_those_that_are_scored(unit):
    listening_data = make_listening_data(3, unit, listeners=6)
    for number in range(4):
        ranking = make_split(listening_data, number, n_relevant=2, seed=0).test_known
        scores = ranking.score_table(np.zeros(ranking.relevant.shape))
        assert n_usable(ranking) == (0 if scores is None else scores.n_queries)


def test_a_ranking_without_a_usable_query_has_no_score():
    listening_data = make_listening_data(0)
    silent = ListeningData(
        song_artist=listening_data.song_artist, plays=sp.csr_array(listening_data.plays.shape, dtype=bool)
    )
    split = make_split(silent, 0, n_relevant=2, seed=0)
    assert n_usable(split.training) == 0
    assert split.test_known.score_vectors(np.zeros((listening_data.n_songs, 2))) is None


@pytest.mark.parametrize("unit", ["artist", "song"])
def test_other_listeners_judge_by_what_they_listen_to(unit):
    listening_data = make_listening_data(8, unit)
    split = make_split(listening_data, 0, n_relevant=3, seed=0)
    same = with_relevance_from(listening_data, split.test_known, listening_data.plays, 3)
    assert (same.relevant != split.test_known.relevant).nnz == 0
    half = sp.csr_array(listening_data.plays[:20])
    of_half = ListeningData(song_artist=listening_data.song_artist, plays=half, unit=unit)
    expected = make_split(of_half, 0, n_relevant=3, seed=0).test_known
    assert (with_relevance_from(listening_data, split.test_known, half, 3).relevant != expected.relevant).nnz == 0


def test_a_song_is_never_judged_for_itself():
    listening_data = make_listening_data(1, "song")
    songs = np.arange(listening_data.n_songs)
    near = np.roll(songs, 1)[:, None].astype(np.int32)
    near[listening_data.song_artist[near[:, 0]] == listening_data.song_artist] = -1
    assert ranking_of(listening_data, songs, songs, near).ignored.diagonal().all()


def test_listening_data_that_cannot_be_is_refused():
    plays = sp.csr_array((3, 4), dtype=bool)
    with pytest.raises(InvalidInputError, match="unit='album' is unknown; choose one of artist, song"):
        ListeningData(song_artist=np.zeros(5, dtype=np.int64), plays=plays, unit="album")
    with pytest.raises(InvalidInputError, match="plays has 4 columns and there are 5 songs"):
        ListeningData(song_artist=np.zeros(5, dtype=np.int64), plays=plays, unit="song")
