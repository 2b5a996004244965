"""A metric -> its cutting plane: the averaged order feature of the most violated rankings (paper eq. 4).

For W = L'L the distances of a block of queries are one GEMM, the oracle turns them in place into coefficients
A (queries x songs, rows summing to zero), and the gradient

    G = mean_q sum_i A_qi (x_q - x_i)(x_q - x_i)' = X'(diag(column sums) - A - A')X / n_queries

is one more. No array is larger than a block.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from nearsong.metric.oracles.kernel import LOSS_CODES, most_violated
from nearsong.metric.queries import IntArray, QuerySet

FloatArray = npt.NDArray[np.float64]

_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class CuttingPlane:
    """The slack is at least ``loss + <gradient, W>`` for every W, with equality where the plane was made."""

    loss: float
    gradient: FloatArray
    slack: float


class RankingOracle:
    """Finds the cutting plane of any metric for a fixed set of songs, queries and loss.

    Parameters
    ----------
    X : ndarray of shape (n_songs, n_features)
        Songs; both queries and database. Centred songs keep the rounding of distances small.
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
        # The oracle follows the BLAS setting, so that one knob (threadpoolctl, OMP_NUM_THREADS) governs both.
        self._controller = ThreadpoolController()
        blas = [pool["num_threads"] for pool in self._controller.info() if pool["user_api"] == "blas"]
        self.n_threads = max(blas, default=1)
        self._pool = ThreadPoolExecutor(self.n_threads)
        self._longest = queries.relevant.longest

    def one_blas_thread(self) -> AbstractContextManager[object]:
        """Keep BLAS to the calling thread: on small matrices its threads cost more than they bring."""
        limit: AbstractContextManager[object] = self._controller.limit(limits=1, user_api="blas")
        return limit

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def cutting_plane(self, factor: FloatArray, batch: IntArray | None = None) -> CuttingPlane:
        """Return the plane at W = L'L, averaged over all usable queries or over those in ``batch``.

        ``factor`` is L (rank x d), or the square roots of the diagonal of W (d) for a diagonal metric.
        """
        X = self.X
        usable = self.queries.usable if batch is None else batch
        projected = X * factor if self.diagonal else X @ factor.T
        squares = np.einsum("ij,ij->i", projected, projected)
        shares = [part for part in np.array_split(usable, self.n_threads) if len(part)]
        # Each thread takes its queries through both GEMMs alone: nobody waits for a barrier or a spinning thread.
        with self.one_blas_thread():
            sums = list(self._pool.map(lambda ids: self._sum_over(ids, projected, squares), shares))
        loss, slack, column_sums, cross = (functools.reduce(np.add, parts) for parts in zip(*sums, strict=True))
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
        room = np.empty((block, n))  # reused: fresh pages cost as much as a tenth of the GEMM
        for start in range(0, len(queries), block):
            part = slice(start, start + block)
            ids = queries[part]
            rows = np.matmul(projected[ids], projected.T, out=room[: len(ids)])
            most_violated(
                self._loss_code,
                self._k,
                rows,
                squares,
                ids,
                relevant.start,
                relevant.stop,
                relevant.items,
                ignored.start,
                ignored.stop,
                ignored.items,
                self._longest,
                losses[part],
                slacks[part],
                column_sums,
            )
            mixed = rows @ X
            cross += np.einsum("ij,ij->j", X[ids], mixed) if self.diagonal else X[ids].T @ mixed
        return losses.sum(), slacks.sum(), column_sums, cross
