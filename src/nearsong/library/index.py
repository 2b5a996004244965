"""Places and ids -> the nearest songs of any place: exactly by BLAS, with the help of a graph above a size.

*Exact.* ``|x|^2 - 2 q.x`` for all songs is one float32 product. Its rounding error has a bound, so the product tells
which songs could be among the ``k`` nearest; those are measured again, as ``sum (x - q)^2`` in float64. The answer is
that of brute force in float64, to the bit, and the same sound is at distance 0.

*Graph.* Above ``approximate_above`` songs a usearch HNSW graph proposes songs, which are measured in the same way.
Distances are always right; now and then a song is overlooked (``benchmarks/bench_index.py`` says how often). Where it
leads astray, into another crowd of songs, a sample of all songs has one that is nearer; then all are looked at. It is
made on all processors, so that two of the same places differ a little; kept in a file named by what it was made of,
it answers the same again. It is made anew when the places change or the file is damaged.
"""

import os
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.executor import available_processors
from nearsong.library.near_places import Bounded, Floats, Rows, check_places, in_parts, measured
from nearsong.validation import check_count

if TYPE_CHECKING:
    from usearch.index import Index

Mask = npt.NDArray[np.bool_]
Answer = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
Progress = Callable[[str, int, int], None]

APPROXIMATE_ABOVE = 200_000
GRAPH = {"metric": "l2sq", "dtype": "f16", "connectivity": 16, "expansion_add": 128}
EXPANSION_SEARCH = 160
SAMPLE = 2_048  # songs that are always looked at, to notice when a graph leads astray
SPARE = 14  # songs the graph is asked for beyond k: its half precision orders them only nearly right
MOST_FROM_GRAPH = 2_000  # more songs than this are found sooner by looking at all
ADD_AT_ONCE = 4_096  # places a graph takes between two looks for Ctrl-C
FARTHEST = np.float32(1e4)  # well within half precision

BLOCK = 2**24  # products held at once: 64 MiB of float32
UNIT = 2.0**-24  # half the gap between 1 and the next float32
UNDERFLOW = 4 * float(np.finfo(np.float32).tiny)

MAGIC = b"nearsong graph 1"
TRAILER = struct.Struct("<16sId")  # after what usearch wrote: magic, checksum of it, scale
ENDING, UNFINISHED, KEPT_GRAPHS = ".graph", ".partial", 3
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
        squares = np.concatenate([np.zeros(0), *((part**2).sum(axis=1) for part in in_parts(places))])
        # A float32 dot product of length r, summed in any order, is wrong by at most about r UNIT |q| |x|, and
        # 2 |q| |x| <= |q|^2 + |x|^2. The 16 cover the rounding of the squares and of the sums.
        self._slack = 1.01 * (places.shape[1] + 16) * UNIT
        self._above = (squares * (1 + self._slack)).astype(np.float32)
        self._below = (squares * (1 - self._slack)).astype(np.float32)
        if graph is not None:
            self._sample = np.unique(np.linspace(0, len(ids) - 1, SAMPLE).astype(np.intp))
            self._sample_places, self._sample_above = places[self._sample], self._above[self._sample]

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
        rows, numbers = check_places(places, "places"), np.asarray(ids)
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
        if len(rows) > approximate_above and rows.size:
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
        rows = check_places(given[None] if given.ndim == 1 else given, "queries")
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
        margins = 2 * self._slack * (queries.astype(np.float64) ** 2).sum(axis=1) + UNDERFLOW * (places.shape[1] + 2)
        found, squares = Bounded(places, above, below).nearest(queries, k, margins)
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
        block = max(1, BLOCK // max(wanted, SAMPLE))
        for first in range(0, len(queries), block):
            part = queries[first : first + block]
            at_most = self._sample_at_most(part, mask)
            for i, near in enumerate(graph.propose(part, wanted), start=first):
                kept = near if mask is None else near[mask[near]]
                if len(kept) >= k:
                    found[i], squares[i] = measured(self._places, np.sort(kept), queries[i], k)
                    nearer = self._sample[np.flatnonzero(at_most[i - first] < squares[i, -1])]
                    if set(nearer.tolist()) <= set(found[i].tolist()):
                        continue
                left.append(i)
        return np.array(left, dtype=np.intp)

    def _sample_at_most(self, queries: Floats, mask: Mask | None) -> Floats:
        """Return how far the sample is at most, squared, queries x sample; infinite where not allowed."""
        bounds: Floats = self._sample_above - 2 * (queries @ self._sample_places.T)
        sizes = (1 + self._slack) * (queries.astype(np.float64) ** 2).sum(axis=1) + UNDERFLOW * queries.shape[1]
        bounds += sizes.astype(np.float32)[:, None]
        if mask is not None:
            bounds[:, ~mask[self._sample]] = np.inf
        return bounds


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
        mean_square = sum(float((part**2).sum()) for part in in_parts(places)) / places.size
        graph = cls(_empty_index(places.shape[1]), mean_square**-0.5 if mean_square else 1.0)
        for first in range(0, len(places), ADD_AT_ONCE):
            progress("index", first, len(places))
            part = graph._scaled(places[first : first + ADD_AT_ONCE])
            threads = available_processors() if first else 1  # many at once would tie a young graph together badly
            graph._index.add(np.arange(first, first + len(part)), part, threads=threads)
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
    return Index(ndim=r, expansion_search=EXPANSION_SEARCH, **parameters)


def _fingerprint(places: Floats) -> str:
    """Name what a graph is made of: the places, in their order, and how it is made."""
    digest = blake2b(f"{MAGIC!r} {GRAPH} {places.shape}".encode(), digest_size=16)
    digest.update(places.data)
    return digest.hexdigest()


def _tidy(folder: Path) -> None:
    """Keep the graphs used last, and nothing of a process that was killed while it wrote."""
    graphs = sorted(folder.glob(f"*{ENDING}"), key=lambda file: file.stat().st_mtime)
    long_ago = time.time() - UNFINISHED_FOR
    left = [file for file in folder.glob(f"*{ENDING}.*{UNFINISHED}") if file.stat().st_mtime < long_ago]
    for file in [*graphs[:-KEPT_GRAPHS], *left]:
        file.unlink(missing_ok=True)
