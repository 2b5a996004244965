"""Places and one of them -> who could be near, and distances in float64 that do not cancel."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]

GROUP = 64  # songs of which only the nearest is looked at first
PART = 65_536  # places held at once in float64
LARGEST = 1e15  # its square, and sums of it, are far from the end of float32


def could_be_near(highest: Floats, lowest: Floats, k: int, margin: float) -> Rows:
    """Return, ascending, who is at best nearer than the k-th is at worst."""
    near, n_groups = np.arange(len(highest)), len(highest) // GROUP
    if n_groups >= 2 * k:  # the k-th of the least of groups is no less than the k-th of all, and sooner found
        least = highest[: n_groups * GROUP].reshape(GROUP, n_groups).min(axis=0)
        near = np.flatnonzero(lowest <= _limit(least, k, margin))
    return near[lowest[near] <= _limit(highest[near], k, margin)]


def _limit(bounds: Floats, k: int, margin: float) -> np.float32:
    """Return the k-th smallest bound and a margin, rounded up."""
    limit = np.float32(float(np.partition(bounds, k - 1)[k - 1]) + margin)
    return np.float32(np.nextafter(limit, np.float32(np.inf)))


def measured(places: Floats, rows: Rows, query: Floats, k: int) -> tuple[Rows, npt.NDArray[np.float64]]:
    """Return the k nearest of ascending rows and their squared distances, in float64 from the differences."""
    squares = np.empty(len(rows))
    for first in range(0, len(rows), PART):
        part = places[rows[first : first + PART]].astype(np.float64)
        squares[first : first + PART] = ((part - query) ** 2).sum(axis=1)
    nearest = np.argsort(squares, kind="stable")[:k]
    return rows[nearest], squares[nearest]


def check_places(places: npt.ArrayLike, name: str) -> Floats:
    """Return finite float32 rows; there may be none."""
    try:
        rows = np.asarray(places)
        rows = rows.reshape(0, 0) if rows.shape == (0,) else rows
        wide = rows if rows.dtype == np.float32 else rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers ({error}).") from error
    if wide.ndim != 2:
        raise InvalidInputError(f"{name} has shape {wide.shape}; songs x dimensions is needed.")
    largest = max(-float(wide.min()), float(wide.max())) if wide.size else 0.0  # NaN if any value is
    if not np.isfinite(largest):
        wrong = f"a NaN or infinite value, first in row {int(np.argmin(np.isfinite(wide).all(axis=1)))}"
        raise InvalidInputError(f"{name} has {wrong}; leave out songs without a place.")
    if largest > LARGEST:
        raise InvalidInputError(f"{name} has a value of {largest:.1e}; its square overflows, so scale the places.")
    return np.ascontiguousarray(wide, dtype=np.float32)


def in_parts(places: Floats) -> Iterator[npt.NDArray[np.float64]]:
    """Return the rows in float64, some at a time."""
    return (places[first : first + PART].astype(np.float64) for first in range(0, len(places), PART))
