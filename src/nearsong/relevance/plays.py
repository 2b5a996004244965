"""What a caller gives as play counts -> canonical CSR; what may be a neighbour -> a mask."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError

_MAX_INDEX = 2**31 - 1  # users and items are numbered in 32 bits


def check_plays(plays: Any) -> sp.csr_array:
    """Return play counts as canonical CSR, without changing the caller's matrix."""
    matrix: Any = plays
    if not sp.issparse(plays):
        try:
            matrix = np.asarray(plays)
        except ValueError as error:
            raise InvalidInputError(f"plays cannot be read as an array of numbers ({error}).") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"plays has {matrix.ndim} dimension(s); a users x items matrix of play counts is needed."
        )
    if matrix.dtype.kind not in "buif":
        raise InvalidInputError(f"plays holds {matrix.dtype} values, which are not counts; use integers or floats.")
    if max(matrix.shape) > _MAX_INDEX:
        raise InvalidInputError(
            f"plays has shape {matrix.shape}, but users and items are numbered in 32 bits; split a matrix "
            f"with more than {_MAX_INDEX} of either."
        )
    if matrix.dtype == np.float16:  # SciPy has no sparse float16 matrices
        matrix = matrix.astype(np.float32)
    if getattr(matrix, "format", "dense") not in {"coo", "csr", "csc"}:
        matrix = sp.csr_array(matrix)
    _check_values(matrix)
    if matrix.format == "coo" or not matrix.has_canonical_format:
        # Duplicates are summed in 64 bits: twice 100 plays do not fit into an int8.
        matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64, copy=True)
    counts = sp.csr_array(matrix)
    counts.sum_duplicates()
    return counts


def _check_values(plays: Any) -> None:
    """Raise an error that names the first negative, NaN or infinite play count."""
    if plays.data.size == 0 or (plays.data.min() >= 0 and plays.data.max() < np.inf):
        return
    entries = plays.tocoo()
    first = int(np.flatnonzero(~((entries.data >= 0) & (entries.data < np.inf)))[0])
    user, item = (int(axis[first]) for axis in entries.coords)
    raise InvalidInputError(
        f"plays has the value {entries.data[first]} at user {user}, item {item}, but a play count is finite "
        "and not negative; drop or repair such entries."
    )


def check_among(among: npt.ArrayLike, n_items: int) -> npt.NDArray[np.bool_]:
    """Return item indices or a mask as a mask over all items."""
    chosen = np.asarray(among)
    if chosen.ndim == 1 and chosen.dtype == bool and chosen.size == n_items:
        return chosen
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "ui"):
        raise InvalidInputError(
            f"among has shape {chosen.shape} and holds {chosen.dtype} values; use a list of item indices, or a "
            f"mask of {n_items} booleans."
        )
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_items):
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"among has item {wrong}, but plays has {n_items} items; use 0 to {n_items - 1}.")
    mask = np.zeros(n_items, bool)
    mask[chosen.astype(np.int64)] = True
    return mask
