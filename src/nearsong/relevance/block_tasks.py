"""The tasks of `blockwise`: each reads files that all workers share, and writes one when it is done."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.relevance import block_counts
from nearsong.relevance.arrangement import ItemRanks, arrange, count_listeners
from nearsong.relevance.array_file import map_arrays, save_arrays
from nearsong.relevance.plays_folder import PlaysFolder

PLAN = "plan.json"


def read_plan(folder: str | Path) -> dict[str, Any]:
    """Return what a run computes, and of which plays."""
    plan: dict[str, Any] = json.loads((Path(folder) / PLAN).read_bytes())
    return plan


def count_partition_listeners(folder: str, group: list[int]) -> None:
    """Store how many listeners each item has in some partitions."""
    plan = read_plan(folder)
    plays = PlaysFolder.open(plan["plays"])
    listeners = np.zeros(plays.items, np.int64)
    for number in group:
        listeners += count_listeners(plays.read(number), plan["min_plays"])
    save_arrays(Path(folder, f"listeners-{group[0]}"), listeners)


def save_ranks(folder: Path, ranks: ItemRanks) -> None:
    """Store the ranks of all items."""
    save_arrays(folder / "ranks", ranks.names, ranks.listeners, ranks.candidate, np.array([ranks.is_restricted]))


def load_ranks(folder: str | Path) -> ItemRanks:
    """Return the ranks of all items."""
    names, listeners, candidate, is_restricted = map_arrays(Path(folder, "ranks"))
    return ItemRanks(names=names, listeners=listeners, candidate=candidate, is_restricted=bool(is_restricted[0]))


def arrange_rows(folder: str, group: list[int]) -> None:
    """Store the listens of some partitions in the layout of `co_listening`, and how many pairs each rank counts."""
    plan, ranks = read_plan(folder), load_ranks(folder)
    plays = PlaysFolder.open(plan["plays"])
    pairs = np.zeros(ranks.names.size, np.int64)
    for number in group:
        listens = arrange(plays.read(number), plan["min_plays"], ranks)
        present = np.flatnonzero(np.diff(listens.starts))
        ranges = listens.starts[present], listens.starts[present + 1]
        save_arrays(Path(folder, f"rows-{number}"), present, *ranges, listens.slots, listens.rows)
        pairs += listens.pairs
    save_arrays(Path(folder, f"pairs-{group[0]}"), pairs)


def count_block(folder: str, block: tuple[int, int]) -> None:
    """Count the pairs of a range of ranks with all more popular items; store the best neighbours in both directions.

    Memory is that of the block's cells, and of neighbour lists of the ranks before its end. Of each partition only
    what the block needs is read, through memory maps that are closed before those of the next one are opened.
    """
    first, last = block
    plan, ranks = read_plan(folder), load_ranks(folder)
    pairs = _pairs(folder, first, last)
    own = np.arange(first, last)
    starts = np.concatenate([[0], np.cumsum(np.minimum(own, pairs))])
    is_dense = own <= pairs
    cells, filled = np.zeros(starts[-1], np.uint32), np.zeros(last - first, np.int64)
    for number in range(len(PlaysFolder.open(plan["plays"]).partitions)):
        present, begins, ends, slots, rows = map_arrays(Path(folder, f"rows-{number}"))
        block_counts.add_listens(first, last, present, begins, ends, slots, rows, starts, is_dense, cells, filled)
    similarities, ids = np.zeros((last, plan["k"])), np.empty((last, plan["k"]), np.int32)
    block_counts.compare_block(
        first, last, starts, is_dense, cells, ranks.listeners, ranks.names, ranks.candidate, similarities, ids
    )
    del cells
    starts = block_counts.compact(similarities, ids)
    listed = (array.reshape(-1)[: starts[-1]] for array in (similarities, ids))
    save_arrays(Path(folder, f"counts-{first}"), starts, *listed)


def _pairs(folder: str, first: int, last: int) -> npt.NDArray[np.int64]:
    """Return how many pairs each rank of a range counts."""
    total = np.zeros(last - first, np.int64)
    for file in Path(folder).glob("pairs-*"):
        total += map_arrays(file)[0][first:last]
    return total


def merge_lists(blocks: list[tuple[int, int]], folder: str, ranks: tuple[int, int]) -> None:
    """Store the best neighbours of a range of ranks out of those that all blocks found."""
    first, last = ranks
    k = read_plan(folder)["k"]
    similarities, ids = np.zeros((last - first, k)), np.full((last - first, k), -1, np.int32)
    for block, end in blocks:
        if end > first:
            starts, listed, listed_ids = map_arrays(Path(folder, f"counts-{block}"))
            starts = starts[first : min(last, end) + 1]
            of_ranks = slice(int(starts[0]), int(starts[-1]))
            block_counts.merge(starts, listed[of_ranks], listed_ids[of_ranks], similarities, ids)
    save_arrays(Path(folder, f"lists-{first}"), ids, similarities)
