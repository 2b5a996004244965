"""Weighted cutting planes -> lower bounds of the objective for every C.

The weighted sum of planes (loss l, gradient G) and the smallest ratio r of G to the regulariser bound the slack of
every metric by its trace alone:

    slack(W) >= l + <G, W> >= l + r trace(W).

So the objective is at least the minimum over t >= 0 of ``t + C max(0, l_i + r_i t)`` over all such lines i. A line
says the same for every C: what was found for one C bounds the optimum for the others, and two lines may together say
more than each.
"""

import numpy as np

from nearsong.types import FloatArray


class SlackBounds:
    """Lower bounds of the slack that are linear in the trace; those that another exceeds everywhere are dropped."""

    def __init__(self) -> None:
        self._losses: FloatArray = np.zeros(1)  # the slack is never negative
        self._ratios: FloatArray = np.zeros(1)

    def add(self, loss: float, ratio: float) -> None:
        """Add ``slack(W) >= loss + ratio * trace(W)``."""
        if np.any((self._losses >= loss) & (self._ratios >= ratio)):
            return
        keep = (self._losses > loss) | (self._ratios > ratio)
        self._losses = np.append(self._losses[keep], loss)
        self._ratios = np.append(self._ratios[keep], ratio)

    def at(self, C: float) -> float:
        """Return the lower bound of ``trace(W) + C * slack(W)`` over all metrics.

        A mean of two lines is one as well. Where its ratio is at least -1/C, the minimum is at W = 0; the best such
        mean is of one line with a larger ratio and one with a smaller.
        """
        flat = self._ratios >= -1.0 / C
        best = float(self._losses[flat].max(initial=0.0))
        if flat.all():
            return C * best
        losses, ratios = self._losses[flat, None], self._ratios[flat, None]
        steep_losses, steep_ratios = self._losses[~flat], self._ratios[~flat]
        share = (ratios + 1.0 / C) / (ratios - steep_ratios)
        return C * max(best, float((losses + share * (steep_losses - losses)).max()))
