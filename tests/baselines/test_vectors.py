"""Euclidean and cosine distances against SciPy, dense and sparse."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

import nearsong.baselines.vectors as vectors
from nearsong.baselines import CosineSimilarity, EuclideanSimilarity
from nearsong.errors import InvalidInputError

MEASURES = [(EuclideanSimilarity, "euclidean"), (CosineSimilarity, "cosine")]
FORMS = [np.asarray, sp.csr_array, sp.coo_matrix, sp.csc_array]


def some_rows(rng, n, d):
    return np.where(rng.random((n, d)) < 0.5, rng.normal(0, 1, (n, d)) * 10 ** rng.uniform(-3, 3, (n, 1)), 0.0)


@pytest.mark.parametrize("query_form", FORMS)
@pytest.mark.parametrize("song_form", FORMS)
@pytest.mark.parametrize(("measure", "name"), MEASURES)
def test_distances_are_scipys_for_dense_and_sparse_songs_and_queries(measure, name, song_form, query_form):
    rng = np.random.default_rng(0)
    songs, queries = some_rows(rng, 40, 7), some_rows(rng, 15, 7)
    songs, queries = songs[songs.any(axis=1)], queries[queries.any(axis=1)]
    table = measure().fit(song_form(songs)).distances(query_form(queries))
    np.testing.assert_allclose(table, cdist(queries, songs, name), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize(("measure", "name"), MEASURES)
def test_blocks_do_not_change_the_distances(measure, name, form, monkeypatch):
    rng = np.random.default_rng(1)
    songs = rng.random((50, 6))
    songs[30:] = songs[29]  # near pairs, in several blocks
    complete = measure().fit(form(songs)).distances(form(songs))
    monkeypatch.setattr(vectors, "_BLOCK_ENTRIES", 100)
    np.testing.assert_allclose(measure().fit(form(songs)).distances(form(songs)), complete, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("measure", [EuclideanSimilarity, CosineSimilarity])
def test_copies_of_a_song_tie_exactly_wherever_they_stand(measure, form):
    rng = np.random.default_rng(2)
    songs = rng.standard_normal((37, 64))
    table = measure().fit(form(np.vstack([songs, songs[::-1]]))).distances(rng.standard_normal((9, 64)))
    np.testing.assert_array_equal(table[:, :37], table[:, :36:-1])


def test_a_negative_zero_is_a_zero():
    assert EuclideanSimilarity().fit([[0.0, 1.0], [-0.0, 1.0]]).rank([0.3, 0.1])[0].tolist() == [0, 1]


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_euclidean_distances_keep_their_digits_far_from_the_origin_and_close_to_the_query(offset, form):
    rng = np.random.default_rng(3)
    songs = rng.standard_normal((30, 5)) + offset
    queries = songs[:10] + np.float64(1e-6) * rng.standard_normal((10, 5))
    table = EuclideanSimilarity().fit(form(songs)).distances(form(queries))
    np.testing.assert_allclose(table, cdist(queries, songs), rtol=1e-8)
    assert (EuclideanSimilarity().fit(form(songs)).distances(form(songs)).diagonal() == 0).all()


def test_a_zero_vector_has_cosine_0_with_everything_even_itself():
    ranker = CosineSimilarity().fit([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(ranker.distances([[0.0, 0.0], [2.0, 4.0]]), [[1.0, 1.0], [1.0, 0.0]])
    sparse = CosineSimilarity().fit(sp.csr_array([[0.0, 0.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(sparse.distances(sp.csr_array((1, 2))), [[1.0, 1.0]])


@pytest.mark.parametrize("form", FORMS[:2])
def test_cosines_of_integers_tie_exactly_when_they_are_equal(form):
    rng = np.random.default_rng(4)
    tags = (rng.random((200, 30)) < 0.3).astype(float)
    table = CosineSimilarity().fit(form(tags)).distances(tags[:20])
    shared, sizes = tags[:20] @ tags.T, tags.sum(axis=1)
    for query in range(20):
        ratio = [
            Fraction(int(s) ** 2, int(n)) if n else Fraction(0) for s, n in zip(shared[query], sizes, strict=True)
        ]
        same = np.array([[a == b for a in ratio] for b in ratio])
        assert (table[query][:, None] == table[query])[same].all()
        assert table[query, query] == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e90])
def test_cosine_does_not_depend_on_the_length_of_the_vectors(scale):
    rng = np.random.default_rng(5)
    songs, queries = rng.standard_normal((20, 4)), rng.standard_normal((5, 4))
    expected = CosineSimilarity().fit(songs).distances(queries)
    for form in FORMS[:2]:
        table = CosineSimilarity().fit(form(songs * scale)).distances(form(queries * scale))
        np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-15)


histograms = hnp.arrays(np.float64, (5, 6), elements=st.floats(0, 1)).map(lambda h: h + 1e-9)


@settings(max_examples=50, deadline=None)
@given(histograms, histograms)
def test_on_square_roots_of_histograms_the_distance_is_that_of_the_probability_product_kernel(p, q):
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    table = EuclideanSimilarity().fit(np.sqrt(p)).distances(np.sqrt(q))
    bhattacharyya = np.sqrt(q) @ np.sqrt(p).T
    np.testing.assert_allclose(table**2, 2 - 2 * bhattacharyya, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)))
def test_distances_are_symmetric_and_in_their_range(rows):
    euclidean = EuclideanSimilarity().fit(rows).distances(rows)
    np.testing.assert_allclose(euclidean, euclidean.T, rtol=1e-7, atol=1e-300)
    np.testing.assert_array_equal(euclidean.diagonal(), 0)
    cosine = CosineSimilarity().fit(rows).distances(rows)
    assert ((cosine >= 0) & (cosine <= 2)).all()
    np.testing.assert_allclose(cosine, cosine.T, atol=1e-12)


@pytest.mark.parametrize("measure", [EuclideanSimilarity, CosineSimilarity])
@pytest.mark.parametrize(
    ("songs", "message"),
    [
        (np.ones(3), r"songs has shape \(3,\)"),
        (np.ones((0, 3)), r"songs has shape \(0, 3\); .*songs x features.* with at least one of each"),
        (sp.csr_array((0, 3)), r"songs has shape \(0, 3\); .*songs x features.* with at least one of each"),
        ([[1.0, np.nan]], "songs has a NaN or infinite value, first in row 0"),
        (sp.csr_array([[1.0, np.inf]]), "songs has a NaN or infinite value"),
        (sp.csr_array([[1.0, 1e200]]), r"songs has a value of 1.0e\+200; its square overflows"),
        ([["a"]], "songs cannot be read as an array of numbers"),
    ],
)
def test_a_wrong_database_is_named(measure, songs, message):
    with pytest.raises(InvalidInputError, match=message):
        measure().fit(songs)
