"""The order of a ranking, and what every method shares."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from nearsong.baselines import (
    CosineSimilarity,
    EuclideanSimilarity,
    GaussianMixtureSimilarity,
    HumanTags,
    SemanticMultinomial,
    SongRanker,
)
from nearsong.baselines.single_gaussian import SingleGaussianSimilarity
from nearsong.errors import InvalidInputError


class Table(SongRanker):
    """Serves a row of distances."""

    def fit(self, songs):
        self.row_ = np.asarray(songs, dtype=np.float64)
        return self

    def distances(self, queries):
        return np.tile(self.row_, (len(queries), 1))


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 20), elements=st.sampled_from([-1.0, 0.0, 0.5, 3.0, np.inf])),
    st.one_of(st.none(), st.integers(1, 25)),
)
def test_a_ranking_is_ascending_distance_and_then_ascending_id(row, k):
    ids, distances = Table().fit(row).rank("any query", k)
    expected = sorted(range(len(row)), key=lambda song: (row[song], song))[:k]
    assert ids.tolist() == expected
    assert ids.dtype == np.int64
    np.testing.assert_array_equal(distances, row[expected])


def test_k_must_be_a_count():
    with pytest.raises(InvalidInputError, match="k=0 must be a whole number of at least 1"):
        Table().fit([1.0]).rank(None, k=0)


def songs_of(width, n, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(rng.normal(0, 2, width), 1, (60, width)) for _ in range(n)]


FRAMES = songs_of(3, 6, seed=0)
VECTORS = np.abs(np.random.default_rng(1).integers(-2, 3, (6, 5)))
CASES = [
    (EuclideanSimilarity(), VECTORS),
    (EuclideanSimilarity(), sp.csr_array(VECTORS)),
    (CosineSimilarity(), VECTORS),
    (CosineSimilarity(), sp.csr_array(VECTORS)),
    (HumanTags(), VECTORS),
    (HumanTags("tfidf"), sp.csr_array(VECTORS)),
    (GaussianMixtureSimilarity(n_components=2, n_samples=64), FRAMES),
    (SemanticMultinomial(n_components=2), FRAMES),
    (SingleGaussianSimilarity(), FRAMES),
]
IDS = [f"{type(ranker).__name__}-{type(songs).__name__}" for ranker, songs in CASES]


def fitted(ranker, songs):
    ranker = clone(ranker)
    if isinstance(ranker, SemanticMultinomial):
        ranker.fit_tags(songs, np.eye(6, 2) + np.eye(6, 2, -2) + np.eye(6, 2, -4))
    return ranker.fit(songs)


@pytest.mark.parametrize(("ranker", "songs"), CASES, ids=IDS)
def test_every_method_gives_float64_distances_queries_x_songs_and_ranks_by_them(ranker, songs):
    ranker = fitted(ranker, songs)
    table = ranker.distances(songs[1:3])
    assert table.shape == (2, 6)
    assert table.dtype == np.float64
    ids, distances = ranker.rank(songs[[1]] if sp.issparse(songs) else songs[1])
    np.testing.assert_allclose(distances, np.sort(table[0]), atol=1e-12)
    np.testing.assert_allclose(table[0, ids], distances, atol=1e-12)
    ids_of_three, _ = ranker.rank(songs[[1]] if sp.issparse(songs) else songs[1], k=3)
    np.testing.assert_array_equal(ids_of_three, ids[:3])


@pytest.mark.parametrize(("ranker", "songs"), CASES, ids=IDS)
def test_every_method_asks_to_be_fitted_first(ranker, songs):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(ranker).distances(songs)


@pytest.mark.parametrize(("ranker", "songs"), CASES, ids=IDS)
def test_every_method_ranks_the_song_itself_first(ranker, songs):
    if isinstance(ranker, SemanticMultinomial | GaussianMixtureSimilarity):
        nearest = fitted(ranker, songs).distances(songs).argmin(axis=1)
        np.testing.assert_array_equal(nearest, np.arange(6))
    else:
        table = fitted(ranker, songs).distances(songs)
        np.testing.assert_allclose(table.diagonal(), table.min(axis=1), atol=1e-15)


@pytest.mark.parametrize(("ranker", "songs"), CASES[:6], ids=IDS[:6])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        (np.ones(4), "queries has 4 features, the fitted songs have 5"),
        (np.ones((2, 5)), r"query has shape \(2, 5\); rank takes one song"),
        (np.array([1, np.nan, 0, 0, 0]), "queries has a NaN"),
        (3.0, r"query has shape \(\); rank takes one song"),
    ],
)
def test_a_wrong_query_vector_is_named(ranker, songs, query, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted(ranker, songs).rank(query)


@pytest.mark.parametrize(("ranker", "songs"), CASES[6:], ids=IDS[6:])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        (np.ones((9, 4)), "4 features per frame"),
        (np.ones(3), r"song 0 is float64 of shape \(3,\); give frames x features"),
        (np.ones((0, 3)), r"song 0 is float64 of shape \(0, 3\)"),
        (np.array([[1, 2, 3], [1, np.nan, 0]]), "song 0 has a NaN or infinite value, first in frame 1"),
        (np.array([[1, 2, np.inf]]), "song 0 has a NaN or infinite value, first in frame 0"),
        (np.array([[1, 2, 1e20]]), r"song 0 has a value of 1.0e\+20; no audio feature is that large"),
        (np.array([["a", "b", "c"]]), "song 0 is <U1"),
        ([[1.0, 2.0, 3.0], [1.0]], "song 0 cannot be read as an array of frames"),
    ],
)
def test_a_wrong_query_song_is_named(ranker, songs, query, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted(ranker, songs).rank(query)


@pytest.mark.parametrize(("ranker", "songs"), CASES[6:], ids=IDS[6:])
def test_an_audio_database_needs_a_song(ranker, songs):
    with pytest.raises(InvalidInputError, match="songs is empty; a database needs at least one song"):
        fitted(ranker, songs).fit([])


@pytest.mark.parametrize(("ranker", "songs"), CASES[6:], ids=IDS[6:])
def test_no_queries_give_an_empty_table(ranker, songs):
    assert fitted(ranker, songs).distances([]).shape == (0, 6)
