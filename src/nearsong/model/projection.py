"""Song vectors -> embeddings: phi (PPK for histograms), PCA, metric (paper III-C, IV-B).

A model holds one or more projections. Each has a metric of its own; the model's squared distance is their weighted
sum, so it stays one Mahalanobis metric over all song vectors and one Euclidean space.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model.encoders import SongEncoder
from nearsong.reduction.principal_components import PrincipalComponents
from nearsong.types import FloatArray
from nearsong.validation import check_in_range, check_learned, check_positive, check_vectors

if TYPE_CHECKING:
    from nearsong.metric import MetricLearningToRank


@dataclass(frozen=True, eq=False, kw_only=True)
class Projection:
    """A metric over the song vectors of one encoder.

    Attributes
    ----------
    encoder_index : int
        Which of the model's encoders it reads.
    applies_phi : bool
        Whether the encoder's ``phi`` is applied first: the square root (PPK) for histograms.
    mean : array of shape (n_dimensions,)
        Subtracted from the mapped vector.
    basis : array of shape (d, n_dimensions)
        Principal components, each divided by the encoder's scales.
    factor : array of shape (rank, d)
        L, with the metric W = L'L.
    weight : float
        Its share in the model's squared distance.
    spread : float
        Mean squared distance under W over all pairs of training songs, a song with itself among them: makes
        projections comparable.
    """

    encoder_index: int
    applies_phi: bool
    mean: FloatArray
    basis: FloatArray
    factor: FloatArray
    weight: float = 1.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.applies_phi, bool) or type(self.encoder_index) is not int:
            raise InvalidInputError("a projection needs a bool applies_phi and an int encoder_index.")
        object.__setattr__(self, "weight", check_positive(self.weight, "weight"))
        object.__setattr__(self, "spread", check_positive(self.spread, "spread"))
        check_learned(self.mean, "a projection's mean", (None,))
        check_learned(self.basis, "a projection's basis", (None, len(self.mean)))
        check_learned(self.factor, "a projection's factor", (None, len(self.basis)))
        # one matrix takes a mapped vector to its embedding; the mean becomes an offset
        matrix = np.sqrt(self.weight) * (self.factor @ self.basis)
        check_learned(matrix, "a projection's factor times its basis", (None, None))
        offset = matrix @ self.mean
        check_learned(offset, "a projection's factor times its basis and mean", (None,))
        object.__setattr__(self, "_matrix", matrix)
        object.__setattr__(self, "_offset", offset)

    @property
    def is_zero(self) -> bool:
        """Whether all songs have the same embedding."""
        matrix: FloatArray = self._matrix  # type: ignore[attr-defined]
        return not matrix.any()

    def project(self, mapped: FloatArray) -> FloatArray:
        """Return the embeddings (songs x rank) of mapped vectors (songs x n_dimensions)."""
        matrix: FloatArray = self._matrix  # type: ignore[attr-defined]
        offset: FloatArray = self._offset  # type: ignore[attr-defined]
        return mapped @ matrix.T - offset


def learn_projection(
    vectors: npt.ArrayLike,
    relevant: Any = None,
    ignored: Any = None,
    *,
    encoder: SongEncoder | None = None,
    apply_phi: bool = True,
    explained_variance: float = 0.95,
    learner: Optional["MetricLearningToRank"] = None,
    encoder_index: int = 0,
) -> tuple[Projection, Optional["MetricLearningToRank"]]:
    """Learn a projection from the vectors of the training songs.

    Parameters
    ----------
    vectors : array of shape (n_songs, n_dimensions)
        One row per song.
    relevant, ignored : sparse matrix of shape (n_songs, n_songs), optional
        As for :meth:`MetricLearningToRank.fit`. Without ``relevant`` the metric is the native one.
    encoder : SongEncoder, optional
        The encoder of the vectors, which defines how they are mapped and scaled; by default they are used unchanged.
    apply_phi : bool, default=True
        Whether to apply the encoder's ``phi`` first: the square root (PPK) for histograms.
    explained_variance : float, default=0.95
        Share of the variance retained by PCA.
    learner : MetricLearningToRank, optional
        Its parameters are used; it is not changed. By default ``loss="auc", C=1e3``.
    encoder_index : int, default=0
        Which of the model's encoders the vectors are of.

    Returns
    -------
    projection : Projection
    fitted : MetricLearningToRank or None
        The learner after fitting; None for a native projection.
    """
    from nearsong.estimators import clone  # a second to load with scikit-learn, and needed here only
    from nearsong.metric import MetricLearningToRank

    rows = check_vectors(vectors, "vectors")
    share = check_in_range(explained_variance, "explained_variance", 0.0, 1.0)
    mapped = encoder.phi(rows) if encoder is not None and apply_phi else rows
    if np.ptp(mapped, axis=0).max() == 0:
        raise InvalidInputError(
            f"vectors of {len(rows)} song(s) are all the same; at least two different songs are needed."
        )
    scales = np.ones(mapped.shape[1]) if encoder is None else encoder.scales(mapped)
    pca = PrincipalComponents.fit(mapped / scales, share)
    compressed = pca.transform(mapped / scales)
    fitted = None
    if relevant is None:
        factor = np.eye(len(pca.components))
    else:
        fitted = clone(learner) if learner is not None else MetricLearningToRank(loss="auc", C=1e3)
        factor = fitted.fit(compressed, relevant, ignored=ignored).components_
    spread = 2.0 * float((compressed @ factor.T).var(axis=0).sum())
    projection = Projection(
        encoder_index=encoder_index,
        applies_phi=encoder is not None and apply_phi,
        mean=np.asarray(pca.mean * scales, dtype=np.float64),
        basis=np.asarray(pca.components / scales, dtype=np.float64),
        factor=np.asarray(factor, dtype=np.float64),
        spread=spread or 1.0,
    )
    return projection, fitted
