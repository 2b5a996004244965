import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.model.held_out import Audience, judged_by, make_split, n_usable, neighbours_among, ranking_of


def make_audience(seed: int, unit: str = "artist", n_artists: int = 12, listeners: int = 40) -> Audience:
    random = np.random.default_rng(seed)
    song_artist = np.sort(np.concatenate([np.arange(n_artists), random.integers(n_artists, size=2 * n_artists)]))
    columns = n_artists if unit == "artist" else len(song_artist)
    plays = sp.csr_array(random.random((listeners, columns)) < 0.25)
    return Audience(song_artist=song_artist, plays=plays, unit=unit)


def jaccard(plays: np.ndarray, a: int, b: int) -> float:
    either = (plays[:, a] | plays[:, b]).sum()
    return (plays[:, a] & plays[:, b]).sum() / either if either else 0.0


def nearest(audience: Audience, unit: int, among: np.ndarray, k: int) -> list[int]:
    """Sort all units but one's own artist's, by falling similarity, then by number."""
    plays = audience.plays.toarray()
    artist = np.arange(audience.n_artists) if audience.unit == "artist" else audience.song_artist
    found = sorted((-jaccard(plays, unit, other), other) for other in among if artist[other] != artist[unit])
    return [other for similarity, other in found[:k] if similarity < 0]


@pytest.mark.parametrize("unit", ["artist", "song"])
@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_the_nearest_units_of_other_artists(unit, seed):
    audience = make_audience(seed, unit)
    n_units = audience.plays.shape[1]
    among = np.sort(np.random.default_rng(seed).permutation(n_units)[: n_units // 2])
    near = neighbours_among(audience, among, n_relevant=4)
    for one in range(n_units):
        assert [other for other in near[one] if other >= 0] == nearest(audience, one, among, 4)
        assert near[one].shape == (4,)


def test_with_fewer_units_than_asked_for_the_rest_is_padding():
    audience = make_audience(0, "song", n_artists=3)
    near = neighbours_among(audience, np.array([0, 1]), n_relevant=30)
    assert near.shape == (audience.n_songs, 30)
    assert (near >= 0).sum(axis=1).max() <= 2


@pytest.mark.parametrize("unit", ["artist", "song"])
@pytest.mark.parametrize("name", ["training", "validation", "test_known", "test_unknown"])
def test_relevant_are_the_songs_of_the_nearest_units_in_the_database(unit, name):
    audience = make_audience(5, unit)
    ranking = getattr(make_split(audience, 1, n_relevant=3, seed=2), name)
    units = np.unique(audience.song_unit[ranking.database])
    relevant, ignored = ranking.relevant.toarray(), ranking.ignored.toarray()
    for place, query in enumerate(ranking.queries):
        near = nearest(audience, audience.song_unit[query], units, 3)
        np.testing.assert_array_equal(relevant[place], np.isin(audience.song_unit[ranking.database], near))
        own = audience.song_artist[ranking.database] == audience.song_artist[query]
        np.testing.assert_array_equal(ignored[place], own)


@given(seed=st.integers(0, 10_000), number=st.integers(0, 20), unit=st.sampled_from(["artist", "song"]))
@settings(max_examples=25, deadline=None)
def test_no_artist_is_in_two_parts_and_every_song_is_in_one(seed, number, unit):
    audience = make_audience(seed, unit)
    split = make_split(audience, number, n_relevant=2, seed=seed)
    parts = [split.training.queries, split.validation.queries, split.test_known.queries]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(audience.n_songs))
    artists = [set(audience.song_artist[songs].tolist()) for songs in parts]
    assert sum(map(len, artists)) == len(set.union(*artists)) == audience.n_artists
    np.testing.assert_array_equal(split.test_known.database, parts[0])
    np.testing.assert_array_equal(split.test_unknown.database, parts[1])
    for ranking in (split.training, split.validation, split.test_known, split.test_unknown):
        assert ranking.relevant.multiply(ranking.ignored).nnz == 0


@pytest.mark.parametrize("unit", ["artist", "song"])
def test_usable_queries_are_those_that_are_scored(unit):
    audience = make_audience(3, unit, listeners=6)
    for number in range(4):
        ranking = make_split(audience, number, n_relevant=2, seed=0).test_known
        scores = ranking.score_table(np.zeros(ranking.relevant.shape))
        assert n_usable(ranking) == (0 if scores is None else scores.n_queries)


def test_a_ranking_without_a_usable_query_has_no_score():
    audience = make_audience(0)
    silent = Audience(song_artist=audience.song_artist, plays=sp.csr_array(audience.plays.shape, dtype=bool))
    split = make_split(silent, 0, n_relevant=2, seed=0)
    assert n_usable(split.training) == 0
    assert split.test_known.score_vectors(np.zeros((audience.n_songs, 2))) is None


@pytest.mark.parametrize("unit", ["artist", "song"])
def test_other_listeners_judge_by_what_they_listen_to(unit):
    audience = make_audience(8, unit)
    split = make_split(audience, 0, n_relevant=3, seed=0)
    same = judged_by(audience, split.test_known, audience.plays, 3)
    assert (same.relevant != split.test_known.relevant).nnz == 0
    half = sp.csr_array(audience.plays[:20])
    of_half = Audience(song_artist=audience.song_artist, plays=half, unit=unit)
    expected = make_split(of_half, 0, n_relevant=3, seed=0).test_known
    assert (judged_by(audience, split.test_known, half, 3).relevant != expected.relevant).nnz == 0


def test_a_song_is_never_judged_for_itself():
    audience = make_audience(1, "song")
    songs = np.arange(audience.n_songs)
    near = np.roll(songs, 1)[:, None].astype(np.int32)
    near[audience.song_artist[near[:, 0]] == audience.song_artist] = -1
    assert ranking_of(audience, songs, songs, near).ignored.diagonal().all()


def test_an_audience_that_cannot_be_is_refused():
    plays = sp.csr_array((3, 4), dtype=bool)
    with pytest.raises(InvalidInputError, match="unit='album' is unknown; choose one of artist, song"):
        Audience(song_artist=np.zeros(5, dtype=np.int64), plays=plays, unit="album")
    with pytest.raises(InvalidInputError, match="plays has 4 columns and there are 5 songs"):
        Audience(song_artist=np.zeros(5, dtype=np.int64), plays=plays, unit="song")
