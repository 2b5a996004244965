"""Embeddings -> sort keys that order songs as their distances do, a block of queries at a time."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

KeyBlocks: TypeAlias = Callable[[int, int], npt.NDArray[np.float64]]
"""``(start, stop)`` -> keys of shape (stop - start, n_songs), valid until the next call."""


def distance_keys(queries: npt.NDArray[np.float64], songs: npt.NDArray[np.float64], block: int) -> KeyBlocks:
    """Return a function that computes ``|x|^2 - 2 q.x``, the squared distance minus ``|q|^2``, for blocks of queries.

    Each block is one matrix product, with the norm as an additional feature. Vectors are scaled by a power of two so
    that no square overflows, and the mean of the songs is subtracted from both sides to reduce cancellation. A
    product may round equal columns differently, so copies of a song get its keys: identical vectors tie exactly.

    Parameters
    ----------
    queries : array of shape (n_queries, r)
        Finite vectors.
    songs : array of shape (n_songs, r)
        Finite vectors.
    block : int
        The largest number of queries in a block.

    Returns
    -------
    callable
        ``keys(start, stop)`` returns an array of shape (stop - start, n_songs), which the next call overwrites.

    Examples
    --------
    >>> import numpy as np
    >>> keys = distance_keys(np.array([[0.0], [3.0]]), np.array([[1.0], [2.0], [4.0]]), block=2)
    >>> keys(0, 2).argsort(axis=1, kind="stable")
    array([[0, 1, 2],
           [1, 2, 0]])
    """
    r = songs.shape[1]
    largest = max(np.abs([array.max(), array.min()]).max() for array in (queries, songs))
    exponent = -int(np.frexp(largest)[1])
    left = np.ones((len(queries), r + 1))
    right = np.empty((len(songs), r + 1))
    np.ldexp(queries, exponent, out=left[:, :r])
    np.ldexp(songs, exponent, out=right[:, :r])
    offset = 0.0 - right[:, :r].mean(axis=0)  # adding it turns -0.0 into 0.0, so that equal values have equal bits
    left[:, :r] += offset
    right[:, :r] += offset
    copies, originals = _copies(right[:, :r])
    right[:, r] = np.einsum("ij,ij->i", right[:, :r], right[:, :r])
    right[:, :r] *= -2.0
    buffer = np.empty((block, len(songs)))

    def keys(start: int, stop: int) -> npt.NDArray[np.float64]:
        product = np.matmul(left[start:stop], right.T, out=buffer[: stop - start])
        if copies.size:
            for row in product:
                row[copies] = row[originals]
        return product

    return keys


def _copies(vectors: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the indices of rows that repeat an earlier row, and the index of that earlier row for each."""
    hashes = np.fromiter((hash(row.tobytes()) for row in vectors), np.int64, len(vectors))
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[group] != np.arange(len(vectors)))
    originals = first[group[copies]]
    same = (vectors[copies] == vectors[originals]).all(axis=1)
    return copies[same], originals[same]
