"""Songs as single Gaussians of frames -> ranking by symmetrised KL divergence (Mandel and Ellis, 2005)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.baselines.mixture import MIN_VARIANCE
from nearsong.baselines.ranker import FrameRanker
from nearsong.baselines.songs import check_frames, distinct_songs
from nearsong.errors import InvalidInputError
from nearsong.estimators import check_is_fitted
from nearsong.types import FloatArray
from nearsong.validation import check_in_range


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean (n_features,) and covariance (n_features, n_features) of the frames of a song."""

    mean: FloatArray
    covariance: FloatArray


class SingleGaussianSimilarity(FrameRanker):
    """Rank songs by the symmetrised Kullback-Leibler divergence between Gaussians of their frames.

    With means m, covariances S and d features, the divergence of a query q and a song x is

        KL(q, x) + KL(x, q) = (tr(S_x^-1 S_q) + tr(S_q^-1 S_x) + (m_q - m_x)' (S_q^-1 + S_x^-1) (m_q - m_x)) / 2 - d

    Parameters
    ----------
    shrinkage : float, default=0.01
        Weight of the diagonal covariance that is mixed into the full one, so that short songs have an inverse.

    Attributes
    ----------
    gaussians_ : list of Gaussian
        One per song; ``fit`` and ``distances`` accept them instead of frames.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> songs = [rng.normal(level, 1.0, (300, 3)) for level in (0.0, 1.0, 5.0)]
    >>> SingleGaussianSimilarity().fit(songs).rank(rng.normal(0.9, 1.0, (300, 3)))[0]
    array([1, 0, 2])
    """

    def __init__(self, shrinkage: float = 0.01) -> None:
        self.shrinkage = shrinkage

    def fit(self, songs: Iterable[Any]) -> Self:
        """Fit one Gaussian per song.

        Parameters
        ----------
        songs : iterable of arrays of shape (n_frames, n_features), or of Gaussian
            The database, read one by one.
        """
        check_in_range(self.shrinkage, "shrinkage", 0.0, 1.0)
        gaussians = self._gaussians(songs)
        if not gaussians:
            raise InvalidInputError("songs is empty; a database needs at least one song.")
        self.gaussians_ = gaussians
        means = np.array([gaussian.mean for gaussian in gaussians])
        variances = np.array([np.diag(gaussian.covariance) for gaussian in gaussians])
        # the divergence does not depend on units; in these the products below cancel least
        self._centre = means.mean(axis=0)
        self._scale = np.sqrt((variances + (means - self._centre) ** 2).mean(axis=0))
        distinct, self._inverse = distinct_songs(g.mean.tobytes() + g.covariance.tobytes() for g in gaussians)
        self._precisions, self._moments = self._features([gaussians[i] for i in distinct])
        return self

    def distances(self, queries: Iterable[Any]) -> FloatArray:
        """Return the symmetrised divergence of every query and every song.

        Parameters
        ----------
        queries : iterable of arrays of shape (n_frames, n_features), or of Gaussian

        Returns
        -------
        ndarray of shape (n_queries, n_songs)
            In nats; 0 for equal Gaussians.
        """
        check_is_fitted(self)
        gaussians = self._gaussians(queries, len(self._centre))
        if not gaussians:
            return np.empty((0, len(self._inverse)))
        precisions, moments = self._features(gaussians)
        divergences = (moments @ self._precisions.T + precisions @ self._moments.T) / 2 - len(self._centre)
        table: FloatArray = np.maximum(divergences, 0.0)[:, self._inverse]
        return table

    def summarise(self, frames: npt.NDArray[Any]) -> Gaussian:
        """Return the Gaussian of a song's frames."""
        frames = np.asarray(frames, dtype=np.float64)
        mean = frames.mean(axis=0)
        covariance = (frames - mean).T @ (frames - mean) / len(frames)
        variances = np.maximum(np.diag(covariance), MIN_VARIANCE)
        covariance *= 1.0 - self.shrinkage
        np.fill_diagonal(covariance, variances)
        return Gaussian(mean=mean, covariance=covariance)

    def pack(self, summaries: Sequence[Gaussian]) -> dict[str, npt.NDArray[Any]]:
        """Return Gaussians as arrays."""
        return {
            "means": np.array([gaussian.mean for gaussian in summaries]),
            "covariances": np.array([gaussian.covariance for gaussian in summaries]),
        }

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> list[Gaussian]:
        """Return the Gaussians that :meth:`pack` packed."""
        pairs = zip(arrays["means"], arrays["covariances"], strict=True)
        return [Gaussian(mean=mean, covariance=covariance) for mean, covariance in pairs]

    def _gaussians(self, songs: Iterable[Any], width: int | None = None) -> list[Gaussian]:
        gaussians = []
        for row, song in enumerate(songs):
            if isinstance(song, Gaussian):
                check_frames(song.mean[None], f"song {row}", width)
                gaussians.append(song)
            else:
                gaussians.append(self.summarise(check_frames(song, f"song {row}", width)))
            width = len(gaussians[-1].mean)
        return gaussians

    def _features(self, gaussians: Sequence[Gaussian]) -> tuple[FloatArray, FloatArray]:
        """Return (P, P m, m' P m) and (S + m m', -2 m, 1) with P = S^-1, flat, one row per Gaussian.

        Their inner product is tr(P_x S_q) + (m_q - m_x)' P_x (m_q - m_x), so that all pairs are one matrix product.
        """
        means = (np.array([gaussian.mean for gaussian in gaussians]) - self._centre) / self._scale
        covariances = np.array([gaussian.covariance for gaussian in gaussians]) / np.outer(self._scale, self._scale)
        inverses = np.linalg.inv(covariances)
        projected = np.einsum("nij,nj->ni", inverses, means)
        squares = np.einsum("ni,ni->n", projected, means)[:, None]
        moments = covariances + means[:, :, None] * means[:, None, :]
        n = len(means)
        return (
            np.hstack([inverses.reshape(n, -1), projected, squares]),
            np.hstack([moments.reshape(n, -1), -2.0 * means, np.ones((n, 1))]),
        )
