"""Embeddings and queries -> exact nearest neighbours: the result of float64 brute force at the cost of float32.

``|x|^2 - 2 q.x`` of all songs and a batch of queries is a matrix product, computed in blocks of a few thousand songs
that fit the processor's cache; of each group of sixteen songs only the minimum is stored. The rounding error is
bounded, so the minima bound the distance of the k-th nearest song and show which songs could be as near; only those
are measured again, as ``sum (x - q)^2`` in float64, where small distances do not cancel.

The product is songs x queries, not queries x songs: BLAS takes half the time for it when there are few queries.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

GROUP_SONGS = 16  # songs per stored minimum
BLOCK_PRODUCTS = 2**18  # products computed together: 1 MB
BATCH_QUERIES = 64  # queries multiplied together
BATCH_CANDIDATES = 16_384  # songs measured again together, over all queries
BLOCK_ROWS = 2_048  # embeddings held in float64, so few that they fit the cache
MAX_COORDINATE = 1e15  # its square, and sums of it, fit float32


class _Groups:
    """Assignment of songs to groups, in blocks of ``block_size`` songs.

    The songs of a group are a sixteenth of a block apart, not adjacent, so that the minimum runs over long rows.
    """

    def __init__(self, n_songs: int, block_size: int) -> None:
        self.n_songs, self.block_size = n_songs, block_size

    def __len__(self) -> int:
        return self.n_songs // self.block_size * _width(self.block_size) + _width(self.n_songs % self.block_size)

    def songs(self, groups: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """Return the rows of the songs of groups along the last axis, and which of these rows exist."""
        part, offset = np.divmod(groups, _width(self.block_size))
        last = part == self.n_songs // self.block_size
        stride = np.where(last, _width(self.n_songs % self.block_size), _width(self.block_size))
        within = offset[..., None] + stride[..., None] * np.arange(GROUP_SONGS)
        rows = part[..., None] * self.block_size + within
        exists = (within < self.block_size) & (rows < self.n_songs)
        shape = (*groups.shape[:-1], -1)
        return np.minimum(rows, self.n_songs - 1).reshape(shape), exists.reshape(shape)


@dataclass(frozen=True, eq=False)
class Bounded:
    """Embeddings, and bounds of their squared norms that cover the rounding of float32 products.

    With ``above`` in the role of ``|x|^2``, the computed ``|x|^2 - 2 q.x`` is at least the true value less half a
    margin that depends on q alone; with ``below`` it is at most that plus half a margin. Infinite
    bounds exclude a song.
    """

    embeddings: Floats
    above: Floats
    below: Floats

    def nearest(self, queries: Floats, k: int, margins: Doubles) -> tuple[Rows, Doubles]:
        """Return rows and squared distances of the ``k`` nearest songs of each query, (m, k), ties by row.

        ``k`` must be at least 1, and at least ``k`` songs must not be excluded.
        """
        neighbours, squares = np.empty((len(queries), k), np.intp), np.empty((len(queries), k))
        if 2 * GROUP_SONGS * k > len(self.embeddings):
            for i, query in enumerate(queries):
                neighbours[i], squares[i] = self._nearest_of_all(query, k, margins[i])
            return neighbours, squares
        step = max(1, BATCH_CANDIDATES // (GROUP_SONGS * k))
        for begin in range(0, len(queries), BATCH_QUERIES):
            block = slice(begin, min(begin + BATCH_QUERIES, len(queries)))
            groups = _Groups(len(self.embeddings), max(1, BLOCK_PRODUCTS // (block.stop - begin)))
            lowest = self._group_bounds(queries[block], groups)
            for first in range(block.start, block.stop, step):
                part = slice(first, min(first + step, block.stop))
                least = lowest[part.start - begin : part.stop - begin]
                neighbours[part], squares[part] = self._nearest_in_groups(
                    groups, least, queries[part], k, margins[part]
                )
        return neighbours, squares

    def _nearest_of_all(self, query: Floats, k: int, margin: float) -> tuple[Rows, Doubles]:
        products = self.embeddings @ (-2 * query)
        limit = _limits((products + self.above)[None], k, np.array([margin]))
        return measure(self.embeddings, np.flatnonzero(products + self.below <= limit[0]), query, k)

    def _group_bounds(self, queries: Floats, groups: "_Groups") -> Floats:
        """Return the lower bound of each group, (n_queries, n_groups)."""
        doubled = np.ascontiguousarray((-2 * queries).T)
        products = np.empty((GROUP_SONGS * _width(min(groups.block_size, groups.n_songs)), len(queries)), np.float32)
        lowest = np.empty((len(groups), len(queries)), np.float32)
        begin = 0
        for first in range(0, groups.n_songs, groups.block_size):
            count = min(groups.block_size, groups.n_songs - first)
            width = _width(count)
            block = products[: GROUP_SONGS * width]
            np.matmul(self.embeddings[first : first + count], doubled, out=block[:count])
            block[:count] += self.below[first : first + count, None]
            block[count:] = np.inf
            block.reshape(GROUP_SONGS, width, len(queries)).min(axis=0, out=lowest[begin : begin + width])
            begin += width
        return np.ascontiguousarray(lowest.T)

    def _nearest_in_groups(
        self, groups: _Groups, lowest: Floats, queries: Floats, k: int, margins: Doubles
    ) -> tuple[Rows, Doubles]:
        """Measure the songs of the ``k`` lowest groups of each query, and of other groups that could be as near."""
        best = np.argpartition(lowest, k - 1, axis=1)[:, :k]
        rows, exists = groups.songs(best)
        products = np.matmul(self.embeddings[rows], -2 * queries[:, :, None])[:, :, 0]
        limits = _limits(np.where(exists, products + self.above[rows], np.float32(np.inf)), k, margins)
        near = exists & (products + self.below[rows] <= limits[:, None])
        query_rows, column = np.nonzero(near)
        chosen = rows[query_rows, column]
        squares = squared_distances(self.embeddings[chosen], queries[query_rows])
        order = np.lexsort((chosen, squares, query_rows))
        counts = near.sum(axis=1)
        first_k = order[((np.cumsum(counts) - counts)[:, None] + np.arange(k)).ravel()]
        shape = (len(queries), k)
        neighbours, nearest = chosen[first_k].reshape(shape), squares[first_k].reshape(shape)
        low_groups = lowest <= limits[:, None]
        elsewhere = low_groups.sum(axis=1) > (np.take_along_axis(lowest, best, axis=1) <= limits[:, None]).sum(axis=1)
        for i in np.flatnonzero(elsewhere):  # many songs about as near as the k-th, some perhaps in other groups
            rows, exists = groups.songs(np.flatnonzero(low_groups[i]))
            allowed = rows[exists & (self.below[rows] < np.inf)]
            neighbours[i], nearest[i] = measure(self.embeddings, np.sort(allowed), queries[i], k)
        return neighbours, nearest


def _limits(bounds: Floats, k: int, margins: Doubles) -> Floats:
    """Return the k-th smallest bound of each row plus a margin, rounded up."""
    limits = (np.partition(bounds, k - 1, axis=1)[:, k - 1].astype(np.float64) + margins).astype(np.float32)
    return np.nextafter(limits, np.float32(np.inf))


def _width(count: int) -> int:
    """Return the number of groups for ``count`` songs."""
    return -(-count // GROUP_SONGS)


def measure(embeddings: Floats, rows: Rows, query: Floats, k: int) -> tuple[Rows, Doubles]:
    """Return the k nearest of some ascending rows and their squared distances, computed in float64."""
    squares = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        squares[part] = squared_distances(embeddings[rows[part]], query)
    nearest = np.argsort(squares, kind="stable")[:k]
    return rows[nearest], squares[nearest]


def squared_distances(embeddings: npt.NDArray[Any], others: npt.NDArray[Any]) -> Doubles:
    """Return the squared distances, (n,), of rows to as many others or to a single one, computed in float64."""
    squares: Doubles = ((embeddings.astype(np.float64) - others) ** 2).sum(axis=1)
    return squares


def check_embeddings(embeddings: npt.ArrayLike, name: str) -> Floats:
    """Return finite float32 rows; may be empty."""
    try:
        rows = np.asarray(embeddings)
        rows = rows.reshape(0, 0) if rows.shape == (0,) else rows
        wide = rows if rows.dtype == np.float32 else rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers ({error}).") from error
    if wide.ndim != 2:
        raise InvalidInputError(f"{name} has shape {wide.shape}; songs x dimensions is needed.")
    largest = max(-float(wide.min()), float(wide.max())) if wide.size else 0.0  # NaN if any value is
    if not np.isfinite(largest):
        problem = f"a NaN or infinite value, first in row {int(np.argmin(np.isfinite(wide).all(axis=1)))}"
        raise InvalidInputError(f"{name} has {problem}; leave such songs out.")
    if largest > MAX_COORDINATE:
        raise InvalidInputError(
            f"{name} has a value of {largest:.1e}; its square overflows, so scale the embeddings."
        )
    return np.ascontiguousarray(wide, dtype=np.float32)


def float64_blocks(embeddings: Floats) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the rows in float64, a block at a time."""
    return (
        embeddings[first : first + BLOCK_ROWS].astype(np.float64) for first in range(0, len(embeddings), BLOCK_ROWS)
    )
