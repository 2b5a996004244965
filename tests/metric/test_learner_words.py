"""What the learner tells and what it refuses, in words."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nearsong.errors import InvalidInputError, NoUsableQueryError
from planted_songs import FULL_AND_DIAGONAL, LOSSES, same_class, small

# What it tells


def test_too_few_rounds_give_a_convergence_warning():
    learner, X, labels = small(max_rounds=4, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 4 rounds with a gap of .*, above tol=1e-06; raise"):
        learner.fit(X, labels)
    assert not learner.converged_
    assert learner.n_rounds_ == 4
    assert learner.gap_ > 1e-6


def test_skipped_queries_are_counted_and_reported():
    learner, X, labels = small()
    lonely = labels.copy()
    lonely[:3] = [50, 51, 52]
    with pytest.warns(
        UserWarning, match="3 of 40 songs have no relevant or no irrelevant song and are skipped"
    ) as caught:
        learner.fit(X, lonely)
    assert learner.n_skipped_queries_ == 3
    assert caught[0].filename == __file__
    relevance = same_class(labels).toarray()
    relevance[5] = False
    relevance[6] = True
    with pytest.warns(UserWarning, match="2 of 40 songs"):
        assert learner.fit(X, relevance).n_skipped_queries_ == 2
    with pytest.warns(UserWarning, match="2 of 40 songs"):
        assert learner.fit_path(X, relevance, [1.0])[0].n_skipped_queries_ == 2


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_a_zero_metric_is_reported_with_the_C_to_exceed(loss, diagonal):
    learner, X, labels = small(loss=loss, diagonal=diagonal, C=1e-7, k=3)
    with pytest.warns(UserWarning, match="the learned metric is zero: C=1e-07 is too small") as caught:
        learner.fit(X, labels)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(learner.components_, np.zeros((1, 10)))
    np.testing.assert_array_equal(learner.transform(X), np.zeros((40, 1)))
    assert learner.converged_
    assert learner.gap_ == 0.0
    named = float(re.search(r"well above (\S+)\.$", str(caught[0].message)).group(1))
    assert named > 1e-7
    if loss in ("auc", "mrr", "map"):
        assert clone(learner).set_params(C=1.5 * named).fit(X, labels).components_.any()
    assert not learner.fit_path(X, labels, [0.9 * named])[0].components_.any()  # a path may begin at zero: no warning


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", ["ndcg", "precision_at_k"])
def test_a_zero_metric_beyond_that_C_is_blamed_on_the_cut_too(loss, diagonal):
    learner, X, labels = small(loss=loss, diagonal=diagonal, C=0.5, k=1)
    with pytest.warns(UserWarning, match=r"C=0\.5 or k is too small for this data. Try a larger k"):
        learner.fit(X, labels)
    assert learner.n_rounds_ > 1
    assert learner.gap_ <= 1e-2
    assert clone(learner).set_params(k=9, C=5.0).fit(X, labels).components_.any()


def test_a_loss_that_cannot_fall_is_reported_as_such():
    learner, X, labels = small(loss="precision_at_k", k=39)
    with pytest.warns(UserWarning, match=r"zero for every C: .* lower k"):
        learner.fit(X, labels)
    learner, X, labels = small()
    with pytest.warns(UserWarning, match="zero for every C"):
        learner.fit(np.ones((40, 3)), labels)


def test_a_zero_metric_is_not_blamed_on_C_when_the_fit_was_cut_short():
    learner, X, labels = small(callback=lambda record: True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, labels)
    assert [warning.category for warning in caught] == [ConvergenceWarning]


# What it refuses


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "loss='hinge' is unknown; choose one of auc, map, mrr, ndcg, precision_at_k"),
        ({"loss": None}, "loss=None is unknown"),
        ({"C": 0.0}, r"C=0\.0 must be a finite number above 0"),
        ({"C": -1.0}, r"C=-1\.0 must be a finite number above 0"),
        ({"C": np.nan}, "C=nan must be a finite number above 0"),
        ({"C": np.inf}, "C=inf must be a finite number above 0"),
        ({"C": "1"}, "C='1' must be a finite number above 0"),
        ({"C": True}, "C=True must be a finite number above 0"),
        ({"tol": 0.0}, r"tol=0\.0 must be a number between 0 and 1"),
        ({"tol": 1.0}, r"tol=1\.0 must be a number between 0 and 1"),
        ({"tol": -1.0}, r"tol=-1\.0 must be a number between 0 and 1"),
        ({"tol": np.nan}, "tol=nan must be a number between 0 and 1"),
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"k": 2.5}, r"k=2\.5 must be a whole number of at least 1"),
        ({"batch_size": 0}, "batch_size=0 must be a whole number of at least 1"),
        ({"max_rounds": 2}, "max_rounds=2 must be a whole number of at least 3"),
        ({"max_rounds": 30.0}, r"max_rounds=30\.0 must be a whole number of at least 3"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    learner, X, labels = small()
    learner.set_params(**parameters)
    for fit in (learner.fit, learner.fit_path):
        with pytest.raises(InvalidInputError, match=message):
            fit(X, labels)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_songs_that_are_not_finite_are_refused(bad):
    learner, X, labels = small()
    X[3, 2] = bad
    for fit in (learner.fit, learner.fit_path):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            fit(X, labels)


def test_songs_whose_squares_overflow_are_refused():
    learner, X, labels = small()
    with pytest.raises(InvalidInputError, match=r"X has a value of .*; its square overflows"):
        learner.fit(1e160 * X, labels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((40, 39)), r"relevance has shape \(40, 39\); 40 x 40 is needed"),
        (sp.csr_array((39, 40)), r"relevance has shape \(39, 40\); 40 x 40 is needed"),
        (sp.csr_array((41, 41)), r"relevance has shape \(41, 41\); 40 x 40 is needed"),
        (np.full((40, 40), np.nan), "relevance has a NaN or infinite entry"),
        (np.zeros(39), r"y has shape \(39,\); one label for each of 40 songs is needed"),
        (np.zeros((40, 1)), r"y has shape \(40, 1\); one label for each of 40 songs is needed"),
        (np.zeros((2, 40, 40)), r"y has shape \(2, 40, 40\)"),
        (3, r"y has shape \(\)"),
        (None, "requires y to be passed, but the target y is None; give class labels or a relevance matrix"),
        ([0.0, np.nan] * 20, "y has a NaN label"),
        (np.array(["a", 1] * 20, dtype=object), "y mixes labels that cannot be compared"),
    ],
)
def test_labels_and_relevance_that_do_not_fit_the_songs_are_refused(y, message):
    learner, X, _ = small()
    for fit in (learner.fit, learner.fit_path):
        with pytest.raises(InvalidInputError, match=message):
            fit(X, y)


@pytest.mark.parametrize(
    ("ignored", "message"),
    [
        (sp.csr_array((40, 39)), r"ignored has shape \(40, 39\); 40 x 40 is needed"),
        (np.zeros((41, 41)), r"ignored has shape \(41, 41\)"),
        (np.zeros(40), r"ignored has 1 dimension\(s\); a 40 x 40 matrix is needed"),
    ],
)
def test_ignored_pairs_that_do_not_fit_the_songs_are_refused(ignored, message):
    learner, X, labels = small()
    for fit in (learner.fit, learner.fit_path):
        with pytest.raises(InvalidInputError, match=message):
            fit(X, labels, ignored=ignored)


def test_songs_without_a_usable_query_are_refused():
    learner, X, labels = small()
    hopeless = [
        (np.zeros(40), None),
        (np.arange(40), None),
        (sp.csr_array((40, 40)), None),
        (np.ones((40, 40)), None),
        (np.eye(40), None),
        (labels, np.ones((40, 40))),
        (labels, same_class(labels)),
        (labels, ~same_class(labels).toarray()),
    ]
    for y, ignored in hopeless:
        with pytest.raises(
            NoUsableQueryError, match="none of the 40 songs has both a relevant and an irrelevant song"
        ):
            learner.fit(X, y, ignored)


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        ([], "Cs is empty; give at least one value of C"),
        ([1.0, 0.0], r"C=0\.0 must be a finite number above 0"),
        ([1.0, np.nan], "C=nan must be a finite number above 0"),
    ],
)
def test_a_path_without_usable_values_is_refused(Cs, message):
    learner, X, labels = small()
    with pytest.raises(InvalidInputError, match=message):
        learner.fit_path(X, labels, Cs)


def test_transform_wants_the_features_it_learned():
    learner, X, labels = small()
    learner.fit(X, labels)
    with pytest.raises(ValueError, match="X has 9 features, but MetricLearningToRank is expecting 10 features"):
        learner.transform(X[:, :9])


def test_an_unfitted_learner_says_so():
    learner, X, _ = small()
    for ask in (lambda: learner.transform(X), learner.get_mahalanobis_matrix, learner.get_feature_names_out):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()


def test_warm_start_from_another_number_of_features_is_refused():
    learner, X, labels = small(warm_start=True)
    learner.fit(X, labels)
    with pytest.raises(
        InvalidInputError, match="X has 9 features, but the metric of the previous fit has 10; set warm_start=False"
    ):
        learner.fit(X[:, :9], labels)
