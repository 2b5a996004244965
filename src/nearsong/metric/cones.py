"""A symmetric matrix or a vector -> the nearest metric: PSD matrices or non-negative diagonals, behind one interface.

A *point* is a d x d matrix in the first case and the vector of d diagonal entries in the second; a *factor* is L
(rank x d) with W = L'L, or the vector of square roots.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nearsong.types import FloatArray


@dataclass(frozen=True)
class ConeProjection:
    """The nearest point of the cone, and what a Newton step needs to know about it.

    Attributes
    ----------
    point : ndarray of shape (d, d) or (d,)
        The nearest point W.
    factor : ndarray of shape (rank, d) or (d,)
        L with W = L'L, or the square roots of the diagonal.
    half_square : float
        ``|W|^2 / 2``.
    eigenvalues : ndarray of shape (d,)
        Of the point that was projected, ascending; its entries for diagonal metrics.
    eigenvectors : ndarray of shape (d, d) or None
        The matching eigenvectors in columns; None for diagonal metrics.
    """

    point: FloatArray
    factor: FloatArray
    half_square: float
    eigenvalues: FloatArray
    eigenvectors: FloatArray | None


class Cone(Protocol):
    """The interface between the solver and the set of feasible metrics."""

    def project(self, point: FloatArray) -> ConeProjection:
        """Return the nearest point of the cone."""

    def curvature_rows(self, projection: ConeProjection, planes: FloatArray) -> FloatArray:
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

    def project(self, point: FloatArray) -> ConeProjection:
        """Drop the negative eigenvalues."""
        values, vectors = np.linalg.eigh(point)
        keep = values > 0.0
        positive = values[keep]
        factor = (vectors[:, keep] * np.sqrt(positive)).T
        return ConeProjection(
            point=factor.T @ factor,
            factor=factor,
            half_square=0.5 * float(positive @ positive),
            eigenvalues=values,
            eigenvectors=vectors,
        )

    def curvature_rows(self, projection: ConeProjection, planes: FloatArray) -> FloatArray:
        """Apply the square root of the derivative of the projection (Loewner's formula) to every plane."""
        values, vectors = projection.eigenvalues, projection.eigenvectors
        assert vectors is not None
        d = len(values)
        keep = values > 0.0
        positive, negative = vectors[:, keep], vectors[:, ~keep]
        rank = positive.shape[1]
        if rank == 0:
            return np.zeros((len(planes), 1))
        mixed = values[keep][:, None] / (values[keep][:, None] - values[~keep][None, :])
        rows = np.empty((len(planes), rank * d))
        for row, plane in zip(rows, planes, strict=True):
            half = positive.T @ plane.reshape(d, d)
            row[: rank * rank] = (half @ positive).ravel()
            row[rank * rank :] = (np.sqrt(2.0 * mixed) * (half @ negative)).ravel()
        return rows

    def regulariser(self, scale: FloatArray) -> FloatArray:
        """Return the diagonal matrix that undoes the scaling of the coordinates."""
        return np.diag(scale * scale)

    def smallest_ratio(self, point: FloatArray, scale: FloatArray) -> float:
        """Undo the scaling, then take the smallest eigenvalue."""
        return float(np.linalg.eigvalsh(point / np.outer(scale, scale))[0])

    def from_factor(self, factor: FloatArray) -> FloatArray:
        """Return L'L."""
        return factor.T @ factor

    def descent_factor(self, point: FloatArray) -> FloatArray:
        """Return a square root of the negative part of ``point``."""
        values, vectors = np.linalg.eigh(point)
        keep = values < 0.0
        return np.ascontiguousarray((vectors[:, keep] * np.sqrt(-values[keep])).T)

    def factor_gradient(self, factor: FloatArray, point: FloatArray) -> FloatArray:
        """Return 2 L G."""
        return 2.0 * factor @ point

    def stack(self, factor: FloatArray, addition: FloatArray) -> FloatArray:
        """Return the rows of both."""
        return np.vstack([factor, addition])


class DiagonalCone:
    """Diagonal metrics: non-negative vectors."""

    def project(self, point: FloatArray) -> ConeProjection:
        """Clip at zero."""
        clipped = np.maximum(point, 0.0)
        return ConeProjection(
            point=clipped,
            factor=np.sqrt(clipped),
            half_square=0.5 * float(clipped @ clipped),
            eigenvalues=point,
            eigenvectors=None,
        )

    def curvature_rows(self, projection: ConeProjection, planes: FloatArray) -> FloatArray:
        """Zero the entries that are clipped."""
        rows: FloatArray = planes * (projection.eigenvalues > 0.0)
        return rows

    def regulariser(self, scale: FloatArray) -> FloatArray:
        """Return the squared scale of each feature."""
        return scale * scale

    def smallest_ratio(self, point: FloatArray, scale: FloatArray) -> float:
        """Take the smallest entry in the user's coordinates."""
        return float((point / (scale * scale)).min())

    def from_factor(self, factor: FloatArray) -> FloatArray:
        """Return the squares."""
        return factor * factor

    def descent_factor(self, point: FloatArray) -> FloatArray:
        """Return the square roots of the negative entries."""
        return np.sqrt(np.maximum(-point, 0.0))

    def factor_gradient(self, factor: FloatArray, point: FloatArray) -> FloatArray:
        """Return 2 l g."""
        return 2.0 * factor * point

    def stack(self, factor: FloatArray, addition: FloatArray) -> FloatArray:
        """Root of the sum of squares."""
        return np.hypot(factor, addition)
