"""How surprising a radio should be -> which of the songs that could come next it is drawn from.

The songs that may come next are ranked by their scores, best first. With n of them and a surprise of s, the radio
goes on from rank ``(n / 4)^s``: from the first at 0, from a quarter of the way down at 1. Each step of the dial
multiplies the rank, so that it is felt in a small library and in a large one. And with the probability s the song
has to be one that the listener does not know.
"""

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray

FARTHEST_SHARE = 0.25
"""The most surprising radio goes on from this share of the ranking."""

DRAWN_FROM = 3
"""So many songs are returned to draw from."""

MAX_UNKNOWN_SHARE = 0.25
"""Songs that the listener does not know are looked for in this share of the ranking; there may be none."""

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


def check_surprise(value: float) -> float:
    """Return a position of the dial from familiar to surprising, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"surprise={value!r} must be a number from 0 (familiar) to 1 (surprising).")
    return float(value)


def wants_unknown(surprise: float, seed: int, number: int) -> bool:
    """Return whether the song of a number has to be unknown: with the probability ``surprise``.

    What is unknown at one position of the dial is so at every higher one.
    """
    return bool(np.random.default_rng([seed, number, 1]).random() < surprise)


def first_rank(n_songs: int, surprise: float) -> int:
    """Return the rank from which on the next song is chosen; 0 is the best.

    Examples
    --------
    >>> [first_rank(400, surprise) for surprise in (0, 0.25, 0.5, 0.75, 1)]
    [0, 2, 9, 30, 99]
    """
    return int(max(FARTHEST_SHARE * n_songs, 1.0) ** surprise + 1e-9) - 1


def surprising_rows(scores: FloatArray, allowed: Mask, surprise: float, wanted: Mask | None = None) -> Rows:
    """Return the songs to draw the next one from, the best first.

    Parameters
    ----------
    scores : array of shape (n_songs,)
    allowed : array of bool and shape (n_songs,)
        Songs that may come next; at least one.
    surprise : float from 0 to 1
    wanted : array of bool and shape (n_songs,), optional
        Preferred ones, if any of them is not much farther.

    Examples
    --------
    >>> scores, all_of_them = -np.arange(40.0), np.ones(40, bool)
    >>> surprising_rows(scores, all_of_them, 0).tolist(), surprising_rows(scores, all_of_them, 1).tolist()
    ([0, 1, 2], [9, 10, 11])
    """
    rows = np.flatnonzero(allowed)
    order = rows[np.argsort(-scores[rows], kind="stable")]
    order = order[first_rank(len(order), surprise) :]
    if wanted is not None:
        reach = order[: DRAWN_FROM + int(MAX_UNKNOWN_SHARE * len(rows))]
        preferred = reach[wanted[reach]]
        order = preferred if len(preferred) else order
    return order[:DRAWN_FROM].astype(np.int64)
