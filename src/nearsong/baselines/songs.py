"""What every method here asks of its songs: checks of frames and rows, copies, and work shared among threads."""

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

_LARGEST_VALUE = 1e15  # of a frame: squares over the smallest variances stay far inside float64


def check_frames(frames: Any, name: str, width: int | None = None) -> npt.NDArray[Any]:
    """Return a song's frames as a finite array of real numbers, (n_frames, n_features), at least one of each."""
    try:
        array = np.asarray(frames)
    except ValueError as error:
        raise InvalidInputError(f"{name} cannot be read as an array of frames ({error}).") from error
    if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
        raise InvalidInputError(
            f"{name} came as {array.dtype} of shape {array.shape}; frames x features of real numbers are needed, "
            "at least one of each."
        )
    if width is not None and array.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {array.shape[1]} features a frame where the others have {width}; "
            "compute the same features for every song."
        )
    largest = max(float(array.max()), -float(array.min()))
    if not largest <= _LARGEST_VALUE:
        if np.isfinite(array).all():
            raise InvalidInputError(
                f"{name} has a value of {largest:.1e}; no audio feature is that large, rescale it."
            )
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidInputError(f"{name} has a NaN or infinite value, first in frame {row}; drop such frames.")
    return array


def check_rows(matrix: Any, name: str, width: int | None = None) -> Rows:
    """Return songs x features, dense float64 or canonical CSR, finite and not so large that squares overflow."""
    if sp.issparse(matrix):
        rows: Rows = _check_sparse_rows(matrix, name)
    else:
        rows = check_magnitude(check_vectors(matrix, name), name)
    if width is not None and rows.shape[1] != width:
        raise InvalidInputError(
            f"{name} has {rows.shape[1]} features and the fitted songs {width}; describe both the same way."
        )
    return rows


def _check_sparse_rows(matrix: Any, name: str) -> sp.csr_array:
    rows = sp.csr_array(matrix, dtype=np.float64, copy=True)  # what follows tidies up in place
    if len(rows.shape) != 2 or 0 in rows.shape:
        raise InvalidInputError(
            f"{name} has shape {rows.shape}; songs x features is needed, with at least one of each."
        )
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if rows.nnz:
        if not np.isfinite(rows.data).all():
            raise InvalidInputError(f"{name} has a NaN or infinite value; drop or impute such rows.")
        check_magnitude(rows.data, name)
    return rows


def single_row(query: Any) -> Any:
    """Return one song's vector, of one dimension or a matrix of one row, as a matrix of one row."""
    if not sp.issparse(query):
        query = np.asarray(query)
    row = query.reshape(1, -1) if query.ndim == 1 else query
    if row.ndim != 2 or row.shape[0] != 1:
        raise InvalidInputError(f"query has shape {row.shape}; rank takes one song, distances takes many.")
    return row


def first_copies(songs: Iterable[bytes]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the ids of all different songs, first of each, and for every song the place of its like among them.

    Matrix products may round equal columns differently. Computed once, copies of a song tie exactly.

    Examples
    --------
    >>> first_copies([b"x", b"y", b"x"])
    (array([0, 1]), array([0, 1, 0]))
    """
    places: dict[bytes, int] = {}
    like = np.array([places.setdefault(song, len(places)) for song in songs], dtype=np.intp)
    return np.unique(like, return_index=True)[1], like


def check_threads(threads: int | None) -> int:
    """Return how many threads to use; None is one for each processor this process may use."""
    if threads is not None:
        return check_count(threads, "threads")
    return available_processors()


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, so only once


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to the calling thread while threads of our own share the work."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


def map_in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield ``work(item)`` in order, a few items ahead at most, so that songs may be read as they are needed.

    Examples
    --------
    >>> list(map_in_threads(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
