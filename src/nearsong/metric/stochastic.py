"""Metric learning to rank when there are too many queries for a full round: a new random batch every round.

The first batch is solved like a small problem of its own, which finds the scale and the main directions of W. Then
every round draws other queries, takes one AdaGrad step on the factor, and the returned metric is the average of the
later ones (a sum of PSD matrices is PSD). Each query is still ranked against all songs; nothing larger than a block
of a batch is ever allocated. There is no certificate: planes of different batches bound different functions.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from nearsong.metric.cones import FloatArray
from nearsong.metric.queries import IntArray, QuerySet
from nearsong.metric.solver import Callback, RankingSolver, Round, Solution

_STEP = 0.1  # of the factor's root mean square, falling with the square root of the round
_WINDOW = 20  # rounds over which the mean batch objective is compared
_FIRST_TOL = 1e-2
_FEWEST_FIRST_ROUNDS = 3  # W = 0, a point on the first ray, and one step from there


@dataclass(frozen=True)
class BatchSettings:
    """How many queries a round looks at, and how long to go on."""

    size: int
    tol: float
    max_rounds: int


def solve_in_batches(
    X: FloatArray,
    queries: QuerySet,
    loss: str,
    k: int | None,
    diagonal: bool,
    C: float,
    settings: BatchSettings,
    random: np.random.Generator,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise over random batches; stops when the windowed mean objective falls by less than ``tol``."""
    draw = _BatchDrawer(queries.usable, settings.size, random)
    first = QuerySet(queries.relevant, queries.ignored, draw(), queries.n_skipped)
    stopped = False

    def watched(record: Round) -> object:
        nonlocal stopped
        stopped = callback is not None and bool(callback(record))
        return stopped

    with RankingSolver(X, first, loss, k, diagonal) as solver:
        rounds = max(_FEWEST_FIRST_ROUNDS, min(25, settings.max_rounds // 3))
        opening = solver.solve(C, _FIRST_TOL, rounds, start, watched)
        if stopped or not np.any(opening.factor):  # what the first batch proves is not proven for the others
            return replace(opening, lower_bound=np.nan, converged=opening.converged and not stopped)
        with solver.oracle.one_blas_thread():
            return _adagrad(solver, C, opening, draw, settings, callback)


class _BatchDrawer:
    """Batches without replacement within an epoch."""

    def __init__(self, usable: IntArray, size: int, random: np.random.Generator) -> None:
        self._usable, self._size, self._random = usable, min(size, len(usable)), random
        self._left = np.empty(0, dtype=np.int64)

    def __call__(self) -> IntArray:
        if len(self._left) < self._size:
            self._left = self._random.permutation(self._usable)
        batch, self._left = np.sort(self._left[: self._size]), self._left[self._size :]
        return batch


def _adagrad(
    solver: RankingSolver,
    C: float,
    opening: Solution,
    draw: _BatchDrawer,
    settings: BatchSettings,
    callback: Callback | None,
) -> Solution:
    """Take one adaptive step a batch from the opening solution, and average the later metrics."""
    cone, bundle = solver.cone, solver.bundle
    factor = solver.coordinates.factor_in(opening.factor)
    squares = np.zeros_like(factor)
    average = np.zeros_like(bundle.regulariser)
    history = list(opening.history)
    objectives: list[float] = []
    size = float(np.sqrt(np.mean(factor * factor)))
    n_averaged, converged = 0, False
    while len(history) < settings.max_rounds and not converged:
        started = time.perf_counter()
        plane = solver.oracle.cutting_plane(factor, draw())
        seconds = time.perf_counter() - started
        metric = cone.from_factor(factor)
        objective = float(np.vdot(bundle.regulariser, metric)) + C * plane.slack
        gradient = cone.factor_gradient(factor, bundle.regulariser + C * plane.gradient)
        squares += gradient * gradient
        factor = factor - _STEP * size * gradient / np.sqrt(squares + np.finfo(float).tiny)
        objectives.append(objective)
        recent = float(np.mean(objectives[-_WINDOW:]))
        # The average restarts while the objective still falls: early metrics would only hold it back.
        if len(objectives) >= 2 * _WINDOW and len(objectives) % _WINDOW == 0:
            before = float(np.mean(objectives[-2 * _WINDOW : -_WINDOW]))
            converged = abs(before - recent) <= settings.tol * recent
            if before - recent > 10 * settings.tol * recent:
                average[:], n_averaged = 0.0, 0
        average += cone.from_factor(factor)
        n_averaged += 1
        record = Round(
            len(history) + 1,
            "batch",
            objective,
            recent,
            np.nan,
            np.nan,
            plane.slack,
            0,
            len(factor),
            seconds,
            time.perf_counter() - started - seconds,
        )
        history.append(record)
        if callback is not None and callback(record):
            break
    if n_averaged:
        factor = cone.project(average / n_averaged).factor
    mean_objective = float(np.mean(objectives[-_WINDOW:])) if objectives else opening.objective
    return Solution(
        solver.coordinates.factor_out(factor),
        mean_objective,
        np.nan,
        converged,
        opening.zero_up_to,
        history,
    )
