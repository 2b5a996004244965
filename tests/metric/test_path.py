"""Paths of C: every value has the certificate of a fit of its own, in fewer rounds."""

import numpy as np
import pytest

from nearsong.metric import MetricLearningToRank
from ranking_programs import (
    FULL_AND_DIAGONAL,
    LOSSES,
    assert_certified,
    hinge_objective,
    hinge_optimum,
    metric_of,
    random_problem,
    ranking_optimum,
    solver_of,
    zero_threshold,
)


def path_problem():
    rng = np.random.default_rng(60)
    labels = np.repeat(np.arange(8), 20)
    X = 2.0 * rng.standard_normal((8, 10))[labels] * (np.arange(10) < 4) + rng.standard_normal((160, 10))
    return X, labels


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", ["auc", "map"])
def test_a_path_finds_the_optima_of_cold_fits_in_fewer_rounds(loss, diagonal):
    X, labels = path_problem()
    learner = MetricLearningToRank(loss, diagonal=diagonal, tol=1e-3)
    Cs = np.logspace(-1.0, 4.5, 12)
    path = learner.fit_path(X, labels, Cs[::-1])
    assert [fitted.C for fitted in path] == list(Cs)
    cold = [MetricLearningToRank(loss, C, diagonal=diagonal, tol=1e-3).fit(X, labels) for C in Cs]
    for warm, alone in zip(path, cold, strict=True):
        assert warm.converged_
        assert warm.gap_ <= 1e-3
        assert warm.objective_ == pytest.approx(alone.objective_, rel=1e-3)
        assert warm.lower_bound_ <= alone.objective_ * (1.0 + 1e-12)
        assert alone.lower_bound_ <= warm.objective_ * (1.0 + 1e-12)
    assert sum(fitted.n_rounds_ for fitted in path) < sum(fitted.n_rounds_ for fitted in cold)


def test_a_path_gains_over_no_metric_what_a_precise_fit_does_where_there_is_little_to_gain():
    """MRR falls by a quarter of a percent, less than the tolerance: a certificate alone takes almost any metric."""
    rng = np.random.default_rng(64)
    labels = np.repeat(np.arange(40), 8)
    X = 0.4 * rng.standard_normal((40, 20))[labels] + rng.standard_normal((320, 20))
    Cs = [1e1, 1e2, 1e3, 1e4]
    path = MetricLearningToRank("mrr", tol=1e-2).fit_path(X, labels, Cs)
    for C, warm in zip(Cs, path, strict=True):
        precise = MetricLearningToRank("mrr", C, tol=1e-3).fit(X, labels)
        of_zero = precise.history_[0].objective
        assert warm.converged_
        assert of_zero - precise.objective_ < 0.01 * of_zero
        assert of_zero - warm.objective_ > 0.95 * (of_zero - precise.objective_)


def planted_relevance(n_artists, n_songs_each, d, rank=5, n_near=6):
    """Songs that show their artist's taste under noise; relevant are those of the artists with the nearest taste."""
    rng = np.random.default_rng(65)
    taste = rng.standard_normal((n_artists, rank))
    artist = np.repeat(np.arange(n_artists), n_songs_each)
    X = taste[artist] @ rng.standard_normal((rank, d)) / np.sqrt(rank) + rng.standard_normal((len(artist), d))
    distance = np.square(taste[:, None] - taste).sum(axis=2)
    near = np.argsort(distance, axis=1)[:, 1 : 1 + n_near]
    related = np.zeros((n_artists, n_artists), bool)
    np.put_along_axis(related, near, True, axis=1)
    return X * np.arange(1, d + 1) ** -0.6, related[artist][:, artist], artist[:, None] == artist


@FULL_AND_DIAGONAL
def test_mrr_has_its_certificate_up_to_the_papers_largest_C(diagonal):
    """Where nothing but the loss counts."""
    X, relevant, ignored = planted_relevance(n_artists=100, n_songs_each=2, d=30)
    learner = MetricLearningToRank("mrr", diagonal=diagonal, tol=1e-2, max_rounds=100)
    path = learner.fit_path(X, relevant, 10.0 ** np.arange(-2, 10), ignored=ignored)
    assert path[-1].C == 1e9
    for fitted in path:
        assert fitted.gap_ <= 1e-2
        assert fitted.n_rounds_ <= 100
        assert fitted.converged_
    loss_of_zero = path[0].history_[0].objective / path[0].C
    assert path[-1].lower_bound_ >= 0.99 * path[-1].objective_
    assert path[-1].objective_ < path[-1].C * loss_of_zero  # something is learned


def test_bounds_along_a_path_hold_for_each_C():
    problem = random_problem(61, n=14, d=4)
    threshold = zero_threshold(problem)
    with solver_of(problem) as solver:
        start = None
        for C in threshold * np.array([0.5, 1.01, 3.0, 30.0, 1e3, 10.0, 1e5]):  # down again in between
            solution = solver.solve(C, 1e-4, 300, start)
            assert_certified(solution, hinge_optimum(problem, C, False), tol=1e-4)
            start = solution.factor


@FULL_AND_DIAGONAL
def test_every_C_of_a_path_has_a_certificate_of_the_semidefinite_program(diagonal):
    problem = random_problem(62, n=14, d=4)
    Cs = zero_threshold(problem, diagonal=diagonal) * np.array([0.5, 1.01, 3.0, 30.0, 1e3, 1e5])
    with solver_of(problem, diagonal=diagonal) as solver:
        path = solver.solve_path(Cs, 1e-4, 300)
    for C, solution in zip(Cs, path, strict=True):
        assert_certified(solution, hinge_optimum(problem, C, diagonal), tol=1e-4)
        assert solution.objective == pytest.approx(hinge_objective(problem, metric_of(solution), C), rel=1e-9)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_certificates_along_a_path(loss, diagonal):
    problem = random_problem(63, n=7, d=2, ignoring=0.1)
    Cs = zero_threshold(problem, loss, 3, diagonal) * np.array([2.0, 50.0, 1e3])
    with solver_of(problem, loss, 3, diagonal) as solver:
        path = solver.solve_path(Cs, 1e-4, 300)
    for C, solution in zip(Cs, path, strict=True):
        assert_certified(solution, ranking_optimum(problem, C, diagonal, loss, 3), tol=1e-4)


def test_a_path_gives_the_same_bytes_again():
    X, labels = path_problem()
    first, second = (MetricLearningToRank("mrr", tol=1e-2).fit_path(X, labels, [1.0, 1e2, 1e6]) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.components_.tobytes() == other.components_.tobytes()


@pytest.mark.filterwarnings("ignore:stopped after")
def test_a_callback_that_stops_ends_each_value_of_a_path_for_good():
    X, labels = path_problem()
    path = MetricLearningToRank(callback=lambda record: record.round == 3).fit_path(X, labels, [1e3, 1e5])
    assert [fitted.n_rounds_ for fitted in path] == [3, 3]


def test_the_default_path_is_the_papers_twelve_values():
    X, labels = path_problem()
    path = MetricLearningToRank(diagonal=True, tol=1e-2).fit_path(X, labels)
    np.testing.assert_allclose([fitted.C for fitted in path], 10.0 ** np.arange(-2, 10))
    objectives = [fitted.objective_ for fitted in path]
    assert objectives == sorted(objectives)
