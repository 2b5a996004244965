"""Vectors and relevant songs -> the optimal metric, with a certificate of optimality (paper Algorithm 1).

    min over W >= 0:  trace(W) + C * mean_q slack_q(W)

Every call of the oracle is a *round* and adds a cutting plane. Three phases share the planes:

1. *descent*: L-BFGS on the factor L of W = L'L, started along the directions of steepest descent at W = 0. It comes
   within a percent of the optimum in about twenty rounds, but gives no lower bound.
2. *bundle*: proximal steps on the model of all planes, until the predicted decrease is negligible.
3. *certificate*: the same steps with a weaker and weaker proximal term, which adds planes where the lower bound is
   loose, until objective and bound agree to ``tol``.

A path of values of C shares planes, visited metrics and bounds: a metric bounds the optimum for every C from above,
and weighted planes do from below (:mod:`nearsong.metric.bounds`). So its metrics come first, from the smallest C up,
and the certificates after them, from the largest C down.
"""

import contextlib
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from nearsong.metric.bundle import Bundle
from nearsong.metric.cones import Cone, DiagonalCone, PSDCone
from nearsong.metric.coordinates import Coordinates
from nearsong.metric.history import Callback, Round, Solution, relative_gap
from nearsong.metric.order_feature import RankingOracle
from nearsong.metric.queries import QuerySet
from nearsong.types import FloatArray

_DESCENT_ROUNDS = 60
_DESCENT_PATIENCE = 4  # rounds over which the decrease is measured
_DESCENT_STALL = 3.0  # in units of tol: below this decrease the bundle takes over
_SERIOUS_STEP_RATIO = 0.05  # share of the predicted decrease from which on a step moves the centre
_PREDICTION_DONE = 0.5  # in units of tol: predicted decrease at which the certificate phase starts
_MINIMISED = 0.25  # in units of tol: predicted decrease at which the next C of a path is taken on
_MIN_DECREASE = 1e-3  # share of the objective that the decrease from W = 0 counts as at least
_PREDICTED_GAP_SHARE = 0.3  # share of the gap that the model should predict in the certificate phase
_PREDICTED_GAP_SHARE_OF_PATH = 0.5  # the same on a path, whose metrics are nearer to the optimum by then
_MU_FACTOR = 3.0  # change of mu in the certificate phase
_MU_RANGE = 1e30  # largest ratio of mu to its first value


class _Stop(StopIteration):
    """Stops the fit: the rounds are used up, or the callback asked for it."""


class RankingSolver:
    """Solves a ranking problem for one or more values of C, which share the cutting planes.

    Use it as a context manager: it owns the threads of the oracle.
    """

    def __init__(self, X: FloatArray, queries: QuerySet, loss: str, k: int | None, diagonal: bool) -> None:
        self.coordinates = Coordinates.of(X, diagonal)
        self.oracle = RankingOracle(self.coordinates.transform(X), queries, loss, k, diagonal)
        self.cone: Cone = DiagonalCone() if diagonal else PSDCone()
        self.bundle = Bundle(self.cone, self.coordinates.scale)
        self.runs: list[_Run] = []
        self._zero_gradient: FloatArray | None = None
        self._zero_slack = 0.0

    def __enter__(self) -> "RankingSolver":
        return self

    def __exit__(self, *error: object) -> None:
        self.oracle.close()

    def solve(
        self,
        C: float,
        tol: float,
        max_rounds: int,
        start: FloatArray | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise to a certified relative gap of ``tol``, or until ``max_rounds`` oracle calls."""
        return self.solve_path([C], tol, max_rounds, start, callback)[0]

    def solve_path(
        self,
        Cs: Sequence[float],
        tol: float,
        max_rounds: int,
        start: FloatArray | None = None,
        callback: Callback | None = None,
    ) -> list[Solution]:
        """Minimise for every C, ascending, each to a certified gap of ``tol`` or until ``max_rounds`` oracle calls.

        Each metric starts from the one before, and each certificate from what larger C have shown.
        """
        self.runs = [_Run(self, C, tol, max_rounds, callback) for C in Cs]
        factor = None if start is None else self.coordinates.factor_in(start)
        with self.oracle.one_blas_thread():
            for run in self.runs:
                run.minimise(factor)
            for run in reversed(self.runs):
                run.certify()
        return [run.solution() for run in self.runs]


class _State(NamedTuple):
    """Where the bundle steps of a run were: the proximal weight, and the weighted planes as one."""

    mu: float
    loss: float
    gradient: FloatArray


class _Run:
    """The state of one minimisation: the best point, the bound, the history."""

    def __init__(
        self, solver: RankingSolver, C: float, tol: float, max_rounds: int, callback: Callback | None
    ) -> None:
        self.solver, self.C, self.tol = solver, C, tol
        self.max_rounds, self.callback = max_rounds, callback
        self.cone, self.bundle = solver.cone, solver.bundle
        self.best = np.inf
        self.best_factor: FloatArray | None = None
        self.history: list[Round] = []
        self._state: _State | None = None
        self._stopped = False
        self._clock = time.perf_counter()

    @property
    def lower_bound(self) -> float:
        """The certified lower bound so far."""
        return self.bundle.known_bound(self.C)

    @property
    def gap(self) -> float:
        """The certified relative gap so far."""
        return relative_gap(self.best, self.lower_bound)

    def offer(self, factor: FloatArray, trace: float, slack: float) -> None:
        """Keep a metric that was visited for any C if it is the best so far for this one."""
        objective = trace + self.C * slack
        if objective < self.best:
            self.best, self.best_factor = objective, factor

    def visit(self, factor: FloatArray, phase: str) -> tuple[float, FloatArray]:
        """Call the oracle, add its plane, and return the objective and the gradient of the slack."""
        if len(self.history) >= self.max_rounds:
            raise _Stop
        started = time.perf_counter()
        plane = self.solver.oracle.cutting_plane(factor)
        oracle_seconds = time.perf_counter() - started
        self.bundle.add(plane.loss, plane.gradient)
        if self.solver._zero_gradient is None:  # the first visit of a solver is to W = 0
            self.solver._zero_gradient, self.solver._zero_slack = plane.gradient, plane.slack
            self.bundle.lower_bound(self.C, plane.loss, plane.gradient)
        trace = float(np.vdot(self.bundle.regulariser, self.cone.from_factor(factor)))
        objective = trace + self.C * plane.slack
        visited = factor.copy()
        for run in self.solver.runs:
            run.offer(visited, trace, plane.slack)
        now = time.perf_counter()
        record = Round(
            round=len(self.history) + 1,
            phase=phase,
            objective=objective,
            best=self.best,
            lower_bound=self.lower_bound,
            gap=self.gap,
            slack=plane.slack,
            constraints=len(self.bundle),
            rank=len(factor),
            oracle_seconds=oracle_seconds,
            solver_seconds=now - self._clock - oracle_seconds,
        )
        self._clock = now
        self.history.append(record)
        if self.callback is not None and self.callback(record):
            self._stopped = True
            raise _Stop
        return objective, plane.gradient

    def begin(self, start: FloatArray | None) -> FloatArray | None:
        """Return a factor to descend from, or None when W = 0 is optimal."""
        solver, C = self.solver, self.C
        regulariser = self.bundle.regulariser
        if solver._zero_gradient is None:
            width = regulariser.shape[-1]
            zero = np.zeros(width) if regulariser.ndim == 1 else np.zeros((1, width))
            self.visit(zero, "start")
        assert solver._zero_gradient is not None
        growth = self.cone.descent_factor(regulariser + C * solver._zero_gradient)
        if self.zero_up_to >= C or not np.any(growth):  # the second: C exceeds it by rounding only
            self.best = C * solver._zero_slack
            self.best_factor = np.zeros_like(np.atleast_1d(regulariser[:1]))
            if regulariser.ndim == 1:
                self.best_factor = np.zeros_like(regulariser)
            return None
        if start is None or not np.any(start):
            return self._best_on_ray(self._to_half_margin(growth))
        _, gradient = self.visit(start, "start")
        growth = self.cone.descent_factor(regulariser + C * gradient)
        size = float(np.sum(growth * growth))
        if size == 0.0:
            return start
        # L = 0 is a saddle point: add a little of every direction of descent to start from.
        return self.cone.stack(start, growth * np.sqrt(1e-2 * float(np.sum(start * start)) / size))

    def _to_half_margin(self, factor: FloatArray) -> FloatArray:
        """Scale a factor so that the plane at zero predicts a decrease of half a margin."""
        gradient = self.solver._zero_gradient
        assert gradient is not None
        decrease = -float(np.vdot(gradient, self.cone.from_factor(factor)))
        scaled: FloatArray = factor * np.sqrt(0.5 / decrease)
        return scaled

    @property
    def zero_up_to(self) -> float:
        """The largest C for which W = 0 is optimal: up to there the plane at zero is dual feasible."""
        gradient = self.solver._zero_gradient
        assert gradient is not None
        worst = self.cone.smallest_ratio(gradient, self.bundle.scale)
        if self.solver._zero_slack <= 0.0:
            return np.inf
        return -1.0 / worst if worst < 0.0 else np.inf

    def _best_on_ray(self, factor: FloatArray) -> FloatArray:
        """Return t * factor for a good t, from a cubic through values and slopes at 0 and 1."""
        zero = self.solver._zero_gradient
        assert zero is not None
        point = self.cone.from_factor(factor)
        trace = float(np.vdot(self.bundle.regulariser, point))
        value_0 = self.C * self.solver._zero_slack
        slope_0 = trace + self.C * float(np.vdot(zero, point))
        value_1, gradient = self.visit(factor, "start")
        slope_1 = trace + self.C * float(np.vdot(gradient, point))
        if slope_1 <= 0.0:  # still descending: L-BFGS continues from here
            return factor
        scaled: FloatArray = factor * np.sqrt(_cubic_minimum(value_0, slope_0, value_1, slope_1))
        return scaled

    def descend(self, factor: FloatArray) -> None:
        """Run L-BFGS on the factor until the objective stalls."""
        shape = factor.shape
        values: list[float] = []

        def objective(flat: FloatArray) -> tuple[float, FloatArray]:
            point = flat.reshape(shape)
            value, gradient = self.visit(point, "descent")
            total = self.bundle.regulariser + self.C * gradient
            return value, self.cone.factor_gradient(point, total).ravel()

        def stalled(intermediate_result: OptimizeResult) -> None:
            values.append(float(intermediate_result.fun))
            if len(values) > _DESCENT_PATIENCE:
                decrease = values[-1 - _DESCENT_PATIENCE] - values[-1]
                if decrease <= _DESCENT_STALL * self.tol * values[-1]:
                    raise StopIteration

        minimize(
            objective,
            factor.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stalled,
            options={"maxcor": 20, "maxfun": _DESCENT_ROUNDS, "ftol": 0.0, "gtol": 0.0},
        )

    def minimise(self, start: FloatArray | None) -> None:
        """Find a metric of which the model predicts that it is about optimal."""
        self._clock = time.perf_counter()
        with contextlib.suppress(_Stop):
            cold = self.best_factor is None or not np.any(self.best_factor)
            if cold:  # nothing but zero was tried for a smaller C
                factor = self.begin(start)
                if factor is None:
                    return
                self.descend(factor)
                self.bundle.trust_newest()
                self.bundle.bound_of_weights(self.C)
            loss, gradient = self.bundle.aggregate()
            self._state = _State(self._first_mu(self._centre(), gradient), loss, gradient)
            if not cold:
                self._step(certify=False)

    def certify(self) -> None:
        """Continue until the certified gap is closed."""
        self._clock = time.perf_counter()
        if self._stopped or self._state is None or self.gap <= self.tol:
            return
        if self is not self.solver.runs[-1]:
            # Planes may have been dropped since: their sum with the weights of then is one that says as much.
            self.bundle.add(self._state.loss, self._state.gradient)
            self.bundle.trust_newest()
        with contextlib.suppress(_Stop):
            self._step(certify=True)

    def _centre(self) -> FloatArray:
        """Return the best metric so far."""
        assert self.best_factor is not None
        return self.cone.from_factor(self.best_factor)

    def _negligible(self, value: float) -> float:
        """Return the predicted decrease from which on a metric of this objective is left as it is for a path.

        It is small beside the objective, and beside what has been gained over W = 0: a loss of which little can be
        gained has metrics of very different quality within ``tol`` of its optimum.
        """
        gained = max(self.C * self.solver._zero_slack - value, _MIN_DECREASE * value)
        return self.tol * min(_MINIMISED * value, gained)

    def _step(self, certify: bool) -> None:
        """Run bundle steps from the best point until the certified gap is closed, or no decrease is predicted."""
        state = self._state
        assert state is not None
        mu = first_mu = state.mu
        centre, centre_value = self._centre(), self.best
        share = _PREDICTED_GAP_SHARE if len(self.solver.runs) == 1 else _PREDICTED_GAP_SHARE_OF_PATH
        while True:
            step = self.bundle.step(self.C, mu, centre, centre_value)
            self._state = _State(mu, step.weighted_loss, step.weighted_gradient)
            self.bundle.lower_bound(self.C, step.weighted_loss, step.weighted_gradient)
            predicted = centre_value - step.model_value
            if self.gap <= self.tol if certify else predicted <= self._negligible(centre_value):
                return
            certifying = certify and predicted <= _PREDICTION_DONE * self.tol * centre_value
            objective, _ = self.visit(step.projection.factor, "certificate" if certifying else "bundle")
            if certify and self.gap <= self.tol:  # a better metric, not a better bound
                return
            ratio = (centre_value - objective) / max(predicted, 1e-300)
            promised = predicted / max(centre_value - self.lower_bound, 1e-300)
            serious = objective < centre_value and ratio > _SERIOUS_STEP_RATIO
            if serious:
                centre, centre_value = step.projection.point, objective
            mu = _certifying_mu(mu, promised, share) if certifying else _descending_mu(mu, ratio, serious)
            if not first_mu / _MU_RANGE < mu < first_mu * _MU_RANGE:
                return  # rounding, not the proximal term, keeps the bound from closing

    def _first_mu(self, centre: FloatArray, gradient: FloatArray) -> float:
        """Return the proximal weight with which the first step moves the centre by about a third of its norm."""
        residual = self.bundle.regulariser + self.C * gradient
        assert self.solver._zero_gradient is not None
        growth = self.cone.descent_factor(self.bundle.regulariser + self.C * self.solver._zero_gradient)
        usual = self.cone.from_factor(self._to_half_margin(growth))
        size = max(float(np.linalg.norm(centre)), 1e-2 * float(np.linalg.norm(usual)))
        return 0.3 * float(np.linalg.norm(residual)) / size

    def solution(self) -> Solution:
        """Return the best point in the user's coordinates."""
        assert self.best_factor is not None
        return Solution(
            factor=self.solver.coordinates.factor_out(self.best_factor),
            objective=self.best,
            lower_bound=min(self.lower_bound, self.best),  # may exceed it by rounding
            converged=self.gap <= self.tol,
            zero_up_to=self.zero_up_to,
            history=self.history,
        )


def _descending_mu(mu: float, ratio: float, serious: bool) -> float:
    """Return the next proximal weight in the bundle phase, from actual over predicted decrease."""
    if serious and ratio > 0.4:
        return mu / 2.0
    if not serious and ratio < -0.5:
        return mu * 1.5
    return mu


def _certifying_mu(mu: float, promised: float, share: float) -> float:
    """Return the next proximal weight in the certificate phase, from the predicted share of the gap."""
    if promised < share:
        return mu / _MU_FACTOR
    if promised > 2.0 * share:
        return mu * _MU_FACTOR
    return mu


def _cubic_minimum(value_0: float, slope_0: float, value_1: float, slope_1: float) -> float:
    """Return where in (0, 1) the cubic with these values and slopes at 0 and 1 is lowest (slope_0 < 0 < slope_1)."""
    theta = slope_0 + slope_1 - 3.0 * (value_1 - value_0)
    root = np.sqrt(max(theta * theta - slope_0 * slope_1, 0.0))
    return float(np.clip(1.0 - (slope_1 + root - theta) / (slope_1 - slope_0 + 2.0 * root), 1e-4, 1.0))
