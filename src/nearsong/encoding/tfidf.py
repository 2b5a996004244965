"""Histograms -> histograms weighted by how rare each codeword is (paper IV-C): the TF-IDF baseline."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.encoding.non_negative import refuse_negative
from nearsong.estimators import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    check_is_fitted,
    validate_data,
)
from nearsong.types import FloatArray


class TfIdf(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply every codeword by its inverse document frequency.

    ``idf[v] = log(n_songs / #{songs x: x[v] > 0})``, and 0 for a codeword no song uses. A codeword that every song
    uses gets 0 as well: it tells songs apart no better. Songs are then compared by cosine.

    Attributes
    ----------
    idf_ : ndarray of shape (n_codewords,)
        The weights.

    Examples
    --------
    >>> weighting = TfIdf().fit([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    >>> weighting.idf_.round(3)
    array([0.   , 0.693, 0.   , 0.   ])
    >>> weighting.transform([[0.2, 0.4, 0.4, 0.0]]).round(3)
    array([[0.   , 0.277, 0.   , 0.   ]])
    """

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Learn the weights from training histograms of shape (n_songs, n_codewords)."""
        histograms = refuse_negative(validate_data(self, X, dtype=np.float64), type(self).__name__)
        n_using = np.count_nonzero(histograms, axis=0)
        self.idf_: FloatArray = np.log(len(histograms) / np.where(n_using > 0, n_using, len(histograms)))
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return weighted histograms, of the same shape (n_songs, n_codewords)."""
        check_is_fitted(self)
        histograms = refuse_negative(validate_data(self, X, dtype=np.float64, reset=False), type(self).__name__)
        return histograms * self.idf_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
