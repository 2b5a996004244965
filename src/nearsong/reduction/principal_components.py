"""Vectors -> the directions in which they vary most: principal components (PCA) by singular value decomposition."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """The principal components of vectors, with the numbers of scikit-learn's ``PCA(svd_solver="full")``.

    The largest entry of each component is positive, so that signs do not depend on the decomposition.

    Attributes
    ----------
    mean : array of shape (n_features,)
        Of the vectors.
    components : array of shape (n_components, n_features)
        Orthonormal rows, by falling variance.
    variance_shares : array of shape (n_components,)
        Share of the variance along each.

    Examples
    --------
    >>> line = np.outer([-2.0, -1.0, 0.0, 3.0], [0.6, 0.8]) + [1.0, 0.0]
    >>> pca = PrincipalComponents.fit(line, 0.95)
    >>> pca.components.round(3), pca.transform(line).round(3).ravel()
    (array([[0.6, 0.8]]), array([-2., -1.,  0.,  3.]))
    """

    mean: FloatArray
    components: FloatArray
    variance_shares: FloatArray

    @classmethod
    def fit(cls, vectors: FloatArray, n_components: float) -> Self:
        """Return the first components of vectors (n, n_features), finite and not all equal.

        Parameters
        ----------
        vectors : array of shape (n, n_features)
            At least two rows.
        n_components : int or float
            How many; a number below 1 is the share of the variance that they retain at least.
        """
        from scipy.linalg import svd  # for trainings only

        mean: FloatArray = vectors.mean(axis=0)
        _, sizes, directions = svd(vectors - mean, full_matrices=False)
        largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
        directions *= np.sign(largest)[:, None]
        variances = sizes**2 / (len(vectors) - 1)
        shares = variances / variances.sum()
        if 0 < n_components < 1:
            n_retained = int(np.searchsorted(np.cumsum(shares), n_components, side="right")) + 1
        else:
            n_retained = int(n_components)
            if not 1 <= n_retained <= len(shares):
                raise InvalidInputError(
                    f"n_components={n_retained} must be from 1 to {len(shares)} for these vectors."
                )
        return cls(mean, np.array(directions[:n_retained]), shares[:n_retained].copy())

    def transform(self, vectors: FloatArray) -> FloatArray:
        """Return vectors (n, n_features) along the components (n, n_components)."""
        along: FloatArray = vectors @ self.components.T
        along -= self.mean @ self.components.T
        return along
