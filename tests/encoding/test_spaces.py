"""The probability product kernel and TF-IDF: formulas, and that scikit-learn takes them for its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearsong.encoding import ProductKernelMap, TfIdf
from nearsong.errors import InvalidInputError


def random_histograms(n=20, n_codewords=12, seed=0):
    """Histograms with many zeros; codeword 0 is never used, codeword 1 always."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (n, n_codewords))
    counts[:, 0], counts[:, 1] = 0, 1
    return counts / counts.sum(axis=1, keepdims=True)


@parametrize_with_checks([ProductKernelMap(), TfIdf()])
def test_the_spaces_are_scikit_learn_transformers(estimator, check):
    check(estimator)


# Product kernel


def test_inner_products_of_mapped_histograms_are_bhattacharyya_coefficients():
    histograms = random_histograms()
    mapped = ProductKernelMap().fit_transform(histograms)
    for q, h in enumerate(histograms):
        for x, g in enumerate(histograms):
            coefficient = sum(np.sqrt(h[v] * g[v]) for v in range(12))
            assert mapped[q] @ mapped[x] == pytest.approx(coefficient, abs=1e-14)


def test_histograms_land_on_the_unit_sphere_and_rank_by_hellinger_distance():
    histograms = random_histograms()
    mapped = ProductKernelMap().fit_transform(histograms)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1.0, rtol=1e-14)
    hellinger = np.sqrt(np.maximum(0, 1 - np.sqrt(histograms[:, None] * histograms[None]).sum(axis=2)))
    np.testing.assert_allclose(cdist(mapped, mapped), np.sqrt(2) * hellinger, atol=1e-7)


def test_rows_that_do_not_sum_to_1_have_the_length_of_the_root_of_their_sum():
    mapped = ProductKernelMap().fit_transform([[4.0, 9.0], [0.0, 0.0]])
    assert mapped.tolist() == [[2.0, 3.0], [0.0, 0.0]]


def test_the_inverse_gives_the_histograms_back():
    histograms, kernel_map = random_histograms(), ProductKernelMap()
    np.testing.assert_allclose(kernel_map.inverse_transform(kernel_map.fit_transform(histograms)), histograms)


def test_what_is_mapped_is_not_changed():
    histograms = random_histograms()
    before = histograms.copy()
    ProductKernelMap().fit(histograms).transform(histograms)
    TfIdf().fit(histograms).transform(histograms)
    np.testing.assert_array_equal(histograms, before)


# TF-IDF


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(2, 9))
def test_weights_are_the_papers_formula(seed, n, n_codewords):
    histograms = random_histograms(n, n_codewords, seed)
    weighting = TfIdf().fit(histograms)
    for v in range(n_codewords):
        n_using = sum(1 for x in range(n) if histograms[x, v] > 0)
        expected = np.log(n / n_using) if n_using else 0.0
        assert weighting.idf_[v] == pytest.approx(expected, abs=1e-15)
        np.testing.assert_array_equal(weighting.transform(histograms)[:, v], histograms[:, v] * weighting.idf_[v])


def test_weights_are_scikit_learns_less_1_for_used_codewords():
    histograms = random_histograms()[:, 1:]
    theirs = TfidfTransformer(norm=None, smooth_idf=False).fit(histograms)
    np.testing.assert_allclose(TfIdf().fit(histograms).idf_, theirs.idf_ - 1, atol=1e-14)


def test_codewords_no_training_song_uses_count_nothing_in_new_songs():
    weighting = TfIdf().fit([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert weighting.idf_.tolist() == [0.0, np.log(2), 0.0]
    assert weighting.transform([[0.0, 0.0, 1.0]]).tolist() == [[0.0, 0.0, 0.0]]


def test_the_spaces_work_in_a_pipeline_and_keep_feature_names():
    pipeline = make_pipeline(TfIdf(), ProductKernelMap()).fit(random_histograms())
    expected = np.sqrt(TfIdf().fit_transform(random_histograms()))
    np.testing.assert_array_equal(pipeline.transform(random_histograms()), expected)
    assert pipeline.get_feature_names_out(["a", *"bcdefghijkl"])[0] == "a"


# Mistakes

NEGATIVE = np.array([[0.5, 0.5], [1.5, -0.5]])


@pytest.mark.parametrize("space", [ProductKernelMap, TfIdf])
def test_negative_entries_are_refused_with_their_row(space):
    fitted = space().fit(np.abs(NEGATIVE))
    for use in (fitted.transform, space().fit):
        with pytest.raises(
            InvalidInputError, match=f"passed to {space.__name__}, first in row 1; a histogram counts"
        ):
            use(NEGATIVE)


@pytest.mark.parametrize("space", [ProductKernelMap, TfIdf])
def test_another_number_of_codewords_is_refused(space):
    with pytest.raises(ValueError, match=f"X has 3 features, but {space.__name__} is expecting 2 features"):
        space().fit(np.abs(NEGATIVE)).transform(np.ones((1, 3)))
