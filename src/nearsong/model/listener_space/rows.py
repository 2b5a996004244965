"""Arrays of songs of any size -> checked rows, in blocks of bounded memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray

BLOCK_NUMBERS = 1 << 23
"""Numbers of a block of rows: 64 MiB in double precision."""

Rows = npt.NDArray[np.floating]
"""Songs x dimensions in single or double precision, perhaps a memory map."""


def check_rows(values: Any, name: str, n_columns: int | None = None) -> Rows:
    """Return finite rows (n_songs, n_columns) without a copy if they are float32 or float64 already."""
    try:
        rows = np.asarray(values)
        if rows.dtype not in (np.float32, np.float64):
            rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers ({error}).") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInputError(f"{name} has shape {rows.shape}; songs x dimensions is needed, at least one of each.")
    if n_columns is not None and rows.shape[1] != n_columns:
        raise InvalidInputError(
            f"{name} has {rows.shape[1]} dimensions, but the space was fitted with {n_columns}; give the same ones."
        )
    for start, block in row_blocks(rows):
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            row = start + int(np.flatnonzero(~finite)[0])
            raise InvalidInputError(f"{name} has a NaN or infinite value, first in row {row}; drop or impute it.")
    return rows


def row_blocks(rows: Rows, chosen: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, FloatArray]]:
    """Yield the first position and the rows, in double precision, of blocks of all rows or of chosen ones."""
    n_rows = len(rows) if chosen is None else len(chosen)
    step = max(1, BLOCK_NUMBERS // max(1, rows.shape[1]))
    for start in range(0, n_rows, step):
        part = rows[start : start + step] if chosen is None else rows[chosen[start : start + step]]
        yield start, np.asarray(part, dtype=np.float64)


def lengths(rows: FloatArray) -> FloatArray:
    """Return the Euclidean length of each row (n_rows, n_columns), rounded the same way beside any other rows."""
    contiguous = np.ascontiguousarray(rows)
    squares: FloatArray = (contiguous * contiguous).sum(axis=1)
    return np.sqrt(squares)


def to_unit_length(rows: FloatArray) -> FloatArray:
    """Divide each row (n_rows, n_columns) by its length; a zero row stays zero."""
    sizes = lengths(rows)
    return rows / np.where(sizes > 0, sizes, 1.0)[:, None]
