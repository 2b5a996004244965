"""Histograms -> the space of the probability product kernel: coordinate-wise square roots (paper eq. 13)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.encoding.non_negative import refuse_negative, root
from nearsong.estimators import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, validate_data
from nearsong.types import FloatArray


class ProductKernelMap(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map histograms to where their inner product is the probability product kernel.

    ``<map(h), map(g)> = sum_v sqrt(h[v] g[v])``, the Bhattacharyya coefficient, so Euclidean distances rank as
    Hellinger distances do. Histograms that sum to 1 land on the unit sphere; others are mapped all the same, to a
    length of the square root of their sum. There is nothing to learn, so ``fit`` need not be called; it remembers the
    number of features and has later histograms checked for it.

    Examples
    --------
    >>> histograms = np.array([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]])
    >>> mapped = ProductKernelMap().transform(histograms)
    >>> mapped @ mapped.T
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Check the histograms, of shape (n_songs, n_codewords), and remember how long they are."""
        refuse_negative(validate_data(self, X, dtype=np.float64), type(self).__name__)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return the square roots of histograms, both of shape (n_songs, n_codewords)."""
        return root(self._checked(X), type(self).__name__)

    def inverse_transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return the histograms of mapped songs, both of shape (n_songs, n_codewords)."""
        squares: FloatArray = np.square(self._checked(X))
        return squares

    def _checked(self, X: npt.ArrayLike) -> FloatArray:
        checked: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.requires_fit = False
        return tags
