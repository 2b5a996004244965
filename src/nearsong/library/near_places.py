"""Places and questions -> the nearest of all, as brute force in float64 has them, at the price of float32 products.

``|x|^2 - 2 q.x`` of all songs and some questions is a product of matrices, made some thousand songs at a time, so
that the processor's cache holds it; of every sixteen songs only the least is kept. The rounding error has a bound, so
that the best of these sixteens tell how far the k-th nearest can be at most, and which songs could be as near; those
few are measured again, as ``sum (x - q)^2`` in float64, where small distances do not cancel.

Songs times questions, not the other way round: BLAS takes half the time for that when there are few questions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

GROUP = 16  # songs of which only the nearest is looked at first
AT_ONCE = 2**18  # products made at once: 1 MB
TOGETHER = 64  # questions multiplied at once
LOOKED_AT = 16_384  # songs looked at again at once, over all questions
PART = 65_536  # places held at once in float64
LARGEST = 1e15  # its square, and sums of it, are far from the end of float32


class _Groups:
    """Which songs are looked at together, in blocks of ``at_once`` songs.

    The songs of a group are a sixteenth of a block apart, not side by side: so the minimum runs over long rows.
    """

    def __init__(self, n_songs: int, at_once: int) -> None:
        self.n_songs, self.at_once = n_songs, at_once

    def __len__(self) -> int:
        return self.n_songs // self.at_once * _width(self.at_once) + _width(self.n_songs % self.at_once)

    def songs(self, groups: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """Return the rows of groups, side by side along the last axis, and which of them are songs."""
        part, place = np.divmod(groups, _width(self.at_once))
        last = part == self.n_songs // self.at_once
        apart = np.where(last, _width(self.n_songs % self.at_once), _width(self.at_once))
        beside = place[..., None] + apart[..., None] * np.arange(GROUP)
        rows = part[..., None] * self.at_once + beside
        there = (beside < self.at_once) & (rows < self.n_songs)
        shape = (*groups.shape[:-1], -1)
        return np.minimum(rows, self.n_songs - 1).reshape(shape), there.reshape(shape)


@dataclass(frozen=True, eq=False)
class Bounded:
    """Places, and bounds of their squared lengths that leave room for what float32 products get wrong.

    With ``above`` put for ``|x|^2``, the computed ``|x|^2 - 2 q.x`` is at least what it should be, less half a margin
    that depends on q alone; with ``below`` it is at most that, plus half a margin. Infinite: may not be answered.
    """

    places: Floats
    above: Floats
    below: Floats

    def nearest(self, queries: Floats, k: int, margins: Doubles) -> tuple[Rows, Doubles]:
        """Return rows and squared distances of the ``k`` nearest to each query, (m, k), equals by the lower row.

        There must be ``k`` that may be answered, and at least one.
        """
        found, squares = np.empty((len(queries), k), np.intp), np.empty((len(queries), k))
        if 2 * GROUP * k > len(self.places):
            for i, query in enumerate(queries):
                found[i], squares[i] = self._by_all(query, k, margins[i])
            return found, squares
        step = max(1, LOOKED_AT // (GROUP * k))
        for begin in range(0, len(queries), TOGETHER):
            block = slice(begin, min(begin + TOGETHER, len(queries)))
            groups = _Groups(len(self.places), max(1, AT_ONCE // (block.stop - begin)))
            lowest = self._lowest(queries[block], groups)
            for first in range(block.start, block.stop, step):
                part = slice(first, min(first + step, block.stop))
                least = lowest[part.start - begin : part.stop - begin]
                found[part], squares[part] = self._by_groups(groups, least, queries[part], k, margins[part])
        return found, squares

    def _by_all(self, query: Floats, k: int, margin: float) -> tuple[Rows, Doubles]:
        products = self.places @ (-2 * query)
        limit = _limits((products + self.above)[None], k, np.array([margin]))
        return measured(self.places, np.flatnonzero(products + self.below <= limit[0]), query, k)

    def _lowest(self, queries: Floats, groups: "_Groups") -> Floats:
        """Return the least that each group can be, queries x groups."""
        doubled = np.ascontiguousarray((-2 * queries).T)
        products = np.empty((GROUP * _width(min(groups.at_once, groups.n_songs)), len(queries)), np.float32)
        lowest = np.empty((len(groups), len(queries)), np.float32)
        begin = 0
        for first in range(0, groups.n_songs, groups.at_once):
            count = min(groups.at_once, groups.n_songs - first)
            width = _width(count)
            block = products[: GROUP * width]
            np.matmul(self.places[first : first + count], doubled, out=block[:count])
            block[:count] += self.below[first : first + count, None]
            block[count:] = np.inf
            block.reshape(GROUP, width, len(queries)).min(axis=0, out=lowest[begin : begin + width])
            begin += width
        return np.ascontiguousarray(lowest.T)

    def _by_groups(
        self, groups: _Groups, lowest: Floats, queries: Floats, k: int, margins: Doubles
    ) -> tuple[Rows, Doubles]:
        """Look at the ``k`` best groups of each query: they hold the ``k`` songs that can be nearest."""
        best = np.argpartition(lowest, k - 1, axis=1)[:, :k]
        rows, there = groups.songs(best)
        products = np.matmul(self.places[rows], -2 * queries[:, :, None])[:, :, 0]
        limits = _limits(np.where(there, products + self.above[rows], np.float32(np.inf)), k, margins)
        near = there & (products + self.below[rows] <= limits[:, None])
        who, column = np.nonzero(near)
        chosen = rows[who, column]
        squares = ((self.places[chosen].astype(np.float64) - queries[who]) ** 2).sum(axis=1)
        order = np.lexsort((chosen, squares, who))
        counts = near.sum(axis=1)
        kept = order[((np.cumsum(counts) - counts)[:, None] + np.arange(k)).ravel()]
        shape = (len(queries), k)
        found, away = chosen[kept].reshape(shape), squares[kept].reshape(shape)
        low_groups = lowest <= limits[:, None]
        elsewhere = low_groups.sum(axis=1) > (np.take_along_axis(lowest, best, axis=1) <= limits[:, None]).sum(axis=1)
        for i in np.flatnonzero(elsewhere):  # many songs about as near as the k-th: they may be in other groups too
            rows, there = groups.songs(np.flatnonzero(low_groups[i]))
            allowed = rows[there & (self.below[rows] < np.inf)]
            found[i], away[i] = measured(self.places, np.sort(allowed), queries[i], k)
        return found, away


def _limits(bounds: Floats, k: int, margins: Doubles) -> Floats:
    """Return the k-th smallest bound of each row and a margin, rounded up."""
    limits = (np.partition(bounds, k - 1, axis=1)[:, k - 1].astype(np.float64) + margins).astype(np.float32)
    return np.nextafter(limits, np.float32(np.inf))


def _width(count: int) -> int:
    """Return how many groups some songs make."""
    return -(-count // GROUP)


def measured(places: Floats, rows: Rows, query: Floats, k: int) -> tuple[Rows, Doubles]:
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
