"""Points and centres -> all their inner products, rounded the same way in every row and column.

A BLAS would do the same arithmetic, but not always the same rounding: OpenBLAS on AVX2 sums rows 6 to 11 of every
twelve in another order than rows 0 to 5, and its result depends on the number of its threads. The
nearest codeword of a frame could then depend on the chunk it is in, and equal codewords would not tie. Here every
product is one sum in the order of the coefficients. It is written with LLVM vectors, because numba does not keep
the sums of a loop in registers. It is as fast as OpenBLAS on the narrow matrices of frames, and compiles to the
vectors of each machine.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

ROWS = 3
"""The number of points is padded to a multiple of this."""

LANES = 32
"""Centres per block, padded. The sums of three rows of 32 lanes fit into 16 registers of 8."""

_VECTOR = 16  # lanes of a vector; the compiler splits it where registers are smaller


def pack(centres: npt.NDArray[np.float64], padding: float) -> npt.NDArray[np.float32]:
    """Lay out centres for ``multiply``: blocks of ``LANES``, coefficient by coefficient.

    Parameters
    ----------
    centres : array of float64 and shape (n_centres, depth)
        The factors of the products.
    padding : float
        The last coefficient of a padding centre; the others are 0.

    Returns
    -------
    ndarray of float32 and shape (n_blocks, depth, LANES)
        Centre c is ``[c // LANES, :, c % LANES]``.

    Examples
    --------
    >>> pack(np.array([[1.0, 2.0], [3.0, 4.0]]), padding=9.0)[0, :, :3]
    array([[1., 3., 0.],
           [2., 4., 9.]], dtype=float32)
    """
    n_centres, depth = centres.shape
    rows = np.zeros((-(-n_centres // LANES) * LANES, depth), np.float32)
    rows[:, -1] = padding
    rows[:n_centres] = centres
    return np.ascontiguousarray(rows.reshape(-1, LANES, depth).transpose(0, 2, 1))


@njit(cache=True, nogil=True)
def multiply(points, packed, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (n_points, n_centres) with the inner products of points (n_points, depth) and packed centres."""
    for block in range(len(packed)):
        for row in range(0, len(points), ROWS):
            _multiply_block(points, row, packed, block, out)  # type: ignore[call-arg]


@intrinsic
def _multiply_block(_, points, row, packed, block, out):  # type: ignore[no-untyped-def]
    """Multiply ``ROWS`` points from ``row`` on with a block of ``LANES`` centres; all sums stay in registers."""
    for array in (points, packed, out):
        assert array.layout == "C"
        assert array.dtype == types.float32

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        index, vector = ir.IntType(64), ir.VectorType(ir.FloatType(), _VECTOR)
        views = [context.make_array(signature.args[at])(context, builder, args[at]) for at in (0, 2, 4)]
        depth = builder.extract_value(views[0].shape, 1)
        n_centres = builder.extract_value(views[2].shape, 1)
        first_point = builder.gep(views[0].data, [builder.mul(args[1], depth)])
        block_size = builder.mul(depth, index(LANES))
        weights = builder.gep(views[1].data, [builder.mul(args[3], block_size)])
        first_out = builder.add(builder.mul(args[1], n_centres), builder.mul(args[3], index(LANES)))

        def at_vector(base: Any, start: Any) -> Any:
            return builder.bitcast(builder.gep(base, [start]), vector.as_pointer())

        parts, zero = range(0, LANES, _VECTOR), vector([0.0] * _VECTOR)
        allocate: Any = cgutils.alloca_once  # becomes a register
        sums = [[allocate(builder, vector) for _ in parts] for _ in range(ROWS)]
        for row_sums in sums:
            for cell in row_sums:
                builder.store(zero, cell)
        with cgutils.for_range(builder, depth, intp=index) as loop:
            start = builder.mul(loop.index, index(LANES))
            factors = [builder.load(at_vector(weights, builder.add(start, index(p))), align=4) for p in parts]
            for r in range(ROWS):
                offset = builder.add(builder.mul(depth, index(r)), loop.index)
                coefficient = _spread(builder, builder.load(builder.gep(first_point, [offset])), vector)
                for cell, factor in zip(sums[r], factors, strict=True):
                    # "contract": multiplying and adding may round once, in every lane
                    product = builder.fmul(coefficient, factor, flags=("contract",))
                    builder.store(builder.fadd(product, builder.load(cell), flags=("contract",)), cell)
        for r in range(ROWS):
            row_start = builder.add(first_out, builder.mul(n_centres, index(r)))
            for cell, p in zip(sums[r], parts, strict=True):
                target = at_vector(views[2].data, builder.add(row_start, index(p)))
                builder.store(builder.load(cell), target, align=4)
        return context.get_dummy_value()

    return types.void(points, types.intp, packed, types.intp, out), generate


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector with ``value`` in every lane."""
    undefined, lane = vector(ir.Undefined), ir.IntType(32)
    single = builder.insert_element(undefined, value, lane(0))
    return builder.shuffle_vector(single, undefined, ir.VectorType(lane, _VECTOR)([0] * _VECTOR))
