"""The check that all histograms share: no entry is negative."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError


def refuse_negative(histograms: npt.NDArray[np.float64], estimator: Any) -> npt.NDArray[np.float64]:
    """Return histograms of shape (n_songs, n_codewords) if nothing in them is negative.

    Examples
    --------
    >>> refuse_negative(np.array([[0.5, 0.5]]), None)
    array([[0.5, 0.5]])
    """
    if histograms.min() < 0:
        row = int(np.flatnonzero((histograms < 0).any(axis=1))[0])
        raise InvalidInputError(
            f"Negative values in data passed to {type(estimator).__name__}, first in row {row}; "
            "a histogram counts, so give numbers of at least 0."
        )
    return histograms
