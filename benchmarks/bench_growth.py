"""What a song costs as a library grows: 10^3, 10^4, 10^5 songs, and 10^6 with ``--songs 1000000``.

One JSON line a case and size, from a fresh process for each size: processor microseconds a song (user and system,
all threads), beside those of the smallest size in the same run; 1 means that the work grows with the songs alone.

- ``scan_unchanged``: a scan that finds nothing changed.
- ``scan_new``: what a scan writes for each new song (row, vector, embedding), without analysing audio.
- ``new_model``: projecting all songs under a new model and making it active.
- ``load``: reading songs and embeddings, and building what answers need.
- ``graph``: building the graph of a large index, where usearch is installed.
- ``query``: ten similar songs of one song; microseconds an answer, not a song.
- ``graph_query``: fifty neighbours by the graph; the same.

Sizes can be measured one at a time: ``--songs N --lines FILE`` adds lines to a file and compares with those that it
has. With ``--library`` the library is in PostgreSQL; ``--library new`` starts a server on this machine, whose
processor time counts too.
"""

import argparse
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the PostgreSQL server of the tests

import postgres_server
from nearsong.audio.tags import Tags
from nearsong.library import Library
from nearsong.library.models.embedding import Embedder
from nearsong.library.models.lifecycle import activate_model, add_model
from nearsong.library.neighbours.index import NeighbourIndex
from nearsong.library.scanning.scan import scan
from nearsong.library.store import Store
from nearsong.library.store.songs import ScannedFile
from nearsong.model import SimilarityModel
from random_library import make_files, make_histograms, make_library_of
from timing import server_seconds

PROFILES: dict[str, dict[str, list[int] | int]] = {
    "smoke": {"songs": [100, 300], "codewords": 32, "new": 20, "queries": 5},
    "full": {"songs": [1_000, 10_000, 100_000], "codewords": 256, "new": 500, "queries": 200},
}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""For matrix products, as in the service: threads that wait for each other in busy loops would count as work."""

SERVER = "NEARSONG_BENCHMARK_SERVER"
"""In the environment: the process of the PostgreSQL server, if it is on this machine."""

Measured = Iterator[tuple[str, float, int]]


def cpu(work: Callable[[], object]) -> float:
    """Return processor seconds of this process, of those it waited for, and of the server."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    of_server = server_seconds(int(os.environ[SERVER])) if SERVER in os.environ else 0.0
    return sum(part.ru_utime + part.ru_stime for part in parts) + of_server


@contextmanager
def new_library(database: str | None, folder: Path) -> Iterator[str]:
    """Give the address of an empty library: a file, or a schema of a PostgreSQL database."""
    if database is None:
        yield str(folder / "library.sqlite")
        return
    import psycopg

    name = f"growth_{secrets.token_hex(4)}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            yield f"{database}?options=-csearch_path%3D{name}"
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


def measure(file: str, n_songs: int, codewords: int, n_new: int, n_queries: int, folder: Path) -> Measured:
    """Yield name, processor seconds and number of items of each case."""
    music = folder / "music"
    make_library_of(file, make_files(music, n_songs), codewords)
    with closing(Store(file)) as store:
        scan(store, [music])  # the first one notes the folder
        yield "scan_unchanged", cpu(lambda: scan(store, [music])), n_songs
        yield "scan_new", cpu(lambda: write_new(store, n_new, codewords)), n_new
        active = store.models.active
        assert active is not None
        row = store.models.row(active)
        model = SimilarityModel.from_bytes(store.models.data(active))
        learned = add_model(store, model, row.encoder_ids, "learned", {}, activate=False)
        yield "new_model", cpu(lambda: activate_model(store, learned, model)), n_songs + n_new
    with Library.open(file, create=False) as library:
        yield "load", cpu(lambda: library.similar(1, n=10)), n_songs + n_new
        songs = np.random.default_rng(2).integers(1, n_songs, n_queries).tolist()
        yield "query", cpu(lambda: [library.similar(song, n=10) for song in songs]), n_queries
        space = library.space
        embeddings, ids = space.embeddings, space.ids
    if find_spec("usearch") is not None:
        graphs: list[NeighbourIndex] = []
        build = cpu(lambda: graphs.append(NeighbourIndex.build(embeddings, ids, approximate_above=0)))
        yield "graph", build, len(ids)
        rows = np.random.default_rng(3).integers(len(ids), size=n_queries)
        yield "graph_query", cpu(lambda: [graphs[0].nearest(embeddings[row], 50) for row in rows]), n_queries


def write_new(store: Store, n: int, codewords: int) -> None:
    """Write songs one by one, as a scan does with each file that it has analysed."""
    (encoder_id,) = store.models.scanned_encoders().values()
    embedder = Embedder(store)
    for i, vector in enumerate(make_histograms(n, codewords, seed=77)):
        tags = Tags(artist=f"new artist {i % 50}", title=f"new song {i}")
        new = ScannedFile(
            path=f"/new/{i:06d}.mp3", size=1, modified=1, content=f"new{i:029x}", tags=tags, seconds=200.0,
            vectors={encoder_id: vector},
        )  # fmt: skip
        with store.writing() as connection:
            embedder.embed(connection, store.songs.put(connection, new), new.vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--songs", type=int, nargs="+", help="sizes instead of the profile's")
    parser.add_argument("--folder", help="where libraries are made instead of the system's temporary folder")
    parser.add_argument("--library", help="an address of PostgreSQL, or `new`; by default a file")
    parser.add_argument("--lines", type=Path, help="a file of lines to compare with, to which lines are added")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        measure_here(arguments)
        return
    with postgres_server.running() if arguments.library == "new" else nullcontext() as server:
        environment = os.environ | ONE_THREAD
        if server is not None:
            arguments.library = server.url("postgres")
            environment[SERVER] = str(server.process.pid)
        measure_sizes(arguments, environment)


def measure_here(arguments: argparse.Namespace) -> None:
    """Measure one size in this process."""
    settings: dict[str, Any] = PROFILES[arguments.profile]
    numbers = settings["codewords"], settings["new"], settings["queries"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        with new_library(arguments.library, folder) as file:
            for case, seconds, items in measure(file, arguments.songs[0], *numbers, folder):
                print(json.dumps([case, 1e6 * seconds / items]), flush=True)
    print(json.dumps(["peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]), flush=True)


def measure_sizes(arguments: argparse.Namespace, environment: dict[str, str]) -> None:
    """Measure each size in a process of its own."""
    smallest: dict[str, float] = {}
    for line in arguments.lines.read_text().splitlines() if arguments.lines and arguments.lines.exists() else ():
        known = json.loads(line)
        smallest.setdefault(known["case"].rpartition("_")[0], known["microseconds"] / known["ratio"])
    for n_songs in sorted(arguments.songs or PROFILES[arguments.profile]["songs"]):
        command = [sys.executable, __file__, "--profile", arguments.profile, "--songs", str(n_songs), "--here"]
        for option in ("folder", "library"):
            command += [f"--{option}", getattr(arguments, option)] if getattr(arguments, option) else []
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        found = dict(json.loads(line) for line in done.stdout.splitlines())
        peak_gb = round(found.pop("peak") * (1 if sys.platform == "darwin" else 1024) / 1e9, 3)
        for name, microseconds in found.items():
            first = smallest.setdefault(name, microseconds)
            facts = {
                "microseconds": round(microseconds, 1),
                "ratio": round(microseconds / first, 2),
                "peak_gb": peak_gb,
            }
            line = json.dumps({"case": f"{name}_{n_songs}", "songs": n_songs, **facts})
            print(line, flush=True)
            if arguments.lines:
                with arguments.lines.open("a") as lines:
                    lines.write(line + "\n")


if __name__ == "__main__":
    main()
