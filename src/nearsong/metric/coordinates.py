"""Songs -> coordinates in which the ranking loss curves about equally in all directions.

The data's principal axes, each scaled by variance^(-3/8). The solvers' notion of "near" is Euclidean in W; in raw
coordinates a direction of high variance bends the loss far more than one of low variance and both the proximal
step and L-BFGS crawl. Half-way whitened they need several times fewer rounds (docs/decisions/0002). Only the
coordinates change: the objective, its optimum and the certificate are those of the original problem.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_WHITENING = 0.75
_VARIANCE_FLOOR = 1e-8  # of the largest: noise directions are not blown up further
_NULL_VARIANCE = 1e-13
_NO_VARIANCE = 1e-200


@dataclass(frozen=True)
class Coordinates:
    """``x -> (x - mean) @ axes * scale``; axes is None for a diagonal metric, whose axes must stay."""

    mean: FloatArray
    axes: FloatArray | None
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray, diagonal: bool) -> "Coordinates":
        """Find the coordinates for the rows of ``X``; directions in which no songs differ are left out."""
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

    def enter(self, X: FloatArray) -> FloatArray:
        """Return songs in these coordinates."""
        centred = X - self.mean
        return np.ascontiguousarray((centred if self.axes is None else centred @ self.axes) * self.scale)

    def factor_out(self, factor: FloatArray) -> FloatArray:
        """Return the factor that gives the same distances in the user's coordinates."""
        scaled = factor * self.scale
        return scaled if self.axes is None else scaled @ self.axes.T

    def factor_in(self, factor: FloatArray) -> FloatArray:
        """Return a factor from the user's coordinates in these."""
        return (factor if self.axes is None else factor @ self.axes) / self.scale
