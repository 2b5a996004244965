"""A number of artists -> random training, validation and test artists (paper IV-B).

Artists are split, never songs: songs of one artist share production effects, so a metric trained on one of them would
have an advantage on the others.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

SHARES = (0.4, 0.3, 0.3)
"""Shares of training, validation and test artists in the paper."""


class ArtistSplit(NamedTuple):
    """Three disjoint sets of artist indices, each ascending."""

    training: npt.NDArray[np.int64]
    validation: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def artist_split(n_artists: int, number: int, seed: int = 0) -> ArtistSplit:
    """Split the artists 0 ... n_artists - 1 at random: 40 % training, 30 % validation, 30 % test.

    Parameters
    ----------
    n_artists : int
        Number of artists, at least three.
    number : int
        Number of the split. Splits are independent: the same number gives the same split, whichever others are drawn.
    seed : int, default=0
        Seed of the family of splits.

    Returns
    -------
    ArtistSplit
        Artist indices as ``training``, ``validation`` and ``test``.

    Examples
    --------
    >>> from nearsong.evaluation import artist_split
    >>> [len(part) for part in artist_split(2015, number=0)]
    [806, 604, 605]
    """
    n_artists = check_count(n_artists, "n_artists")
    if n_artists < 3:
        raise InvalidInputError(f"{n_artists} artist(s) cannot be split in three; use at least 3.")
    number = check_count(number, "number", minimum=0)
    random = np.random.default_rng([check_count(seed, "seed", minimum=0), number])
    order = random.permutation(n_artists)
    # the paper's 2,015 artists gave 806, 604 and 605: rounded down, the rest for testing
    n_training = max(1, int(SHARES[0] * n_artists))
    n_validation = max(1, int(SHARES[1] * n_artists))
    parts = np.split(order, [n_training, n_training + n_validation])
    return ArtistSplit(*(np.sort(part) for part in parts))
