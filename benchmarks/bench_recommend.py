"""How long "for you", a radio's next song and similar songs with a minus seed take in a large library.

One JSON line a case: processor seconds of an answer (median), and their ratio to the bare matrix product of all
embeddings with as many points as the answer compares them with, in the same run on one core. The first answer of a
snapshot also matches names and finds copies; the next ones read the listener's plays again and score all songs.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from nearsong.library import Heard, Library
from nearsong.recommendation import Worth
from random_library import make_library
from timing import cpu, one_core

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"songs": 600, "codewords": 64, "plays": 60, "listeners": 120, "rounds": 2},
    "full": {"songs": 100_000, "codewords": 512, "plays": 1_000, "listeners": 20_000, "rounds": 5},
}
LISTENER = "ann"
ARTISTS_EACH = 30


def write_listeners(library: Library, folder: Path, n_listeners: int) -> None:
    """Import a history of many listeners of random artists, more of the same kind than of others."""
    random = np.random.default_rng(0)
    rows = ["user,artist,plays"]
    for user in range(n_listeners):
        own = np.unique(random.normal(random.integers(997), 60, ARTISTS_EACH).astype(int) % 997)
        rows += [f"user {user},artist {artist},20" for artist in own.tolist()]
    (folder / "listens.csv").write_text("\n".join(rows) + "\n")
    library.import_listens(folder / "listens.csv")


def record(library: Library, n_plays: int) -> None:
    """Record plays of one listener, and some skips."""
    random = np.random.default_rng(1)
    ids = library.space.ids
    now = time.time()
    played = [
        (int(song), now - 3_600.0 * hour) for hour, song in enumerate(random.choice(ids, n_plays, replace=False))
    ]
    for first in range(0, len(played), 1_000):
        library.play_log.record_all(played[first : first + 1_000], LISTENER)
    for song in random.choice(ids, max(1, n_plays // 20), replace=False).tolist():
        library.reactions.skip(song, LISTENER)


def cases(library: Library) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield the name of a case, how many points the embeddings are compared with, and the answer."""
    seeds = library.space.ids[:3].tolist()
    heard = [Heard(int(song), "skipped" if song % 3 == 0 else "played") for song in library.space.ids[10:40]]
    shot = library.snapshot()
    n_points = min(500, len(np.flatnonzero(shot.recommender.known_songs(LISTENER, time.time(), Worth()).weights)))
    yield "for_you", n_points, lambda: shot.for_you(LISTENER, 50)
    yield "radio", len(seeds) + len(heard), lambda: shot.radio(seeds, heard)
    yield "similar_without", len(seeds), lambda: shot.similar(seeds[:2], 10, without=seeds[2:])


def measure(sizes: dict[str, int], folder: Path) -> Iterator[dict[str, Any]]:
    make_library(folder, sizes["songs"], sizes["codewords"])
    for n_listeners in (0, sizes["listeners"]):
        with Library.open(folder / "library.sqlite", create=False) as library:
            if n_listeners:
                write_listeners(library, folder, n_listeners)
            else:
                record(library, sizes["plays"])
            first = cpu(lambda opened=library: opened.for_you(LISTENER, 50))
            embeddings = library.space.embeddings
            for name, n_points, answer in cases(library):
                answer()
                points = embeddings[:n_points].copy()
                bare = median(cpu(lambda e=embeddings, p=points: e @ p.T) for _ in range(sizes["rounds"]))
                seconds = median(cpu(answer) for _ in range(sizes["rounds"]))
                yield {
                    "case": name,
                    "songs": len(embeddings),
                    "dimensions": embeddings.shape[1],
                    "listeners": n_listeners,
                    "points": n_points,
                    "seconds": round(seconds, 4),
                    "matrix_product_seconds": round(bare, 4),
                    "ratio": round(seconds / bare, 2),
                    "first_answer_seconds": round(first, 2),
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    with tempfile.TemporaryDirectory() as folder, one_core():
        for line in measure(PROFILES[parser.parse_args().profile], Path(folder)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
