"""A folder of play counts -> each item's most similar items, block by block: in several processes or on a cluster.

It is `jaccard_neighbors` divided twice: users into partitions, items into blocks of ranks. What a task computes is a
file in a folder that all workers share, so that an interrupted run continues with the tasks that were not finished.

=========== ================== ==================================================================================
stage       a task is          and writes
=========== ================== ==================================================================================
listeners   some partitions    how many listeners each item has there
rows        some partitions    the listens of each partition in the layout of `co_listening`, and the pairs to count
counts      a block of items   of all partitions: the best neighbours that its pairs give to items of any rank
lists       a range of ranks   the best of all blocks
=========== ================== ==================================================================================
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError
from nearsong.executor import run_tasks
from nearsong.relevance.arrangement import rank_items
from nearsong.relevance.array_file import map_arrays
from nearsong.relevance.block_tasks import (
    PLAN,
    arrange_rows,
    count_block,
    count_partition_listeners,
    load_ranks,
    merge_lists,
    read_plan,
    save_ranks,
)
from nearsong.relevance.plays import check_among
from nearsong.relevance.plays_folder import PlaysFolder
from nearsong.temporary import remove_unfinished
from nearsong.types import Progress, no_progress
from nearsong.validation import check_count, check_positive

MEMORY_BYTES = 2**30
"""What a task may take by default."""

MAX_TASKS = 64
"""Tasks of a stage that memory does not divide further."""

BLOCK_PAIRS = 2**24
"""Pairs of a block, if that gives fewer than `MAX_TASKS` blocks: smaller ones take less time than to begin a task."""

RANGE_RANKS = 2**14
"""Ranks whose lists a task merges, for the same reason."""

_BYTES_OF_PLAY, _BYTES_OF_LISTEN = 64, 12  # of a partition: while it is arranged, and afterwards
_BYTES_OF_ITEM, _BYTES_OF_ENTRY = 96, 12  # ranks, listeners, counters; an entry of a list of neighbours
_BYTES_OF_CELL = 4


def jaccard_neighbors_blockwise(
    plays: PlaysFolder,
    work: str | Path,
    k: int = 10,
    min_plays: float = 10,
    among: npt.ArrayLike | None = None,
    *,
    memory: int = MEMORY_BYTES,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = no_progress,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Find the ``k`` items whose listeners overlap most with each item's listeners, in bounded memory per process.

    The result is that of :func:`~nearsong.relevance.jaccard.jaccard_neighbors` for the same plays, to the bit.

    Parameters
    ----------
    plays : PlaysFolder
        Play counts, users x items.
    work : path-like
        A folder for what the tasks write, about 12 bytes per listen; created if need be. If a run is interrupted, the
        same call continues it. It is removed at the end.
    k, min_plays, among
        As of ``jaccard_neighbors``.
    memory : int
        Bytes that a task may take besides what its process takes anyway. The less, the more blocks; the result does
        not change.
    jobs : int, optional
        Processes, by default one per processor. With 1 the tasks run in this process.
    cluster : str, optional
        Address of a Dask scheduler whose workers run the tasks. They need nearsong, and both folders at the
        same paths.
    progress : callable
        Called with (stage, tasks done, tasks).

    Returns
    -------
    ids : ndarray of int32 and shape (n_items, k)
    similarities : ndarray of float64 and shape (n_items, k)

    Raises
    ------
    InvalidInputError
        If ``memory`` is too small for that many items, the plays are damaged, or ``work`` belongs to another call.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plays = PlaysFolder.write(f"{folder}/plays", [[[12, 30, 0, 0], [15, 11, 40, 3]], [[0, 10, 25, 99]]])
    ...     ids, similarities = jaccard_neighbors_blockwise(plays, f"{folder}/work", k=2, jobs=1)
    >>> ids
    array([[1, 2],
           [0, 2],
           [1, 3],
           [2, 1]], dtype=int32)
    """
    run = _Run(Path(work), jobs, cluster, progress)
    k, min_plays = check_count(k, "k"), check_positive(min_plays, "min_plays")
    mask = None if among is None else check_among(among, plays.items)
    cells = _free_cells(plays, k, check_count(memory, "memory"))
    _begin(run.folder, plays, mask, {"k": k, "min_plays": min_plays, "memory": memory})
    n_groups = max(1, min(MAX_TASKS, len(plays.partitions)))
    groups = [group.tolist() for group in np.array_split(np.arange(len(plays.partitions)), n_groups) if group.size]
    run.stage("listeners", count_partition_listeners, groups, lambda group: f"listeners-{group[0]}")
    if not (run.folder / "ranks").exists():
        save_ranks(run.folder, rank_items(_sum_of(run.folder, "listeners", groups, plays.items), mask))
    run.stage("rows", arrange_rows, groups, lambda group: f"pairs-{group[0]}")
    blocks = _blocks(_sum_of(run.folder, "pairs", groups, plays.items + 1), cells)
    run.stage("counts", count_block, blocks, lambda block: f"counts-{block[0]}")
    ranges = _ranges(plays.items, memory // (_BYTES_OF_ENTRY * k))
    run.stage("lists", partial(merge_lists, blocks), ranges, lambda each: f"lists-{each[0]}")
    ids, similarities = _by_item(run.folder, ranges, plays.items, k)
    shutil.rmtree(run.folder)
    return ids, similarities


class _Run:
    """The folder of a run, and where its tasks are executed."""

    def __init__(self, folder: Path, jobs: int | None, cluster: str | None, progress: Progress) -> None:
        self.folder = folder
        self._jobs, self._cluster, self._progress = jobs, cluster, progress

    def stage(
        self, name: str, function: Callable[[str, Any], None], tasks: list[Any], file: Callable[[Any], str]
    ) -> None:
        """Run the tasks whose last file is not there."""
        # listed, not looked up one by one: a network file system may remember for a while that a file was missing
        finished = set(os.listdir(self.folder))
        pending = [task for task in tasks if file(task) not in finished]
        done = len(tasks) - len(pending)
        self._progress(name, done, len(tasks))
        work = partial(function, str(self.folder))
        for n, _ in enumerate(run_tasks(work, pending, jobs=self._jobs, cluster=self._cluster), done + 1):
            self._progress(name, n, len(tasks))


def _free_cells(plays: PlaysFolder, k: int, memory: int) -> int:
    """Return for how many cells of a block there is memory; raise if one item may need more."""
    largest = max((partition.plays for partition in plays.partitions), default=0)
    arranging = _BYTES_OF_PLAY * largest + _BYTES_OF_ITEM * plays.items
    counting = _BYTES_OF_LISTEN * largest + (_BYTES_OF_ITEM + _BYTES_OF_ENTRY * k) * plays.items
    needed = max(arranging, counting + _BYTES_OF_CELL * (plays.items + 1))
    if memory < needed:
        raise InvalidInputError(
            f"memory={memory} bytes is too little for {plays.items:,} items, k={k} and partitions of {largest:,} "
            f"plays; give at least {needed}, or write smaller partitions."
        )
    return (memory - counting) // _BYTES_OF_CELL


def _begin(folder: Path, plays: PlaysFolder, mask: npt.NDArray[np.bool_] | None, how: dict[str, Any]) -> None:
    """Create the folder of a run, or check that it is one of the same run."""
    digest = hashlib.sha256(b"" if mask is None else mask.tobytes())
    digest.update(json.dumps([plays.items, [partition.checksum for partition in plays.partitions]]).encode())
    plan = {**how, "plays": str(plays.path.resolve()), "digest": digest.hexdigest()}
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    file = folder / PLAN
    if not file.exists():
        if any(folder.iterdir()):
            raise InvalidInputError(
                f"{folder} is not empty and not the folder of an interrupted run; give another one."
            )
        with atomic_write(file) as target:
            target.write(json.dumps(plan).encode())
    elif read_plan(folder) != plan:
        raise InvalidInputError(
            f"{folder} belongs to a run with other plays or arguments; continue it with those, or remove the folder."
        )


def _sum_of(folder: Path, name: str, groups: list[list[int]], n: int) -> npt.NDArray[np.int64]:
    """Return the sum of the arrays that the tasks of a stage have stored."""
    total = np.zeros(n, np.int64)
    for group in groups:
        total += map_arrays(folder / f"{name}-{group[0]}")[0]
    return total


def _blocks(pairs: npt.NDArray[np.int64], cells: int) -> list[tuple[int, int]]:
    """Return ranges of ranks with at most so many cells each, and of not too many pairs."""
    own_cells = np.cumsum(np.minimum(np.arange(pairs.size), pairs))
    work = np.cumsum(pairs)
    most_work = max(BLOCK_PAIRS, int(work[-1]) // MAX_TASKS)
    blocks: list[tuple[int, int]] = []
    first, end = 1, int(np.max(np.flatnonzero(pairs), initial=0)) + 1
    while first < end:
        limits = ((own_cells, cells), (work, most_work))
        last = min(int(np.searchsorted(sums, sums[first - 1] + limit, side="right")) for sums, limit in limits)
        blocks.append((first, min(max(last, first + 1), end)))
        first = blocks[-1][1]
    return blocks


def _ranges(n_items: int, most: int) -> list[tuple[int, int]]:
    """Return all ranks in ranges of at most ``most``."""
    step = min(most, max(RANGE_RANKS, -(-n_items // MAX_TASKS)))
    return [(first, min(first + step, n_items + 1)) for first in range(1, n_items + 1, step)]


def _by_item(
    folder: Path, ranges: list[tuple[int, int]], n_items: int, k: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return the lists in the order of the items, padded."""
    ids, similarities = np.empty((n_items, k), np.int32), np.empty((n_items, k), np.float64)
    names = load_ranks(folder).names
    for first, last in ranges:
        own = names[first:last]
        ids[own], similarities[own] = map_arrays(folder / f"lists-{first}")
    return ids, similarities
