"""Tag vectors and their cosines against the definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import TfidfTransformer

from nearsong.baselines import HumanTags, tag_matrix
from nearsong.errors import InvalidInputError


def random_tags(seed, n=30, d=12):
    tags = np.random.default_rng(seed).random((n, d)) < 0.3
    tags[:, 0] |= ~tags.any(axis=1)
    return tags.astype(np.float64)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix, lambda tags: (tags * 5).astype(int)])
def test_binary_tags_are_ranked_by_cosine_and_counts_are_read_as_1(form):
    songs, queries = random_tags(0), random_tags(1, n=7)
    table = HumanTags().fit(form(songs)).distances(form(queries))
    np.testing.assert_allclose(table, cdist(queries, songs, "cosine"), atol=1e-14)


def test_tfidf_is_the_papers_formula_fitted_on_the_database_alone():
    songs, queries = random_tags(2), random_tags(3, n=7)
    songs[:, 5] = 0.0  # a tag that no fitted song has does not count
    songs[:, 0] = 1.0  # as does one that all carry
    ranker = HumanTags("tfidf").fit(songs)
    idf = [np.log(30 / n) if n else 0.0 for n in songs.sum(axis=0)]
    np.testing.assert_allclose(ranker.weights_, idf, rtol=1e-15)
    np.testing.assert_allclose(ranker.transform(queries).toarray(), queries * idf)
    cosine = np.nan_to_num(cdist(queries * idf, songs * idf, "cosine"), nan=1.0)  # SciPy has none for zero vectors
    np.testing.assert_allclose(ranker.distances(queries), cosine, atol=1e-14)


def test_idf_is_scikit_learns_less_1():
    songs = random_tags(4)
    theirs = TfidfTransformer(smooth_idf=False, norm=None).fit(sp.csr_matrix(songs)).idf_ - 1
    np.testing.assert_allclose(HumanTags("tfidf").fit(songs).weights_, theirs, atol=1e-14)


def test_a_song_without_tags_that_count_is_as_far_from_all():
    ranker = HumanTags("tfidf").fit([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(ranker.distances([[1, 0, 1], [0, 1, 0]]), [[1, 1, 1], [0, 1, 1]], atol=1e-15)
    assert ranker.rank([1, 0, 0])[0].tolist() == [0, 1, 2]


def test_fitting_leaves_the_callers_matrix_alone():
    songs = sp.csr_array(random_tags(5) * 3)
    before = songs.copy()
    HumanTags("tfidf").fit(songs)
    np.testing.assert_array_equal(songs.toarray(), before.toarray())


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.int64, (6, 4), elements=st.integers(0, 3)), st.sampled_from(["binary", "tfidf"]))
def test_distances_lie_between_0_and_1(tags, weighting):
    table = HumanTags(weighting).fit(tags).distances(tags)
    assert ((table >= 0) & (table <= 1)).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdef")), min_size=1, max_size=6))
def test_the_matrix_has_a_1_where_a_song_names_the_tag(song_tags):
    if not any(song_tags):
        return
    has_tag, vocabulary = tag_matrix(song_tags)
    assert vocabulary == sorted({tag for tags in song_tags for tag in tags})
    expected = [[float(tag in tags) for tag in vocabulary] for tags in song_tags]
    np.testing.assert_array_equal(has_tag.toarray(), expected)
    assert has_tag.has_canonical_format


def test_a_given_vocabulary_orders_the_columns_and_drops_other_tags():
    has_tag, vocabulary = tag_matrix([["b", "x"], ["a"], []], vocabulary=["c", "b", "a"])
    assert vocabulary == ["c", "b", "a"]
    np.testing.assert_array_equal(has_tag.toarray(), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HumanTags("idf").fit([[1]]), "weighting='idf' is unknown; choose one of binary, tfidf"),
        (lambda: HumanTags().fit([[1, -1]]), "songs has an entry of -1; use 1 where a song has a tag"),
        (lambda: HumanTags().fit([[1, np.nan]]), "songs has a NaN"),
        (lambda: HumanTags().fit(np.ones((0, 2))), r"songs has shape \(0, 2\)"),
        (lambda: HumanTags().fit([[1, 0]]).transform([[1]]), "songs has 1 features, the fitted songs have 2"),
        (lambda: tag_matrix(["rock"]), "the tags of song 0 are the string 'rock'; give a list of tags"),
        (lambda: tag_matrix([]), "got 0 songs and 0 tags"),
        (lambda: tag_matrix([[], []]), "got 2 songs and 0 tags"),
        (lambda: tag_matrix([["a"]], ["a", "b", "a"]), "vocabulary has 'a' more than once"),
    ],
)
def test_a_mistake_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
