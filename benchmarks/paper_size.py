"""The paper's experiment at the paper's size, on a cluster of two workers, killed and continued: what it costs.

The data set is made: about 2,010 artists with at least 100 listeners and 5,400 songs, and 2,600 artists with fewer,
whose songs make the codebook; 4,000 frames (46 seconds) a song. The grid is the paper's: 4 codebooks x 4 values of
tau x 12 of C x 3 losses, with and without PPK, and native and TF-IDF distances, on some of the ten splits.

``nearsong experiment run --cluster`` is killed with its scheduler and workers when a quarter of the tasks has ended,
and started again; the tasks that ran then, two at most, begin anew. If this program is ended, the same command goes
on. It prints one JSON line: processor seconds of all processes, scheduler and preparation included, those of the
tasks that counted, and the paper's ten splits, extrapolated.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the scheduler and workers of the tests

from dask_cluster import dask_cluster
from nearsong.experiment import make_dataset

METHODS = "random,popularity,native,native_ppk,tfidf,mlr,ppk_mlr"
PAPER_SPLITS = 10
PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {
        "data": {"n_artists": 60, "n_users": 300, "frames_per_song": 60},
        "run": ["--codebooks", "16", "--tau", "1", "--losses", "auc", "--C", "1:100", "--min-listeners", "40"],
    },
    "full": {
        "data": {
            "n_artists": 4600,
            "n_users": 19_000,
            "artists_per_user": 50,
            "frames_per_song": 4000,
            "n_genres": 20,
            "songs_per_artist": 2.63,
        },
        "run": [],
    },
}


@contextmanager
def running(folder: Path, splits: int, options: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the experiment on a cluster of its own; at the end all of it is killed, if it still runs."""
    command = [sys.executable, "-m", "nearsong", "experiment", "run", str(folder / "data")]
    with dask_cluster(2) as cluster:
        options = ["--out", str(folder / "run"), "--methods", METHODS, "--splits", str(splits), *options]
        process = subprocess.Popen([*command, *options, "--cluster", cluster.address])
        try:
            yield process
        finally:
            process.kill()
            process.wait()
    # Command, scheduler and workers have ended, and count as children.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "processes.jsonl").open("a") as lines:
        lines.write(json.dumps({"parent": os.getpid(), "cpu_seconds": used.ru_utime + used.ru_stime}) + "\n")


def seconds_of_processes(folder: Path) -> float:
    """Return the processor seconds of every process of all runs; of each parent the last line has the sum."""
    lines = map(json.loads, (folder / "processes.jsonl").read_text().splitlines())
    return sum({line["parent"]: line["cpu_seconds"] for line in lines}.values())


def done(folder: Path) -> list[dict[str, Any]]:
    """Return what the tasks that have ended cost."""
    path = folder / "run" / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    rows = (json.loads(line) for line in lines if line.endswith("\n"))  # the last one may be under way
    return [row for row in rows if row["kind"] == "done"]


def n_tasks(splits: int, profile: str) -> int:
    """Return how many tasks a run has.

    Three are of a split alone; of each codebook and tau there are one learned on histograms, one on PPK, and one for
    all that learns nothing.
    """
    cells = 16 if profile == "full" else 1
    return splits * (3 + 3 * cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    profile, folder = PROFILES[given.profile], given.folder
    if not (folder / "data").exists():
        make_dataset(folder / "data", **profile["data"])
    killed = folder / "killed.json"
    if not killed.exists():
        with running(folder, given.splits, profile["run"]) as process:
            while process.poll() is None and len(done(folder)) < n_tasks(given.splits, given.profile) // 4:
                time.sleep(1)
            if process.poll():
                sys.exit("the experiment failed")
        killed.write_text(json.dumps({"done": len(done(folder))}))
    with running(folder, given.splits, profile["run"]) as process:
        if process.wait():
            sys.exit("the experiment failed")
    print(json.dumps(costs(folder, given.splits) | {"done_when_killed": json.loads(killed.read_text())["done"]}))


def costs(folder: Path, splits: int) -> dict[str, Any]:
    """Return the processor time of a run that has ended, by kind of task, and of the paper's ten splits."""
    header = json.loads((folder / "run" / "run.json").read_text())
    rows = [json.loads(line) for line in (folder / "run" / "results.jsonl").read_text().splitlines()]
    seconds: dict[str, float] = {}
    for row in done(folder):
        kind = row["task"].split(", ")[1]
        seconds[kind] = seconds.get(kind, 0.0) + row["cpu_seconds"]
    fits = [row for row in rows if row["kind"] == "cell" and row.get("rounds")]
    total = sum(seconds.values())
    return {
        "artists": header["statistics"]["experiment_artists"],
        "songs": header["statistics"]["experiment_songs"],
        "splits": splits,
        "tasks": len(done(folder)),
        "cpu_seconds": {kind: round(spent, 1) for kind, spent in seconds.items()},
        "cpu_hours": round(total / 3600, 3),
        "cpu_hours_of_all_processes": round(seconds_of_processes(folder) / 3600, 3),
        "fits": len(fits),
        "rounds": sum(row["rounds"] for row in fits),
        "cpu_hours_of_ten_splits": round(total / 3600 * PAPER_SPLITS / splits, 2),
    }


if __name__ == "__main__":
    main()
