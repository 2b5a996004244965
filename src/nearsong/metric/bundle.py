"""Cutting planes -> the next metric to try, and a certified lower bound (proximal bundle in the dual).

Planes (Delta_t, G_t) bound the slack from below everywhere: slack(W) >= Delta_t + <G_t, W>. Around a centre W0 the
model problem

    min over W >= 0:  <R, W> + C * max(0, max_t Delta_t + <G_t, W>) + mu/2 |W - W0|^2

has a small concave dual over weights a >= 0 with sum(a) = C (one weight belongs to the zero plane):

    theta(a) = a'Delta - mu/2 |P(W0 - (R + sum_t a_t G_t)/mu)|^2 + const,    P = projection on the cone,

whose maximiser gives W = P(...). Newton steps find it: each solves a quadratic program on the simplex whose matrix is
the exact second derivative of theta. Planes do not depend on C, so one bundle serves a path of C values.
"""

from dataclasses import dataclass

import numpy as np

from nearsong.metric.bounds import SlackBounds
from nearsong.metric.cones import Cone, ConeProjection
from nearsong.metric.simplex import maximise_on_simplex
from nearsong.types import FloatArray

_PLANE_BYTES = 512 << 20
_MIN_PLANES = 24
_MAX_PLANES = 160
_MAX_NEW_PLANES = 24  # planes without weight that a Newton step considers
_INNER_STEPS = 20
_INNER_ACCURACY = 0.05  # of the predicted decrease
_QP_STEPS = 20_000
_DAMPING = 1e-6  # share of the Gram matrix, which majorises the second derivative of theta


@dataclass(frozen=True)
class ModelStep:
    """The minimiser of the model problem.

    Attributes
    ----------
    projection : ConeProjection
        The metric.
    model_value : float
        The value of the model at the metric, without the proximal term.
    weighted_gradient : ndarray of shape (d, d) or (d,)
        ``sum_t a_t G_t / C``, for the lower bound.
    weighted_loss : float
        ``sum_t a_t Delta_t / C``, for the lower bound.
    """

    projection: ConeProjection
    model_value: float
    weighted_gradient: FloatArray
    weighted_loss: float


class Bundle:
    """Cutting planes of one ranking problem, as rows of a matrix.

    Parameters
    ----------
    cone : Cone
        The set of feasible metrics.
    scale : ndarray of shape (d,)
        The scale of the coordinates; the regulariser is ``cone.regulariser(scale)``.
    capacity : int, optional
        Maximum number of planes; by default as many as fit into 512 MiB, within bounds.

    Attributes
    ----------
    losses : ndarray of shape (m + 1,)
        Delta_t of the m planes, after that of the zero plane.
    gradients : ndarray of shape (m + 1, size)
        G_t as rows.
    gram : ndarray of shape (m + 1, m + 1)
        Inner products of the gradients.
    weights : ndarray of shape (m + 1,)
        Dual weights a_t / C, which sum to 1.
    """

    def __init__(self, cone: Cone, scale: FloatArray, capacity: int | None = None) -> None:
        self.cone = cone
        self.scale = scale
        self.regulariser = cone.regulariser(scale)
        size = self.regulariser.size
        self._capacity = capacity or int(np.clip(_PLANE_BYTES // (8 * size), _MIN_PLANES, _MAX_PLANES))
        # Row 0 is the zero plane: the slack is never negative. The array has spare rows at its end.
        self._rows = np.zeros((min(32, self._capacity + 1), size))
        self.losses = np.zeros(1)
        self.gram = np.zeros((1, 1))
        self.weights = np.ones(1)  # per unit of C, so that they sum to 1
        self._idle = np.zeros(1, dtype=np.int64)
        self._bounds = SlackBounds()

    def __len__(self) -> int:
        return len(self.losses) - 1

    @property
    def gradients(self) -> FloatArray:
        """The gradients of the planes in rows, the zero plane first."""
        return self._rows[: len(self.losses)]

    def add(self, loss: float, gradient: FloatArray) -> None:
        """Add a plane; when the bundle is full, drop the plane that has had no weight for the longest time."""
        self._idle = np.where(self.weights > 0.0, 0, self._idle + 1)
        if len(self) == self._capacity:
            self._drop_plane()
        flat = gradient.ravel()
        products = self.gradients @ flat
        m = len(self.losses)
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m] = self.gram
        gram[m, :m] = gram[:m, m] = products
        gram[m, m] = flat @ flat
        self.gram = gram
        if m == len(self._rows):
            self._rows = np.vstack([self._rows, np.zeros((min(m, self._capacity + 1 - m), len(flat)))])
        self._rows[m] = flat
        self.losses = np.append(self.losses, loss)
        self.weights = np.append(self.weights, 0.0)
        self._idle = np.append(self._idle, 0)

    def _drop_plane(self) -> None:
        """Remove the plane that is idle for longest, or the one of least weight when all are in use."""
        candidates = np.arange(1, len(self.losses))
        order = np.lexsort((self.weights[candidates], -self._idle[candidates]))
        dropped = int(candidates[order[0]])
        last = len(self.losses) - 1
        left = np.arange(last)
        left[dropped : dropped + 1] = last  # instead of moving all rows, hundreds of MB, up by one
        self.weights[0] += self.weights[dropped]
        self._rows[dropped] = self._rows[last]
        self.losses = self.losses[left]
        self.weights = self.weights[left]
        self._idle = self._idle[left]
        self.gram = self.gram[np.ix_(left, left)]

    def trust_newest(self) -> None:
        """Put all weight on the newest plane: the optimal dual where the slack is smooth."""
        self.weights[:] = 0.0
        self.weights[-1] = 1.0

    def lower_bound(self, C: float, weighted_loss: float, weighted_gradient: FloatArray) -> float:
        """Return the best lower bound of the objective that is known with these weighted planes; remember them."""
        self._bounds.add(weighted_loss, self.cone.smallest_ratio(weighted_gradient, self.scale))
        return self.known_bound(C)

    def known_bound(self, C: float) -> float:
        """Return the best lower bound of the objective from all weights so far, for whatever C they were."""
        return self._bounds.at(C)

    def aggregate(self) -> tuple[float, FloatArray]:
        """Return the sum of the planes with their weights, a plane itself: its loss and gradient."""
        gradient = (self.weights @ self.gradients).reshape(self.regulariser.shape)
        return float(self.weights @ self.losses), gradient

    def bound_of_weights(self, C: float) -> float:
        """Return the lower bound that follows from the current weights, and from all before."""
        return self.lower_bound(C, *self.aggregate())

    def step(self, C: float, mu: float, centre: FloatArray, objective: float) -> ModelStep:
        """Minimise the model around ``centre``, whose true objective is ``objective``."""
        shape = self.regulariser.shape
        constant = 0.5 * mu * float(np.vdot(centre, centre))

        def evaluate(weights: FloatArray) -> tuple[float, ConeProjection, FloatArray]:
            gradient = (weights @ self.gradients).reshape(shape)
            projection = self.cone.project(centre - (self.regulariser + C * gradient) / mu)
            theta = C * float(weights @ self.losses) - mu * projection.half_square + constant
            return theta, projection, gradient

        weights = self.weights
        damping = _DAMPING
        theta, projection, gradient = evaluate(weights)
        for _ in range(_INNER_STEPS):
            point = projection.point
            heights, model = self._model_at(point, C)
            proximal = 0.5 * mu * float(np.sum((point - centre) ** 2))
            inner_gap = model + proximal - theta
            if inner_gap <= _INNER_ACCURACY * max(objective - model - proximal, 1e-9 * objective):
                break
            direction = self._newton_direction(C, mu, weights, heights, projection, inner_gap, damping)
            slope = C * float(heights @ direction)
            length = 1.0
            trial = evaluate(weights + direction)
            while trial[0] < theta + 0.1 * length * slope and length > 1e-3:
                length *= 0.4
                trial = evaluate(weights + length * direction)
            if trial[0] <= theta:
                # The second-order model is poor here, for example where the projection is zero: damp it.
                if damping >= 1.0:
                    break
                damping = min(1.0, 1e3 * damping)
                continue
            weights = np.maximum(weights + length * direction, 0.0)
            if length == 1.0:
                damping = max(_DAMPING, damping / 10.0)
            theta, projection, gradient = trial
        else:  # the model at the last step has not been evaluated yet
            _, model = self._model_at(projection.point, C)
        self.weights = weights / weights.sum()
        return ModelStep(
            projection=projection,
            model_value=model,
            weighted_gradient=gradient,
            weighted_loss=float(weights @ self.losses),
        )

    def _model_at(self, point: FloatArray, C: float) -> tuple[FloatArray, float]:
        """Return the height of every plane at a metric, and the value of the model."""
        heights = self.losses + self.gradients @ point.ravel()
        return heights, float(np.vdot(self.regulariser, point)) + C * float(heights.max())

    def _newton_direction(
        self,
        C: float,
        mu: float,
        weights: FloatArray,
        heights: FloatArray,
        projection: ConeProjection,
        inner_gap: float,
        damping: float,
    ) -> FloatArray:
        """Maximise the second-order model of theta over the simplex, using only planes near the maximum."""
        near = np.argsort(-heights, kind="stable")[:_MAX_NEW_PLANES]
        near = near[heights[near] >= heights[near[0]] - 2.0 * inner_gap / C]
        active = np.union1d(near, np.flatnonzero(weights > 0.0))
        rows = self.cone.curvature_rows(projection, self.gradients[active])
        # A small share of the majorising Gram matrix keeps the program well posed where theta is flat; with damping =
        # 1 no step can overshoot.
        hessian = (C / mu) * (rows @ rows.T + damping * self.gram[np.ix_(active, active)])
        linear = heights[active] + hessian @ weights[active]
        solution = weights[active].copy()
        maximise_on_simplex(hessian, linear, solution, 1e-3 * inner_gap / C, _QP_STEPS)
        direction = -weights
        direction[active] += solution
        return direction
