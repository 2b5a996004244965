"""The solver against semidefinite programs: the optimum, the certificate, and what must not change either."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import ortho_group

from nearsong.metric.cones import DiagonalCone, PSDCone
from nearsong.metric.coordinates import Coordinates
from ranking_programs import (
    FULL_AND_DIAGONAL,
    LOSSES,
    assert_certified,
    hard_margin_optimum,
    hinge_objective,
    hinge_optimum,
    metric_of,
    random_problem,
    ranking_objective,
    ranking_optimum,
    solve,
    solver_of,
    zero_threshold,
)

# The optimum


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("seed", range(4))
def test_auc_fit_reaches_the_optimum_of_the_semidefinite_program(seed, diagonal):
    problem = random_problem(seed, n=8 + 2 * seed, d=2 + seed % 3)
    threshold = zero_threshold(problem, diagonal=diagonal)
    for factor in (0.5, 1.5, 10.0, 1e3, 1e6):
        C = factor * threshold
        solution = solve(problem, C, diagonal=diagonal)
        assert_certified(solution, hinge_optimum(problem, C, diagonal), tol=1e-4)
        assert solution.objective == pytest.approx(hinge_objective(problem, metric_of(solution), C), rel=1e-9)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_reaches_the_optimum_over_all_enumerated_rankings(loss, k, diagonal):
    if k is None and loss == "precision_at_k":
        k = 3
    for seed in (10, 11):
        problem = random_problem(seed, n=7, d=2, ignoring=0.1)
        threshold = zero_threshold(problem, loss, k, diagonal)
        for C in (2.0 * threshold, 50.0 * threshold):
            solution = solve(problem, C, loss, k, diagonal)
            assert_certified(solution, ranking_optimum(problem, C, diagonal, loss, k or 7), tol=1e-4)
            by_hand = ranking_objective(problem, metric_of(solution), C, loss, k or 7)
            assert solution.objective == pytest.approx(by_hand, rel=1e-9)


def test_the_two_references_agree_on_auc():
    problem = random_problem(3, n=7, d=2)
    assert hinge_optimum(problem, 3.0, False) == pytest.approx(
        ranking_optimum(problem, 3.0, False, "auc", 7), rel=1e-6
    )


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-9])
def test_the_optimum_is_reached_to_any_tolerance(tol, diagonal):
    problem = random_problem(5, n=14, d=4)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    assert_certified(solve(problem, C, diagonal=diagonal, tol=tol), hinge_optimum(problem, C, diagonal), tol)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("seed", [5, 8, 10, 14])
def test_separable_songs_reach_the_hard_margin_however_large_C_is(seed, diagonal):
    # The descent ends where the slack is zero and its plane flat: the first bundle step knows no curvature there.
    problem = random_problem(seed, n=7, d=2, ignoring=0.3)
    optimum = hard_margin_optimum(problem, diagonal)
    threshold = zero_threshold(problem, diagonal=diagonal)
    for factor in (1e4, 1e6, 1e8):
        solution = solve(problem, factor * threshold, diagonal=diagonal, tol=1e-3, max_rounds=200)
        assert_certified(solution, optimum, tol=1e-3)


@FULL_AND_DIAGONAL
def test_a_tolerance_below_rounding_ends_without_an_error(diagonal):
    problem = random_problem(6, n=14, d=4)
    solution = solve(problem, 30.0 * zero_threshold(problem), diagonal=diagonal, tol=1e-17, max_rounds=2_000)
    assert abs(solution.gap) < 1e-11


# The certificate


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_rise_objectives_fall_and_never_cross(loss, diagonal):
    problem = random_problem(20, n=40, d=6)
    C = 100.0 * zero_threshold(problem, loss, 5, diagonal)
    solution = solve(problem, C, loss, 5, diagonal, tol=1e-5)
    history = solution.history
    assert solution.converged
    assert [record.round for record in history] == list(range(1, len(history) + 1))
    assert {record.phase for record in history} <= {"start", "descent", "bundle", "certificate"}
    for earlier, later in pairwise(history):
        assert later.lower_bound >= earlier.lower_bound
        assert later.best <= earlier.best
    np.testing.assert_array_equal(
        [record.best for record in history], np.minimum.accumulate([record.objective for record in history])
    )
    ceiling = min(record.objective for record in history) * (1.0 + 1e-12)
    assert max(record.lower_bound for record in history) <= solution.lower_bound <= ceiling
    assert solution.objective == history[-1].best
    assert solution.gap == (solution.objective - solution.lower_bound) / solution.objective


@FULL_AND_DIAGONAL
def test_bounds_hold_at_metrics_the_solver_never_saw(diagonal):
    problem = random_problem(21)
    C = 20.0 * zero_threshold(problem, diagonal=diagonal)
    solution = solve(problem, C, diagonal=diagonal)
    rng = np.random.default_rng(0)
    size = np.sqrt(np.trace(metric_of(solution)))
    for _ in range(200):
        factor = size * rng.uniform(0.0, 2.0) * rng.standard_normal((rng.integers(1, 4), 3)) / 3.0
        W = factor.T @ factor
        W = np.diag(np.diag(W)) if diagonal else W
        assert hinge_objective(problem, W, C) >= solution.lower_bound


# Geometry


def test_metric_is_symmetric_and_positive_semidefinite():
    for seed in range(3):
        problem = random_problem(seed, n=14, d=4)
        W = metric_of(solve(problem, 100.0 * zero_threshold(problem)))
        np.testing.assert_array_equal(W, W.T)
        assert np.linalg.eigvalsh(W)[0] >= -1e-12 * np.trace(W)


def test_rotating_the_songs_rotates_the_metric():
    X, relevant, ignored = problem = random_problem(30, n=14, d=3)
    C = 30.0 * zero_threshold(problem)
    turn = ortho_group.rvs(3, random_state=1)
    plain = solve(problem, C, tol=1e-9)
    turned = solve((X @ turn, relevant, ignored), C, tol=1e-9)
    assert turned.objective == pytest.approx(plain.objective, rel=2e-9)
    size = np.trace(metric_of(plain))
    np.testing.assert_allclose(metric_of(turned), turn.T @ metric_of(plain) @ turn, atol=1e-4 * size)


@FULL_AND_DIAGONAL
def test_order_and_origin_of_the_songs_do_not_matter(diagonal):
    X, relevant, ignored = problem = random_problem(31, n=14, d=3)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    plain = solve(problem, C, diagonal=diagonal, tol=1e-9)
    size = np.trace(metric_of(plain))
    order = np.random.default_rng(0).permutation(14)
    shuffled = (X[order], relevant[np.ix_(order, order)], ignored[np.ix_(order, order)])
    moved = (X + np.array([1000.0, -10000.0, 7.0]), relevant, ignored)
    for other in (shuffled, moved):
        solution = solve(other, C, diagonal=diagonal, tol=1e-9)
        assert solution.objective == pytest.approx(plain.objective, rel=1e-8)
        np.testing.assert_allclose(metric_of(solution), metric_of(plain), atol=1e-4 * size)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_unit_of_the_songs_only_changes_the_unit_of_the_metric(scale, diagonal):
    X, relevant, ignored = problem = random_problem(32, n=14, d=3)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    plain = solve(problem, C, diagonal=diagonal, tol=1e-6)
    scaled = solve((scale * X, relevant, ignored), C / scale**2, diagonal=diagonal, tol=1e-6)
    assert scaled.objective * scale**2 == pytest.approx(plain.objective, rel=2e-6)


@FULL_AND_DIAGONAL
def test_features_in_which_no_songs_differ_get_no_weight(diagonal):
    X, relevant, ignored = problem = random_problem(33, n=12, d=3)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    wider = (np.column_stack([np.full(12, 0.1), X, np.zeros(12)]), relevant, ignored)
    solution = solve(wider, C, diagonal=diagonal)
    plain = solve(problem, C, diagonal=diagonal)
    assert solution.objective == pytest.approx(plain.objective, rel=2e-4)
    np.testing.assert_allclose(metric_of(solution)[[0, 4]], 0.0, atol=1e-12 * np.trace(metric_of(plain)))


@FULL_AND_DIAGONAL
def test_more_features_than_songs_are_no_obstacle(diagonal):
    problem = random_problem(34, n=8, d=12)
    C = 10.0 * zero_threshold(problem, diagonal=diagonal)
    assert_certified(solve(problem, C, diagonal=diagonal), hinge_optimum(problem, C, diagonal), tol=1e-4)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
def test_identical_songs_give_the_zero_metric(value, diagonal):
    _, relevant, ignored = random_problem(35)
    solution = solve((np.full((12, 3), value), relevant, ignored), 1.0, diagonal=diagonal)
    assert solution.converged
    assert not solution.factor.any()
    assert solution.objective == 1.0


def test_coordinates_keep_distances_and_traces():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 4)) + 5.0
    for diagonal in (False, True):
        coordinates = Coordinates.of(X, diagonal)
        inside = coordinates.transform(X)
        factor = rng.uniform(0.5, 2.0, 4) if diagonal else rng.standard_normal((2, 4))
        outside = coordinates.factor_out(factor)
        project = np.multiply if diagonal else lambda songs, L: songs @ L.T
        ours, theirs = project(inside, factor), project(X, outside)
        np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-12)
        np.testing.assert_allclose(coordinates.factor_in(outside), factor)
        cone = DiagonalCone() if diagonal else PSDCone()
        trace = np.vdot(cone.regulariser(coordinates.scale), cone.from_factor(factor))
        assert trace == pytest.approx(np.sum(outside**2))


# W = 0


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", ["auc", "mrr", "map", "ndcg"])
def test_zero_is_optimal_up_to_the_named_C_and_not_above(loss, diagonal):
    problem = random_problem(40, n=7, d=2, ignoring=0.0)
    threshold = zero_threshold(problem, loss, None, diagonal)
    at_zero = ranking_objective(problem, np.zeros((2, 2)), 1.0, loss, 7)
    for C in (1e-9 * threshold, 0.5 * threshold, threshold):
        solution = solve(problem, C, loss, None, diagonal)
        assert not solution.factor.any()
        assert solution.gap == 0.0
        assert solution.converged
        assert len(solution.history) == 1
        assert solution.objective == solution.lower_bound == pytest.approx(C * at_zero, rel=1e-12)
    below, above = 0.99 * threshold, 1.05 * threshold
    assert ranking_optimum(problem, below, diagonal, loss, 7) == pytest.approx(below * at_zero, rel=1e-6)
    assert ranking_optimum(problem, above, diagonal, loss, 7) < above * at_zero * (1.0 - 1e-5)
    solution = solve(problem, above, loss, None, diagonal, tol=1e-6)
    assert solution.factor.any()
    assert solution.objective < above * at_zero * (1.0 - 1e-5)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_breaks_a_hair_above_the_threshold(loss, diagonal):
    problem = random_problem(41, n=14, d=4)
    threshold = zero_threshold(problem, loss, 3, diagonal)
    at_zero = solve(problem, threshold / 2.0, loss, 3, diagonal).objective / (threshold / 2.0)
    with solver_of(problem, loss, 3, diagonal) as solver:
        for excess in (2e-16, 1e-15, 1e-14, 1e-12, 1e-9, 1e-6):
            C = threshold * (1.0 + excess)
            for solution in (solver.solve(C, 1e-4, 300), solve(problem, C, loss, 3, diagonal)):
                assert solution.converged
                assert solution.lower_bound <= solution.objective * (1.0 + 1e-12)
                assert solution.objective == pytest.approx(C * at_zero, rel=1e-4)


@FULL_AND_DIAGONAL
def test_cut_losses_certify_zero_beyond_the_named_C(diagonal):
    # Below the cut all ranks score the same, so other rankings than the one found first may be as bad at W = 0.
    problem = random_problem(42, n=7, d=2, ignoring=0.0)
    threshold = zero_threshold(problem, "precision_at_k", 1, diagonal)
    for factor in (1.1, 2.0, 5.0):
        solution = solve(problem, factor * threshold, "precision_at_k", 1, diagonal)
        optimum = ranking_optimum(problem, factor * threshold, diagonal, "precision_at_k", 1)
        assert_certified(solution, optimum, tol=1e-4)


# Determinism


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_problem_gives_the_same_bytes(loss, diagonal):
    problem = random_problem(50, n=60, d=8)
    C = 100.0 * zero_threshold(problem, loss, 5, diagonal)
    first, second = (solve(problem, C, loss, 5, diagonal) for _ in range(2))
    assert first.factor.tobytes() == second.factor.tobytes()
    assert [record.objective for record in first.history] == [record.objective for record in second.history]


# How a solve ends


@pytest.mark.parametrize("last", [1, 2, 3, 7])
def test_callback_ends_a_solve_with_the_best_metric_so_far(last):
    problem = random_problem(90, n=14, d=4)
    C = 30.0 * zero_threshold(problem)
    records = []

    def stop(record):
        records.append(record)
        return record.round == last

    solution = solve(problem, C, tol=1e-12, callback=stop)
    assert solution.history == records
    assert len(records) == last
    assert not solution.converged
    assert solution.objective == min(record.objective for record in records)
    assert solution.objective == pytest.approx(hinge_objective(problem, metric_of(solution), C), rel=1e-9)
    assert solution.zero_up_to == pytest.approx(zero_threshold(problem))


@pytest.mark.parametrize("most", [3, 5, 20])
def test_no_more_rounds_than_allowed(most):
    problem = random_problem(91, n=14, d=4)
    solution = solve(problem, 30.0 * zero_threshold(problem), tol=1e-12, max_rounds=most)
    assert len(solution.history) == most
    assert not solution.converged


def test_a_start_at_the_optimum_needs_few_rounds():
    problem = random_problem(92, n=40, d=6)
    C = 30.0 * zero_threshold(problem)
    cold = solve(problem, C, tol=1e-4)
    warm = solve(problem, C, tol=1e-4, start=cold.factor)
    assert len(warm.history) < len(cold.history)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-4)
