"""What a Dask cluster costs beside one machine that does the same work, in processor seconds.

Each case is a function below, listed in `CASES`; it prints JSON lines. Work is measured as the processor time of all
processes that took part, PostgreSQL apart, so that it does not matter how many processors this machine has.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # servers and music of the tests

import music_library
import postgres_server
from dask_cluster import dask_cluster

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"artists": 2, "workers": 1},
    "full": {"artists": 100, "workers": 2},
}
_BECOME_SUBREAPER = 36


@dataclass
class Spent:
    """Processor seconds of processes that have ended."""

    seconds: float = 0.0


@contextmanager
def spent_by_children() -> Iterator[Spent]:
    """Measure the processes that are started meanwhile and have ended, with their children and these children's."""
    others, before, spent = _children(), _of_children(), Spent()
    yield spent
    while outlived := _children() - others:  # their parents, and are inherited by this process
        for process in outlived:
            os.waitpid(process, 0)
    spent.seconds = _of_children() - before


def _children() -> set[int]:
    return {int(process) for process in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def scan_command(library: str, music: Path, *options: str) -> None:
    command = [sys.executable, "-m", "nearsong", "--library", library, "scan", str(music), *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def scan(profile: dict[str, int], folder: Path) -> None:
    """Songs of two seconds, for which everything but hearing them costs most: the dearest case for a cluster."""
    music = music_library.make_music(folder / "music", profile["artists"])
    n_songs = profile["artists"] * music_library.SONGS_EACH
    with postgres_server.running() as server:
        scan_command(server.new_schema(), music_library.make_music(folder / "few", 1), "--workers", "1")  # compiles
        seconds = {}
        for n in range(1, profile["workers"] + 1):
            with spent_by_children() as spent:
                scan_command(server.new_schema(), music, "--workers", str(n))
            seconds["one machine", n] = spent.seconds
            with spent_by_children() as spent, dask_cluster(n) as cluster:
                scan_command(server.new_schema(), music, "--cluster", cluster.address)
            seconds["cluster", n] = spent.seconds
        with spent_by_children() as idle, dask_cluster(1):
            pass
    for (where, n), total in seconds.items():
        line = {
            "case": "scan",
            "where": where,
            "workers": n,
            "songs": n_songs,
            "cpu_seconds_a_song": round(total / n_songs, 4),
            "to_one_machine": round(total / seconds["one machine", n], 3),
        }
        if where == "cluster":  # without what a scheduler and workers take to start and to end
            started = idle.seconds * (1 + n) / 2
            line["to_one_machine_once_started"] = round((total - started) / seconds["one machine", n], 3)
        print(json.dumps(line), flush=True)


CASES: dict[str, Callable[[dict[str, int], Path], None]] = {"scan": scan}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--case", choices=CASES, action="append", help="by default all")
    parser.add_argument("--artists", type=int, help="of the case scan, two songs each")
    options = parser.parse_args()
    profile = PROFILES[options.profile] | ({"artists": options.artists} if options.artists else {})
    if sys.platform != "linux" or not postgres_server.PROGRAMS:
        print(json.dumps({"case": "none", "why": "needs Linux and a PostgreSQL server"}))
        return
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    for name in options.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            CASES[name](profile, Path(folder))


if __name__ == "__main__":
    main()
