"""Plays, hearts, ratings and skips with their times -> one weight for each item: above 0 liked, below 0 disliked.

What a play, a heart and a skip are worth was measured: docs/decisions/0026-for-you.md.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.types import FloatArray
from nearsong.validation import check_positive

DAY_SECONDS = 86_400.0

NEUTRAL_STARS = 3.0
"""A rating above this is liked, below it disliked; full marks are worth a heart."""


@dataclass(frozen=True)
class Worth:
    """What each kind of evidence is worth.

    Attributes
    ----------
    half_life_days : float
        After so many days a play or a skip counts half.
    untimed_age_days : float
        A play without a time counts as one of this age.
    heart : float
        Weight of a heart; a song played once has ``log 2``.
    skip : float
        Weight that ``log(1 + skips)`` takes away.
    """

    half_life_days: float = 90.0
    untimed_age_days: float = 90.0
    heart: float = 1.0
    skip: float = 2.0


DEFAULT_WORTH = Worth()


def recency(time: npt.ArrayLike, at: float, worth: Worth = DEFAULT_WORTH) -> FloatArray:
    """Return how much rows of some times count: 1 now, half after each half-life.

    Parameters
    ----------
    time : array of shape (n,)
        Seconds since 1970; 0 where it is not known.
    at : float
        Now, in seconds since 1970; what is later counts 1.
    worth : Worth

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> year = 365 * 86_400
    >>> recency([year, 2 * year, 0], 2 * year, Worth(half_life_days=365, untimed_age_days=730)).tolist()
    [0.5, 1.0, 0.25]
    """
    half_life = check_positive(worth.half_life_days, "half_life_days")
    times = np.asarray(time, dtype=np.float64)
    days = np.where(times > 0, np.maximum(at - times, 0.0) / DAY_SECONDS, worth.untimed_age_days)
    return np.exp2(-days / half_life)


def item_weights(
    plays: npt.ArrayLike,
    skips: npt.ArrayLike,
    hearts: npt.ArrayLike,
    stars: npt.ArrayLike,
    worth: Worth = DEFAULT_WORTH,
) -> FloatArray:
    """Return the weight of each item.

    Parameters
    ----------
    plays, skips : arrays of shape (n_items,)
        Number of each, those long ago counting less.
    hearts : array of bool and shape (n_items,)
    stars : array of shape (n_items,)
        Ratings from 0.5 to 5; NaN where there is none.
    worth : Worth

    Returns
    -------
    array of shape (n_items,)
        ``log(1 + plays) + heart (hearts + (stars - 3) / 2) - skip log(1 + skips)``; what has a heart
        or a high rating loses no more by skips than plays gave it: what is said counts more than what is done.

    Examples
    --------
    >>> item_weights([3, 0, 0], [0, 1, 0], [False, False, True], [np.nan, np.nan, 1]).round(2).tolist()
    [1.39, -1.39, 0.0]
    >>> item_weights([1], [9], [True], [np.nan]).tolist()
    [1.0]
    """
    given = np.nan_to_num((np.asarray(stars, dtype=np.float64) - NEUTRAL_STARS) / 2.0)
    liked = np.asarray(hearts, dtype=np.float64) + given
    played, skipped = (np.log1p(np.asarray(counts, dtype=np.float64)) for counts in (plays, skips))
    done = played - worth.skip * skipped
    weights: FloatArray = np.where(liked > 0, np.maximum(done, 0.0), done) + worth.heart * liked
    return weights
