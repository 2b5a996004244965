"""Similarity -> closeness in 0..1 and a word: what separates the songs of one list.

Similarity is the share of random pairs that are farther apart, so that every song of a list of similar ones has 0.99:
what tells them apart is in what is missing to 1. With n songs, ``k = n (1 - similarity)`` of them are as near to a
song, on average. Closeness is

    1 - log(1 + k) / log(1 + n),

1 for identical embeddings and 0 for the farthest pair. It depends on the similarity and the size of the library
alone, so that it means the same in every list of a library. The words have fixed limits on this scale.
"""

import numpy as np
import numpy.typing as npt

from nearsong.validation import check_count

CLOSENESS_WORDS = ((0.7, "very close"), (0.5, "close"), (0.3, "loose"), (0.0, "far"))
"""The lowest closeness of each word, the closest first.

Close is what is as near as the square root of n songs are: the nearest 12 of 138, 100 of 10,000. Of the ten nearest
songs in five collections of real music, 31 to 44 % are very close and 30 to 57 % close (docs/results.md).
"""


def closeness(similarity: npt.ArrayLike, n_songs: int) -> npt.NDArray[np.float64]:
    """Return the closeness of similarities.

    Parameters
    ----------
    similarity : array of any shape
        In 0..1, as :class:`~nearsong.library.neighbours.calibration.Calibration` gives it.
    n_songs : int
        Songs of the library.

    Returns
    -------
    array of float64 and the same shape

    Examples
    --------
    >>> closeness([1.0, 0.999, 0.99, 0.9, 0.5, 0.0], 1000).round(2).tolist()
    [1.0, 0.9, 0.65, 0.33, 0.1, 0.0]
    """
    as_near = check_count(n_songs, "n_songs") * (1 - np.clip(np.asarray(similarity, dtype=np.float64), 0.0, 1.0))
    return np.asarray(1 - np.log1p(as_near) / np.log1p(n_songs))


def closeness_word(value: float) -> str:
    """Return the word for a closeness.

    >>> [closeness_word(value) for value in (0.7, 0.69, 0.3, 0.1)]
    ['very close', 'close', 'loose', 'far']
    """
    return next((word for lowest, word in CLOSENESS_WORDS if value >= lowest), CLOSENESS_WORDS[-1][1])
