"""Embeddings and ids -> an index of nearest neighbours: exact, or with an HNSW graph for large libraries.

*Exact.* ``|x|^2 - 2 q.x`` for all songs is one float32 matrix product. Its rounding error is bounded, so the product
shows which songs could be among the ``k`` nearest; those are measured again, as ``sum (x - q)^2`` in float64. The
result equals brute force in float64, bit for bit, and identical embeddings are at distance 0.

*Graph.* Above ``approximate_above`` songs a usearch HNSW graph proposes candidates, which are measured in the same
way. Distances are always exact, but a neighbour is occasionally missed (``benchmarks/bench_index.py`` measures the
recall). If a sample of all songs contains a nearer one, the search ended in the wrong region, and all songs are
searched. A graph is built on all processors, so two graphs of the same embeddings differ slightly; it is stored in a
file named by the hash of its embeddings, and rebuilt when they change or the file is damaged. Without usearch, which
is of the extra ``nearsong[large]``, every search is exact.
"""

import os
import struct
import zlib
from contextlib import suppress
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_path
from nearsong.errors import InvalidInputError, install_command
from nearsong.executor import available_processors
from nearsong.library.neighbours.exact import Bounded, Floats, Rows, check_embeddings, float64_blocks, measure
from nearsong.temporary import remove_unfinished
from nearsong.types import Progress, no_progress
from nearsong.validation import check_count

if TYPE_CHECKING:
    from usearch.index import Index

Mask = npt.NDArray[np.bool_]
Neighbours = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]

APPROXIMATE_ABOVE = 200_000
NO_GRAPH = (
    f"Every search reads all songs. For libraries of more than {APPROXIMATE_ABOVE:,} songs a graph is faster: "
    f"{install_command('large')}"
)
GRAPH = {"metric": "l2sq", "dtype": "f16", "connectivity": 16, "expansion_add": 128}
EXPANSION_SEARCH = 160
SAMPLE_SONGS = 2_048  # songs that are always measured, to detect a search in the wrong region
SPARE_CANDIDATES = 14  # candidates beyond k, as half precision orders them only approximately
MAX_CANDIDATES = 2_000  # beyond this a search of all songs is faster
BATCH_EMBEDDINGS = 4_096  # embeddings added at once; Ctrl-C is handled in between
MAX_SCALED_COORDINATE = np.float32(1e4)  # well within half precision

BLOCK_PRODUCTS = 2**24  # products held at once: 64 MiB of float32
CHECKSUM_CHUNK_BYTES = 2**24
FLOAT32_UNIT = 2.0**-24  # half the gap between 1 and the next float32
UNDERFLOW_ERROR = 4 * float(np.finfo(np.float32).tiny)

MAGIC = b"nearsong graph 1"
TRAILER = struct.Struct("<16sId")  # appended to the usearch file: magic, checksum of that file, scale
GRAPH_SUFFIX = ".graph"
MAX_CACHED_GRAPHS = 3


class NeighbourIndex:
    """Index of nearest neighbours; made by :meth:`build`.

    Attributes
    ----------
    ids : array of int64 and shape (n_songs,)
        Ascending.
    is_exact : bool
        Whether all songs are searched; otherwise a graph proposes candidates.
    lacks_usearch : bool
        Whether there are songs enough for a graph, but usearch is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.neighbours.index import NeighbourIndex
    >>> index = NeighbourIndex.build(np.array([[0.0], [1.0], [4.0]]), ids=[10, 11, 12])
    >>> ids, distances = index.nearest([3.0], k=2)
    >>> ids.tolist(), distances.tolist()
    ([12, 11], [1.0, 2.0])
    """

    def __init__(
        self,
        embeddings: Floats,
        ids: npt.NDArray[np.int64],
        order: Rows | None,
        graph: "_Graph | None",
        lacks_usearch: bool,
    ) -> None:
        self._embeddings = embeddings
        self._order = order  # the caller's row of each internal row; None if they are the same
        self._graph = graph
        self.ids = ids
        self.is_exact = graph is None
        self.lacks_usearch = lacks_usearch
        squares = np.concatenate([np.zeros(0), *((part**2).sum(axis=1) for part in float64_blocks(embeddings))])
        # A float32 dot product of length r, summed in any order, has an error of at most about
        # r FLOAT32_UNIT |q| |x|, and 2 |q| |x| <= |q|^2 + |x|^2. The 16 covers the rounding of squares and sums.
        self._slack = 1.01 * (embeddings.shape[1] + 16) * FLOAT32_UNIT
        self._above = (squares * (1 + self._slack)).astype(np.float32)
        self._below = (squares * (1 - self._slack)).astype(np.float32)
        if graph is not None:
            self._sample = np.unique(np.linspace(0, len(ids) - 1, SAMPLE_SONGS).astype(np.intp))
            self._sample_embeddings, self._sample_above = embeddings[self._sample], self._above[self._sample]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def build(
        cls,
        embeddings: npt.ArrayLike,
        ids: npt.ArrayLike,
        *,
        approximate_above: int = APPROXIMATE_ABOVE,
        cache: Path | None = None,
        only_cached: bool = False,
        progress: Progress = no_progress,
    ) -> "NeighbourIndex":
        """Build an index.

        Parameters
        ----------
        embeddings : array of shape (n_songs, r)
            Stored as float32.
        ids : array of int and shape (n_songs,)
            Unique.
        approximate_above : int
            With more songs than this, a graph is built if usearch is installed.
        cache : path, optional
            A folder for graphs; the three most recently used are stored. A read-only folder is not an error.
        only_cached : bool, default=False
            Use a graph only if it is cached. Building one for a million songs takes minutes, an exact search a tenth
            of a second, so a single query does not justify a graph.
        progress : callable, optional
            Called with ``("index", done, total)`` while a graph is built.

        Raises
        ------
        InvalidInputError
            If an embedding is not finite, or the ids are not unique.
        """
        approximate_above = check_count(approximate_above, "approximate_above", minimum=0)
        rows, numbers = check_embeddings(embeddings, "embeddings"), np.asarray(ids)
        if numbers.shape != (len(rows),) or (numbers.size and numbers.dtype.kind not in "iu"):
            problem = f"ids is {numbers.dtype} of shape {numbers.shape}"
            raise InvalidInputError(f"{problem}; an int for each of {len(rows)} embeddings is needed.")
        numbers = numbers.astype(np.int64)
        order = None
        if (np.diff(numbers) <= 0).any():
            order = np.argsort(numbers, kind="stable")
            rows, numbers = rows[order], numbers[order]
            if (same := np.flatnonzero(np.diff(numbers) == 0)).size:
                raise InvalidInputError(f"id {numbers[same[0]]} is not unique; give each embedding its own id.")
        graph = None
        is_large = len(rows) > approximate_above and rows.size > 0
        lacks_usearch = is_large and find_spec("usearch") is None
        if is_large and not lacks_usearch:
            graph = _Graph.load_or_build(rows, cache, only_cached, progress)
        return cls(rows, numbers, order, graph, lacks_usearch)

    def nearest(self, queries: npt.ArrayLike, k: int, *, allowed: npt.ArrayLike | None = None) -> Neighbours:
        """Return the ``k`` nearest songs of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : array of shape (n_queries, r) or (r,)
            Embeddings, converted to float32 like those of the songs, so that a song is at distance 0 from itself.
        k : int
            Number of neighbours; fewer are returned if fewer songs are allowed.
        allowed : array of bool and shape (n_songs,), optional
            Mask of the songs that may be returned, in the order given to :meth:`build`.

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
        rows = check_embeddings(given[None] if given.ndim == 1 else given, "queries")
        if rows.shape[1] != self._embeddings.shape[1]:
            dimensions = f"{rows.shape[1]} dimension(s) and the songs have {self._embeddings.shape[1]}"
            raise InvalidInputError(f"queries have {dimensions}; project both with one model.")
        mask = self._check_allowed(allowed)
        k = min(k, len(self) if mask is None else int(mask.sum()))
        nearest_rows, squares = np.empty((len(rows), k), np.intp), np.empty((len(rows), k))
        left = np.arange(len(rows) if k else 0)
        if self._graph is not None and left.size:
            left = self._by_graph(self._graph, rows, mask, nearest_rows, squares)
        if left.size:
            nearest_rows[left], squares[left] = self._by_products(rows[left], k, mask)
        neighbours, distances = self.ids[nearest_rows], np.sqrt(squares)
        return (neighbours[0], distances[0]) if given.ndim == 1 else (neighbours, distances)

    def _check_allowed(self, allowed: npt.ArrayLike | None) -> Mask | None:
        """Return the mask in the order of the internal rows; None if it allows all songs."""
        if allowed is None:
            return None
        mask = np.asarray(allowed)
        if mask.shape != self.ids.shape or mask.dtype != bool:
            problem = f"allowed is {mask.dtype} of shape {mask.shape}"
            raise InvalidInputError(f"{problem}; a bool for each of {len(self)} songs is needed.")
        return None if mask.all() else mask if self._order is None else mask[self._order]

    def _by_products(self, queries: Floats, k: int, mask: Mask | None) -> tuple[Rows, npt.NDArray[np.float64]]:
        """Search all songs; return rows and squared distances, both (n_queries, k)."""
        embeddings, above, below = self._embeddings, self._above, self._below
        gathered = None
        if mask is not None and 4 * mask.sum() < len(mask):  # copying a few rows is cheaper than multiplying all
            gathered = np.flatnonzero(mask)
            embeddings, above, below = embeddings[gathered], above[gathered], below[gathered]
        elif mask is not None:
            above, below = (np.where(mask, bound, np.float32(np.inf)) for bound in (above, below))
        margins = 2 * self._slack * (queries.astype(np.float64) ** 2).sum(axis=1) + UNDERFLOW_ERROR * (
            embeddings.shape[1] + 2
        )
        nearest_rows, squares = Bounded(embeddings, above, below).nearest(queries, k, margins)
        return (nearest_rows if gathered is None else gathered[nearest_rows]), squares

    def _by_graph(
        self,
        graph: "_Graph",
        queries: Floats,
        mask: Mask | None,
        nearest_rows: Rows,
        squares: npt.NDArray[np.float64],
    ) -> Rows:
        """Write the results of the graph to ``nearest_rows`` and ``squares``; return the unsolved queries."""
        k = nearest_rows.shape[1]
        wanted = k + SPARE_CANDIDATES
        if mask is not None:  # the graph ignores it; 1.5 times as many, as allowed songs are not spread evenly
            wanted = int(1.5 * wanted * len(mask) / mask.sum()) + 1
        if wanted > min(MAX_CANDIDATES, len(self)):
            return np.arange(len(queries))
        left = []
        block = max(1, BLOCK_PRODUCTS // max(wanted, SAMPLE_SONGS))
        for first in range(0, len(queries), block):
            part = queries[first : first + block]
            at_most = self._sample_at_most(part, mask)
            for i, near in enumerate(graph.propose(part, wanted), start=first):
                candidates = near if mask is None else near[mask[near]]
                if len(candidates) >= k:
                    nearest_rows[i], squares[i] = measure(self._embeddings, np.sort(candidates), queries[i], k)
                    nearer = self._sample[np.flatnonzero(at_most[i - first] < squares[i, -1])]
                    if set(nearer.tolist()) <= set(nearest_rows[i].tolist()):
                        continue
                left.append(i)
        return np.array(left, dtype=np.intp)

    def _sample_at_most(self, queries: Floats, mask: Mask | None) -> Floats:
        """Return upper bounds of squared distances to the sample, (n_queries, n_sample); infinite if not allowed."""
        bounds: Floats = self._sample_above - 2 * (queries @ self._sample_embeddings.T)
        sizes = (1 + self._slack) * (queries.astype(np.float64) ** 2).sum(axis=1) + UNDERFLOW_ERROR * queries.shape[1]
        bounds += sizes.astype(np.float32)[:, None]
        if mask is not None:
            bounds[:, ~mask[self._sample]] = np.inf
        return bounds


class _Graph:
    """An HNSW graph over embeddings in half precision; row numbers are its keys."""

    def __init__(self, index: "Index", scale: float, pages: memoryview | None = None) -> None:
        self._index = index
        self._scale = scale
        self._pages = pages  # the mapped file, which the graph refers to

    @classmethod
    def load_or_build(
        cls, embeddings: Floats, cache: Path | None, only_cached: bool, progress: Progress
    ) -> "_Graph | None":
        """Return the graph of these embeddings, from the cache if it has one."""
        file = None if cache is None else cache / f"{_fingerprint(embeddings)}{GRAPH_SUFFIX}"
        graph = None if file is None else cls._open(file, embeddings.shape)
        if graph is None and not only_cached:
            graph = cls._build(embeddings, progress)
            if file is not None:
                graph._save(file)
        return graph

    @classmethod
    def _build(cls, embeddings: Floats, progress: Progress) -> "_Graph":
        """Add the embeddings in batches, so that Ctrl-C is handled."""
        mean_square = sum(float((part**2).sum()) for part in float64_blocks(embeddings)) / embeddings.size
        graph = cls(_empty_index(embeddings.shape[1]), mean_square**-0.5 if mean_square else 1.0)
        for first in range(0, len(embeddings), BATCH_EMBEDDINGS):
            progress("index", first, len(embeddings))
            part = graph._scaled(embeddings[first : first + BATCH_EMBEDDINGS])
            threads = (
                available_processors() if first else 1
            )  # parallel insertion into an almost empty graph connects it badly
            graph._index.add(np.arange(first, first + len(part)), part, threads=threads)
        progress("index", len(embeddings), len(embeddings))
        return graph

    @classmethod
    def _open(cls, file: Path, shape: tuple[int, ...]) -> "_Graph | None":
        """Map a stored graph into memory; None if there is none, or it is damaged."""
        try:
            pages = np.memmap(file, dtype=np.uint8, mode="r").data
            content = pages[: -TRAILER.size]
            magic, checksum, scale = TRAILER.unpack(pages[-TRAILER.size :])
            if magic != MAGIC or checksum != zlib.crc32(content):  # usearch does not check its links
                return None
            index = _empty_index(shape[1])
            index.view(content)
            os.utime(file)  # the most recently used graphs stay in the cache
        except (OSError, ValueError, RuntimeError, struct.error):
            return None
        return cls(index, scale, pages) if (len(index), index.ndim) == shape else None

    def _save(self, file: Path) -> None:
        """Store the graph atomically; a cache that cannot be written to is ignored."""
        with suppress(OSError, RuntimeError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(file) as partial:
                self._index.save(partial)
                checksum = 0
                with open(partial, "r+b") as stream:
                    while part := stream.read(CHECKSUM_CHUNK_BYTES):
                        checksum = zlib.crc32(part, checksum)
                    stream.write(TRAILER.pack(MAGIC, checksum, self._scale))
            _tidy(file.parent)

    def propose(self, queries: Floats, count: int) -> list[Rows]:
        """Return the rows of up to ``count`` near songs for each query."""
        from usearch.index import Matches

        threads = min(len(queries), available_processors())
        matches = self._index.search(self._scaled(queries), count, threads=threads)
        results = [matches] if isinstance(matches, Matches) else list(matches)
        return [result.keys.astype(np.intp) for result in results]

    def _scaled(self, embeddings: Floats) -> Floats:
        """Scale embeddings to a root mean square of 1, clipped to the range of half precision."""
        scaled: Floats = np.clip(embeddings * np.float32(self._scale), -MAX_SCALED_COORDINATE, MAX_SCALED_COORDINATE)
        return scaled


def _empty_index(r: int) -> "Index":
    from usearch.index import Index  # imported here, as only large libraries need it

    parameters: dict[str, Any] = GRAPH
    return Index(ndim=r, expansion_search=EXPANSION_SEARCH, **parameters)


def _fingerprint(embeddings: Floats) -> str:
    """Return the hash of the input of a graph: the embeddings, in order, and the parameters."""
    digest = blake2b(f"{MAGIC!r} {GRAPH} {embeddings.shape}".encode(), digest_size=16)
    digest.update(embeddings.data)
    return digest.hexdigest()


def _tidy(folder: Path) -> None:
    """Remove all but the most recently used graphs, and unfinished files of killed processes."""
    graphs = sorted(folder.glob(f"*{GRAPH_SUFFIX}"), key=lambda file: file.stat().st_mtime)
    for file in graphs[:-MAX_CACHED_GRAPHS]:
        file.unlink(missing_ok=True)
    remove_unfinished(folder)
