"""The parts that find the optimum: a program on the simplex, a bundle step, the cones."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ortho_group

from nearsong.metric import bundle as bundle_module
from nearsong.metric.bundle import Bundle
from nearsong.metric.cones import DiagonalCone, PSDCone
from nearsong.metric.simplex import maximise_on_simplex
from ranking_programs import (
    FULL_AND_DIAGONAL,
    assert_certified,
    hinge_optimum,
    metric_variable,
    random_problem,
    solve,
    zero_threshold,
)

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


def random_bundle(rng, d, n_planes, diagonal, capacity=None):
    cone = DiagonalCone() if diagonal else PSDCone()
    scale = rng.uniform(0.5, 2.0, d)
    bundle = Bundle(cone, scale, capacity)
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
    monkeypatch.setattr(bundle_module, "_MIN_PLANES", capacity)
    monkeypatch.setattr(bundle_module, "_PLANE_BYTES", 0)
    problem = random_problem(73, n=14, d=3)
    C = 30.0 * zero_threshold(problem, diagonal=diagonal)
    solution = solve(problem, C, diagonal=diagonal, tol=1e-5)
    assert max(record.constraints for record in solution.history) == capacity < len(solution.history)
    assert_certified(solution, hinge_optimum(problem, C, diagonal), tol=1e-5)


def test_a_bundle_far_too_small_still_gives_true_bounds(monkeypatch):
    monkeypatch.setattr(bundle_module, "_MIN_PLANES", 2)
    monkeypatch.setattr(bundle_module, "_MAX_PLANES", 2)
    problem = random_problem(74, n=14, d=4)
    C = 30.0 * zero_threshold(problem)
    optimum = hinge_optimum(problem, C, False)
    solution = solve(problem, C, tol=1e-7, max_rounds=60)
    assert max(record.constraints for record in solution.history) == 2
    assert solution.lower_bound <= optimum * (1.0 + 1e-6)
    assert solution.objective >= optimum * (1.0 - 1e-6)


def test_bundle_drops_the_plane_that_was_idle_for_longest():
    bundle, _, _ = random_bundle(np.random.default_rng(75), 2, 0, diagonal=True, capacity=3)
    bundle.add(0.1, np.ones(2))
    bundle.add(0.2, np.ones(2))
    bundle.weights = np.array([0.0, 1.0, 0.0])
    bundle.add(0.3, np.ones(2))
    bundle.weights = np.array([0.0, 0.0, 0.0, 1.0])
    bundle.add(0.4, np.ones(2))  # the first plane is older, but was in use until now
    assert bundle.losses.tolist() == [0.0, 0.1, 0.3, 0.4]
    bundle.weights = np.array([0.0, 0.5, 0.0, 0.5])
    bundle.add(0.5, np.ones(2))  # the first is in use again
    assert bundle.losses.tolist() == [0.0, 0.1, 0.4, 0.5]


def test_bundle_with_all_planes_in_use_drops_the_lightest():
    bundle, _, _ = random_bundle(np.random.default_rng(75), 2, 3, diagonal=True, capacity=3)
    losses = bundle.losses.copy()
    bundle.weights = np.array([0.1, 0.4, 0.2, 0.3])
    bundle.add(0.5, np.ones(2))
    np.testing.assert_array_equal(bundle.losses, [0.0, losses[1], losses[3], 0.5])
    np.testing.assert_allclose(bundle.weights, [0.3, 0.4, 0.3, 0.0])  # what it had goes to the zero plane
    np.testing.assert_allclose(bundle.gram, bundle.gradients @ bundle.gradients.T)


def test_bundle_keeps_what_it_is_given_while_it_grows_and_when_it_is_full():
    rng = np.random.default_rng(76)
    bundle, _, _ = random_bundle(rng, 2, 0, diagonal=True, capacity=70)
    planes = rng.standard_normal((100, 3))
    for number, (loss, *gradient) in enumerate(planes, start=1):
        bundle.add(loss, np.array(gradient))
        remaining = planes[max(0, number - 70) : number]  # none ever has weight: the oldest goes first
        assert bundle.losses[0] == 0.0
        assert not bundle.gradients[0].any()
        held = np.column_stack([bundle.losses, bundle.gradients])[1:]  # in whatever order
        np.testing.assert_array_equal(held[held[:, 0].argsort()], remaining[remaining[:, 0].argsort()])
        np.testing.assert_allclose(bundle.gram, bundle.gradients @ bundle.gradients.T, atol=1e-14)
        assert bundle.weights.sum() == 1.0


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
