"""Vectors -> coordinates in which the ranking loss has about the same curvature in all directions.

The principal axes of the data, each scaled by variance^(-3/8). The solvers use the Euclidean distance between
metrics; in raw coordinates the loss has a much higher curvature along directions of high variance, and both the
proximal step and L-BFGS converge slowly. Partial whitening saves most of the rounds (docs/decisions/0002). Only the
coordinates change: the objective, its optimum and the certificate are those of the original problem.
"""

from dataclasses import dataclass

import numpy as np

from nearsong.types import FloatArray

_WHITENING = 0.75
_VARIANCE_FLOOR = 1e-8  # of the largest, so that noise is not amplified without limit
_NULL_VARIANCE = 1e-13  # of the largest: directions below it are dropped
_NO_VARIANCE = 1e-200


@dataclass(frozen=True)
class Coordinates:
    """The map ``x -> (x - mean) @ axes * scale``; ``axes`` is None for a diagonal metric, which keeps the axes."""

    mean: FloatArray
    axes: FloatArray | None
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray, diagonal: bool) -> "Coordinates":
        """Return the coordinates for the rows of ``X``; directions without variance are dropped."""
        mean = X.mean(axis=0)
        centred = X - mean
        if diagonal:
            axes, variance = None, np.mean(centred * centred, axis=0)
        else:
            variance, axes = np.linalg.eigh(centred.T @ centred / len(X))
            keep = variance > _NULL_VARIANCE * max(variance[-1], 0.0)
            if not keep.any():  # all songs are the same point
                keep[-1] = True
            variance, axes = variance[keep], np.ascontiguousarray(axes[:, keep])
        top = float(variance.max())
        if top < _NO_VARIANCE:  # nothing to scale by
            top = 1.0
        scale = np.maximum(variance / top, _VARIANCE_FLOOR) ** (-_WHITENING / 2) / np.sqrt(top)
        return cls(mean, axes, scale)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return vectors in these coordinates."""
        centred = X - self.mean
        return np.ascontiguousarray((centred if self.axes is None else centred @ self.axes) * self.scale)

    def factor_out(self, factor: FloatArray) -> FloatArray:
        """Return the factor with the same distances in the user's coordinates."""
        scaled = factor * self.scale
        return scaled if self.axes is None else scaled @ self.axes.T

    def factor_in(self, factor: FloatArray) -> FloatArray:
        """Return a factor of the user's coordinates in these coordinates."""
        return (factor if self.axes is None else factor @ self.axes) / self.scale
