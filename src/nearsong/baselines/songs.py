"""Helpers of all baselines: checks of frames and vectors, deduplication of songs, and parallel work in threads."""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from nearsong.errors import InvalidInputError
from nearsong.executor import available_processors
from nearsong.validation import check_count, check_magnitude, check_vectors

Rows = npt.NDArray[np.float64] | sp.csr_array
Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_FRAME_VALUE = 1e15  # its square divided by the smallest variance stays far inside float64


def check_frames(frames: Any, name: str, width: int | None = None) -> npt.NDArray[Any]:
    """Return a song's frames as a finite, non-empty array of real numbers of shape (n_frames, n_features)."""
    try:
        array = np.asarray(frames)
    except ValueError as error:
        raise InvalidInputError(f"{name} cannot be read as an array of frames ({error}).") from error
    if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
        raise InvalidInputError(
            f"{name} is {array.dtype} of shape {array.shape}; give frames x features of real numbers, at least one "
            "of each."
        )
    if width is not None and array.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {array.shape[1]} features per frame, the other songs have {width}; "
            "compute the same features for every song."
        )
    peak = max(float(array.max()), -float(array.min()))
    if not peak <= _MAX_FRAME_VALUE:
        if np.isfinite(array).all():
            raise InvalidInputError(f"{name} has a value of {peak:.1e}; no audio feature is that large, rescale it.")
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(f"{name} has a NaN or infinite value, first in frame {row}; drop such frames.")
    return array


def check_rows(matrix: Any, name: str, width: int | None = None) -> Rows:
    """Return songs x features as dense float64 or canonical CSR, finite and small enough to be squared."""
    if sp.issparse(matrix):
        rows: Rows = _check_sparse_rows(matrix, name)
    else:
        rows = check_magnitude(check_vectors(matrix, name), name)
    if width is not None and rows.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {rows.shape[1]} features, the fitted songs have {width}; compute the same features for both."
        )
    return rows


def _check_sparse_rows(matrix: Any, name: str) -> sp.csr_array:
    rows = sp.csr_array(matrix, dtype=np.float64, copy=True)  # because the following calls work in place
    if len(rows.shape) != 2 or 0 in rows.shape:
        raise InvalidInputError(f"{name} has shape {rows.shape}; give songs x features, with at least one of each.")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if rows.nnz:
        if not np.isfinite(rows.data).all():
            raise InvalidInputError(f"{name} has a NaN or infinite value; drop or impute such rows.")
        check_magnitude(rows.data, name)
    return rows


def single_row(query: Any) -> Any:
    """Return a song's vector, one-dimensional or a matrix of one row, as a matrix of one row."""
    if not sp.issparse(query):
        query = np.asarray(query)
    row = query.reshape(1, -1) if query.ndim == 1 else query
    if row.ndim != 2 or row.shape[0] != 1:
        raise InvalidInputError(f"query has shape {row.shape}; rank takes one song, distances takes many.")
    return row


def distinct_songs(songs: Iterable[bytes]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows of the distinct songs, and for every song the position of its duplicate among them.

    Matrix products may round equal columns differently; computed only once, duplicates tie exactly.

    Examples
    --------
    >>> distinct_songs([b"x", b"y", b"x"])
    (array([0, 1]), array([0, 1, 0]))
    """
    numbers: dict[bytes, int] = {}
    inverse = np.array([numbers.setdefault(song, len(numbers)) for song in songs], dtype=np.intp)
    return np.unique(inverse, return_index=True)[1], inverse


def check_threads(threads: int | None) -> int:
    """Return the number of threads; None means one per processor available to this process."""
    if threads is not None:
        return check_count(threads, "threads")
    return available_processors()


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # scans all loaded libraries, so it is cached


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to the calling thread while our own threads share the work."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


def map_in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield ``work(item)`` in order, reading only a few items ahead, so that songs can be read lazily.

    Examples
    --------
    >>> list(map_in_threads(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(work, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
