"""Embeddings and ids -> an HNSW graph that proposes neighbours, from a file that all processes share.

A file has the graph, and for each of its keys the id of the song and a fingerprint of the embedding that it was added
with. A key counts if its song is still there with the same embedding. So a graph serves a library that has changed
since: keys that no longer count are passed over, and the rows that it does not have are its *tail*, which whoever
searches has to search exactly. Building again takes the file of most songs, adds the tail, and writes a new file; a
file is named by its keys, and never changes. It is mapped into memory: processes on one machine have one copy.

A graph is built on all processors, so two graphs of the same embeddings differ slightly.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_path
from nearsong.executor import available_processors
from nearsong.library.neighbours.exact import Floats, Rows, float64_blocks
from nearsong.temporary import one_at_a_time, remove_unfinished
from nearsong.types import Progress

if TYPE_CHECKING:
    from usearch.index import Index

Ids = npt.NDArray[np.int64]
Fingerprints = npt.NDArray[np.uint64]

PARAMETERS: dict[str, Any] = {"metric": "l2sq", "dtype": "f16", "connectivity": 16, "expansion_add": 128}
EXPANSION_SEARCH = 160
SPARE_CANDIDATES = 14
"""Candidates beyond k, as half precision orders them only approximately."""

MIN_SHARE = 0.5
"""Share of the songs that a graph must have, and share of its keys that must count, to be used or extended."""

BATCH_EMBEDDINGS = 4_096  # embeddings added at once; Ctrl-C is handled in between
BLOCK_EMBEDDINGS = 65_536  # embeddings whose fingerprints are computed together
MAX_SCALED_COORDINATE = np.float32(1e4)  # well within half precision
CHECKSUM_CHUNK_BYTES = 2**24

MAGIC = b"nearsong graph 2"
TRAILER = struct.Struct("<16sdIQQI")
"""Appended to the file: magic, scale, dimensions, number of keys, bytes of usearch's graph, checksum of all that."""

KEY_BYTES = 16
SUFFIX = ".graph"
LOCK_FILE = "graph.lock"
"""Whoever builds a graph in a cache has this file locked; another process waits, and finds the graph."""

MAX_CACHED_GRAPHS = 3


@dataclass(frozen=True, eq=False)
class _Stored:
    """A file of a graph, mapped into memory."""

    file: Path
    pages: memoryview
    scale: float
    r: int
    ids: Ids
    fingerprints: Fingerprints
    graph: memoryview
    checksum: int

    @classmethod
    def open(cls, file: Path, r: int) -> Self | None:
        """Map a file of embeddings in ``r`` dimensions; None if it is of others, or damaged as far as one can see."""
        try:
            pages = np.memmap(file, dtype=np.uint8, mode="r").data
            magic, scale, dimensions, n_keys, n_bytes, checksum = TRAILER.unpack(pages[-TRAILER.size :])
            start = n_bytes + -n_bytes % 8
            if (magic, dimensions) != (MAGIC, r) or start + KEY_BYTES * n_keys + TRAILER.size != len(pages):
                return None
            ids = np.frombuffer(pages, np.int64, n_keys, start)
            fingerprints = np.frombuffer(pages, np.uint64, n_keys, start + 8 * n_keys)
        except (OSError, ValueError, struct.error):
            return None
        return cls(file, pages, scale, r, ids, fingerprints, pages[:n_bytes], checksum)

    def index(self, *, writable: bool = False) -> "Index | None":
        """Return the graph, mapped or as a copy that can be extended; None if it is damaged."""
        if self.checksum != zlib.crc32(self.pages[:-4]):  # usearch does not check its links
            return None
        index = _empty_index(self.r)
        try:
            (index.load if writable else index.view)(self.graph)
            os.utime(self.file)  # the most recently used graphs stay in the cache
        except (OSError, ValueError, RuntimeError):
            return None
        return index if (len(index), index.ndim) == (len(self.ids), self.r) else None

    def rows(self, songs: "_Songs") -> Rows:
        """Return the row of the song of each key; -1 if the key does not count."""
        rows = np.minimum(np.searchsorted(songs.ids, self.ids), len(songs.ids) - 1)
        counts = (songs.ids[rows] == self.ids) & (songs.fingerprints[rows] == self.fingerprints)
        return np.where(counts, rows, -1)


class _Songs(NamedTuple):
    """Songs by ascending id."""

    ids: Ids
    embeddings: Floats
    fingerprints: Fingerprints


class Graph:
    """An HNSW graph over embeddings in half precision; made by :meth:`load_or_build`.

    Attributes
    ----------
    tail : array of intp and shape (n_tail,)
        The rows that the graph does not have, ascending.
    """

    def __init__(
        self, index: "Index", scale: float, rows: Rows, n_rows: int, pages: memoryview | None = None
    ) -> None:
        self._index, self._scale = index, scale
        self._pages = pages  # the mapped file, which the graph refers to
        in_graph = np.zeros(n_rows, bool)
        in_graph[rows[rows >= 0]] = True
        self.tail: Rows = np.flatnonzero(~in_graph)
        self._counting = (n_rows - len(self.tail)) / max(1, len(rows))
        self._rows = None if self._counting == 1 and (np.diff(rows) == 1).all() and rows[0] == 0 else rows

    def __len__(self) -> int:
        return len(self._index)

    @classmethod
    def load_or_build(
        cls, embeddings: Floats, ids: Ids, cache: Path | None, only_cached: bool, progress: Progress
    ) -> "Graph | None":
        """Return a graph that has most of these embeddings, from the cache; unless ``only_cached``, one that has all.

        Parameters
        ----------
        embeddings : array of shape (n_songs, r)
        ids : array of shape (n_songs,)
            Ascending.
        cache : path or None
        only_cached : bool
            Otherwise other processes that build in this cache are waited for.
        progress : callable
        """
        songs = _Songs(ids, embeddings, fingerprints_of(embeddings))
        if only_cached or cache is None:
            return cls._found_or_built(songs, cache, only_cached, progress)
        with one_at_a_time(cache / LOCK_FILE):
            return cls._found_or_built(songs, cache, only_cached, progress)

    @classmethod
    def _found_or_built(
        cls, songs: _Songs, cache: Path | None, only_cached: bool, progress: Progress
    ) -> "Graph | None":
        ids, embeddings = songs.ids, songs.embeddings
        for rows, stored in _most_of(songs, cache):
            is_used = only_cached or int((rows >= 0).sum()) == len(ids)
            index = stored.index(writable=not is_used)
            if index is not None:
                graph = cls(index, stored.scale, rows, len(ids), stored.pages)
                return graph if is_used else graph._extended(songs, stored, cache, progress)
        if only_cached:
            return None
        mean_square = sum(float((part**2).sum()) for part in float64_blocks(embeddings)) / embeddings.size
        index, scale = _empty_index(embeddings.shape[1]), mean_square**-0.5 if mean_square else 1.0
        return cls(index, scale, np.empty(0, np.intp), len(ids))._extended(songs, None, cache, progress)

    def _extended(self, songs: _Songs, stored: _Stored | None, cache: Path | None, progress: Progress) -> "Graph":
        """Add the tail, in batches, so that Ctrl-C is handled; return the graph of all songs, and store it."""
        n_keys, n_songs = len(self), len(songs.ids)
        n_known = n_songs - len(self.tail)
        for first in range(0, len(self.tail), BATCH_EMBEDDINGS):
            progress("index", n_known + first, n_songs)
            rows = self.tail[first : first + BATCH_EMBEDDINGS]
            keys = np.arange(n_keys + first, n_keys + first + len(rows))
            # parallel insertion into an almost empty graph connects it badly
            threads = available_processors() if n_keys + first else 1
            self._index.add(keys, self._scaled(songs.embeddings[rows]), threads=threads)
        progress("index", n_songs, n_songs)
        ids, fingerprints, rows = songs.ids[self.tail], songs.fingerprints[self.tail], self.tail
        if stored is not None:
            ids, fingerprints = np.append(stored.ids, ids), np.append(stored.fingerprints, fingerprints)
            rows = np.append(stored.rows(songs), rows)
        if cache is not None:
            self._save(cache, ids, fingerprints)
        return Graph(self._index, self._scale, rows, n_songs)

    def _save(self, cache: Path, ids: Ids, fingerprints: Fingerprints) -> None:
        """Store the graph atomically; a cache that cannot be written to is ignored."""
        r = self._index.ndim
        name = blake2b(
            f"{MAGIC!r} {PARAMETERS} {r}".encode() + ids.tobytes() + fingerprints.tobytes(), digest_size=16
        )
        with suppress(OSError, RuntimeError):
            cache.mkdir(parents=True, exist_ok=True)
            with atomic_path(cache / f"{name.hexdigest()}{SUFFIX}") as partial:
                self._index.save(partial)
                with open(partial, "r+b") as stream:
                    n_bytes = stream.seek(0, os.SEEK_END)
                    stream.write(bytes(-n_bytes % 8) + ids.tobytes() + fingerprints.tobytes())
                    head = TRAILER.pack(MAGIC, self._scale, r, len(ids), n_bytes, 0)[:-4]
                    stream.write(head)
                    stream.seek(0)
                    checksum = 0
                    while part := stream.read(CHECKSUM_CHUNK_BYTES):
                        checksum = zlib.crc32(part, checksum)
                    stream.write(struct.pack("<I", checksum))
            _tidy(cache)

    def wanted(self, k: int, allowed: float) -> int:
        """Return how many candidates to ask for, if a share of the songs is allowed."""
        share, count = allowed * self._counting, k + SPARE_CANDIDATES
        if share == 1:
            return count
        if allowed == 1 and share > 0.9:  # few were removed
            return count + SPARE_CANDIDATES
        return int(1.5 * count / share) + 1  # allowed songs are not spread evenly

    def propose(self, queries: Floats, count: int) -> list[Rows]:
        """Return the rows of up to ``count`` near songs for each query, less those that do not count."""
        from usearch.index import Matches

        threads = min(len(queries), available_processors())
        matches = self._index.search(self._scaled(queries), count, threads=threads)
        results = [matches] if isinstance(matches, Matches) else list(matches)
        return [self._counted(result.keys.astype(np.intp)) for result in results]

    def _counted(self, keys: Rows) -> Rows:
        if self._rows is None:
            return keys
        rows = self._rows[keys]
        return rows[rows >= 0]

    def _scaled(self, embeddings: Floats) -> Floats:
        """Scale embeddings to a root mean square of 1, clipped to the range of half precision."""
        scaled: Floats = np.clip(embeddings * np.float32(self._scale), -MAX_SCALED_COORDINATE, MAX_SCALED_COORDINATE)
        return scaled


def fingerprints_of(embeddings: Floats) -> Fingerprints:
    """Return a number for each row that changes with the row: a sum of its bits with random weights, modulo 2^64.

    Two different rows with the same number cost a candidate that is too far or too near, no wrong distance.
    """
    weights = np.random.default_rng(0).integers(2**64, size=embeddings.shape[1], dtype=np.uint64) | np.uint64(1)
    fingerprints = np.empty(len(embeddings), np.uint64)
    for first in range(0, len(embeddings), BLOCK_EMBEDDINGS):
        part = np.ascontiguousarray(embeddings[first : first + BLOCK_EMBEDDINGS])
        fingerprints[first : first + BLOCK_EMBEDDINGS] = part.view(np.uint32).astype(np.uint64) @ weights
    return fingerprints


def _most_of(songs: _Songs, cache: Path | None) -> Iterator[tuple[Rows, _Stored]]:
    """Yield the stored graphs with enough of some songs, with the row of each key; those with most songs first."""
    found = []
    for file in [] if cache is None else sorted(cache.glob(f"*{SUFFIX}")):
        if (stored := _Stored.open(file, songs.embeddings.shape[1])) is not None:
            rows = stored.rows(songs)
            n_known = int((rows >= 0).sum())
            if n_known and n_known >= MIN_SHARE * max(len(songs.ids), len(rows)):
                found.append((n_known, rows, stored))
    for _, rows, stored in sorted(found, key=lambda one: (-one[0], len(one[1]))):
        yield rows, stored


def _empty_index(r: int) -> "Index":
    from usearch.index import Index  # imported here, as only large libraries need it

    return Index(ndim=r, expansion_search=EXPANSION_SEARCH, **PARAMETERS)


def _tidy(folder: Path) -> None:
    """Remove all but the most recently used graphs, and unfinished files of killed processes."""
    graphs = sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime)
    for file in graphs[:-MAX_CACHED_GRAPHS]:
        file.unlink(missing_ok=True)
    remove_unfinished(folder)
