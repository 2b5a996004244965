"""Embeddings in a mapped file, and ids -> their graph in the cache, built or extended at the lowest priority.

``python -m nearsong.library.neighbours.graph_process``, started by `GraphBuilder`. On standard input it gets a line
of JSON (the file of the embeddings, their shape, the cache) and the ids, eight bytes each. On standard output it says
how many songs it has added: none if another process did so meanwhile. It ends when standard input closes, since then
its service has ended.
"""

import json
import os
import sys
import threading
from pathlib import Path

NICENESS = 19
"""Building yields the processor to requests and to all other programs."""


def main() -> int:
    """Build the graph that standard input describes."""
    request = json.loads(sys.stdin.buffer.readline())
    n_songs, _ = shape = tuple(request["shape"])
    numbers = sys.stdin.buffer.read(8 * n_songs)  # at once, since the service waits until it has written them
    threading.Thread(target=_end_with_service, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    import numpy as np

    from nearsong.library.neighbours.index import NeighbourIndex

    embeddings = np.memmap(request["embeddings"], dtype=np.float32, mode="r", shape=shape).view(np.ndarray)
    reports: list[int] = []
    NeighbourIndex.build(
        embeddings,
        np.frombuffer(numbers, np.int64),
        approximate_above=0,
        cache=Path(request["cache"]),
        progress=lambda _stage, done, _total: reports.append(done),
    )
    print(n_songs - reports[0] if reports else 0)
    return 0


def _end_with_service() -> None:
    os.read(0, 1)  # not through `sys.stdin`, whose lock would be held when the process ends
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
