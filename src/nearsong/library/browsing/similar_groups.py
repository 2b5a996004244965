"""Embeddings of songs in groups, such as albums or artists -> the groups nearest to one of them.

The squared distance of two groups is the mean over all pairs of their songs,

    D(A, B) = mean |a - b|^2 = |m_A - m_B|^2 + s_A + s_B,

with the means m and the mean squared distances s of songs to their own mean. So it takes no more than one row and one
number of each group. Unlike the distance of the means it does not favour groups of many songs, whose means lie near
the middle, over those of one: its expectation does not depend on how many songs are there.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.types import FloatArray

Mask = npt.NDArray[np.bool_]


class SongGroups:
    """Groups of songs and their distances.

    Parameters
    ----------
    embeddings : array of shape (n_songs, n_dimensions)
    groups : sequence of sequence of int
        Rows of the songs of each group; a song may be in several groups, and a group may be empty.

    Examples
    --------
    >>> groups = SongGroups(np.array([[0.0], [2.0], [1.0], [9.0]]), [[0, 1], [2], [3], []])
    >>> groups.squared_distances(0).tolist(), groups.nearest(0, 5)
    ([2.0, 1.0, 65.0, inf], [1, 2])
    """

    def __init__(self, embeddings: npt.NDArray[np.floating], groups: Sequence[Sequence[int]]) -> None:
        sizes = np.array([len(rows) for rows in groups], dtype=np.int64)
        rows = np.array([row for group in groups for row in group], dtype=np.int64)
        shares = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        membership = sp.csr_array((shares, rows, starts), shape=(len(groups), len(embeddings)))
        exact = np.asarray(embeddings, dtype=np.float64)
        self._is_empty: Mask = sizes == 0
        self._means: FloatArray = membership @ exact
        self._norms: FloatArray = membership @ (exact**2).sum(axis=1)  # |m|^2 + s of each group

    def squared_distances(self, group: int) -> FloatArray:
        """Return the squared distance of all groups to one, (n_groups,); infinite for empty ones."""
        distances = self._norms + self._norms[group] - 2 * (self._means @ self._means[group])
        return np.where(self._is_empty | self._is_empty[group], np.inf, np.maximum(distances, 0.0))

    def nearest(self, group: int, n: int, allowed: Mask | None = None) -> list[int]:
        """Return the nearest other groups, the nearest first; of equally near ones the first.

        Parameters
        ----------
        group : int
        n : int
            How many at most.
        allowed : array of bool and shape (n_groups,), optional
            Which groups may be among them.
        """
        distances = self.squared_distances(group)
        distances[group] = np.inf
        if allowed is not None:
            distances[~allowed] = np.inf
        order = np.argsort(distances, kind="stable")[:n]
        return [int(one) for one in order if np.isfinite(distances[one])]
