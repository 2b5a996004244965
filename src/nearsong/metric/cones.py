"""Where W lives: all PSD matrices, or the non-negative diagonals. The solver sees both through one interface.

A *point* is a d x d matrix in the first case and a vector of d diagonal entries in the second; a *factor* is L
(rank x d) with W = L'L, or the vector of square roots.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """The nearest point of the cone, its factor, and what a Newton step needs to know about it."""

    point: FloatArray
    factor: FloatArray
    half_square: float
    eigenvalues: FloatArray
    eigenvectors: FloatArray | None


class Cone(Protocol):
    """What the solver asks of the set W lives in."""

    def project(self, point: FloatArray) -> Projection:
        """Return the nearest point of the cone."""

    def curvature_rows(self, projection: Projection, planes: FloatArray) -> FloatArray:
        """Return rows T with T T' = the second derivative of |projection|^2/2 along the (flat) planes."""

    def regulariser(self, scale: FloatArray) -> FloatArray:
        """Return the point R for which <R, W> is the trace of the metric in the user's coordinates."""

    def smallest_ratio(self, point: FloatArray, scale: FloatArray) -> float:
        """Return the smallest r with ``point - r R`` on the boundary of the cone."""

    def from_factor(self, factor: FloatArray) -> FloatArray:
        """Return W = L'L."""

    def descent_factor(self, point: FloatArray) -> FloatArray:
        """Return a factor of the part of ``-point`` inside the cone."""

    def factor_gradient(self, factor: FloatArray, point: FloatArray) -> FloatArray:
        """Return the derivative with respect to L of <point, L'L>."""

    def stack(self, factor: FloatArray, addition: FloatArray) -> FloatArray:
        """Return a factor of the sum of both metrics."""


class PSDCone:
    """Symmetric positive semi-definite d x d matrices."""

    def project(self, point: FloatArray) -> Projection:
        """Keep the positive eigenvalues."""
        values, vectors = np.linalg.eigh(point)
        keep = values > 0.0
        kept = vectors[:, keep]
        factor = (kept * np.sqrt(values[keep])).T
        return Projection(factor.T @ factor, factor, 0.5 * float(values[keep] @ values[keep]), values, vectors)

    def curvature_rows(self, projection: Projection, planes: FloatArray) -> FloatArray:
        """Apply the square root of the derivative of the projection (Loewner's formula) to every plane."""
        values, vectors = projection.eigenvalues, projection.eigenvectors
        assert vectors is not None
        d = len(values)
        keep = values > 0.0
        kept, dropped = vectors[:, keep], vectors[:, ~keep]
        rank = kept.shape[1]
        if rank == 0:
            return np.zeros((len(planes), 1))
        mixed = values[keep][:, None] / (values[keep][:, None] - values[~keep][None, :])
        rows = np.empty((len(planes), rank * d))
        for row, plane in zip(rows, planes, strict=True):
            half = kept.T @ plane.reshape(d, d)
            row[: rank * rank] = (half @ kept).ravel()
            row[rank * rank :] = (np.sqrt(2.0 * mixed) * (half @ dropped)).ravel()
        return rows

    def regulariser(self, scale: FloatArray) -> FloatArray:
        """Diagonal: the trace after the coordinates were scaled."""
        return np.diag(scale * scale)

    def smallest_ratio(self, point: FloatArray, scale: FloatArray) -> float:
        """Undo the scaling, then take the smallest eigenvalue."""
        return float(np.linalg.eigvalsh(point / np.outer(scale, scale))[0])

    def from_factor(self, factor: FloatArray) -> FloatArray:
        """L'L."""
        return factor.T @ factor

    def descent_factor(self, point: FloatArray) -> FloatArray:
        """Square root of the negative part of ``point``."""
        values, vectors = np.linalg.eigh(point)
        keep = values < 0.0
        return np.ascontiguousarray((vectors[:, keep] * np.sqrt(-values[keep])).T)

    def factor_gradient(self, factor: FloatArray, point: FloatArray) -> FloatArray:
        """2 L G."""
        return 2.0 * factor @ point

    def stack(self, factor: FloatArray, addition: FloatArray) -> FloatArray:
        """Rows of both."""
        return np.vstack([factor, addition])


class DiagonalCone:
    """Diagonal metrics: non-negative vectors."""

    def project(self, point: FloatArray) -> Projection:
        """Clip at zero."""
        kept = np.maximum(point, 0.0)
        return Projection(kept, np.sqrt(kept), 0.5 * float(kept @ kept), point, None)

    def curvature_rows(self, projection: Projection, planes: FloatArray) -> FloatArray:
        """Keep the entries that are not clipped."""
        rows: FloatArray = planes * (projection.eigenvalues > 0.0)
        return rows

    def regulariser(self, scale: FloatArray) -> FloatArray:
        """One weight a feature."""
        return scale * scale

    def smallest_ratio(self, point: FloatArray, scale: FloatArray) -> float:
        """Take the smallest entry in the user's coordinates."""
        return float((point / (scale * scale)).min())

    def from_factor(self, factor: FloatArray) -> FloatArray:
        """Squares."""
        return factor * factor

    def descent_factor(self, point: FloatArray) -> FloatArray:
        """Square roots of the negative entries."""
        return np.sqrt(np.maximum(-point, 0.0))

    def factor_gradient(self, factor: FloatArray, point: FloatArray) -> FloatArray:
        """2 l g."""
        return 2.0 * factor * point

    def stack(self, factor: FloatArray, addition: FloatArray) -> FloatArray:
        """Root of the sum of squares."""
        return np.hypot(factor, addition)
