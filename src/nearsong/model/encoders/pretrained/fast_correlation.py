"""A spectrogram and many kernels -> the largest correlation with each kernel along one axis.

What a convolution and a maximum over one axis compute, in one pass: correlations stay in registers and are never
stored. Two things make it fast (measured in docs/decisions/0017-musicnn.md). The sums of six positions
and 16 kernels are computed together, as in a matrix product, but without copying overlapping windows first. And a
correlation along the inner axis is computed from correlations of a quarter of its length: with the even and odd
positions of signal x and kernel k, and z for a shift by one::

    y_even = x_odd (k_even + k_odd) + (x_even - x_odd) k_even
    y_odd  = x_odd (k_even + k_odd) + (z x_even - x_odd) k_odd

takes three half-length correlations instead of four, and twice over nine quarter-length ones instead of sixteen. Each
sum has one order, so that the numbers do not depend on threads or on other patches.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

Floats = npt.NDArray[np.float32]

ROWS = 6
"""Positions whose sums are computed together."""

LANES = 16
"""Kernels whose sums are computed together: six rows of 16 lanes fit into 12 registers of 8."""

PHASES = 4
"""Residues of a position modulo 4, which one tile of quarter-length correlations covers."""

_PARTS = 9


def split_signal(signal: Floats) -> Floats:
    """Return the nine signals (9, n_outer, length / 4) whose correlations make up those of rows (n_outer, length)."""
    thirds = [part for half in _signals(signal) for part in _signals(half)]
    return np.ascontiguousarray(np.stack(thirds), dtype=np.float32)


def _signals(x: Floats) -> tuple[Floats, Floats, Floats]:
    even, odd = x[:, 0::2], x[:, 1::2]
    shifted = np.concatenate([even[:, 1:], np.zeros((len(x), 1), np.float32)], axis=1)
    return odd, even - odd, shifted - odd


def _kernels(k: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    even, odd = k[:, 0::2], k[:, 1::2]
    return even + odd, even, odd


def pack_kernels(kernels: npt.ArrayLike) -> Floats:
    """Lay out kernels (n_taps, n_kernels) for `correlate`: blocks of 16, tap by tap.

    Returns
    -------
    array of shape (n_blocks, n_taps, 16), float32
    """
    taps = np.asarray(kernels, dtype=np.float64)
    n_taps, n_kernels = taps.shape
    padded = np.zeros((n_taps, -(-n_kernels // LANES) * LANES))
    padded[:, :n_kernels] = taps
    return np.ascontiguousarray(padded.reshape(n_taps, -1, LANES).transpose(1, 0, 2), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class MaxCorrelation:
    """The largest correlation of a signal with each kernel, over one of its two axes.

    Parameters
    ----------
    kernels : array of shape (n_outer_taps, n_inner_taps, n_kernels)
        Its taps along the outer and the inner axis of a signal.
    n_outer, n_inner : int
        Positions of a kernel along both axes; in all at least 24.
    over_inner : bool
        Whether the maximum is over the inner axis; otherwise over the outer one.
    """

    kernels: npt.NDArray[np.float32]
    n_outer: int
    n_inner: int
    over_inner: bool

    def __post_init__(self) -> None:
        n_outer_taps, n_taps, n_kernels = self.kernels.shape
        length = -(-n_taps // PHASES) * PHASES
        padded = np.zeros((n_outer_taps, length, n_kernels))
        padded[:, :n_taps] = self.kernels
        parts = [part for half in _kernels(padded) for part in _kernels(half)]
        packed = np.stack([pack_kernels(part.reshape(-1, n_kernels)) for part in parts], axis=1)
        n_rows = -(-self.n_inner // PHASES)
        outer, inner = np.divmod(np.arange(self.n_outer * n_rows), n_rows)
        positions = inner[:, None] * PHASES + np.arange(PHASES)
        targets = np.broadcast_to(outer[:, None], positions.shape) if self.over_inner else positions
        targets = np.where(positions < self.n_inner, targets, -1).astype(np.int64)
        width = max(n_rows + length // PHASES - 1, -(-(self.n_inner + n_taps - 1) // PHASES))
        facts = {
            "_packed": np.ascontiguousarray(packed),
            "_targets": targets,
            "_offsets": (outer * width + inner).astype(np.int64),
            "_width": width,
            "_taps": length // PHASES,
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def __call__(self, signal: Floats) -> Floats:
        """Return the maxima (n_inner or n_outer, n_kernels) for a signal.

        Parameters
        ----------
        signal : array of shape (n_outer + n_outer_taps - 1, n_inner + n_inner_taps - 1), float32
        """
        facts: dict[str, Any] = self.__dict__
        width = PHASES * facts["_width"]
        padded = np.zeros((len(signal), width), np.float32)
        padded[:, : signal.shape[1]] = signal
        n_kernels = self.kernels.shape[2]
        n_targets = self.n_outer if self.over_inner else self.n_inner
        out = np.full((len(facts["_packed"]), n_targets, LANES), -np.inf, np.float32)
        parts = split_signal(padded).reshape(_PARTS, -1)
        offsets, targets, packed = facts["_offsets"], facts["_targets"], facts["_packed"]
        _max_correlations(parts, offsets, targets, packed, facts["_width"], facts["_taps"], out)
        return out.transpose(1, 0, 2).reshape(n_targets, -1)[:, :n_kernels]


@njit(cache=True, nogil=True)
def _max_correlations(parts, offsets, targets, packed, width, n_taps, out):  # type: ignore[no-untyped-def]
    """Raise ``out`` to the correlations of all positions, six rows of four phases at a time."""
    n_outer_taps = packed.shape[2] // n_taps
    tiles = np.empty((5, ROWS, LANES), np.float32)
    shared, shared_even, shared_odd, even, odd = tiles[0], tiles[1], tiles[2], tiles[3], tiles[4]
    for block in range(len(packed)):
        start = 0
        while start < len(offsets):
            row = min(start, len(offsets) - ROWS)  # the last rows may be covered twice: the maximum is the same
            shared[:] = 0
            _add(parts[0], offsets, row, packed[block, 0], n_outer_taps, width, n_taps, shared)
            shared_even[:] = shared
            _add(parts[1], offsets, row, packed[block, 1], n_outer_taps, width, n_taps, shared_even)
            shared_odd[:] = shared
            _add(parts[2], offsets, row, packed[block, 2], n_outer_taps, width, n_taps, shared_odd)
            for half in range(2):
                part = 3 + 3 * half
                shared[:] = 0
                _add(parts[part], offsets, row, packed[block, part], n_outer_taps, width, n_taps, shared)
                for i in range(ROWS):
                    for lane in range(LANES):
                        even[i, lane] = shared[i, lane] + shared_even[i, lane]
                        odd[i, lane] = shared[i, lane] + shared_odd[i, lane]
                _add(parts[part + 1], offsets, row, packed[block, part + 1], n_outer_taps, width, n_taps, even)
                _add(parts[part + 2], offsets, row, packed[block, part + 2], n_outer_taps, width, n_taps, odd)
                _raise_to(out[block], targets, row, half, even)
                _raise_to(out[block], targets, row, half + 2, odd)
            start += ROWS


@njit(inline="always")
def _raise_to(out, targets, row, phase, sums):  # type: ignore[no-untyped-def]
    for i in range(ROWS):
        target = targets[row + i, phase]
        if target >= 0:
            for lane in range(LANES):
                new, old = sums[i, lane], out[target, lane]
                out[target, lane] = new if new > old else old  # one instruction, which max() is not


@njit(cache=True, nogil=True)
def correlate(signal, stride, n_rows, packed, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (n_rows, n_kernels, padded) with the products of rows of a flat signal and packed kernels.

    Row i starts at ``stride * i`` and is as long as a kernel; there are at least six rows.
    """
    offsets = np.arange(n_rows) * stride
    sums = np.empty((ROWS, LANES), np.float32)
    for block in range(len(packed)):
        for start in range(0, n_rows, ROWS):
            row = min(start, n_rows - ROWS)
            sums[:] = 0
            _add(signal, offsets, row, packed[block], 1, 0, packed.shape[1], sums)
            out[row : row + ROWS, block * LANES : (block + 1) * LANES] = sums


@njit(inline="always")
def _add(signal, offsets, row, packed, n_outer, stride, n_inner, sums):  # type: ignore[no-untyped-def]
    _add_products(signal, offsets, row, packed, n_outer, stride, n_inner, sums)  # type: ignore[call-arg]


@intrinsic
def _add_products(_, signal, offsets, row, packed, n_outer, stride, n_inner, sums):  # type: ignore[no-untyped-def]
    """Add the products of six rows of a signal with 16 kernels to ``sums`` (6, 16), which stay in registers.

    Row i starts at ``offsets[row + i]``; its taps are ``n_outer`` runs of ``n_inner`` numbers, ``stride`` apart.
    """
    for array in (signal, packed, sums):
        assert array.layout == "C"
        assert array.dtype == types.float32

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        index, vector = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
        data = {at: context.make_array(signature.args[at])(context, builder, args[at]).data for at in (0, 1, 3, 7)}

        def as_vector(base: Any, start: Any) -> Any:
            return builder.bitcast(builder.gep(base, [start]), vector.as_pointer())

        allocate: Any = cgutils.alloca_once  # becomes a register
        cells = [allocate(builder, vector) for _ in range(ROWS)]
        starts = []
        for i, cell in enumerate(cells):
            builder.store(builder.load(as_vector(data[7], index(i * LANES)), align=4), cell)
            at = builder.add(args[2], index(i))
            starts.append(builder.gep(data[0], [builder.load(builder.gep(data[1], [at]))]))
        with cgutils.for_range(builder, args[4], intp=index) as outer:
            run = builder.mul(outer.index, args[5])
            taps = builder.mul(outer.index, args[6])
            with cgutils.for_range(builder, args[6], intp=index) as inner:
                at = builder.mul(builder.add(taps, inner.index), index(LANES))
                factor = builder.load(as_vector(data[3], at), align=4)
                offset = builder.add(run, inner.index)
                for cell, start in zip(cells, starts, strict=True):
                    number = builder.load(builder.gep(start, [offset]))
                    # "contract": multiplying and adding may round once, in every lane
                    product = builder.fmul(_spread(builder, number, vector), factor, flags=("contract",))
                    builder.store(builder.fadd(product, builder.load(cell), flags=("contract",)), cell)
        for i, cell in enumerate(cells):
            builder.store(builder.load(cell), as_vector(data[7], index(i * LANES)), align=4)
        return context.get_dummy_value()

    integer = types.intp
    return types.void(signal, offsets, integer, packed, integer, integer, integer, sums), generate


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector with ``value`` in every lane."""
    undefined, lane = vector(ir.Undefined), ir.IntType(32)
    single = builder.insert_element(undefined, value, lane(0))
    return builder.shuffle_vector(single, undefined, ir.VectorType(lane, LANES)([0] * LANES))
