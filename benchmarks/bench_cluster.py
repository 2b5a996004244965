"""What a Dask cluster costs beside one machine that does the same work, in processor seconds, as work grows.

Work is measured as the processor time of all processes that took part, PostgreSQL and the start of Dask included, so
that it does not matter how many processors this machine has. Sizes go up by factors: a line through them tells what a
cluster costs once, and what for each item. Cases, each a function below:

- ``start``: a scheduler and its workers that do nothing.
- ``scan``: songs of two seconds, for which everything but hearing them costs most: the dearest case for a cluster.
  The library has its encoders already, as they are fitted on one machine in either case.
- ``relevance``: Jaccard neighbours in blocks, against all in the memory of one process; items are a thousand listens.
- ``train``: a training of random songs; items are songs.

One machine is one process, for ``scan`` with one worker, since more of them do the same work.
"""

import argparse
import csv
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # servers and music of the tests

import music_library
import postgres_server
from bench_jaccard import TASTES, draw_users
from dask_cluster import dask_cluster
from random_library import make_library
from timing import server_seconds

Profile = dict[str, list[int]]
PROFILES: dict[str, Profile] = {
    "smoke": {"workers": [1], "songs": [4], "users": [500], "trained": [100]},
    "full": {
        "workers": [1, 2, 4],
        "songs": [40, 200, 1_000],
        "users": [20_000, 60_000, 200_000],
        "trained": [200, 500, 1_000],
    },
}
K, N_ITEMS, DRAWS = 10, 294_000, 62  # as in bench_jaccard_blockwise.py
FITTED_ARTISTS = 20
TRAIN = ("train", "--anyway", "--splits", "4", "--losses", "auc", "--methods", "mlr,listener_space")
_BECOME_SUBREAPER = 36


@dataclass
class Spent:
    """Processor seconds of processes that have ended."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Work:
    """The same work in two ways: on one machine, and on a cluster at an address."""

    items: int
    here: Callable[[], None]
    there: Callable[[str], None]


@contextmanager
def spent_by_children(server: postgres_server.Server | None = None) -> Iterator[Spent]:
    """Measure the processes that are started meanwhile and have ended, with their children and these children's.

    What a PostgreSQL server does meanwhile, which has not ended, is added.
    """
    others, before, spent = _children(), _of_children() + _of_server(server), Spent()
    yield spent
    while outlived := _children() - others:  # their parents, and are inherited by this process
        for process in outlived:
            os.waitpid(process, 0)
    spent.seconds = _of_children() + _of_server(server) - before


def _children() -> set[int]:
    return {int(process) for process in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_server(server: postgres_server.Server | None) -> float:
    return server_seconds(None if server is None or server.process is None else server.process.pid)


def compare(
    case: str, works: Sequence[Work], workers: Sequence[int], server: postgres_server.Server | None = None
) -> None:
    """Print a line for each work here and there, and one for the line through all sizes."""
    spent: dict[tuple[str, int], list[float]] = {}
    for work in works:
        with spent_by_children(server) as here:
            work.here()
        _note(case, spent, ("one machine", 1), work.items, here.seconds)
        for n in workers:
            with spent_by_children(server) as there, dask_cluster(n) as cluster:
                work.there(cluster.address)
            _note(case, spent, ("cluster", n), work.items, there.seconds)
    if len(works) < 2:
        return
    lines = {who: np.polyfit([work.items for work in works], seconds, 1) for who, seconds in spent.items()}
    for (where, n), (each, once) in lines.items():
        facts = {
            "fixed_cpu_seconds": round(float(once), 1),
            "cpu_seconds_an_item": round(float(each), 5),
            "an_item_to_one_machine": round(float(each / lines["one machine", 1][0]), 2),
        }
        print(json.dumps({"case": f"{case}_line", "where": where, "workers": n, **facts}), flush=True)


def _note(
    case: str, spent: dict[tuple[str, int], list[float]], who: tuple[str, int], items: int, seconds: float
) -> None:
    """Keep and print what one work took."""
    spent.setdefault(who, []).append(seconds)
    facts = {
        "items": items,
        "cpu_seconds": round(seconds, 2),
        "cpu_seconds_an_item": round(seconds / items, 5),
        "to_one_machine": round(seconds / spent["one machine", 1][-1], 2),
    }
    print(json.dumps({"case": case, "where": who[0], "workers": who[1], **facts}), flush=True)


def nearsong(library: str, *words: str) -> None:
    """Run a command; what it says is left out."""
    command = [sys.executable, "-m", "nearsong", "--library", library, *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def start(profile: Profile, folder: Path) -> None:
    for n in profile["workers"]:
        with spent_by_children() as spent, dask_cluster(n):
            pass
        print(json.dumps({"case": "start", "workers": n, "cpu_seconds": round(spent.seconds, 2)}), flush=True)


def scan(profile: Profile, folder: Path) -> None:
    with postgres_server.running() as server:
        server.run("CREATE DATABASE fitted")
        few = music_library.make_music(folder / "few", min(FITTED_ARTISTS, max(profile["songs"]) // 2))
        nearsong(server.url("fitted"), "scan", str(few), "--workers", "1")  # compiles, too
        server.run("UPDATE encoders SET fitted_songs = NULL", server.url("fitted"))  # so they are not fitted again

        def new_library() -> str:
            name = f"copy_{len(os.listdir(folder / 'copies'))}"
            (folder / "copies" / name).touch()
            server.run(f"CREATE DATABASE {name} TEMPLATE fitted")
            return server.url(name)

        (folder / "copies").mkdir()
        works = []
        for n_songs in profile["songs"]:
            music = str(music_library.make_music(folder / f"{n_songs} songs", n_songs // 2))
            libraries = iter([new_library() for _ in range(1 + len(profile["workers"]))])
            works.append(
                Work(
                    n_songs,
                    partial(_scan_next, libraries, music, "--workers", "1"),
                    partial(_scan_next, libraries, music, "--cluster"),
                )
            )
        compare("scan", works, profile["workers"], server)


def _scan_next(libraries: Iterator[str], *words: str) -> None:
    nearsong(next(libraries), "scan", *words)


def relevance(profile: Profile, folder: Path) -> None:
    from nearsong.relevance import PlaysFolder

    works = []
    for users in (50, *profile["users"]):
        plays = folder / str(users)
        written = PlaysFolder.write(plays, draw_users(users=users, items=N_ITEMS, draws=DRAWS, **TASTES))
        listens = sum(partition.plays for partition in written.partitions)
        works.append(Work(listens // 1000, partial(_neighbours, plays), partial(_neighbours, plays)))
    works[0].here()  # compiles
    compare("relevance", works[1:], profile["workers"])


def _neighbours(plays: Path, address: str = "") -> None:
    subprocess.run([sys.executable, __file__, "--neighbours", str(plays), address], check=True)


def find_neighbours(path: Path, address: str) -> None:
    """Find neighbours of a folder of plays, in this process or on a cluster."""
    from nearsong.relevance import PlaysFolder, jaccard_neighbors, jaccard_neighbors_blockwise

    plays = PlaysFolder.open(path)
    if address:
        jaccard_neighbors_blockwise(plays, f"{path}-work", K, 1, cluster=address)
        return
    import scipy.sparse as sp

    parts = [plays.read(number) for number in range(len(plays.partitions))]
    jaccard_neighbors(sp.vstack(parts, format="csr"), k=K, min_plays=1, n_jobs=1)


def train(profile: Profile, folder: Path) -> None:
    works = []
    for n_songs in profile["trained"]:
        made = folder / str(n_songs)
        made.mkdir()
        make_library(made, n_songs, 64)
        nearsong(str(made), "listens", "import", str(_listens(made / "listens.csv", n_songs)))
        here, there = (str(shutil.copytree(made, folder / f"{n_songs} {where}")) for where in ("here", "there"))
        works.append(Work(n_songs, partial(nearsong, here, *TRAIN), partial(nearsong, there, *TRAIN, "--cluster")))
    compare("train", works, profile["workers"])


def _listens(path: Path, n_artists: int, n_users: int = 600) -> Path:
    """Write listeners who play artists that are near each other by number."""
    random: Any = np.random.default_rng(5)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "artist", "plays"])
        for user in range(n_users):
            centre = random.integers(n_artists)
            for artist in set((centre + random.integers(0, 60, 30)).tolist()):
                rows.writerow([f"user {user}", f"artist {artist % min(n_artists, 997)}", 20])
    return path


CASES: dict[str, Callable[[Profile, Path], None]] = {
    "start": start,
    "scan": scan,
    "relevance": relevance,
    "train": train,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--case", choices=CASES, action="append", help="by default all")
    parser.add_argument("--workers", type=int, nargs="+", help="instead of the profile's")
    parser.add_argument("--neighbours", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.neighbours:
        find_neighbours(Path(options.neighbours[0]), options.neighbours[1])
        return
    profile = PROFILES[options.profile] | ({"workers": options.workers} if options.workers else {})
    if sys.platform != "linux" or not postgres_server.PROGRAMS:
        print(json.dumps({"case": "none", "why": "needs Linux and a PostgreSQL server"}))
        return
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    for name in options.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            CASES[name](profile, Path(folder))


if __name__ == "__main__":
    main()
