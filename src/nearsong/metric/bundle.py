"""Cutting planes -> the next metric to try, and a certified lower bound (proximal bundle in the dual).

Planes (Delta_t, G_t) bound the slack from below everywhere: slack(W) >= Delta_t + <G_t, W>. Around a centre W0 the
model problem

    min over W >= 0:  <R, W> + C * max(0, max_t Delta_t + <G_t, W>) + mu/2 |W - W0|^2

has a small concave dual over weights a >= 0, sum(a) = C (one weight belongs to the zero plane):

    theta(a) = a'Delta - mu/2 |P(W0 - (R + sum_t a_t G_t)/mu)|^2 + const,    P = projection on the cone,

whose maximiser gives W = P(...). It is found by Newton steps: each solves a quadratic program on the simplex whose
matrix is the exact second derivative of theta, a few eigendecompositions in all. Planes do not depend on C, so one
bundle serves a whole path of C values.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.metric.cones import Cone, Projection
from nearsong.metric.simplex import maximise_on_simplex

FloatArray = npt.NDArray[np.float64]

_PLANE_BYTES = 512 << 20
_FEWEST_PLANES = 24
_MOST_PLANES = 160
_MOST_NEAR = 24  # planes without weight that a Newton step looks at
_INNER_STEPS = 20
_INNER_ACCURACY = 0.05  # of the predicted decrease
_QP_STEPS = 20_000
_DAMPING = 1e-6  # share of the Gram matrix, which majorises the second derivative of theta


@dataclass(frozen=True)
class ModelStep:
    """The minimiser of the model problem: the metric, the model's value there, and the plane weights."""

    projection: Projection
    model_value: float
    weighted_gradient: FloatArray
    weighted_loss: float


class Bundle:
    """Cutting planes of one ranking problem, as rows of a matrix.

    Parameters
    ----------
    cone : Cone
        Where W lives.
    scale : ndarray of shape (d,)
        How the coordinates were scaled: the regulariser is ``cone.regulariser(scale)``.
    """

    def __init__(self, cone: Cone, scale: FloatArray) -> None:
        self.cone = cone
        self.scale = scale
        self.regulariser = cone.regulariser(scale)
        size = self.regulariser.size
        self._capacity = int(np.clip(_PLANE_BYTES // (8 * size), _FEWEST_PLANES, _MOST_PLANES))
        # Row 0 is the zero plane: the slack is never negative. Rows are stored with room to grow.
        self._rows = np.zeros((min(32, self._capacity + 1), size))
        self._losses = np.zeros(1)
        self._gram = np.zeros((1, 1))
        self._weights = np.ones(1)  # sums to 1: weights are kept per unit of C
        self._idle = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._losses) - 1

    @property
    def _gradients(self) -> FloatArray:
        """The planes' gradients, one a row, the zero plane first."""
        return self._rows[: len(self._losses)]

    def add(self, loss: float, gradient: FloatArray) -> None:
        """Add a plane; when full, drop the one that has been without weight for longest."""
        self._idle = np.where(self._weights > 0.0, 0, self._idle + 1)
        if len(self) == self._capacity:
            self._drop_one()
        flat = gradient.ravel()
        products = self._gradients @ flat
        m = len(self._losses)
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m] = self._gram
        gram[m, :m] = gram[:m, m] = products
        gram[m, m] = flat @ flat
        self._gram = gram
        if m == len(self._rows):
            self._rows = np.vstack([self._rows, np.zeros((min(m, self._capacity + 1 - m), len(flat)))])
        self._rows[m] = flat
        self._losses = np.append(self._losses, loss)
        self._weights = np.append(self._weights, 0.0)
        self._idle = np.append(self._idle, 0)

    def _drop_one(self) -> None:
        """Forget the longest idle plane, or the lightest when all are in use."""
        candidates = np.arange(1, len(self._losses))
        order = np.lexsort((self._weights[candidates], -self._idle[candidates]))
        gone = int(candidates[order[0]])
        keep = np.arange(len(self._losses)) != gone
        self._weights[0] += self._weights[gone]
        self._rows[gone : len(self._losses) - 1] = self._rows[gone + 1 : len(self._losses)]
        self._losses = self._losses[keep]
        self._weights = self._weights[keep]
        self._idle = self._idle[keep]
        self._gram = self._gram[np.ix_(keep, keep)]

    def trust_newest(self) -> None:
        """Put all weight on the newest plane: the right dual when the slack is smooth where it was made."""
        self._weights[:] = 0.0
        self._weights[-1] = 1.0

    @property
    def newest_gradient(self) -> FloatArray:
        """The gradient of the plane added last."""
        newest: FloatArray = self._gradients[-1].reshape(self.regulariser.shape)
        return newest

    def lower_bound(self, C: float, weighted_loss: float, weighted_gradient: FloatArray) -> float:
        """Return a bound that holds for every W: scale the weights until R + sum a_t G_t is in the dual cone."""
        worst = self.cone.smallest_ratio(weighted_gradient, self.scale)
        return C * weighted_loss / max(1.0, -C * worst)

    def bound_of_weights(self, C: float) -> float:
        """Return the lower bound that the present weights prove."""
        gradient = (self._weights @ self._gradients).reshape(self.regulariser.shape)
        return self.lower_bound(C, float(self._weights @ self._losses), gradient)

    def step(self, C: float, mu: float, centre: FloatArray, objective: float) -> ModelStep:
        """Minimise the model around ``centre``, whose true objective is ``objective``."""
        shape = self.regulariser.shape
        constant = 0.5 * mu * float(np.vdot(centre, centre))

        def evaluate(weights: FloatArray) -> tuple[float, Projection, FloatArray]:
            gradient = (weights @ self._gradients).reshape(shape)
            projection = self.cone.project(centre - (self.regulariser + C * gradient) / mu)
            theta = C * float(weights @ self._losses) - mu * projection.half_square + constant
            return theta, projection, gradient

        weights = self._weights
        damping = _DAMPING
        theta, projection, gradient = evaluate(weights)
        for _ in range(_INNER_STEPS):
            point = projection.point
            heights = self._losses + self._gradients @ point.ravel()
            model = float(np.vdot(self.regulariser, point)) + C * float(heights.max())
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
                # The second derivative here says too little about theta, as where the projection is zero: damp it.
                if damping >= 1.0:
                    break
                damping = min(1.0, 1e3 * damping)
                continue
            weights = np.maximum(weights + length * direction, 0.0)
            if length == 1.0:
                damping = max(_DAMPING, damping / 10.0)
            theta, projection, gradient = trial
        else:  # the last step was taken without looking where it led
            point = projection.point
            heights = self._losses + self._gradients @ point.ravel()
            model = float(np.vdot(self.regulariser, point)) + C * float(heights.max())
        self._weights = weights / weights.sum()
        return ModelStep(projection, model, gradient, float(weights @ self._losses))

    def _newton_direction(
        self,
        C: float,
        mu: float,
        weights: FloatArray,
        heights: FloatArray,
        projection: Projection,
        inner_gap: float,
        damping: float,
    ) -> FloatArray:
        """Maximise the second-order model of theta over the simplex, on the planes that matter."""
        near = np.argsort(-heights, kind="stable")[:_MOST_NEAR]
        near = near[heights[near] >= heights[near[0]] - 2.0 * inner_gap / C]
        active = np.union1d(near, np.flatnonzero(weights > 0.0))
        rows = self.cone.curvature_rows(projection, self._gradients[active])
        # A little of the majorising Gram matrix keeps the program well posed where theta is flat; with all of it
        # (damping = 1) no step can overshoot.
        hessian = (C / mu) * (rows @ rows.T + damping * self._gram[np.ix_(active, active)])
        linear = heights[active] + hessian @ weights[active]
        solution = weights[active].copy()
        maximise_on_simplex(hessian, linear, solution, 1e-3 * inner_gap / C, _QP_STEPS)
        direction = -weights
        direction[active] += solution
        return direction
