"""The learner as a scikit-learn estimator: what it accepts, what it gives, and that it learns."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from nearsong.evaluation import label_scores, ranking_scorer, ranking_scores
from nearsong.metric import MetricLearningToRank, Round
from nearsong.metric.learner import _query_set, _rank_revealed
from nearsong.metric.order_feature import RankingOracle
from planted_songs import FULL_AND_DIAGONAL, LOSSES, may_not_converge, planted, same_class, small

# scikit-learn


@may_not_converge
@pytest.mark.filterwarnings("ignore:the learned metric is zero:UserWarning")
@pytest.mark.filterwarnings("ignore:.*are skipped as queries:UserWarning")
@parametrize_with_checks(
    [
        MetricLearningToRank(),
        MetricLearningToRank("map", C=100.0, diagonal=True, warm_start=True),
        MetricLearningToRank(C=100.0, batch_size=5, max_rounds=20, random_state=0),
    ]
)
def test_learner_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_clone_has_the_same_parameters_and_is_not_fitted():
    learner, X, labels = small(loss="ndcg", k=7, diagonal=True, random_state=3)
    copy = clone(learner.fit(X, labels))
    assert copy.get_params() == learner.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(X)


def test_learner_works_at_the_end_of_a_pipeline():
    X, labels = planted()
    pipeline = make_pipeline(StandardScaler(), MetricLearningToRank(C=100.0))
    alone = MetricLearningToRank(C=100.0).fit(StandardScaler().fit_transform(X), labels)
    projected = pipeline.fit(X, labels).transform(X)
    np.testing.assert_array_equal(projected, StandardScaler().fit_transform(X) @ alone.components_.T)
    ignored = sp.random_array((120, 120), density=0.1, random_state=0)
    pipeline.fit(X, labels, metriclearningtorank__ignored=ignored)
    assert not np.array_equal(pipeline[-1].components_, alone.components_)
    names = pipeline.get_feature_names_out()
    assert list(names) == [f"metriclearningtorank{i}" for i in range(len(pipeline[-1].components_))]


def test_grid_search_over_C_uses_the_ranking_scorer():
    X, labels = planted()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MetricLearningToRank(tol=1e-2)),
        {"metriclearningtorank__C": [0.3, 100.0], "metriclearningtorank__diagonal": [False, True]},
        scoring=ranking_scorer("auc"),
        cv=StratifiedKFold(2),
    ).fit(X, labels)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = label_scores(search.best_estimator_.transform(X), labels).auc
    assert best > label_scores(X, labels).auc + 0.1


def test_fitting_does_not_change_the_input():
    learner, X, labels = small()
    relevance, ignored = same_class(labels), sp.eye_array(40, format="csr")
    before = X.copy(), relevance.copy(), ignored.copy()
    learner.fit(X, relevance, ignored)
    np.testing.assert_array_equal(X, before[0])
    assert (relevance != before[1]).nnz == 0
    assert (ignored != before[2]).nnz == 0


# What it accepts


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_and_their_relevance_matrix_give_the_same_metric(loss, diagonal):
    learner, X, labels = small(loss=loss, diagonal=diagonal, k=9)
    expected = learner.fit(X, labels).components_
    assert expected.any()
    np.testing.assert_array_equal(clone(learner).fit(X, same_class(labels)).components_, expected)


def test_every_kind_of_relevance_matrix_gives_the_same_metric():
    learner, X, labels = small()
    expected = learner.fit(X, labels).components_
    relevance = same_class(labels)
    counts = relevance.astype(float) * 7.5
    without_itself = relevance.toarray() & ~np.eye(40, dtype=bool)
    with_explicit_zeros = sp.csr_array(np.ones((40, 40)))
    with_explicit_zeros.data[:] = relevance.toarray().ravel()
    for same in (counts.tocoo(), sp.csc_matrix(relevance), relevance.toarray(), with_explicit_zeros):
        np.testing.assert_array_equal(clone(learner).fit(X, same).components_, expected)
    for same in (without_itself, without_itself.astype(int).tolist()):
        np.testing.assert_array_equal(clone(learner).fit(X, same).components_, expected)


def test_names_of_classes_do_not_matter():
    learner, X, labels = small()
    expected = learner.fit(X, labels).components_
    words = np.array(["jazz", "rock", "folk", "dub"])[labels]
    for same in (words, words.tolist(), words.astype(object), labels * -7, labels.astype(float), list(labels)):
        np.testing.assert_array_equal(clone(learner).fit(X, same).components_, expected)


def test_relevance_may_be_directed():
    learner, X, _ = small(tol=1e-6)
    relevance = np.random.default_rng(0).random((40, 40)) < 0.2
    one_way = clone(learner).fit(X, relevance).objective_
    other_way = clone(learner).fit(X, relevance.T).objective_
    assert abs(one_way - other_way) > 1e-4 * one_way


def test_relevance_of_ignored_pairs_does_not_matter():
    rng = np.random.default_rng(2)
    learner, X, labels = small()
    relevance = same_class(labels).toarray()
    ignored = rng.random((40, 40)) < 0.3
    flipped = relevance ^ (ignored & (rng.random((40, 40)) < 0.5))
    expected = clone(learner).fit(X, relevance, ignored).components_
    np.testing.assert_array_equal(clone(learner).fit(X, flipped, sp.coo_array(ignored)).components_, expected)
    assert not np.array_equal(clone(learner).fit(X, relevance).components_, expected)
    assert not np.array_equal(clone(learner).fit(X, flipped).components_, expected)


def test_ignored_pairs_work_with_labels_too():
    learner, X, labels = small()
    ignored = sp.random_array((40, 40), density=0.3, random_state=0)
    expected = clone(learner).fit(X, same_class(labels), ignored).components_
    np.testing.assert_array_equal(clone(learner).fit(X, labels, ignored).components_, expected)


def test_integers_lists_and_single_precision_are_read_as_numbers():
    learner, X, labels = small()
    rounded = np.round(X)
    expected = learner.fit(rounded, labels).components_
    for same in (rounded.astype(int), rounded.tolist(), rounded.astype(np.float32), np.asfortranarray(rounded)):
        np.testing.assert_array_equal(clone(learner).fit(same, labels).components_, expected)


# What it gives


def test_components_are_orthogonal_falling_and_no_more_than_the_rank():
    X, labels = planted()
    learner = MetricLearningToRank(C=10.0, tol=1e-4).fit(X, labels)
    L, W = learner.components_, learner.get_mahalanobis_matrix()
    assert L.shape[0] < L.shape[1] == 10
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(W, L.T @ L, rtol=1e-12, atol=1e-15 * np.trace(W))
    eigenvalues = np.linalg.eigvalsh(W)[::-1]
    assert eigenvalues[-1] >= -1e-12 * eigenvalues[0]
    np.testing.assert_allclose(np.sum(L**2, axis=1), eigenvalues[: len(L)])
    np.testing.assert_allclose(eigenvalues[len(L) :], 0.0, atol=1e-12 * eigenvalues[0])
    np.testing.assert_allclose(L @ L.T, np.diag(eigenvalues[: len(L)]), atol=1e-12 * eigenvalues[0])
    assert (L[np.arange(len(L)), np.abs(L).argmax(axis=1)] > 0.0).all()


def test_diagonal_components_weigh_one_feature_each():
    X, labels = planted()
    learner = MetricLearningToRank(C=10.0, diagonal=True).fit(X, labels)
    L, W = learner.components_, learner.get_mahalanobis_matrix()
    assert ((L > 0.0).sum(axis=1) == 1).all()
    assert ((L != 0.0).sum(axis=0) <= 1).all()
    assert (np.diff(L.max(axis=1)) <= 0.0).all()
    np.testing.assert_array_equal(W, np.diag(np.diag(W)))
    assert set(np.flatnonzero(L.any(axis=0))) >= {0, 1, 2}


@FULL_AND_DIAGONAL
def test_distances_after_transform_are_mahalanobis_distances(diagonal):
    learner, X, labels = small(diagonal=diagonal)
    projected = learner.fit_transform(X, labels)
    assert projected.shape == (40, len(learner.components_))
    offsets = X[:, None] - X[None]
    expected = np.einsum("ijk,kl,ijl->ij", offsets, learner.get_mahalanobis_matrix(), offsets)
    np.testing.assert_allclose(cdist(projected, projected, "sqeuclidean"), expected, atol=1e-9 * expected.max())
    np.testing.assert_array_equal(projected, learner.transform(X))


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 3)])
def test_a_zero_factor_has_one_row_of_zeros(shape):
    np.testing.assert_array_equal(_rank_revealed(np.zeros(shape), diagonal=False), np.zeros((1, 3)))
    np.testing.assert_array_equal(_rank_revealed(np.zeros(3), diagonal=True), np.zeros((1, 3)))


def test_history_records_every_round():
    learner, X, labels = small(tol=1e-4)
    learner.fit(X, labels)
    history = learner.history_
    assert all(isinstance(record, Round) for record in history)
    assert {"round", "phase", "objective", "best", "lower_bound", "gap", "slack", "constraints"} <= set(Round._fields)
    assert {"oracle_seconds", "solver_seconds"} <= set(Round._fields)
    assert [record.round for record in history] == list(range(1, learner.n_rounds_ + 1))
    assert [record.constraints for record in history] == list(range(1, learner.n_rounds_ + 1))
    for record in history:
        assert 0.0 <= record.gap <= 1.0
        assert record.gap == (record.best - record.lower_bound) / record.best
        assert record.slack >= 0.0
        assert record.objective >= 3.0 * record.slack
        assert record.oracle_seconds > 0.0
        assert record.solver_seconds >= 0.0
    assert learner.converged_ is True
    assert learner.objective_ == history[-1].best
    assert history[-1].lower_bound <= learner.lower_bound_ <= learner.objective_
    assert learner.gap_ == (learner.objective_ - learner.lower_bound_) / learner.objective_ <= 1e-4
    assert learner.n_skipped_queries_ == 0


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_that_of_the_components(loss, diagonal):
    learner, X, labels = small(loss=loss, diagonal=diagonal, k=9)
    learner.fit(X, labels)
    oracle = RankingOracle(X, _query_set(X, labels, None), loss, 9)
    slack = oracle.cutting_plane(learner.components_).slack
    oracle.close()
    assert learner.objective_ == pytest.approx(np.sum(learner.components_**2) + 3.0 * slack, rel=1e-9)


def test_precision_looks_at_ten_songs_and_ndcg_at_all_by_default():
    for loss, k in (("precision_at_k", 10), ("ndcg", 40)):
        learner, X, labels = small(loss=loss)
        expected = clone(learner).set_params(k=k).fit(X, labels).components_
        np.testing.assert_array_equal(learner.fit(X, labels).components_, expected)
        other = clone(learner).set_params(k=3).fit(X, labels).components_
        assert not np.array_equal(other, expected)


def test_a_path_gives_fitted_learners_and_leaves_its_own_unfitted():
    learner, X, labels = small(diagonal=True, k=5)
    path = learner.fit_path(X, labels, Cs=[100.0, 1e-6, 3.0])
    assert [fitted.C for fitted in path] == [1e-6, 3.0, 100.0]
    for fitted in path:
        check_is_fitted(fitted)
        assert fitted.get_params() == {**learner.get_params(), "C": fitted.C}
        assert fitted.transform(X).shape == (40, len(fitted.components_))
        assert fitted.n_rounds_ == len(fitted.history_)
        assert fitted.gap_ <= 1e-2
    assert not path[0].components_.any()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        learner.transform(X)


def test_a_path_respects_ignored_pairs():
    learner, X, labels = small(tol=1e-5)
    ignored = sp.random_array((40, 40), density=0.3, random_state=0)
    path = learner.fit_path(X, labels, Cs=[1.0, 3.0], ignored=ignored)
    assert path[1].objective_ == pytest.approx(learner.fit(X, labels, ignored).objective_, rel=1e-5)
    assert path[1].objective_ != pytest.approx(learner.fit(X, labels).objective_, rel=1e-3)


# It learns


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_learned_metric_ranks_unseen_songs_better_than_the_native_one(loss, diagonal):
    X, labels = planted(160, seed=3)
    unseen, unseen_labels = planted(160, seed=4)
    k = 30 if loss == "precision_at_k" else None
    learner = MetricLearningToRank(loss, C=30.0, k=k, diagonal=diagonal, tol=1e-2).fit(X, labels)
    native = label_scores(unseen, unseen_labels)
    learned = label_scores(learner.transform(unseen), unseen_labels)
    assert learned.auc > native.auc + 0.15
    assert learned.means()[loss] > native.means()[loss] + 0.1


def test_songs_outside_the_training_set_can_be_queries():
    X, labels = planted(160, seed=3)
    learner = MetricLearningToRank(C=30.0, tol=1e-2).fit(X[:100], labels[:100])
    truth = sp.csr_array(labels[100:, None] == labels[None, :100])
    learned = ranking_scores(learner.transform(X[100:]), learner.transform(X[:100]), truth).auc
    assert learned > ranking_scores(X[100:], X[:100], truth).auc + 0.15
