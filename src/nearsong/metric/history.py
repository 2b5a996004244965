"""What a fit reports: every call of the oracle, and the solution."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from nearsong.types import FloatArray


class Round(NamedTuple):
    """One oracle call of a fit.

    Attributes
    ----------
    round : int
        Its number, from 1.
    phase : {"start", "descent", "bundle", "certificate", "batch"}
    objective, best : float
        The objective at the metric of this round, and the lowest so far; a running mean with batches.
    lower_bound, gap : float
        The certified lower bound and its relative distance from ``best``; NaN with batches.
    slack : float
        The mean slack over queries.
    constraints : int
        Cutting planes in the bundle.
    rank : int
        Rows of the factor L.
    oracle_seconds, solver_seconds : float
        Time of this round in the oracle, and outside it.
    """

    round: int
    phase: str
    objective: float
    best: float
    lower_bound: float
    gap: float
    slack: float
    constraints: int
    rank: int
    oracle_seconds: float
    solver_seconds: float


Callback = Callable[[Round], object]


@dataclass
class Solution:
    """The best metric of a fit and how it was reached.

    Attributes
    ----------
    factor : ndarray of shape (rank, n_features), or (n_features,) for a diagonal metric
        L with W = L'L in the user's coordinates.
    objective, lower_bound : float
        The objective at W and a certified lower bound of the optimum.
    converged : bool
        Whether the relative gap is at most ``tol``.
    zero_up_to : float
        The largest C for which W = 0 is optimal.
    history : list of Round
    """

    factor: FloatArray
    objective: float
    lower_bound: float
    converged: bool
    zero_up_to: float
    history: list[Round] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """The certified relative distance from the optimum."""
        return relative_gap(self.objective, self.lower_bound)


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return (objective - bound) / objective, 0 when both are 0."""
    return (objective - lower_bound) / objective if objective > 0.0 else 0.0
