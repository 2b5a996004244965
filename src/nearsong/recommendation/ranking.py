"""Scores and artists -> the rows of the best songs, not too many by one artist."""

import numpy as np
import numpy.typing as npt

from nearsong.types import FloatArray
from nearsong.validation import check_count

Rows = npt.NDArray[np.int64]


def best_rows(
    scores: FloatArray,
    allowed: npt.NDArray[np.bool_],
    artists: Rows,
    n: int,
    *,
    per_artist: int | None = None,
    only: bool = False,
) -> Rows:
    """Return the allowed songs with the highest scores, the best first, ties to the lower row.

    Parameters
    ----------
    scores : array of shape (n_songs,)
    allowed : array of bool and shape (n_songs,)
    artists : array of int and shape (n_songs,)
        A number for each artist; songs of -1 are each by another artist.
    n : int
    per_artist : int, optional
        Songs by one artist, unless there are not enough others.
    only : bool, default=False
        Return fewer than n rather than more than ``per_artist`` by one artist.

    Examples
    --------
    >>> scores, artists = np.array([0.9, 0.8, 0.7, 0.6]), np.array([3, 3, 5, -1])
    >>> best_rows(scores, np.ones(4, bool), artists, 3, per_artist=1).tolist()
    [0, 2, 3]
    """
    check_count(n, "n")
    rows = np.flatnonzero(allowed)
    order = rows[np.argsort(-scores[rows], kind="stable")]
    if per_artist is None:
        return order[:n].astype(np.int64)
    n_before = _n_before_by_artist(artists[order])
    first = n_before < check_count(per_artist, "per_artist")
    chosen = order[first][:n]
    if len(chosen) < n and not only:
        chosen = np.concatenate([chosen, order[~first][: n - len(chosen)]])
    return chosen.astype(np.int64)


def _n_before_by_artist(artists: Rows) -> Rows:
    """Return how many earlier songs have the same artist, for each of some songs; 0 for songs of -1."""
    by_artist = np.argsort(artists, kind="stable")
    grouped = artists[by_artist]
    begins = np.concatenate([[True], grouped[1:] != grouped[:-1]]) if len(grouped) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(begins, np.arange(len(grouped)), 0)) if len(grouped) else grouped
    n_before = np.empty(len(artists), np.int64)
    n_before[by_artist] = np.arange(len(grouped)) - starts
    n_before[artists < 0] = 0
    return n_before
