"""Who listens to which artists, and how much a listener likes some -> how well other artists go with these.

Item-based nearest neighbours without a limit on their number: with the matrix P (n_listeners, n_artists) of who plays
what, d_u artists of listener u, n_a listeners of artist a, and the listener's weights w::

    score_a = sum_{b != a} w_b sum_u P_ua P_ub / d_u / sqrt(n_a n_b)

so that a listener who plays everything says little. Two sparse products, whatever the number of artists.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray


class OverlapScores:
    """The matrix of who plays what, ready for the scores of many listeners.

    Parameters
    ----------
    plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener plays an artist.

    Attributes
    ----------
    n_listeners : array of int and shape (n_artists,)
        Listeners of each artist.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> plays = sp.csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], bool))
    >>> OverlapScores(plays).scores(np.array([1.0, 0.0, 0.0])).round(2).tolist()
    [0.0, 0.41, 0.0]
    """

    def __init__(self, plays: Any) -> None:
        self._plays = plays.astype(np.float32)
        self._plays.data[:] = 1.0
        self._per_artist = plays.T.tocsr().astype(np.float32)  # both directions are sums over rows
        self._per_artist.data[:] = 1.0
        artists = np.diff(self._plays.indptr)
        self._shares = 1.0 / np.maximum(artists, 1)
        self.n_listeners: npt.NDArray[np.int64] = np.diff(self._per_artist.indptr).astype(np.int64)
        self._norms = np.sqrt(np.maximum(self.n_listeners, 1))
        self._own: FloatArray = (self._per_artist @ self._shares) / self._norms**2

    @property
    def n_rows(self) -> int:
        """Number of listeners."""
        return int(self._plays.shape[0])

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the score of each artist, (n_artists,), for a listener's weights of the artists, (n_artists,)."""
        if weights.shape != (len(self._norms),):
            raise InvalidInputError(
                f"weights has shape {weights.shape}; a number for each of {len(self._norms)} artists is needed."
            )
        listeners = (self._plays @ (weights / self._norms)) * self._shares
        scores: FloatArray = (self._per_artist @ listeners) / self._norms - self._own * weights
        return scores
