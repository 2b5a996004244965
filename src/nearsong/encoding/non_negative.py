"""The check that all histograms share: no entry is negative."""

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError


def refuse_negative(histograms: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    """Return histograms of shape (n_songs, n_codewords) if nothing in them is negative.

    Examples
    --------
    >>> refuse_negative(np.array([[0.5, 0.5]]), "TfIdf")
    array([[0.5, 0.5]])
    """
    if histograms.min() < 0:
        row = int(np.flatnonzero((histograms < 0).any(axis=1))[0])
        raise InvalidInputError(
            f"Negative values in data passed to {name}, first in row {row}; "
            "a histogram counts, so give numbers of at least 0."
        )
    return histograms


def root(histograms: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    """Return the square roots of histograms: their inner products are the probability product kernel (paper eq. 13).

    Examples
    --------
    >>> root(np.array([[0.25, 0.75, 0.0]]), "ProductKernelMap").round(3)
    array([[0.5  , 0.866, 0.   ]])
    """
    roots: npt.NDArray[np.float64] = np.sqrt(refuse_negative(histograms, name))
    return roots
