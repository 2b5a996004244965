"""Places and ids -> the nearest songs of any place: exactly by BLAS, with the help of a graph above a size.

*Exact.* ``|x|^2 - 2 q.x`` for all songs is one float32 product. Its rounding error has a bound, so the product tells
which songs could be among the ``k`` nearest; those are measured again, as ``sum (x - q)^2`` in float64. The answer is
that of brute force in float64, to the bit, and the same sound is at distance 0.

*Graph.* Above ``approximate_above`` songs a usearch HNSW graph proposes songs, which are measured in the same way.
Distances are always right; now and then a song is overlooked (``benchmarks/bench_index.py`` says how often). The
graph is kept in a file named by what it was made of, and made again when that changes or the file is damaged.
"""

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.executor import available_processors
from nearsong.validation import check_count

if TYPE_CHECKING:
    from usearch.index import Index

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Answer = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
Progress = Callable[[str, int, int], None]

APPROXIMATE_ABOVE = 200_000
GRAPH = {"metric": "l2sq", "dtype": "f16", "connectivity": 16, "expansion_add": 128, "expansion_search": 320}
SPARE = 14  # songs the graph is asked for beyond k: its half precision orders them only nearly right
MOST_FROM_GRAPH = 2_000  # more songs than this are found sooner by looking at all
ADD_AT_ONCE = 4_096  # places a graph takes between two looks for Ctrl-C
FARTHEST = np.float32(1e4)  # well within half precision

BLOCK = 2**24  # products held at once: 64 MiB of float32
GROUP = 64  # songs of which only the nearest is looked at first
PART = 65_536  # places held at once in float64
UNIT = 2.0**-24  # half the gap between 1 and the next float32
LARGEST = 1e15  # its square, and sums of it, are far from the end of float32

MAGIC = b"nearsong graph 1"
TRAILER = struct.Struct("<16sId")  # after what usearch wrote: magic, checksum of it, scale
ENDING, UNFINISHED = ".graph", ".partial"
KEPT_GRAPHS = 3
UNFINISHED_FOR = 86_400.0  # seconds after which a file being written was left by a process that was killed


class PlaceIndex:
    """The places of many songs, ready to be asked for the nearest; made by :meth:`build`.

    Attributes
    ----------
    ids : array of int64 and shape (n_songs,)
        Ascending.
    is_exact : bool
        Whether all songs are looked at; otherwise a graph proposes which.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.index import PlaceIndex
    >>> index = PlaceIndex.build(np.array([[0.0], [1.0], [4.0]]), ids=[10, 11, 12])
    >>> ids, distances = index.nearest([3.0], k=2)
    >>> ids.tolist(), distances.tolist()
    ([12, 11], [1.0, 2.0])
    """

    def __init__(
        self, places: Floats, ids: npt.NDArray[np.int64], order: Rows | None, graph: "_Graph | None"
    ) -> None:
        self._places = places
        self._order = order  # the caller's row of each of ours; None if they are the same
        self._graph = graph
        self.ids = ids
        self.is_exact = graph is None
        squares = np.concatenate([np.zeros(0), *((part**2).sum(axis=1) for part in _parts(places))])
        # A float32 dot product of length r, summed in any order, is wrong by at most about r UNIT |q| |x|, and
        # 2 |q| |x| <= |q|^2 + |x|^2. The 16 cover the rounding of the squares and of the sums.
        self._slack = 1.01 * (places.shape[1] + 16) * UNIT
        self._above = (squares * (1 + self._slack)).astype(np.float32)
        self._below = (squares * (1 - self._slack)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def build(
        cls,
        places: npt.ArrayLike,
        ids: npt.ArrayLike,
        *,
        approximate_above: int = APPROXIMATE_ABOVE,
        cache: Path | None = None,
        only_cached: bool = False,
        progress: Progress | None = None,
    ) -> "PlaceIndex":
        """Make an index.

        Parameters
        ----------
        places : array of shape (n_songs, r)
            Kept as float32.
        ids : array of int and shape (n_songs,)
            Each song's own.
        approximate_above : int
            With more songs than this, a graph is made.
        cache : path, optional
            A folder to keep graphs in; the three used last stay. One that cannot be written to is passed over.
        only_cached : bool, default=False
            Use a graph only if the cache has it. A graph of a million songs takes minutes, but looking at a million
            songs a tenth of a second, so that one question is not worth a graph.
        progress : callable, optional
            Called with ``("index", done, total)`` while a graph is made.

        Returns
        -------
        PlaceIndex

        Raises
        ------
        InvalidInputError
            If a place is not finite, or the ids do not name each song once.
        """
        approximate_above = check_count(approximate_above, "approximate_above", minimum=0)
        rows, numbers = _check_places(places, "places"), np.asarray(ids)
        if numbers.shape != (len(rows),) or (numbers.size and numbers.dtype.kind not in "iu"):
            came = f"ids is {numbers.dtype} of shape {numbers.shape}"
            raise InvalidInputError(f"{came}; an int for each of {len(rows)} places is needed.")
        numbers = numbers.astype(np.int64)
        order = None
        if (np.diff(numbers) <= 0).any():
            order = np.argsort(numbers, kind="stable")
            rows, numbers = rows[order], numbers[order]
            if (same := np.flatnonzero(np.diff(numbers) == 0)).size:
                raise InvalidInputError(f"id {numbers[same[0]]} comes twice; give every place an id of its own.")
        graph = None
        if len(rows) > approximate_above and rows.shape[1]:
            graph = _Graph.open_or_make(rows, cache, only_cached, progress or (lambda stage, done, total: None))
        return cls(rows, numbers, order, graph)

    def nearest(self, queries: npt.ArrayLike, k: int, *, allowed: npt.ArrayLike | None = None) -> Answer:
        """Return the ``k`` nearest songs of each query, nearest first, equals by the lower id.

        Parameters
        ----------
        queries : array of shape (n_queries, r) or (r,)
            Places, taken as float32 like those of the songs, so that a song finds itself at distance 0.
        k : int
            How many. Fewer come back when there are fewer.
        allowed : array of bool and shape (n_songs,), optional
            Which songs may come back, in the order the index was given them.

        Returns
        -------
        ids : array of int64 and shape (n_queries, k) or (k,)
        distances : array of float64 and the same shape
            Euclidean.

        Raises
        ------
        InvalidInputError
            If a query is not finite or has another number of dimensions, or ``allowed`` another number of songs.
        """
        k = check_count(k, "k", minimum=0)
        given = np.asarray(queries)
        rows = _check_places(given[None] if given.ndim == 1 else given, "queries")
        if rows.shape[1] != self._places.shape[1]:
            dimensions = f"{rows.shape[1]} dimension(s) and the songs have {self._places.shape[1]}"
            raise InvalidInputError(f"queries have {dimensions}; project both with one model.")
        mask = self._check_allowed(allowed)
        k = min(k, len(self) if mask is None else int(mask.sum()))
        found, squares = np.empty((len(rows), k), np.intp), np.empty((len(rows), k))
        left = np.arange(len(rows) if k else 0)
        if self._graph is not None and left.size:
            left = self._by_graph(self._graph, rows, mask, found, squares)
        if left.size:
            found[left], squares[left] = self._by_products(rows[left], k, mask)
        answer = self.ids[found], np.sqrt(squares)
        return (answer[0][0], answer[1][0]) if given.ndim == 1 else answer

    def _check_allowed(self, allowed: npt.ArrayLike | None) -> Mask | None:
        """Return the mask in the order of our rows; None if it allows everything."""
        if allowed is None:
            return None
        mask = np.asarray(allowed)
        if mask.shape != self.ids.shape or mask.dtype != bool:
            came = f"allowed is {mask.dtype} of shape {mask.shape}"
            raise InvalidInputError(f"{came}; a bool for each of {len(self)} songs is needed.")
        return None if mask.all() else mask if self._order is None else mask[self._order]

    def _by_products(self, queries: Floats, k: int, mask: Mask | None) -> tuple[Rows, npt.NDArray[np.float64]]:
        """Look at all songs: (rows, squared distances), each queries x k."""
        places, above, below = self._places, self._above, self._below
        gathered = None
        if mask is not None and 4 * mask.sum() < len(mask):  # copying a few rows is less than multiplying them all
            gathered = np.flatnonzero(mask)
            places, above, below = places[gathered], above[gathered], below[gathered]
        elif mask is not None:
            above, below = (np.where(mask, bound, np.float32(np.inf)) for bound in (above, below))
        found, squares = np.empty((len(queries), k), np.intp), np.empty((len(queries), k))
        underflow = 4 * (places.shape[1] + 2) * float(np.finfo(np.float32).tiny)
        margins = 2 * self._slack * (queries.astype(np.float64) ** 2).sum(axis=1) + underflow
        block = max(1, BLOCK // len(places))
        for first in range(0, len(queries), block):
            products = queries[first : first + block] @ places.T
            products *= -2
            for i, row in enumerate(products, start=first):
                near = _could_be_near(row + above, row + below, k, margins[i])
                found[i], squares[i] = _measured(places, near, queries[i], k)
        return (found if gathered is None else gathered[found]), squares

    def _by_graph(
        self, graph: "_Graph", queries: Floats, mask: Mask | None, found: Rows, squares: npt.NDArray[np.float64]
    ) -> Rows:
        """Fill in what the graph finds; return the queries for which that is too little."""
        k = found.shape[1]
        wanted = k + SPARE
        if mask is not None:  # what is not allowed comes back too; half again as many, as it is not spread evenly
            wanted = int(1.5 * wanted * len(mask) / mask.sum()) + 1
        if wanted > min(MOST_FROM_GRAPH, len(self)):
            return np.arange(len(queries))
        left = []
        block = max(1, BLOCK // wanted)
        for first in range(0, len(queries), block):
            for i, near in enumerate(graph.propose(queries[first : first + block], wanted), start=first):
                kept = near if mask is None else near[mask[near]]
                if len(kept) < k:
                    left.append(i)
                else:
                    found[i], squares[i] = _measured(self._places, np.sort(kept), queries[i], k)
        return np.array(left, dtype=np.intp)


def _could_be_near(highest: Floats, lowest: Floats, k: int, margin: float) -> Rows:
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


def _measured(places: Floats, rows: Rows, query: Floats, k: int) -> tuple[Rows, npt.NDArray[np.float64]]:
    """Return the k nearest of ascending rows and their squared distances, in float64 from the differences."""
    squares = np.empty(len(rows))
    for first in range(0, len(rows), PART):
        part = places[rows[first : first + PART]].astype(np.float64)
        squares[first : first + PART] = ((part - query) ** 2).sum(axis=1)
    nearest = np.argsort(squares, kind="stable")[:k]
    return rows[nearest], squares[nearest]


def _check_places(places: npt.ArrayLike, name: str) -> Floats:
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
        row = int(np.flatnonzero(~np.isfinite(wide).all(axis=1))[0])
        raise InvalidInputError(
            f"{name} has a NaN or infinite value, first in row {row}; leave out songs without a place."
        )
    if largest > LARGEST:
        raise InvalidInputError(f"{name} has a value of {largest:.1e}; its square overflows, so scale the places.")
    return np.ascontiguousarray(wide, dtype=np.float32)


def _parts(places: Floats) -> Iterator[npt.NDArray[np.float64]]:
    """Return the rows in float64, some at a time."""
    return (places[first : first + PART].astype(np.float64) for first in range(0, len(places), PART))


class _Graph:
    """An HNSW graph over places in half precision; row numbers are its keys."""

    def __init__(self, index: "Index", scale: float, pages: memoryview | None = None) -> None:
        self._index = index
        self._scale = scale
        self._pages = pages  # of the file; the graph points into them

    @classmethod
    def open_or_make(
        cls, places: Floats, cache: Path | None, only_cached: bool, progress: Progress
    ) -> "_Graph | None":
        """Return the graph of these places, from the cache if it is there."""
        file = None if cache is None else cache / f"{_fingerprint(places)}{ENDING}"
        graph = None if file is None else cls._open(file, places.shape)
        if graph is None and not only_cached:
            graph = cls._make(places, progress)
            if file is not None:
                graph._keep(file)
        return graph

    @classmethod
    def _make(cls, places: Floats, progress: Progress) -> "_Graph":
        """Add one place after the other, in parts, so that Ctrl-C is heard."""
        mean_square = sum(float((part**2).sum()) for part in _parts(places)) / places.size
        graph = cls(_empty_index(places.shape[1]), mean_square**-0.5 if mean_square else 1.0)
        for first in range(0, len(places), ADD_AT_ONCE):
            progress("index", first, len(places))
            part = graph._scaled(places[first : first + ADD_AT_ONCE])
            graph._index.add(np.arange(first, first + len(part)), part, threads=available_processors())
        progress("index", len(places), len(places))
        return graph

    @classmethod
    def _open(cls, file: Path, shape: tuple[int, ...]) -> "_Graph | None":
        """Map a kept graph into memory; None if there is none, or it is not as it was written."""
        try:
            pages = np.memmap(file, dtype=np.uint8, mode="r").data
            content = pages[: -TRAILER.size]
            magic, checksum, scale = TRAILER.unpack(pages[-TRAILER.size :])
            if magic != MAGIC or checksum != zlib.crc32(content):  # usearch would follow a wrong link anywhere
                return None
            index = _empty_index(shape[1])
            index.view(content)
            os.utime(file)  # the graphs used last are kept
        except (OSError, ValueError, RuntimeError, struct.error):
            return None
        return cls(index, scale, pages) if (len(index), index.ndim) == shape else None

    def _keep(self, file: Path) -> None:
        """Write the graph, whole or not at all; a cache that cannot be written to is no reason to stop."""
        partial = file.with_name(f"{file.name}.{os.getpid()}{UNFINISHED}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._index.save(partial)
            checksum = 0
            with open(partial, "r+b") as stream:
                while part := stream.read(BLOCK):
                    checksum = zlib.crc32(part, checksum)
                stream.write(TRAILER.pack(MAGIC, checksum, self._scale))
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, file)
            _tidy(file.parent)
        except (OSError, RuntimeError):
            pass
        finally:  # also after Ctrl-C
            with suppress(OSError):
                partial.unlink()

    def propose(self, queries: Floats, count: int) -> list[Rows]:
        """Return for each query the rows of up to ``count`` near songs."""
        from usearch.index import Matches

        threads = min(len(queries), available_processors())
        matches = self._index.search(self._scaled(queries), count, threads=threads)
        each = [matches] if isinstance(matches, Matches) else list(matches)
        return [one.keys.astype(np.intp) for one in each]

    def _scaled(self, places: Floats) -> Floats:
        """Bring places to a typical size of 1 and into the range of half precision."""
        scaled: Floats = np.clip(places * np.float32(self._scale), -FARTHEST, FARTHEST)
        return scaled


def _empty_index(r: int) -> "Index":
    from usearch.index import Index  # here, since only large libraries need it

    parameters: dict[str, Any] = GRAPH
    return Index(ndim=r, **parameters)


def _fingerprint(places: Floats) -> str:
    """Name what a graph is made of: the places, in their order, and how it is made."""
    digest = blake2b(f"{MAGIC!r} {GRAPH} {places.shape}".encode(), digest_size=16)
    digest.update(places.data)
    return digest.hexdigest()


def _tidy(folder: Path) -> None:
    """Keep the graphs used last, and nothing of a process that was killed while it wrote."""
    graphs = sorted(folder.glob(f"*{ENDING}"), key=lambda file: file.stat().st_mtime)
    unfinished = folder.glob(f"*{ENDING}.*{UNFINISHED}")
    left = [file for file in unfinished if time.time() - file.stat().st_mtime > UNFINISHED_FOR]
    for file in [*graphs[:-KEPT_GRAPHS], *left]:
        file.unlink(missing_ok=True)
