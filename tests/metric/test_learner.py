"""The estimator as a scikit-learn user meets it."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.evaluation import label_scores, ranking_scorer, ranking_scores
from nearsong.metric import MetricLearningToRank

LOSSES = ["auc", "mrr", "ndcg", "map", "precision_at_k"]


def noisy_blobs(n=120, classes=3, noise_features=6, seed=0):
    """Classes in two features, drowned in louder noise features."""
    X, y = make_blobs(n, 2, centers=classes, cluster_std=0.7, random_state=seed)
    noise = 8.0 * np.random.default_rng(seed).normal(size=(n, noise_features))
    return np.hstack([StandardScaler().fit_transform(X), noise]), y


def same_label(y):
    return sp.csr_array(y[:, None] == y[None, :])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")
@parametrize_with_checks([MetricLearningToRank(), MetricLearningToRank(diagonal=True, C=100.0)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_learned_metric_ranks_better_than_the_native_one(loss, diagonal):
    X, y = noisy_blobs()
    learner = MetricLearningToRank(loss, C=1e3, diagonal=diagonal).fit(X[::2], y[::2])
    native = label_scores(X[1::2], y[1::2]).auc
    learned = label_scores(learner.transform(X[1::2]), y[1::2]).auc
    assert learned > native + 0.2


@pytest.mark.parametrize("diagonal", [False, True])
def test_components_reveal_the_rank_of_the_metric(diagonal):
    X, y = noisy_blobs()
    learner = MetricLearningToRank(C=100.0, diagonal=diagonal).fit(X, y)
    W, L = learner.get_mahalanobis_matrix(), learner.components_
    np.testing.assert_allclose(L.T @ L, W, atol=1e-12 * np.abs(W).max())
    np.testing.assert_array_equal(W, W.T)
    assert np.linalg.eigvalsh(W)[0] >= -1e-12 * np.trace(W)
    assert np.linalg.matrix_rank(W, tol=1e-10 * np.trace(W)) == len(L)
    assert np.all(np.diff(np.linalg.norm(L, axis=1)) <= 1e-12)
    if diagonal:
        np.testing.assert_array_equal(W, np.diag(np.diag(W)))


def test_euclidean_distance_after_transform_is_the_mahalanobis_distance():
    X, y = load_iris(return_X_y=True)
    learner = MetricLearningToRank(C=10.0).fit(X, y)
    step = X[3] - X[77]
    projected = learner.transform(X[[3, 77]])
    expected = step @ learner.get_mahalanobis_matrix() @ step
    assert np.sum((projected[0] - projected[1]) ** 2) == pytest.approx(expected)


def test_labels_and_the_same_relation_give_the_same_bytes():
    X, y = noisy_blobs()
    by_label = MetricLearningToRank(C=10.0).fit(X, y)
    names = np.array(["blues", "metal", "zydeco"])[y]
    for relation in (same_label(y), same_label(y).toarray(), names):
        other = MetricLearningToRank(C=10.0).fit(X, relation)
        assert other.components_.tobytes() == by_label.components_.tobytes()


def test_two_fits_give_the_same_bytes_and_so_do_two_batched_fits_with_one_seed():
    X, y = noisy_blobs()
    for parameters in ({}, {"batch_size": 20, "random_state": 3, "tol": 0.1}):
        first, second = (MetricLearningToRank(C=10.0, **parameters).fit(X, y).components_ for _ in range(2))
        assert first.tobytes() == second.tobytes()


def test_ignored_pairs_teach_nothing():
    X, y = noisy_blobs()
    relevant = same_label(y).tolil()
    misled = relevant.copy()
    wrong = np.random.default_rng(1).integers(len(y), size=(400, 2))
    wrong = wrong[y[wrong[:, 0]] != y[wrong[:, 1]]]
    misled[wrong[:, 0], wrong[:, 1]] = True
    ignored = sp.csr_array((np.ones(len(wrong)), wrong.T), shape=relevant.shape)
    with_lies = MetricLearningToRank(C=10.0).fit(X, sp.csr_array(misled), ignored)
    without = MetricLearningToRank(C=10.0).fit(X, sp.csr_array(relevant), ignored)
    assert with_lies.components_.tobytes() == without.components_.tobytes()


def test_a_directed_relation_is_learned_as_directed():
    X, y = noisy_blobs()
    upper = sp.csr_array(sp.triu(same_label(y)))
    with pytest.warns(UserWarning, match="are skipped as queries"):
        learner = MetricLearningToRank(C=100.0).fit(X, upper)
    with pytest.warns(UserWarning, match="are skipped as queries"):
        turned = MetricLearningToRank(C=100.0).fit(X, sp.csr_array(upper.T))
    assert learner.objective_ != pytest.approx(turned.objective_, rel=1e-3)


def test_the_history_tells_every_round():
    X, y = noisy_blobs()
    learner = MetricLearningToRank(C=100.0).fit(X, y)
    history = learner.history_
    assert [record.round for record in history] == list(range(1, learner.n_rounds_ + 1))
    assert np.all(np.diff([record.best for record in history]) <= 0)
    assert np.all(np.diff([record.lower_bound for record in history]) >= 0)
    assert all(record.lower_bound <= record.best * (1 + 1e-12) for record in history)
    assert all(record.oracle_seconds > 0 and record.constraints >= 1 and record.rank >= 1 for record in history)
    assert learner.converged_
    assert learner.gap_ == pytest.approx(1 - learner.lower_bound_ / learner.objective_)
    assert 0 <= learner.gap_ <= 1e-3


def test_too_few_rounds_warn_and_leave_the_best_metric_so_far():
    X, y = noisy_blobs()
    with pytest.warns(ConvergenceWarning, match="stopped after 5 rounds at a gap of"):
        learner = MetricLearningToRank(C=100.0, max_rounds=5).fit(X, y)
    assert not learner.converged_
    assert learner.objective_ == min(record.objective for record in learner.history_)


def test_a_callback_sees_each_round_and_can_end_the_fit():
    X, y = noisy_blobs()
    seen = []
    learner = MetricLearningToRank(C=100.0, callback=lambda record: seen.append(record) or len(seen) == 7)
    with pytest.warns(ConvergenceWarning):
        learner.fit(X, y)
    assert seen == learner.history_
    assert learner.n_rounds_ == 7


def test_verbose_prints_a_line_a_round(capsys):
    X, y = noisy_blobs()
    learner = MetricLearningToRank(C=10.0, verbose=True).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == learner.n_rounds_


def test_a_warm_start_needs_fewer_rounds():
    X, y = noisy_blobs()
    learner = MetricLearningToRank(C=100.0, warm_start=True).fit(X, y)
    cold = learner.n_rounds_
    assert learner.fit(X, y).n_rounds_ < cold
    with pytest.raises(InvalidInputError, match="set warm_start=False"):
        learner.fit(X[:, :3], y)


def test_a_path_holds_a_certified_metric_for_every_C():
    X, y = noisy_blobs()
    values = [1e3, 1e-4, 1.0, 10.0]
    path = MetricLearningToRank().fit_path(X, y, values)
    assert [learner.C for learner in path] == sorted(values)
    for learner in path:
        assert learner.gap_ <= 1e-3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            cold = clone(learner).fit(X, y)
        assert learner.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    assert not path[0].components_.any()
    assert path[0].transform(X).shape == (len(X), 1)


def test_a_path_defaults_to_the_twelve_values_of_the_paper():
    X, y = noisy_blobs(n=40)
    path = MetricLearningToRank(tol=0.1).fit_path(X, y)
    np.testing.assert_allclose([learner.C for learner in path], 10.0 ** np.arange(-2, 10))


def test_batches_learn_and_never_hold_all_pairs():
    X, y = noisy_blobs(n=600)
    learner = MetricLearningToRank(C=100.0, batch_size=60, tol=1e-2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(X, y)
    assert {record.phase for record in learner.history_} >= {"batch"}
    assert np.isnan(learner.gap_)
    assert label_scores(learner.transform(X), y).auc > label_scores(X, y).auc + 0.2


def test_more_than_20000_songs_are_learned_in_batches_in_bounded_memory():
    import tracemalloc

    X, y = noisy_blobs(n=20_001, classes=40, noise_features=2)
    learner = MetricLearningToRank(C=100.0, max_rounds=4, random_state=0)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning, match="mean objective of the batches"):
        learner.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6  # one byte a pair would be 400 MB


def test_a_batch_of_all_songs_is_the_full_fit():
    X, y = noisy_blobs()
    batched = MetricLearningToRank(C=10.0, batch_size=len(X)).fit(X, y)
    assert batched.components_.tobytes() == MetricLearningToRank(C=10.0).fit(X, y).components_.tobytes()


def test_it_works_in_a_pipeline_and_a_grid_search():
    X, y = noisy_blobs(n=90)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MetricLearningToRank(tol=1e-2)),
        {"metriclearningtorank__C": [1.0, 100.0], "metriclearningtorank__loss": ["auc", "map"]},
        scoring=ranking_scorer("auc"),
        cv=StratifiedKFold(3),
    ).fit(X, y)
    assert search.best_score_ > label_scores(StandardScaler().fit_transform(X), y).auc
    names = search.best_estimator_[-1].get_feature_names_out()
    assert names[0] == "metriclearningtorank0"


def test_songs_outside_the_training_set_can_be_queries():
    X, y = noisy_blobs()
    learner = MetricLearningToRank(C=100.0).fit(X[:80], y[:80])
    truth = sp.csr_array(y[80:, None] == y[None, :80])
    learned = ranking_scores(learner.transform(X[80:]), learner.transform(X[:80]), truth).auc
    assert learned > ranking_scores(X[80:], X[:80], truth).auc + 0.2


def test_queries_that_cannot_teach_are_skipped_counted_and_warned_about():
    X, y = noisy_blobs()
    y = y.copy()
    y[:5] = np.arange(100, 105)  # five classes of one song
    with pytest.warns(UserWarning, match="5 of 120 songs have no relevant or no irrelevant song"):
        learner = MetricLearningToRank(C=10.0).fit(X, y)
    assert learner.n_skipped_queries_ == 5


def test_a_zero_metric_warns_and_names_a_useful_C():
    X, y = noisy_blobs()
    with pytest.warns(UserWarning, match="the learned metric is zero: C=1e-06 is too small") as caught:
        learner = MetricLearningToRank(C=1e-6).fit(X, y)
    assert not learner.components_.any()
    assert learner.gap_ == 0.0
    named = float(str(caught[0].message).split("above ")[1].rstrip("."))
    assert MetricLearningToRank(C=3 * named).fit(X, y).components_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C=0.0 must be a finite number above 0"),
        ({"C": -1}, "C=-1 must be"),
        ({"C": np.nan}, "C=nan must be"),
        ({"C": "much"}, "C='much' must be"),
        ({"loss": "hinge"}, "loss='hinge' is unknown; choose one of auc, map, mrr, ndcg, precision_at_k"),
        ({"tol": 0.0}, "tol=0.0 must be a number between 0 and 1"),
        ({"tol": 1.0}, "tol=1.0 must be"),
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"k": 2.5}, "k=2.5 must be a whole number"),
        ({"batch_size": 0}, "batch_size=0 must be"),
        ({"max_rounds": 2}, "max_rounds=2 must be a whole number of at least 3"),
    ],
)
def test_a_bad_parameter_is_named(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match=message):
        MetricLearningToRank(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(29), r"y has shape \(29,\); one label for each of 30 songs"),
        (np.ones((30, 29)), r"relevance has shape \(30, 29\); 30 x 30 is needed"),
        (sp.eye_array(31), r"relevance has shape \(31, 31\)"),
        (np.full((30, 30), np.nan), "relevance has a NaN or infinite entry"),
        (None, "requires y to be passed"),
    ],
)
def test_bad_relevance_is_refused(y, message):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(InvalidInputError, match=message):
        MetricLearningToRank().fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_or_infinite_songs_are_refused(bad):
    X, y = load_iris(return_X_y=True)
    X[7, 2] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        MetricLearningToRank().fit(X, y)


def test_numbers_whose_square_overflows_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match=r"X has a value of .*e\+15\d; its square overflows"):
        MetricLearningToRank().fit(1e154 * X, y)


def test_ignored_of_the_wrong_shape_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match=r"ignored has shape \(3, 3\); 150 x 150"):
        MetricLearningToRank().fit(X, y, ignored=np.eye(3))


@pytest.mark.parametrize("y", [np.zeros(20), np.arange(20), sp.csr_array((20, 20)), np.ones((20, 20))])
def test_nothing_to_learn_from_is_an_error(y):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(NoUsableQueryError, match="none of the 20 songs has both"):
        MetricLearningToRank().fit(X, y)


def test_an_empty_path_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match="Cs is empty"):
        MetricLearningToRank().fit_path(X, y, [])


def test_transform_needs_a_fit_and_the_right_features():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        MetricLearningToRank().transform(X)
    learner = MetricLearningToRank(C=10.0).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but MetricLearningToRank is expecting 4"):
        learner.transform(X[:, :3])
