"""The learner at work: warm starts, callbacks, and songs in batches."""

import re
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearsong.evaluation import label_scores
from nearsong.metric import MetricLearningToRank, order_feature
from nearsong.metric import learner as learner_module
from nearsong.metric.learner import _query_set
from nearsong.metric.order_feature import RankingOracle
from planted_songs import FULL_AND_DIAGONAL, may_not_converge, planted, small

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


def test_callback_gets_every_round():
    rounds = []
    learner, X, labels = small(callback=rounds.append)
    assert learner.fit(X, labels).history_ == rounds


@pytest.mark.parametrize("last", [1, 2, 5])
def test_callback_can_end_the_fit(last):
    learner, X, labels = small(callback=lambda record: record.round == last)
    with pytest.warns(ConvergenceWarning, match=f"stopped after {last} rounds with a gap of"):
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


@may_not_converge
def test_a_path_in_batches_is_as_good_as_fits_in_batches_and_never_ranks_all_queries_at_once():
    X, labels = planted(400, seed=1)
    learner = MetricLearningToRank(batch_size=50, max_rounds=120, random_state=0)
    unbatched, counted = RankingOracle.cutting_plane, []

    def counting(oracle, factor, batch=None):
        counted.append(len(oracle.queries.usable) if batch is None else len(batch))
        return unbatched(oracle, factor, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RankingOracle, "cutting_plane", counting)
        path = learner.fit_path(X, labels, Cs=[3.0, 30.0, 300.0])
    assert counted
    assert max(counted) == 50
    for fitted in path:
        alone = clone(learner).set_params(C=fitted.C).fit(X, labels)
        assert np.isnan(fitted.gap_)
        assert {record.phase for record in fitted.history_[-20:]} == {"batch"}
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=0.1)
        assert label_scores(fitted.transform(X), labels).auc > label_scores(X, labels).auc + 0.1
    largest = clone(learner).set_params(C=300.0).fit(X, labels)  # where the path begins
    np.testing.assert_array_equal(path[-1].components_, largest.components_)


@pytest.mark.parametrize("batch_size", [40, 41, 10_000])
def test_a_batch_of_all_songs_is_the_full_fit(batch_size):
    learner, X, labels = small()
    expected = learner.fit(X, labels)
    complete = clone(learner).set_params(batch_size=batch_size).fit(X, labels)
    assert complete.components_.tobytes() == expected.components_.tobytes()
    assert complete.gap_ == expected.gap_


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


@may_not_converge
def test_a_fit_with_more_songs_than_the_limit_uses_batches(monkeypatch):
    assert learner_module.MAX_FULL_SONGS == 20_000
    monkeypatch.setattr(learner_module, "MAX_FULL_SONGS", 60)
    X, labels = planted(61)
    fits = [MetricLearningToRank(C=30.0, max_rounds=5, random_state=0).fit(X[:n], labels[:n]) for n in (60, 61)]
    assert [fitted.history_[-1].phase == "batch" for fitted in fits] == [False, True]


@may_not_converge
def test_a_batch_has_a_thousand_songs_unless_another_number_is_given(monkeypatch):
    monkeypatch.setattr(learner_module, "MAX_FULL_SONGS", 60)
    X, labels = planted(1_100)
    usual, given = (
        MetricLearningToRank(C=30.0, max_rounds=5, batch_size=size, random_state=0).fit(X, labels)
        for size in (None, 1_000)
    )
    assert usual.history_[-1].phase == "batch"
    np.testing.assert_array_equal(usual.components_, given.components_)
