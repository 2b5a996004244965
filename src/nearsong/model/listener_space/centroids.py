"""Songs of a database -> each drawn to the mean of its artist's songs.

Songs of one artist have the same listeners, so the noise of a single song is better averaged away. Every map of the
listener space is linear before its scaling to length 1, so drawing phi draws all of them.
"""

from collections.abc import Iterator

import numpy as np

from nearsong.model.listener_space.rows import BLOCK_NUMBERS, Rows
from nearsong.model.listener_space.targets import Indices
from nearsong.types import FloatArray


def with_centroids(rows: Rows, artists: Indices, share: float, shrinkage: float = 0.0) -> FloatArray:
    """Return ``(1 - s) own + s mean``, an array of shape (n_songs, n_dimensions).

    Parameters
    ----------
    rows : array of shape (n_songs, n_dimensions)
        The songs.
    artists : array of shape (n_songs,)
        The artist of each song; songs of artist -1 stay as they are, and so do only songs of an artist.
    share, shrinkage : float
        ``s = share * (n - 1) / (n - 1 + shrinkage)`` for an artist of n songs.

    Examples
    --------
    >>> with_centroids(np.array([[0.0], [2.0], [9.0]]), np.array([5, 5, 6]), share=0.5).ravel()
    array([0.5, 1.5, 9. ])
    """
    mixed = np.empty(rows.shape)
    for songs, part in centroid_blocks(rows, artists, share, shrinkage):
        mixed[songs] = part
    return mixed


def centroid_blocks(
    rows: Rows, artists: Indices, share: float, shrinkage: float = 0.0
) -> Iterator[tuple[Indices, FloatArray]]:
    """Yield the songs of some artists at a time, with their rows of `with_centroids`.

    A block has about ``BLOCK_NUMBERS`` numbers, or the songs of one artist.
    """
    order = np.argsort(artists, kind="stable")
    by_artist = artists[order]
    is_first = (np.diff(by_artist, prepend=-2) != 0) | (by_artist < 0)
    starts = np.append(np.flatnonzero(is_first), len(order))
    step = max(1, BLOCK_NUMBERS // max(1, rows.shape[1]))
    group = 0
    while group < len(starts) - 1:
        after = max(group + 1, int(np.searchsorted(starts, starts[group] + step, side="right")) - 1)
        songs = order[starts[group] : starts[after]]
        part = np.array(rows[songs], dtype=np.float64)
        for start, stop in zip(starts[group:after], starts[group + 1 : after + 1], strict=True):
            if stop - start > 1 and share > 0:
                own = part[start - starts[group] : stop - starts[group]]
                own[:] = _drawn(own, share * (len(own) - 1) / (len(own) - 1 + shrinkage))
        yield songs, part
        group = after


def _drawn(own: FloatArray, weight: float) -> FloatArray:
    """Draw the songs of one artist (n_songs, n_dimensions) to their mean."""
    # sorted numbers have the same sum in whatever order the songs come
    mean: FloatArray = np.sort(own, axis=0).sum(axis=0) / len(own)
    return np.broadcast_to(mean, own.shape) if weight == 1 else (1.0 - weight) * own + weight * mean
