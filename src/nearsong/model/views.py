"""One way to hear a song, and what listeners make of it: histogram -> (PPK) -> PCA -> metric (paper III-C, IV-B).

A model holds one or more views. Each has a metric of its own; the model's distance is their weighted sum, so it
stays one Mahalanobis metric over all histograms, one factor, one Euclidean space.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.decomposition import PCA

from nearsong.encoding import ProductKernelMap
from nearsong.errors import InvalidInputError
from nearsong.metric import MetricLearningToRank
from nearsong.validation import check_in_range, check_magnitude, check_positive, check_vectors

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """A metric over the histograms of one encoder.

    Attributes
    ----------
    encoder : int
        Which of the model's encoders makes the histograms.
    product_kernel : bool
        Whether the square roots are taken (PPK).
    mean : array of shape (n_codewords,)
        What PCA subtracts.
    basis : array of shape (d, n_codewords)
        The principal components that are kept.
    factor : array of shape (rank, d)
        L, with the metric W = L'L.
    weight : float
        The view's part in the model's squared distance.
    spread : float
        Mean squared distance under W over all pairs of training songs, a song with itself among them: what makes
        views comparable.
    """

    encoder: int
    product_kernel: bool
    mean: FloatArray
    basis: FloatArray
    factor: FloatArray
    weight: float = 1.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("mean", "basis", "factor"):
            if getattr(self, name).dtype != np.float64:
                raise InvalidInputError(
                    f"a view's {name} has numbers of type {getattr(self, name).dtype}, not float64."
                )
        if not isinstance(self.product_kernel, bool) or type(self.encoder) is not int or self.basis.ndim != 2:
            raise InvalidInputError("a view's product_kernel is no bool, its encoder no int or its basis no matrix.")
        object.__setattr__(self, "weight", check_positive(self.weight, "weight"))
        object.__setattr__(self, "spread", check_positive(self.spread, "spread"))
        n_codewords, (d, width), rank_shape = len(self.mean), self.basis.shape, self.factor.shape
        if self.mean.ndim != 1 or width != n_codewords or self.factor.ndim != 2 or rank_shape[1] != d:
            raise InvalidInputError(
                f"a view's mean {self.mean.shape}, basis {self.basis.shape} and factor {self.factor.shape} do not "
                "fit together; (V,), (d, V) and (r, d) are needed."
            )
        if not all(np.isfinite(array).all() for array in (self.mean, self.basis, self.factor)):
            raise InvalidInputError("a view has a NaN or infinite number in it; train it anew.")
        for name in ("mean", "basis", "factor"):
            check_magnitude(getattr(self, name), f"a view's {name}")
        # one matrix takes a mapped histogram to its place; the mean goes along as an offset
        projection = np.sqrt(self.weight) * (self.factor @ self.basis)
        object.__setattr__(self, "_projection", projection)
        object.__setattr__(self, "_offset", projection @ self.mean)

    def project(self, histograms: FloatArray) -> FloatArray:
        """Return the places (songs x rank) of histograms (songs x V); their distances are the view's."""
        mapped = ProductKernelMap().transform(histograms) if self.product_kernel else histograms
        projection: FloatArray = self._projection  # type: ignore[attr-defined]
        offset: FloatArray = self._offset  # type: ignore[attr-defined]
        return mapped @ projection.T - offset


def learn_view(
    histograms: npt.ArrayLike,
    relevant: Any = None,
    ignored: Any = None,
    *,
    product_kernel: bool = True,
    explained_variance: float = 0.95,
    learner: MetricLearningToRank | None = None,
    encoder: int = 0,
) -> tuple[View, MetricLearningToRank | None]:
    """Learn a view from the histograms of the training songs.

    Parameters
    ----------
    histograms : array of shape (n_songs, V)
        One row a song.
    relevant, ignored : sparse matrix of shape (n_songs, n_songs), optional
        As for :meth:`MetricLearningToRank.fit`. Without ``relevant`` the metric is the native one.
    product_kernel : bool, default=True
        Whether to take square roots first (PPK).
    explained_variance : float, default=0.95
        Share of the variance that PCA keeps.
    learner : MetricLearningToRank, optional
        Its parameters are used; it is not changed. By default ``loss="auc", C=1e3``.
    encoder : int, default=0
        Which of the model's encoders made the histograms.

    Returns
    -------
    view : View
    fitted : MetricLearningToRank or None
        The learner after fitting; None for a native view.
    """
    vectors = check_vectors(histograms, "histograms")
    share = check_in_range(explained_variance, "explained_variance", 0.0, 1.0)
    mapped = ProductKernelMap().transform(vectors) if product_kernel else vectors
    if np.ptp(mapped, axis=0).max() == 0:
        raise InvalidInputError(
            f"histograms of {len(vectors)} song(s) are all the same; at least two different songs are needed."
        )
    pca = PCA(n_components=share, svd_solver="full").fit(mapped)
    compressed = pca.transform(mapped)
    fitted = None
    if relevant is None:
        factor = np.eye(pca.n_components_)
    else:
        fitted = clone(learner) if learner is not None else MetricLearningToRank(loss="auc", C=1e3)
        factor = fitted.fit(compressed, relevant, ignored=ignored).components_
    spread = 2.0 * float((compressed @ factor.T).var(axis=0).sum())
    view = View(
        encoder=encoder,
        product_kernel=product_kernel,
        mean=np.asarray(pca.mean_, dtype=np.float64),
        basis=np.asarray(pca.components_, dtype=np.float64),
        factor=np.asarray(factor, dtype=np.float64),
        spread=spread or 1.0,
    )
    return view, fitted
