"""A metric -> its cutting plane: the averaged order feature of the most violated rankings (paper eq. 4).

For W = L'L the distances of a block of queries are one GEMM, the oracle replaces them by coefficients A (queries x
songs, rows summing to zero), and the gradient

    G = mean_q sum_i A_qi (x_q - x_i)(x_q - x_i)' = X'(diag(column sums) - A - A')X / n_queries

is another GEMM. No temporary array is larger than a block.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from threadpoolctl import ThreadpoolController

from nearsong.metric.oracles.kernel import most_violated
from nearsong.metric.oracles.losses import LOSS_CODES
from nearsong.metric.queries import IntArray, QuerySet
from nearsong.types import FloatArray

_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class CuttingPlane:
    """A lower bound of the mean slack, ``loss + <gradient, W>``, with equality at the metric it was computed for."""

    loss: float
    gradient: FloatArray
    slack: float


class RankingOracle:
    """Computes the cutting plane of any metric for fixed songs, queries and loss.

    Parameters
    ----------
    X : ndarray of shape (n_songs, n_features)
        Songs, as queries and as database. Centring them keeps rounding errors of the distances small.
    queries : QuerySet
        Relevant and ignored songs of every query.
    loss : str
        ``auc``, ``mrr``, ``ndcg``, ``map`` or ``precision_at_k``.
    k : int or None
        The cut of ``ndcg`` and ``precision_at_k``; None is the whole list.
    diagonal : bool
        Whether only the diagonal of W is learned; gradients are then vectors.
    """

    def __init__(
        self, X: FloatArray, queries: QuerySet, loss: str, k: int | None = None, diagonal: bool = False
    ) -> None:
        self.X = np.ascontiguousarray(X)
        self.queries = queries
        self.diagonal = diagonal
        self._loss_code = LOSS_CODES[loss]
        self._k = len(X) if k is None else min(k, len(X))
        # As many threads as BLAS has, so that one setting (threadpoolctl, OMP_NUM_THREADS) governs both.
        self._controller = ThreadpoolController()
        blas = [pool["num_threads"] for pool in self._controller.info() if pool["user_api"] == "blas"]
        self.n_threads = max(blas, default=1)
        self._pool = ThreadPoolExecutor(self.n_threads)
        self._longest = queries.relevant.longest

    def one_blas_thread(self) -> AbstractContextManager[object]:
        """Limit BLAS to the calling thread: for small matrices its threads cost more than they save."""
        limit: AbstractContextManager[object] = self._controller.limit(limits=1, user_api="blas")
        return limit

    def close(self) -> None:
        """Shut down the thread pool."""
        self._pool.shutdown()

    def cutting_plane(self, factor: FloatArray, batch: IntArray | None = None) -> CuttingPlane:
        """Return the plane at W = L'L, averaged over queries.

        Parameters
        ----------
        factor : ndarray of shape (rank, n_features), or (n_features,) for a diagonal metric
            L, or the square roots of the diagonal of W.
        batch : int64 array, optional
            Queries to average over; by default all usable ones.
        """
        X = self.X
        usable = self.queries.usable if batch is None else batch
        projected = X * factor if self.diagonal else X @ factor.T
        squares = np.einsum("ij,ij->i", projected, projected)
        parts = [part for part in np.array_split(usable, self.n_threads) if len(part)]
        # Each thread runs both GEMMs for its own queries, without waiting at a barrier.
        with self.one_blas_thread():
            sums = list(self._pool.map(lambda ids: self._sum_over(ids, projected, squares), parts))
        loss, slack, column_sums, cross = (functools.reduce(np.add, terms) for terms in zip(*sums, strict=True))
        if self.diagonal:
            gradient = column_sums @ (X * X) - 2.0 * cross
        else:
            gradient = X.T @ (column_sums[:, None] * X) - cross - cross.T
        count = len(usable)
        return CuttingPlane(float(loss) / count, gradient / count, float(slack) / count)

    def _sum_over(
        self, queries: IntArray, projected: FloatArray, squares: FloatArray
    ) -> tuple[np.float64, np.float64, FloatArray, FloatArray]:
        """Return the summed loss and slack, the column sums of A and X'AX, block by block."""
        X, relevant, ignored = self.X, self.queries.relevant, self.queries.ignored
        n, d = X.shape
        column_sums = np.zeros(n)
        cross = np.zeros(d) if self.diagonal else np.zeros((d, d))
        losses, slacks = np.empty(len(queries)), np.empty(len(queries))
        block = min(len(queries), max(16, _BLOCK_BYTES // (8 * n)))
        buffer = np.empty((block, n))  # reused: fresh memory pages cost a tenth of the GEMM
        for start in range(0, len(queries), block):
            part = slice(start, start + block)
            ids = queries[part]
            rows = np.matmul(projected[ids], projected.T, out=buffer[: len(ids)])
            most_violated(
                self._loss_code,
                self._k,
                rows,
                squares,
                ids,
                relevant,
                ignored,
                self._longest,
                losses[part],
                slacks[part],
                column_sums,
            )
            mixed = rows @ X
            cross += np.einsum("ij,ij->j", X[ids], mixed) if self.diagonal else X[ids].T @ mixed
        return losses.sum(), slacks.sum(), column_sums, cross
