"""The solver against semidefinite programs: the optimum, the certificate, and every part that finds them."""

from itertools import pairwise, permutations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.stats import ortho_group

from nearsong.metric import MetricLearningToRank
from nearsong.metric import bundle as bundle_module
from nearsong.metric.bundle import Bundle
from nearsong.metric.cones import DiagonalCone, PSDCone
from nearsong.metric.coordinates import Coordinates
from nearsong.metric.queries import ItemLists, QuerySet
from nearsong.metric.simplex import maximise_on_simplex
from nearsong.metric.solver import RankingSolver

LOSSES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
FULL_AND_DIAGONAL = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


# Problems and their optimum, by means that share nothing with the solver


def random_problem(seed, n=12, d=3, ignoring=0.15):
    """Songs with a directed relevance that X explains in part, and some ignored pairs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 3.0, d)
    hidden = X @ rng.standard_normal((d, 1)) + 0.7 * rng.standard_normal((n, 1))
    distances = np.abs(hidden - hidden.T) + rng.uniform(0.0, 0.5, (n, n))
    relevant = distances < np.quantile(distances, 0.35)
    return X, relevant, rng.random((n, n)) < ignoring


def query_lists(relevant, ignored):
    """Yield (query, relevant songs, irrelevant songs) of every query that has both."""
    n = len(relevant)
    for q in range(n):
        counted = ~ignored[q] & (np.arange(n) != q)
        good, bad = np.flatnonzero(relevant[q] & counted), np.flatnonzero(~relevant[q] & counted)
        if len(good) and len(bad):
            yield q, good, bad


def features(X, q, songs, diagonal):
    """Return rows f with d(q, song) = f . W."""
    offsets = X[songs] - X[q]
    if diagonal:
        return offsets**2
    return (offsets[:, :, None] * offsets[:, None, :]).reshape(len(songs), -1)


def hinge_rows(X, relevant, ignored, diagonal):
    """Return rows A and weights w with mean slack = w . max(0, 1 - 2 A W), one row for every pair of every query."""
    rows, weights = [], []
    for q, good, bad in query_lists(relevant, ignored):
        near, far = features(X, q, good, diagonal), features(X, q, bad, diagonal)
        rows.append((far[None] - near[:, None]).reshape(-1, near.shape[1]))
        weights.append(np.full(len(rows[-1]), 1.0 / len(rows[-1])))
    return np.concatenate(rows), np.concatenate(weights) / len(rows)


def score(hits, k, loss):
    """Score a ranking, given as 0/1 from the top down."""
    ranks = np.flatnonzero(hits) + 1
    n_relevant = len(ranks)
    if loss == "auc":
        return np.mean(ranks[:, None] < np.flatnonzero(~hits) + 1)
    if loss == "mrr":
        return 1.0 / ranks[0]
    if loss == "map":
        return np.mean(np.arange(1, n_relevant + 1) / ranks)
    if loss == "ndcg":
        ideal = np.sum(1.0 / np.log2(1.0 + np.arange(1, min(k, n_relevant) + 1)))
        return np.sum(1.0 / np.log2(1.0 + ranks[ranks <= k])) / ideal
    return np.sum(ranks <= k) / k


def ranking_rows(X, relevant, ignored, diagonal, loss, k):
    """Return (delta, row, query number) of every ranking of every query: slack_q >= delta + row . W."""
    deltas, rows, owners = [], [], []
    for owner, (q, good, bad) in enumerate(query_lists(relevant, ignored)):
        near, far = features(X, q, good, diagonal), features(X, q, bad, diagonal)
        songs = np.arange(len(good) + len(bad))
        best = score(songs < len(good), k, loss)
        seen = set()
        for ranking in permutations(songs):
            place = np.argsort(ranking)
            swapped = place[: len(good), None] > place[None, len(good) :]
            if swapped.tobytes() in seen:
                continue
            seen.add(swapped.tobytes())
            deltas.append(best - score(np.array(ranking) < len(good), k, loss))
            rows.append(2.0 * (swapped.sum(1) @ near - swapped.sum(0) @ far) / swapped.size)
            owners.append(owner)
    return np.array(deltas), np.array(rows), np.array(owners)


def metric_variable(d, diagonal):
    """Return W as a cvxpy variable, its entries as a vector, and its trace."""
    if diagonal:
        W = cp.Variable(d, nonneg=True)
        return W, W, cp.sum(W)
    W = cp.Variable((d, d), PSD=True)
    return W, cp.vec(W, order="C"), cp.trace(W)


def hinge_optimum(problem, C, diagonal):
    """Minimise trace + C * mean pairwise hinge as a semidefinite (or linear) program."""
    X = problem[0]
    rows, weights = hinge_rows(*problem, diagonal)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    program = cp.Problem(cp.Minimize(trace + C * weights @ cp.pos(1.0 - 2.0 * rows @ entries)))
    return program.solve(solver=cp.CLARABEL)


def hard_margin_optimum(problem, diagonal):
    """Minimise the trace among the metrics without slack: the limit of large C when there are any."""
    X = problem[0]
    rows, _ = hinge_rows(*problem, diagonal)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    return cp.Problem(cp.Minimize(trace), [2.0 * rows @ entries >= 1.0]).solve(solver=cp.CLARABEL)


def ranking_optimum(problem, C, diagonal, loss, k):
    """Minimise trace + C * mean slack with one constraint for every ranking of every query."""
    X = problem[0]
    deltas, rows, owners = ranking_rows(*problem, diagonal, loss, k)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    slack = cp.Variable(owners.max() + 1)
    program = cp.Problem(cp.Minimize(trace + C * cp.mean(slack)), [slack[owners] >= deltas + rows @ entries])
    return program.solve(solver=cp.CLARABEL)


def hinge_objective(problem, W, C):
    rows, weights = hinge_rows(*problem, diagonal=False)
    return np.trace(W) + C * weights @ np.maximum(0.0, 1.0 - 2.0 * rows @ W.ravel())


def ranking_objective(problem, W, C, loss, k):
    deltas, rows, owners = ranking_rows(*problem, False, loss, k)
    heights = deltas + rows @ W.ravel()
    return np.trace(W) + C * np.mean([heights[owners == owner].max() for owner in range(owners.max() + 1)])


# The solver's answer to the same problems


def solver_of(problem, loss="auc", k=None, diagonal=False):
    X, relevant, ignored = problem
    lists = [ItemLists.from_relation(sp.csr_array(relation)) for relation in (relevant, ignored)]
    return RankingSolver(X, QuerySet.from_lists(*lists), loss, k, diagonal)


def solve(problem, C, loss="auc", k=None, diagonal=False, tol=1e-4, max_rounds=600, **kwargs):
    with solver_of(problem, loss, k, diagonal) as solver:
        return solver.solve(C, tol, max_rounds, **kwargs)


def metric_of(solution):
    factor = solution.factor
    return np.diag(factor**2) if factor.ndim == 1 else factor.T @ factor


def zero_threshold(problem, loss="auc", k=None, diagonal=False):
    return solve(problem, 1e-12, loss, k, diagonal).zero_up_to


def assert_certified(solution, optimum, tol, slop=1e-6):
    """The optimum lies between bound and objective in every round, and the gap is what it is said to be."""
    assert solution.converged
    assert 0.0 <= solution.gap <= tol
    assert solution.objective == pytest.approx(optimum, rel=tol + slop)
    assert solution.objective >= optimum * (1.0 - slop)
    assert solution.lower_bound <= optimum * (1.0 + slop)
    for record in solution.history:
        assert record.objective >= optimum * (1.0 - slop)
        assert record.lower_bound <= optimum * (1.0 + slop)


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
        inside = coordinates.enter(X)
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
    with solver_of(problem, loss, 3, diagonal) as solver:
        for excess in (2e-16, 1e-15, 1e-14, 1e-12, 1e-9, 1e-6):
            C = threshold * (1.0 + excess)
            for solution in (solver.solve(C, 1e-4, 300), solve(problem, C, loss, 3, diagonal)):
                assert solution.converged
                assert solution.lower_bound <= solution.objective * (1.0 + 1e-12)
                assert solution.objective == pytest.approx(C * solver._zero_slack, rel=1e-4)


@FULL_AND_DIAGONAL
def test_cut_losses_certify_zero_beyond_the_named_C(diagonal):
    # Below the cut all places score the same, so other rankings than the one found first may be as bad at W = 0.
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


# The path of C


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


def test_bounds_along_a_path_hold_for_each_C():
    problem = random_problem(61, n=14, d=4)
    threshold = zero_threshold(problem)
    with solver_of(problem) as solver:
        start = None
        for C in threshold * np.array([0.5, 1.01, 3.0, 30.0, 1e3, 10.0, 1e5]):  # down again in between
            solution = solver.solve(C, 1e-4, 300, start)
            assert_certified(solution, hinge_optimum(problem, C, False), tol=1e-4)
            start = solution.factor


def test_the_default_path_is_the_papers_twelve_values():
    X, labels = path_problem()
    path = MetricLearningToRank(diagonal=True, tol=1e-2).fit_path(X, labels)
    np.testing.assert_allclose([fitted.C for fitted in path], 10.0 ** np.arange(-2, 10))
    objectives = [fitted.objective_ for fitted in path]
    assert objectives == sorted(objectives)


# The quadratic program on the simplex


def random_program(rng, m, rank):
    rows = rng.standard_normal((m, rank))
    return rows @ rows.T, rng.standard_normal(m)


@pytest.mark.parametrize(("m", "rank"), [(1, 1), (2, 2), (6, 6), (12, 3), (30, 30), (40, 5)])
def test_simplex_program_reaches_the_maximum_and_stays_feasible(m, rank):
    rng = np.random.default_rng(m)
    for total in (1.0, 7.0):
        H, c = random_program(rng, m, rank)
        weights = rng.dirichlet(np.ones(m)) * total

        def value(a, H=H, c=c):
            return c @ a - a @ H @ a / 2.0

        before = value(weights)
        maximise_on_simplex(H, c, weights, 1e-10, 100_000)
        assert weights.min() >= 0.0
        assert weights.sum() == pytest.approx(total, rel=1e-12)
        assert value(weights) >= before
        reference = minimize(
            lambda a, value=value: -value(a),
            np.full(m, total / m),
            jac=lambda a, H=H, c=c: H @ a - c,
            method="SLSQP",
            bounds=[(0.0, None)] * m,
            constraints=[{"type": "eq", "fun": lambda a, total=total: a.sum() - total, "jac": np.ones_like}],
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert value(weights) == pytest.approx(-reference.fun, abs=1e-6)
        # Optimality needs no reference: no exchange of mass gains.
        slope = c - H @ weights
        assert slope.max() - slope[weights > 0.0].min() <= 1e-9


def test_simplex_program_is_no_worse_after_any_number_of_steps():
    H, c = random_program(np.random.default_rng(1), 20, 8)
    values = []
    for steps in range(40):
        weights = np.full(20, 0.05)
        maximise_on_simplex(H, c, weights, 0.0, steps)
        values.append(c @ weights - weights @ H @ weights / 2.0)
    assert np.all(np.diff(values) >= -1e-14)


def test_simplex_program_survives_planes_that_coincide():
    H = np.ones((4, 4))
    weights = np.full(4, 0.25)
    maximise_on_simplex(H, np.array([0.0, 1.0, 1.0, -1.0]), weights, 1e-12, 1000)
    np.testing.assert_allclose(weights[[0, 3]], 0.0, atol=1e-12)
    assert weights.sum() == pytest.approx(1.0)


# A bundle step


def random_bundle(rng, d, n_planes, diagonal):
    cone = DiagonalCone() if diagonal else PSDCone()
    scale = rng.uniform(0.5, 2.0, d)
    bundle = Bundle(cone, scale)
    planes = []
    for _ in range(n_planes):
        gradient = rng.standard_normal(d) if diagonal else rng.standard_normal((d, d))
        gradient = gradient if diagonal else (gradient + gradient.T) / 2.0
        planes.append((rng.uniform(0.0, 1.0), gradient))
        bundle.add(*planes[-1])
    factor = rng.standard_normal(d) if diagonal else rng.standard_normal((d, d))
    return bundle, planes, cone.from_factor(factor)


def model_program(bundle, planes, C, mu=0.0, centre=None):
    """Minimise the model (with its proximal term) and return the value and the metric."""
    diagonal = bundle.regulariser.ndim == 1
    W, _, _ = metric_variable(len(bundle.scale), diagonal)
    height = cp.Variable(nonneg=True)
    objective = cp.sum(cp.multiply(bundle.regulariser, W)) + C * height
    if centre is not None:
        objective += mu / 2.0 * cp.sum_squares(W - centre)
    constraints = [height >= loss + cp.sum(cp.multiply(gradient, W)) for loss, gradient in planes]
    program = cp.Problem(cp.Minimize(objective), constraints)
    return program.solve(solver=cp.CLARABEL), W.value


def model_value(bundle, planes, C, W):
    heights = [loss + np.vdot(gradient, W) for loss, gradient in planes]
    return np.vdot(bundle.regulariser, W) + C * max(0.0, *heights)


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("mu", [0.1, 1.0, 30.0])
def test_bundle_step_solves_the_proximal_model(mu, diagonal, monkeypatch):
    monkeypatch.setattr(bundle_module, "_INNER_ACCURACY", 1e-7)
    monkeypatch.setattr(bundle_module, "_INNER_STEPS", 200)
    rng = np.random.default_rng(70)
    for C in (0.3, 5.0):
        bundle, planes, centre = random_bundle(rng, 4, 7, diagonal)
        value, W = model_program(bundle, planes, C, mu, centre)
        step = bundle.step(C, mu, centre, model_value(bundle, planes, C, centre) + 1.0)
        point = step.projection.point
        reached = model_value(bundle, planes, C, point) + mu / 2.0 * np.sum((point - centre) ** 2)
        assert reached == pytest.approx(value, rel=1e-6)
        assert step.model_value == pytest.approx(model_value(bundle, planes, C, point))
        np.testing.assert_allclose(point, W, atol=1e-3)
        np.testing.assert_allclose(bundle.cone.from_factor(step.projection.factor), point, atol=1e-12)


@FULL_AND_DIAGONAL
def test_bundle_step_is_as_accurate_as_it_promises(diagonal):
    rng = np.random.default_rng(71)
    for _ in range(5):
        bundle, planes, centre = random_bundle(rng, 4, 7, diagonal)
        objective = model_value(bundle, planes, 2.0, centre) + 0.5
        value, _ = model_program(bundle, planes, 2.0, 1.0, centre)
        point = bundle.step(2.0, 1.0, centre, objective).projection.point
        reached = model_value(bundle, planes, 2.0, point) + 0.5 * np.sum((point - centre) ** 2)
        assert reached - value <= 0.05 * (objective - reached) + 1e-6


@FULL_AND_DIAGONAL
def test_bundle_bound_never_exceeds_the_minimum_of_the_model(diagonal):
    rng = np.random.default_rng(72)
    for mu in (1e-3, 0.1, 10.0):
        bundle, planes, centre = random_bundle(rng, 3, 6, diagonal)
        minimum, _ = model_program(bundle, planes, 2.0)
        step = bundle.step(2.0, mu, centre, model_value(bundle, planes, 2.0, centre) + 1.0)
        bounds = [bundle.lower_bound(2.0, step.weighted_loss, step.weighted_gradient), bundle.bound_of_weights(2.0)]
        bundle.trust_newest()
        bounds.append(bundle.bound_of_weights(2.0))
        assert max(bounds) <= minimum * (1.0 + 1e-6) + 1e-9


@FULL_AND_DIAGONAL
@pytest.mark.parametrize("capacity", [8, 16])
def test_a_full_bundle_drops_planes_and_still_converges(capacity, diagonal, monkeypatch):
    monkeypatch.setattr(bundle_module, "_FEWEST_PLANES", capacity)
    monkeypatch.setattr(bundle_module, "_PLANE_BYTES", 0)
    problem = random_problem(73, n=14, d=3)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    solution = solve(problem, C, diagonal=diagonal, tol=1e-5)
    assert max(record.constraints for record in solution.history) == capacity < len(solution.history)
    assert_certified(solution, hinge_optimum(problem, C, diagonal), tol=1e-5)


def test_a_bundle_far_too_small_still_gives_true_bounds(monkeypatch):
    monkeypatch.setattr(bundle_module, "_FEWEST_PLANES", 2)
    monkeypatch.setattr(bundle_module, "_MOST_PLANES", 2)
    problem = random_problem(74, n=14, d=4)
    C = 30.0 * zero_threshold(problem)
    optimum = hinge_optimum(problem, C, False)
    solution = solve(problem, C, tol=1e-7, max_rounds=60)
    assert max(record.constraints for record in solution.history) == 2
    assert solution.lower_bound <= optimum * (1.0 + 1e-6)
    assert solution.objective >= optimum * (1.0 - 1e-6)


def test_bundle_drops_the_plane_that_was_idle_for_longest():
    bundle, _, _ = random_bundle(np.random.default_rng(75), 2, 0, diagonal=True)
    bundle._capacity = 3
    bundle.add(0.1, np.ones(2))
    bundle.add(0.2, np.ones(2))
    bundle._weights = np.array([0.0, 1.0, 0.0])
    bundle.add(0.3, np.ones(2))
    bundle._weights = np.array([0.0, 0.0, 0.0, 1.0])
    bundle.add(0.4, np.ones(2))  # the first plane is older, but was in use until now
    assert bundle._losses.tolist() == [0.0, 0.1, 0.3, 0.4]
    bundle._weights = np.array([0.0, 0.5, 0.0, 0.5])
    bundle.add(0.5, np.ones(2))  # the first is in use again
    assert bundle._losses.tolist() == [0.0, 0.1, 0.4, 0.5]


def test_bundle_with_all_planes_in_use_drops_the_lightest():
    bundle, _, _ = random_bundle(np.random.default_rng(75), 2, 3, diagonal=True)
    bundle._capacity = 3
    losses = bundle._losses.copy()
    bundle._weights = np.array([0.1, 0.4, 0.2, 0.3])
    bundle.add(0.5, np.ones(2))
    np.testing.assert_array_equal(bundle._losses, [0.0, losses[1], losses[3], 0.5])
    np.testing.assert_allclose(bundle._weights, [0.3, 0.4, 0.3, 0.0])  # what it had goes to the zero plane
    np.testing.assert_allclose(bundle._gram, bundle._gradients @ bundle._gradients.T)


def test_bundle_keeps_what_it_is_given_while_it_grows_and_when_it_is_full():
    rng = np.random.default_rng(76)
    bundle, _, _ = random_bundle(rng, 2, 0, diagonal=True)
    bundle._capacity = 70
    planes = rng.standard_normal((100, 3))
    for number, (loss, *gradient) in enumerate(planes, start=1):
        bundle.add(loss, np.array(gradient))
        kept = planes[max(0, number - 70) : number]  # none ever has weight: the oldest goes first
        np.testing.assert_array_equal(bundle._losses, [0.0, *kept[:, 0]])
        np.testing.assert_array_equal(bundle._gradients, [[0.0, 0.0], *kept[:, 1:]])
        np.testing.assert_array_equal(bundle.newest_gradient, gradient)
        np.testing.assert_allclose(bundle._gram, bundle._gradients @ bundle._gradients.T, atol=1e-14)
        assert bundle._weights.sum() == 1.0


# Cones


@pytest.mark.parametrize("n_positive", [0, 1, 3, 5])
def test_curvature_is_the_derivative_of_the_projection(n_positive):
    rng = np.random.default_rng(80)
    cone = PSDCone()
    turn = ortho_group.rvs(5, random_state=2)
    values = rng.uniform(0.5, 2.0, 5) * np.where(np.arange(5) < n_positive, 1.0, -1.0)
    point = (turn * values) @ turn.T
    planes = rng.standard_normal((4, 5, 5))
    planes = planes + planes.transpose(0, 2, 1)
    step = 1e-5
    moved = [
        (cone.project(point + step * plane).point - cone.project(point - step * plane).point) / (2.0 * step)
        for plane in planes
    ]
    rows = cone.curvature_rows(cone.project(point), planes.reshape(4, -1))
    expected = [[np.vdot(a, b) for b in moved] for a in planes]
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-7)


def test_diagonal_curvature_is_the_derivative_of_clipping():
    cone = DiagonalCone()
    point = np.array([1.0, -2.0, 3.0, -0.5])
    planes = np.random.default_rng(81).standard_normal((3, 4))
    rows = cone.curvature_rows(cone.project(point), planes)
    np.testing.assert_allclose(rows @ rows.T, (planes * [1, 0, 1, 0]) @ planes.T)


@FULL_AND_DIAGONAL
def test_projection_is_the_nearest_point_of_the_cone(diagonal):
    rng = np.random.default_rng(82)
    cone = DiagonalCone() if diagonal else PSDCone()
    point = rng.standard_normal(4) if diagonal else rng.standard_normal((4, 4))
    point = point if diagonal else point + point.T
    projection = cone.project(point)
    W, _, _ = metric_variable(4, diagonal)
    cp.Problem(cp.Minimize(cp.sum_squares(W - point))).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(projection.point, W.value, atol=1e-5)
    np.testing.assert_allclose(cone.from_factor(projection.factor), projection.point, atol=1e-12)
    assert projection.half_square == pytest.approx(0.5 * np.sum(projection.point**2))


@FULL_AND_DIAGONAL
def test_factor_gradient_is_the_derivative_of_the_inner_product(diagonal):
    rng = np.random.default_rng(83)
    cone = DiagonalCone() if diagonal else PSDCone()
    factor = rng.standard_normal(3) if diagonal else rng.standard_normal((2, 3))
    point = rng.standard_normal(3) if diagonal else np.cov(rng.standard_normal((3, 9)))
    gradient = cone.factor_gradient(factor, point)
    for where in np.ndindex(factor.shape):
        nudge = np.zeros_like(factor)
        nudge[where] = 1e-5
        up, down = (np.vdot(point, cone.from_factor(factor + sign * nudge)) for sign in (1, -1))
        assert gradient[where] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@FULL_AND_DIAGONAL
def test_stacked_and_descent_factors_are_what_they_say(diagonal):
    rng = np.random.default_rng(84)
    cone = DiagonalCone() if diagonal else PSDCone()
    shape = (3,) if diagonal else (2, 3)
    one, two = np.abs(rng.standard_normal(shape)), np.abs(rng.standard_normal(shape))
    stacked = cone.from_factor(cone.stack(one, two))
    np.testing.assert_allclose(stacked, cone.from_factor(one) + cone.from_factor(two))
    point = rng.standard_normal(3) if diagonal else rng.standard_normal((3, 3))
    point = point if diagonal else point + point.T
    downhill = cone.from_factor(cone.descent_factor(point))
    np.testing.assert_allclose(downhill, cone.project(-point).point, atol=1e-12)


@FULL_AND_DIAGONAL
def test_smallest_ratio_is_where_the_point_leaves_the_cone(diagonal):
    rng = np.random.default_rng(85)
    cone = DiagonalCone() if diagonal else PSDCone()
    scale = rng.uniform(0.5, 3.0, 4)
    point = rng.standard_normal(4) if diagonal else rng.standard_normal((4, 4))
    point = point if diagonal else point + point.T
    ratio = cone.smallest_ratio(point, scale)
    left = point - ratio * cone.regulariser(scale)
    smallest = left.min() if diagonal else np.linalg.eigvalsh(left)[0]
    assert smallest == pytest.approx(0.0, abs=1e-12)


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
