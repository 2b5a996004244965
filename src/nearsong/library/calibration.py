"""Distances -> similarity in 0..1: the share of random pairs of different songs that are farther apart.

A distance means nothing to a person, and another metric has other distances. The share means the same in every
library: at 0.98, two songs chosen by chance are nearer than these two in one case of fifty. It is 1 for the same
sound only.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

PAIRS = 200_000
NEAR_KNOTS, EVEN_KNOTS, FAR_KNOTS = 64, 50, 16
"""In equal ratios of the share that is nearer, where neighbours are; evenly; in equal ratios of the share farther."""
PART = 16_384  # pairs measured at once


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far random pairs of different songs are apart; made by :meth:`fit`.

    Attributes
    ----------
    distances : array of float64 and shape (n_knots,)
        Strictly ascending from 0.
    farther : array of float64 and shape (n_knots,)
        The share of pairs that are farther apart than that; descends from 1.
    pairs : int
        How many pairs this was counted on.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.calibration import Calibration
    >>> calibration = Calibration.fit(np.array([[0.0], [1.0], [3.0]]))  # pairs at 1, 2 and 3
    >>> calibration.similarity([0.0, 1.0, 1.5, 2.0, 3.0, 9.0]).round(3).tolist()
    [1.0, 0.667, 0.5, 0.333, 0.0, 0.0]
    """

    distances: npt.NDArray[np.float64]
    farther: npt.NDArray[np.float64]
    pairs: int

    @classmethod
    def fit(cls, places: npt.ArrayLike, seed: int = 0) -> "Calibration":
        """Measure up to 200,000 pairs: all of them if there are no more, otherwise chosen by chance.

        Parameters
        ----------
        places : array of shape (n_songs, r)
            With fewer than two songs there is no pair, and whatever is not the same sound has similarity 0.
        seed : int, default=0
            Chooses the pairs.

        Returns
        -------
        Calibration

        Raises
        ------
        InvalidInputError
            If a place is not finite.
        """
        rows = np.asarray(places)
        if rows.ndim != 2 and rows.size:
            raise InvalidInputError(f"places has shape {rows.shape}; songs x dimensions is needed.")
        one, other = _pairs(len(rows), check_count(seed, "seed", minimum=0))
        apart = np.empty(len(one))
        for first in range(0, len(one), PART):
            part = slice(first, first + PART)
            apart[part] = np.sqrt(((rows[one[part]].astype(np.float64) - rows[other[part]]) ** 2).sum(axis=1))
        if not np.isfinite(apart).all():
            raise InvalidInputError("places has a NaN or infinite value; leave out songs without a place.")
        apart.sort()
        n_pairs = len(apart)
        knots = np.unique(apart[_ranks(n_pairs)])
        knots = knots[knots > 0]  # songs that are in the library twice: the same sound stays at 1
        farther = 1 - np.searchsorted(apart, knots, side="right") / max(n_pairs, 1)
        return cls(np.append(0.0, knots), np.append(1.0, farther), n_pairs)

    def similarity(self, distances: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the share of pairs farther apart than each distance: 1 at 0, 0 beyond the farthest pair.

        Parameters
        ----------
        distances : array of any shape

        Returns
        -------
        array of float64 and the same shape
        """
        away = np.asarray(distances, dtype=np.float64)
        if not (away >= 0).all():
            raise InvalidInputError("distances has a negative value or NaN, which no two songs have between them.")
        return np.asarray(np.interp(away, self.distances, self.farther, right=0.0))


def _pairs(n_songs: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows of different songs."""
    if n_songs * (n_songs - 1) // 2 <= PAIRS:
        return np.triu_indices(n_songs, k=1)
    rng = np.random.default_rng(seed)
    one = rng.integers(n_songs, size=PAIRS)
    other = rng.integers(n_songs - 1, size=PAIRS)
    return one, other + (other >= one)


def _ranks(n_pairs: int) -> npt.NDArray[np.int64]:
    """Return which pairs, counted from the nearest, become knots; the first and the last always do."""
    if n_pairs == 0:
        return np.zeros(0, np.int64)
    near = np.geomspace(1, n_pairs, NEAR_KNOTS)
    even = np.linspace(1, n_pairs, EVEN_KNOTS)
    far = n_pairs + 1 - np.geomspace(1, n_pairs, FAR_KNOTS)
    return np.unique(np.rint(np.concatenate([near, even, far])).astype(np.int64)) - 1
