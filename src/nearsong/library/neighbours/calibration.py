"""Distances -> similarity in 0..1: the share of random pairs of different songs that are farther apart.

Distances are hard to interpret, and every metric has its own scale. The share means the same in every library: at
0.98, one random pair of fifty is nearer than these two songs. It is 1 only for identical embeddings.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.neighbours.closeness import closeness
from nearsong.library.neighbours.exact import squared_distances
from nearsong.validation import check_count

MAX_PAIRS = 200_000
NEAR_KNOTS, EVEN_KNOTS, FAR_KNOTS = 64, 50, 16
"""Knots at ranks spaced geometrically from the nearest pair, evenly, and geometrically from the farthest pair."""
BLOCK_PAIRS = 2_048  # pairs measured together; both stay in a processor's cache


@dataclass(frozen=True, eq=False)
class Calibration:
    """Distribution of the distances of random pairs of different songs; made by :meth:`fit`.

    Attributes
    ----------
    distances : array of float64 and shape (n_knots,)
        Strictly ascending from 0.
    farther : array of float64 and shape (n_knots,)
        The share of pairs that are farther apart than each distance; descending from 1.
    pairs : int
        Number of pairs measured.
    n_songs : int
        Number of songs that they are of.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.neighbours.calibration import Calibration
    >>> calibration = Calibration.fit(np.array([[0.0], [1.0], [3.0]]))  # pairs at 1, 2 and 3
    >>> calibration.similarity([0.0, 1.0, 1.5, 2.0, 3.0, 9.0]).round(3).tolist()
    [1.0, 0.667, 0.5, 0.333, 0.0, 0.0]
    """

    distances: npt.NDArray[np.float64]
    farther: npt.NDArray[np.float64]
    pairs: int
    n_songs: int

    @classmethod
    def fit(cls, embeddings: npt.ArrayLike, seed: int = 0) -> "Calibration":
        """Measure up to 200,000 pairs: all pairs if there are no more, otherwise a random sample.

        Parameters
        ----------
        embeddings : array of shape (n_songs, r)
            With fewer than two songs there is no pair, and every distance above 0 has similarity 0.
        seed : int, default=0
            Of the random sample.

        Raises
        ------
        InvalidInputError
            If an embedding is not finite.
        """
        rows = np.asarray(embeddings)
        if rows.ndim != 2 and rows.size:
            raise InvalidInputError(f"embeddings has shape {rows.shape}; songs x dimensions is needed.")
        first, second = _pairs(len(rows), check_count(seed, "seed", minimum=0))
        distances = np.empty(len(first))
        for start in range(0, len(first), BLOCK_PAIRS):
            part = slice(start, start + BLOCK_PAIRS)
            ones, others = rows.take(first[part], axis=0), rows.take(second[part], axis=0)
            distances[part] = np.sqrt(squared_distances(ones, others))
        if not np.isfinite(distances).all():
            raise InvalidInputError("embeddings has a NaN or infinite value; leave such songs out.")
        distances.sort()
        n_pairs = len(distances)
        knots = np.unique(distances[_ranks(n_pairs)])
        knots = knots[knots > 0]  # duplicate songs: distance 0 keeps similarity 1
        farther = 1 - np.searchsorted(distances, knots, side="right") / max(n_pairs, 1)
        return cls(np.append(0.0, knots), np.append(1.0, farther), n_pairs, len(rows))

    def similarity(self, distances: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the share of pairs farther apart than each distance: 1 at 0, 0 beyond the farthest pair.

        Parameters
        ----------
        distances : array of any shape

        Returns
        -------
        array of float64 and the same shape
        """
        checked = np.asarray(distances, dtype=np.float64)
        if not (checked >= 0).all():
            raise InvalidInputError("distances has a negative or NaN value; give distances between songs.")
        return np.asarray(np.interp(checked, self.distances, self.farther, right=0.0))

    def closeness(self, similarities: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the closeness of similarities among this many songs; see `nearsong.library.neighbours.closeness`."""
        return closeness(similarities, max(1, self.n_songs))


def _pairs(n_songs: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return pairs of rows of different songs, both (n_pairs,)."""
    if n_songs * (n_songs - 1) // 2 <= MAX_PAIRS:
        return np.triu_indices(n_songs, k=1)
    rng = np.random.default_rng(seed)
    first = rng.integers(n_songs, size=MAX_PAIRS)
    second = rng.integers(n_songs - 1, size=MAX_PAIRS)
    return first, second + (second >= first)


def _ranks(n_pairs: int) -> npt.NDArray[np.int64]:
    """Return the ranks, from the nearest pair, that become knots; always including the first and the last."""
    if n_pairs == 0:
        return np.zeros(0, np.int64)
    near = np.geomspace(1, n_pairs, NEAR_KNOTS)
    even = np.linspace(1, n_pairs, EVEN_KNOTS)
    far = n_pairs + 1 - np.geomspace(1, n_pairs, FAR_KNOTS)
    return np.unique(np.rint(np.concatenate([near, even, far])).astype(np.int64)) - 1
