"""Vectors and too many queries for full rounds -> a metric, by steps on random batches of queries.

The first batch is solved as a small problem of its own, which finds the scale and the main directions of W. Then
every round draws new queries and takes one AdaGrad step on the factor; the result is the average of the later metrics
(a sum of PSD matrices is PSD). Each query is still ranked against all songs, and no temporary array is larger than a
block of a batch. There is no certificate: planes of different batches bound different functions.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from nearsong.metric.history import Callback, Round, Solution
from nearsong.metric.queries import IntArray, QuerySet
from nearsong.metric.solver import RankingSolver
from nearsong.types import FloatArray

_STEP_SIZE = 0.1  # of the factor's root mean square, falling with the square root of the round
_WINDOW_ROUNDS = 20  # rounds over which the mean batch objective is compared
_FIRST_TOL = 1e-2
_MIN_FIRST_ROUNDS = 3  # W = 0, a point on the first ray, and one step from there


@dataclass(frozen=True)
class BatchSettings:
    """The size of a batch, and when to stop.

    Attributes
    ----------
    size : int
        Queries per round.
    tol : float
        Relative decrease of the windowed mean objective below which the fit has converged.
    max_rounds : int
    """

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
        rounds = max(_MIN_FIRST_ROUNDS, min(25, settings.max_rounds // 3))
        opening = solver.solve(C, _FIRST_TOL, rounds, start, watched)
        if stopped or not np.any(opening.factor):  # the bound of the first batch does not hold for the others
            return replace(opening, lower_bound=np.nan, converged=opening.converged and not stopped)
        with solver.oracle.one_blas_thread():
            return _adagrad(solver, C, opening, draw, settings, callback)


class _BatchDrawer:
    """Draws batches of queries, without replacement within an epoch."""

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
    """Take one adaptive step per batch from the opening solution, and average the later metrics."""
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
        factor = factor - _STEP_SIZE * size * gradient / np.sqrt(squares + np.finfo(float).tiny)
        objectives.append(objective)
        recent = float(np.mean(objectives[-_WINDOW_ROUNDS:]))
        # The average restarts while the objective still falls: early metrics would make it worse.
        if len(objectives) >= 2 * _WINDOW_ROUNDS and len(objectives) % _WINDOW_ROUNDS == 0:
            before = float(np.mean(objectives[-2 * _WINDOW_ROUNDS : -_WINDOW_ROUNDS]))
            converged = abs(before - recent) <= settings.tol * recent
            if before - recent > 10 * settings.tol * recent:
                average[:], n_averaged = 0.0, 0
        average += cone.from_factor(factor)
        n_averaged += 1
        record = Round(
            round=len(history) + 1,
            phase="batch",
            objective=objective,
            best=recent,
            lower_bound=np.nan,
            gap=np.nan,
            slack=plane.slack,
            constraints=0,
            rank=len(factor),
            oracle_seconds=seconds,
            solver_seconds=time.perf_counter() - started - seconds,
        )
        history.append(record)
        if callback is not None and callback(record):
            break
    if n_averaged:
        factor = cone.project(average / n_averaged).factor
    mean_objective = float(np.mean(objectives[-_WINDOW_ROUNDS:])) if objectives else opening.objective
    return Solution(
        factor=solver.coordinates.factor_out(factor),
        objective=mean_objective,
        lower_bound=np.nan,
        converged=converged,
        zero_up_to=opening.zero_up_to,
        history=history,
    )
