"""Rows and a matrix -> their product, with the same bytes for a row whichever rows are beside it.

A BLAS sums in another order for the rows at the edge of its tiles, so a song's embedding would depend on how many
songs are embedded with it. Here every number is one sum, in the order of the coefficients.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.executor import available_processors
from nearsong.types import FloatArray

LANES = 32
"""Columns of the matrix whose sums are taken together."""

DEPTH_STEP = 4
"""Coefficients added to a sum in one pass over its lanes; the depth is padded to a multiple."""

TILE_ROWS = 256
"""Rows that a thread multiplies at a time, an even number."""


@dataclass(frozen=True, eq=False)
class PackedMatrix:
    """A matrix of shape (depth, n_columns), laid out for `ordered_product`.

    Attributes
    ----------
    blocks : array of shape (n_blocks, padded_depth, LANES)
        Column c is ``blocks[c // LANES, :depth, c % LANES]``; the rest is 0.
    depth, n_columns : int
        Shape of the matrix.
    """

    blocks: FloatArray
    depth: int
    n_columns: int

    @classmethod
    def of(cls, matrix: FloatArray) -> Self:
        """Lay out a matrix of shape (depth, n_columns)."""
        depth, n_columns = matrix.shape
        n_blocks, padded = -(-n_columns // LANES), -(-depth // DEPTH_STEP) * DEPTH_STEP
        columns = np.zeros((padded, n_blocks * LANES))
        columns[:depth, :n_columns] = matrix
        blocks = np.ascontiguousarray(columns.reshape(padded, n_blocks, LANES).transpose(1, 0, 2))
        return cls(blocks, depth, n_columns)


def ordered_product(rows: npt.NDArray[np.floating], packed: PackedMatrix) -> FloatArray:
    """Multiply rows of shape (n_rows, depth) with a packed matrix of shape (depth, n_columns).

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        A row's bytes do not depend on the other rows, on their order or on the number of threads.

    Examples
    --------
    >>> ordered_product(np.array([[1.0, 2.0]]), PackedMatrix.of(np.array([[3.0], [4.0]])))
    array([[11.]])
    """
    product = np.empty((len(rows), packed.n_columns))

    def multiply(start: int) -> None:
        stop = min(start + TILE_ROWS, len(rows))
        tile = np.zeros((stop - start + (stop - start) % 2, packed.blocks.shape[1]))
        tile[: stop - start, : packed.depth] = rows[start:stop]
        out = np.empty((len(tile), packed.blocks.shape[0] * LANES))
        _multiply(tile, packed.blocks, out)
        product[start:stop] = out[: stop - start, : packed.n_columns]

    starts = range(0, len(rows), TILE_ROWS)
    if len(starts) < 2:
        for start in starts:
            multiply(start)
    else:
        with ThreadPoolExecutor(available_processors()) as pool:
            list(pool.map(multiply, starts))
    return product


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply(rows, blocks, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` two rows at a time, so that a load of the matrix serves both."""
    for block in range(len(blocks)):
        for row in range(0, len(rows), 2):
            first, second = np.zeros(LANES), np.zeros(LANES)
            for k in range(0, rows.shape[1], DEPTH_STEP):
                a0, a1, a2, a3 = rows[row, k], rows[row, k + 1], rows[row, k + 2], rows[row, k + 3]
                b0, b1, b2, b3 = rows[row + 1, k], rows[row + 1, k + 1], rows[row + 1, k + 2], rows[row + 1, k + 3]
                for lane in range(LANES):
                    m0, m1 = blocks[block, k, lane], blocks[block, k + 1, lane]
                    m2, m3 = blocks[block, k + 2, lane], blocks[block, k + 3, lane]
                    first[lane] = first[lane] + a0 * m0 + a1 * m1 + a2 * m2 + a3 * m3
                    second[lane] = second[lane] + b0 * m0 + b1 * m1 + b2 * m2 + b3 * m3
            for lane in range(LANES):
                out[row, block * LANES + lane] = first[lane]
                out[row + 1, block * LANES + lane] = second[lane]
