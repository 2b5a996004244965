"""Artists -> training, validation and test artists, by chance (paper IV-B).

Splits are of artists, never of songs: two songs of one artist share a studio, and a metric that has heard the one
knows the other.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

SHARES = (0.4, 0.3, 0.3)
"""Training, validation and test in the paper."""


class ArtistSplit(NamedTuple):
    """Three sets of artists that have none in common; each ascending."""

    training: npt.NDArray[np.int64]
    validation: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def artist_split(n_artists: int, number: int, seed: int = 0) -> ArtistSplit:
    """Return split ``number`` of the artists 0 ... n_artists - 1: 40 % training, 30 % validation, 30 % test.

    Parameters
    ----------
    n_artists : int
        At least three.
    number : int
        Which split; each has its own order, whatever other splits are asked for.
    seed : int, default=0
        Chooses the family of splits.

    Returns
    -------
    ArtistSplit

    Examples
    --------
    >>> from nearsong.evaluation import artist_split
    >>> [len(part) for part in artist_split(2015, number=0)]
    [806, 604, 605]
    """
    n_artists = check_count(n_artists, "n_artists")
    if n_artists < 3:
        raise InvalidInputError(f"{n_artists} artist(s) cannot be split in three; at least 3 are needed.")
    number = check_count(number, "number", minimum=0)
    random = np.random.default_rng([check_count(seed, "seed", minimum=0), number])
    order = random.permutation(n_artists)
    # the paper's 2,015 artists gave 806, 604 and 605: rounded down, with the rest for testing
    n_training = max(1, int(SHARES[0] * n_artists))
    n_validation = max(1, int(SHARES[1] * n_artists))
    parts = np.split(order, [n_training, n_training + n_validation])
    return ArtistSplit(*(np.sort(part) for part in parts))
