"""Many mixtures and a sample of frames -> the sample's mean log density under each mixture, by matrix products.

The log density of component c at z is linear in the features (z^2, z, 1), so all components of all mixtures are
one product: parameters (n * k x 2d + 1) times features (2d + 1 x m). It is computed in blocks that fit into the
cache, where the compiled kernel reduces the k rows of a mixture to its log density.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.baselines.kernels import add_log_densities
from nearsong.baselines.mixture import DiagonalMixture
from nearsong.baselines.songs import distinct_songs, one_blas_thread
from nearsong.types import FloatArray

_BLOCK_FRAMES = 2048
_ROUND_FRAMES = 16384  # their features are computed once and shared by all threads
_BLOCK_BYTES = 1 << 21
_MIN_BLOCKS = 16  # approximately; enough for threads to finish together
_LN_2 = np.log(2.0)
_MAX_SINGLE_STRAIN = 8000.0  # sum of squared mean / variance; times 2**-24 it bounds the loss of single precision
_MAX_SINGLE_VALUE = 1e36  # keeps products and sums below the largest float32
_PADDING = -1e300  # log2 density of a component that only pads the table


class MixtureBank:
    """Mixtures laid out for fast evaluation.

    Computed in coordinates in which the mixtures together have mean 0 and variance 1, in single precision. Only
    mixtures that are so narrow and so far from 0 that an expanded square would lose more than about 5e-4 nats are
    evaluated in double precision.

    Parameters
    ----------
    mixtures : sequence of DiagonalMixture
        At least one, all of the same number of features.

    Examples
    --------
    >>> narrow, wide = (DiagonalMixture([1.0], [[0.0]], [[v]]) for v in (1.0, 4.0))
    >>> MixtureBank([narrow, wide]).mean_log_densities([np.array([[0.0], [2.0]])]).round(3)
    array([[-1.919, -1.862]])
    """

    def __init__(self, mixtures: Sequence[DiagonalMixture]) -> None:
        distinct, self._inverse = distinct_songs(
            mixture.weights.tobytes() + mixture.means.tobytes() + mixture.variances.tobytes() for mixture in mixtures
        )
        mixtures = [mixtures[i] for i in distinct]
        self.n_features = mixtures[0].n_features
        self.n_components = max(len(mixture.weights) for mixture in mixtures)
        self._centre, self._scale = _moments(mixtures)
        tables = [_parameters(mixture, self._centre, self._scale, self.n_components) for mixture in mixtures]
        strain = np.array([strain for _, strain in tables])
        self._order = np.argsort(strain > _MAX_SINGLE_STRAIN, kind="stable")  # single precision first
        self._n_single = int((strain <= _MAX_SINGLE_STRAIN).sum())
        self._double = np.concatenate([tables[i][0] for i in self._order])
        narrow = self._double[: self._n_single * self.n_components]
        self._single = np.maximum(narrow, np.finfo(np.float32).min).astype(np.float32)
        self._steepest = float(np.abs(self._double[self._double > _PADDING]).max())

    def mean_log_densities(self, samples: Iterable[npt.NDArray[Any]], threads: int = 1) -> FloatArray:
        """Return the mean natural log density of each sample's frames under each mixture.

        Parameters
        ----------
        samples : iterable of arrays of shape (n_frames, n_features)
            Finite; may differ in length.
        threads : int
            They share the mixtures of one sample; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_samples, n_mixtures)
        """
        # Each thread computes product and kernel of its blocks by itself, with BLAS limited to one thread.
        with ThreadPoolExecutor(threads) as pool, one_blas_thread():
            rows = [self._evaluate(np.asarray(sample), pool, threads) for sample in samples]
        return np.array(rows).reshape(-1, len(self._inverse))

    def _evaluate(self, frames: npt.NDArray[Any], pool: ThreadPoolExecutor, threads: int) -> FloatArray:
        sums = np.zeros(len(self._order))
        for first in range(0, len(frames), _ROUND_FRAMES):
            standard = ((frames[first : first + _ROUND_FRAMES] - self._centre) / self._scale).T
            reach = max(1.0, float(np.abs(standard).max()))
            n_single = self._n_single if reach**2 * self._steepest * len(self._single.T) < _MAX_SINGLE_VALUE else 0
            for parameters, begin, end in ((self._single, 0, n_single), (self._double, n_single, len(sums))):
                if begin < end:
                    features = _features(standard, parameters.dtype)
                    blocks = iter(_blocks(begin, end, self.n_components, features.itemsize))  # shared by the threads
                    jobs = [pool.submit(self._add, parameters, features, blocks, sums) for _ in range(threads)]
                    for job in jobs:
                        job.result()
        means = np.empty(len(sums))
        means[self._order] = sums * _LN_2 / len(frames) - np.log(self._scale).sum()
        return means[self._inverse]

    def _add(
        self,
        parameters: npt.NDArray[Any],
        features: npt.NDArray[Any],
        blocks: Iterator[tuple[int, int]],
        sums: FloatArray,
    ) -> None:
        """Process blocks of mixtures until none is left, adding the log2 densities of all frames to their sums."""
        k, n_frames = self.n_components, features.shape[1]
        buffer = np.empty(0, features.dtype)  # reused: fresh pages cost as much as a third of the product
        for first, last in blocks:
            rows = parameters[first * k : last * k]
            if not buffer.size:
                buffer = np.empty(len(rows) * min(_BLOCK_FRAMES, n_frames), features.dtype)
            for start in range(0, n_frames, _BLOCK_FRAMES):
                part = features[:, start : start + _BLOCK_FRAMES]
                scores = buffer[: len(rows) * part.shape[1]].reshape(len(rows), -1)
                add_log_densities(np.matmul(rows, part, out=scores), k, sums[first:last])


def _blocks(begin: int, end: int, k: int, itemsize: int) -> list[tuple[int, int]]:
    """Split a range of mixtures so that the scores of a block fit into the L2 cache."""
    size = max(1, min(_BLOCK_BYTES // (itemsize * k * _BLOCK_FRAMES), (end - begin) // _MIN_BLOCKS))
    return [(start, min(start + size, end)) for start in range(begin, end, size)]


def _moments(mixtures: Sequence[DiagonalMixture]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each feature over all mixtures."""
    means = np.array([mixture.weights @ mixture.means for mixture in mixtures])
    centre = means.mean(axis=0)
    spread = [m.weights @ (m.variances + (m.means - centre) ** 2) for m in mixtures]
    return centre, np.sqrt(np.mean(spread, axis=0))


def _parameters(mixture: DiagonalMixture, centre: FloatArray, scale: FloatArray, k: int) -> tuple[FloatArray, float]:
    """Return the matrix (k, 2d + 1) from (z^2, z, 1) to log2 joint densities, and how much its terms cancel."""
    means = (mixture.means - centre) / scale
    variances = mixture.variances / scale**2
    strain = (means**2 / variances).sum(axis=1)
    present = len(means)
    table = np.zeros((k, 2 * means.shape[1] + 1))
    table[present:, -1] = _PADDING
    log_normaliser = np.log(mixture.weights) - 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
    table[:present] = (
        np.hstack([-0.5 / variances, means / variances, (log_normaliser - 0.5 * strain)[:, None]]) / _LN_2
    )
    return table, float(strain.max())


def _features(standard: FloatArray, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return (z^2, z, 1) of each frame, (2d + 1, n)."""
    d, n = standard.shape
    features = np.ones((2 * d + 1, n), dtype)
    features[d : 2 * d] = standard
    np.square(features[d : 2 * d], out=features[:d])
    return features
