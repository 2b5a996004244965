"""Embeddings and ids -> an index of nearest neighbours: exact, or with an HNSW graph for large libraries.

*Exact.* ``|x|^2 - 2 q.x`` for all songs is one float32 matrix product. Its rounding error is bounded, so the product
shows which songs could be among the ``k`` nearest; those are measured again, as ``sum (x - q)^2`` in float64. The
result equals brute force in float64, bit for bit, and identical embeddings are at distance 0.

*Graph.* Above ``approximate_above`` songs a usearch HNSW graph proposes candidates, which are measured in the same
way. Songs that were added or changed since the graph was built, its tail, are searched exactly, and those that were
removed are left out: so a graph serves a library that changes. Distances are always exact, but a neighbour is
occasionally missed (``benchmarks/bench_index.py`` measures the recall). If a sample of all songs contains a nearer
one, the search ended in the wrong region, and all songs are searched. Without usearch, which is of the extra
``nearsong[large]``, every search is exact.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, install_command
from nearsong.library.neighbours.exact import (
    Bounded,
    Doubles,
    Floats,
    Rows,
    check_embeddings,
    float64_blocks,
    measure,
)
from nearsong.library.neighbours.graph import Graph
from nearsong.types import Progress, no_progress
from nearsong.validation import check_count

Mask = npt.NDArray[np.bool_]
Neighbours = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]

APPROXIMATE_ABOVE = 200_000
NO_GRAPH = (
    f"Every search reads all songs. For libraries of more than {APPROXIMATE_ABOVE:,} songs a graph is faster: "
    f"{install_command('large')}"
)
SAMPLE_SONGS = 2_048  # songs that are always measured, to detect a search in the wrong region
MAX_CANDIDATES = 2_000  # beyond this a search of all songs is faster

BLOCK_PRODUCTS = 2**24  # products held at once: 64 MiB of float32
FLOAT32_UNIT = 2.0**-24  # half the gap between 1 and the next float32
UNDERFLOW_ERROR = 4 * float(np.finfo(np.float32).tiny)


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
    n_outside_graph : int
        Songs that the graph does not have, and that are searched exactly; 0 without a graph.

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
        graph: Graph | None,
        lacks_usearch: bool,
    ) -> None:
        self._embeddings = embeddings
        self._order = order  # the caller's row of each internal row; None if they are the same
        self._graph = graph
        self.ids = ids
        self.is_exact = graph is None
        self.n_outside_graph = 0 if graph is None else len(graph.tail)
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
            tail = graph.tail
            self._tail = Bounded(embeddings[tail], self._above[tail], self._below[tail])

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
            A graph there that has most of the songs is extended by the others.
        only_cached : bool, default=False
            Use a graph only if one is cached that has at least half of the songs. Building one for a million songs
            takes minutes, an exact search a tenth of a second, so a single query does not justify a graph.
        progress : callable, optional
            Called with ``("index", done, total)`` while a graph is built or extended.

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
            graph = Graph.load_or_build(rows, numbers, cache, only_cached, progress)
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

    def _by_products(self, queries: Floats, k: int, mask: Mask | None) -> tuple[Rows, Doubles]:
        """Search all songs; return rows and squared distances, both (n_queries, k)."""
        embeddings, above, below = self._embeddings, self._above, self._below
        gathered = None
        if mask is not None and 4 * mask.sum() < len(mask):  # copying a few rows is cheaper than multiplying all
            gathered = np.flatnonzero(mask)
            embeddings, above, below = embeddings[gathered], above[gathered], below[gathered]
        elif mask is not None:
            above, below = (np.where(mask, bound, np.float32(np.inf)) for bound in (above, below))
        nearest_rows, squares = Bounded(embeddings, above, below).nearest(queries, k, self._margins(queries))
        return (nearest_rows if gathered is None else gathered[nearest_rows]), squares

    def _by_graph(
        self,
        graph: Graph,
        queries: Floats,
        mask: Mask | None,
        nearest_rows: Rows,
        squares: Doubles,
    ) -> Rows:
        """Write the results of the graph to ``nearest_rows`` and ``squares``; return the unsolved queries."""
        k = nearest_rows.shape[1]
        wanted = graph.wanted(k, 1.0 if mask is None else float(mask.mean()))
        if wanted > min(MAX_CANDIDATES, len(graph)):
            return np.arange(len(queries))
        left = []
        block = max(1, BLOCK_PRODUCTS // max(wanted, SAMPLE_SONGS))
        for first in range(0, len(queries), block):
            part = queries[first : first + block]
            at_most = self._sample_at_most(part, mask)
            in_tail, tail_squares = self._by_tail(graph, part, k, mask)
            for i, near in enumerate(graph.propose(part, wanted), start=first):
                candidates = near if mask is None else near[mask[near]]
                if len(candidates) + in_tail.shape[1] >= k:
                    found = measure(self._embeddings, np.sort(candidates), queries[i], k)
                    rows = np.concatenate([found[0], in_tail[i - first]])
                    distances = np.concatenate([found[1], tail_squares[i - first]])
                    order = np.lexsort((rows, distances))[:k]
                    nearest_rows[i], squares[i] = rows[order], distances[order]
                    nearer = self._sample[np.flatnonzero(at_most[i - first] < squares[i, -1])]
                    if set(nearer.tolist()) <= set(nearest_rows[i].tolist()):
                        continue
                left.append(i)
        return np.array(left, dtype=np.intp)

    def _by_tail(self, graph: Graph, queries: Floats, k: int, mask: Mask | None) -> tuple[Rows, Doubles]:
        """Search the songs that the graph does not have; return rows and squared distances, (n_queries, up to k)."""
        tail, bounded = graph.tail, self._tail
        if mask is not None:
            allowed = mask[tail]
            tail = tail[allowed]
            bounded = Bounded(bounded.embeddings[allowed], bounded.above[allowed], bounded.below[allowed])
        k = min(k, len(tail))
        if not k:
            return np.empty((len(queries), 0), np.intp), np.empty((len(queries), 0))
        rows, squares = bounded.nearest(queries, k, self._margins(queries))
        return tail[rows], squares

    def _margins(self, queries: Floats) -> Doubles:
        """Return twice the rounding errors that depend on a query, (n_queries,)."""
        sizes = (queries.astype(np.float64) ** 2).sum(axis=1)
        margins: Doubles = 2 * self._slack * sizes + UNDERFLOW_ERROR * (queries.shape[1] + 2)
        return margins

    def _sample_at_most(self, queries: Floats, mask: Mask | None) -> Floats:
        """Return upper bounds of squared distances to the sample, (n_queries, n_sample); infinite if not allowed."""
        bounds: Floats = self._sample_above - 2 * (queries @ self._sample_embeddings.T)
        sizes = (1 + self._slack) * (queries.astype(np.float64) ** 2).sum(axis=1) + UNDERFLOW_ERROR * queries.shape[1]
        bounds += sizes.astype(np.float32)[:, None]
        if mask is not None:
            bounds[:, ~mask[self._sample]] = np.inf
        return bounds
