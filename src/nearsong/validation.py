"""An argument -> the validated value: each function returns it in its canonical type or raises `InvalidInputError`.

Every message says what was given, why it cannot work and what to do.
"""

from collections.abc import Collection
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    import scipy.sparse as sp

MAX_LEARNED = 1e15
"""The largest number of a model, far beyond real ones: products with song vectors stay within single precision."""


def check_vectors(X: Any, name: str = "X") -> npt.NDArray[np.float64]:
    """Return ``X`` as a finite 2-D float64 array with at least one row and one column."""
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers ({error}).") from error
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(
            f"{name} has shape {array.shape}; songs x features is needed, with at least one of each."
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(f"{name} has a NaN or infinite value, first in row {row}; drop or impute such rows.")
    return array


def check_magnitude(X: npt.NDArray[np.float64], name: str = "X") -> npt.NDArray[np.float64]:
    """Return ``X`` if products of its entries cannot overflow float64."""
    largest = float(np.abs(X).max())
    if largest > 1e100:
        raise InvalidInputError(f"{name} has a value of {largest:.1e}; its square overflows, so scale the features.")
    return X


def check_learned(array: Any, name: str, shape: tuple[int | None, ...], minimum: float = -MAX_LEARNED) -> None:
    """Raise if an array that was learned and stored has not this type and shape (None: any), or impossible values."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise InvalidInputError(f"{name} has the type {getattr(array, 'dtype', type(array).__name__)}, not float64.")
    fits = array.ndim == len(shape) and all(n in (None, own) for own, n in zip(array.shape, shape, strict=True))
    if not fits or array.size == 0:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise InvalidInputError(f"{name} has the shape {array.shape}; ({wanted}) is needed.")
    if not (minimum <= array.min() and array.max() <= MAX_LEARNED):  # NaN is neither
        raise InvalidInputError(f"{name} has a NaN or a number outside {minimum:g} to {MAX_LEARNED:g}.")


def check_square_relation(matrix: Any, n: int, name: str) -> "sp.csr_array":
    """Return an ``n x n`` relation as canonical boolean CSR."""
    return check_relation(matrix, (n, n), name)


def check_relation(matrix: Any, shape: tuple[int, int], name: str) -> "sp.csr_array":
    """Return a relation (non-zero = related) as canonical boolean CSR without explicit zeros."""
    import scipy.sparse as sp  # a quarter of a second, for trainings only

    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise InvalidInputError(
                f"{name} has {matrix.ndim} dimension(s); a {shape[0]} x {shape[1]} matrix is needed."
            )
    relation = sp.csr_array(matrix)
    if relation.shape != shape:
        raise InvalidInputError(
            f"{name} has shape {relation.shape}; {shape[0]} x {shape[1]} is needed to match the songs."
        )
    if relation.dtype.kind == "f" and not np.isfinite(relation.data).all():
        raise InvalidInputError(f"{name} has a NaN or infinite entry; use 1 for related and 0 for not.")
    relation = relation.astype(bool)
    relation.sum_duplicates()
    relation.eliminate_zeros()
    relation.sort_indices()
    return relation


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` as a finite float above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InvalidInputError(f"{name}={value!r} must be a finite number above 0.")
    return float(value)


def check_in_range(value: Any, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float with ``low < value < high``."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < high:
        raise InvalidInputError(f"{name}={value!r} must be a number between {low:g} and {high:g}.")
    return float(value)


def check_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < minimum:
        raise InvalidInputError(f"{name}={value!r} must be a whole number of at least {minimum}.")
    return int(value)


def check_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name}={value!r} is unknown; choose one of {', '.join(sorted(choices))}.")
    return value


def check_labels(y: Any, n: int, name: str = "y") -> npt.NDArray[np.int64]:
    """Return ``n`` class labels, numbers or strings, as codes 0, 1, ... in sorted order of the classes."""
    import scipy.sparse as sp

    if sp.issparse(y):
        raise InvalidInputError(f"{name} is a sparse matrix; a list of {n} labels, one per song, is needed.")
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise InvalidInputError(f"{name} has shape {labels.shape}; one label for each of {n} songs is needed.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InvalidInputError(f"{name} has a NaN label; drop those songs or give them a class.")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidInputError(f"{name} mixes labels that cannot be compared ({error}).") from error
