"""The learner as a scikit-learn estimator: what it accepts, what it refuses, what it tells, and that it learns."""

import re
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation import label_scores, ranking_scorer, ranking_scores
from nearsong.metric import MetricLearningToRank, Round, order_feature
from nearsong.metric.learner import _query_set, _rank_revealed
from nearsong.metric.order_feature import RankingOracle

LOSSES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
FULL_AND_DIAGONAL = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
may_not_converge = pytest.mark.filterwarnings("ignore:stopped after:sklearn.exceptions.ConvergenceWarning")


def planted(n=120, seed=0, n_classes=4):
    """Classes that differ in three features, hidden among seven of louder noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = 4.0 * np.random.default_rng(1).standard_normal((n_classes, 3))
    informative = centres[labels] + rng.standard_normal((n, 3))
    return np.column_stack([informative, 8.0 * rng.standard_normal((n, 7))]), labels


def same_class(labels):
    return sp.csr_array(np.asarray(labels)[:, None] == np.asarray(labels)[None])


def small(**kwargs):
    """A learner, its songs and their labels, for tests about anything but the optimum."""
    X, labels = planted(40)
    return MetricLearningToRank(**{"C": 3.0, "tol": 1e-2, **kwargs}), X, labels


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
    whole = np.round(X)
    expected = learner.fit(whole, labels).components_
    for same in (whole.astype(int), whole.tolist(), whole.astype(np.float32), np.asfortranarray(whole)):
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


def test_history_tells_every_round():
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


def test_precision_looks_at_ten_songs_and_ndcg_at_all_unless_told():
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


# While it runs


def test_same_input_gives_the_same_bytes():
    learner, X, labels = small()
    first, second = (clone(learner).fit(X, labels).components_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_warm_start_takes_fewer_rounds():
    learner, X, labels = small(warm_start=True, tol=1e-4)
    cold = learner.fit(X, labels).n_rounds_
    objective = learner.objective_
    again = learner.fit(X, labels)
    assert again.n_rounds_ < cold
    assert again.objective_ == pytest.approx(objective, rel=1e-4)
    near = learner.set_params(C=3.5).fit(X, labels)
    assert near.n_rounds_ < clone(learner).fit(X, labels).n_rounds_
    assert near.converged_


def test_warm_start_passes_between_full_and_diagonal_metrics():
    learner, X, labels = small(warm_start=True, tol=1e-4)
    learner.fit(X, labels)
    for diagonal in (True, False):
        learner.set_params(diagonal=diagonal).fit(X, labels)
        cold = clone(learner).fit(X, labels)
        assert learner.objective_ == pytest.approx(cold.objective_, rel=1e-4)


def test_without_warm_start_a_second_fit_forgets_the_first():
    learner, X, labels = small()
    fresh = clone(learner).fit(X[:, :5], labels).components_
    np.testing.assert_array_equal(learner.fit(X, labels).fit(X[:, :5], labels).components_, fresh)


def test_callback_hears_every_round():
    heard = []
    learner, X, labels = small(callback=heard.append)
    assert learner.fit(X, labels).history_ == heard


@pytest.mark.parametrize("last", [1, 2, 5])
def test_callback_can_end_the_fit(last):
    learner, X, labels = small(callback=lambda record: record.round == last)
    with pytest.warns(ConvergenceWarning, match=f"stopped after {last} rounds at a gap of"):
        learner.fit(X, labels)
    assert learner.n_rounds_ == last
    assert not learner.converged_
    assert learner.objective_ == min(record.objective for record in learner.history_)


def test_verbose_prints_a_line_a_round(capsys):
    learner, X, labels = small(verbose=True)
    learner.fit(X, labels)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == learner.n_rounds_
    for number, line in enumerate(lines, start=1):
        assert re.fullmatch(
            rf"round +{number} +(start|descent|bundle|certificate) +objective \S+ +best \S+ +gap [\d.]+%", line
        )


def test_silent_unless_verbose(capsys):
    learner, X, labels = small()
    learner.fit(X, labels)
    assert capsys.readouterr().out == ""


# Batches


@may_not_converge
@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", ["auc", "map"])
def test_batches_come_near_the_full_fit(loss, diagonal):
    X, labels = planted(400, seed=5)
    unseen, unseen_labels = planted(200, seed=6)
    learner = MetricLearningToRank(loss, C=30.0, diagonal=diagonal, batch_size=50, random_state=0, max_rounds=200)
    learner.fit(X, labels)
    full = clone(learner).set_params(batch_size=None).fit(X, labels)
    assert label_scores(learner.transform(unseen), unseen_labels).auc > label_scores(unseen, unseen_labels).auc + 0.15
    oracle = RankingOracle(X, _query_set(X, labels, None), loss)
    objective = np.sum(learner.components_**2) + 30.0 * oracle.cutting_plane(learner.components_).slack
    oracle.close()
    assert full.lower_bound_ <= objective <= 1.05 * full.objective_
    assert learner.objective_ == pytest.approx(objective, rel=0.15)
    assert {record.phase for record in learner.history_[-20:]} == {"batch"}


@may_not_converge
def test_batches_with_the_same_seed_give_the_same_bytes():
    learner, X, labels = small(batch_size=10, max_rounds=30, random_state=7)
    first, second = (clone(learner).fit(X, labels).components_ for _ in range(2))
    assert first.tobytes() == second.tobytes()
    by_state = learner.set_params(random_state=np.random.RandomState(7)).fit(X, labels).components_
    assert by_state.tobytes() == first.tobytes()
    other = learner.set_params(random_state=8).fit(X, labels).components_
    assert other.tobytes() != first.tobytes()


@pytest.mark.parametrize("batch_size", [40, 41, 10_000])
def test_a_batch_of_all_songs_is_the_full_fit(batch_size):
    learner, X, labels = small()
    expected = learner.fit(X, labels)
    whole = clone(learner).set_params(batch_size=batch_size).fit(X, labels)
    assert whole.components_.tobytes() == expected.components_.tobytes()
    assert whole.gap_ == expected.gap_


@may_not_converge
def test_batches_never_exceed_the_rounds_and_claim_no_certificate():
    for most in (3, 4, 10, 40):
        learner, X, labels = small(batch_size=10, max_rounds=most, random_state=0)
        learner.fit(X, labels)
        assert learner.n_rounds_ <= most
        assert learner.components_.any()
        assert np.isnan(learner.gap_)
        assert np.isnan(learner.lower_bound_)


def test_batches_that_agree_on_the_objective_have_converged():
    learner, X, labels = small(batch_size=20, tol=0.2, random_state=0)
    learner.fit(X, labels)
    assert learner.converged_
    assert learner.n_rounds_ < 300


def test_batches_that_run_out_of_rounds_say_so():
    learner, X, labels = small(batch_size=10, max_rounds=12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 12 rounds while the mean objective of the batches"):
        learner.fit(X, labels)


@may_not_converge
@pytest.mark.parametrize("last", [1, 2, 4, 15])
def test_callback_can_end_batches_from_their_first_round_on(last):
    learner, X, labels = small(
        batch_size=10, max_rounds=30, random_state=0, callback=lambda record: record.round == last
    )
    learner.fit(X, labels)
    assert learner.n_rounds_ == last
    assert not learner.converged_


def test_batches_warn_about_a_zero_metric_without_a_certificate():
    learner, X, labels = small(C=1e-6, batch_size=10, random_state=0)
    with pytest.warns(UserWarning, match="the learned metric is zero: C=1e-06"):
        learner.fit(X, labels)
    assert np.isnan(learner.gap_)


@may_not_converge
def test_batches_start_from_the_metric_before_when_warm():
    learner, X, labels = small(warm_start=True)
    learner.fit(X, labels)
    before = learner.objective_
    learner.set_params(batch_size=20, max_rounds=5, random_state=0).fit(X, labels)
    assert learner.history_[1].objective < 2.0 * before < learner.history_[0].objective


@may_not_converge
def test_twenty_thousand_songs_are_learned_in_batches_without_a_square_array(monkeypatch):
    n = 20_001
    X, labels = planted(n)
    monkeypatch.setattr(order_feature, "_BLOCK_BYTES", 4 << 20)
    learner = MetricLearningToRank(C=30.0, max_rounds=5, random_state=0)
    tracemalloc.start()
    try:
        learner.fit(X, labels)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n * n / 8  # less than a bit for every pair
    assert learner.history_[-1].phase == "batch"
    chosen = np.random.default_rng(0).choice(n, 400, replace=False)
    native, learned = (label_scores(songs[chosen], labels[chosen]).auc for songs in (X, learner.transform(X)))
    assert learned > native + 0.1


def test_twenty_thousand_songs_are_the_most_for_a_full_fit():
    learner = MetricLearningToRank()
    assert learner._batch_size(20_000) is None
    assert learner._batch_size(20_001) == 1_000


# What it tells


def test_too_few_rounds_give_a_convergence_warning():
    learner, X, labels = small(max_rounds=4, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 4 rounds at a gap of .*, above tol=1e-06; raise"):
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
    with pytest.warns(UserWarning, match=r"zero, and so it is for every C: .* lower k"):
        learner.fit(X, labels)
    learner, X, labels = small()
    with pytest.warns(UserWarning, match="zero, and so it is for every C"):
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
        InvalidInputError, match="X has 9 features and the metric to start from 10; set warm_start=False"
    ):
        learner.fit(X[:, :9], labels)
