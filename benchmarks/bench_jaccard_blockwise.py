"""All neighbour lists of ten times Last.fm 360K, blockwise on two Dask workers, against all in one process.

The plays are drawn as in `bench_jaccard.py` (popularity by a Zipf-Mandelbrot law, 100 genres of which a user has
three), some thousand users at a time, into a folder of partitions: 294,000 artists, as in Last.fm 360K, and up to 3.6
million users. One JSON line a size: processor seconds of either, and of blocks in one process, the ratios, the peak
memory of the process with all in memory and of the largest worker, and whether all lists are the same to the bit.

A worker's memory is its peak while it works, minus what it had before: all that is resident, with memory-mapped pages
that the system can take back at any time, and what is private and was written to, sampled ten times a second.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

from bench_jaccard import TASTES, draw_users, peak_gb
from nearsong.relevance import PlaysFolder, jaccard_neighbors, jaccard_neighbors_blockwise

K = 10
WORKERS = 2
LASTFM = {"items": 294_000, "draws": 62, **TASTES}
PROFILES: dict[str, list[dict[str, Any]]] = {
    "smoke": [{"users": 2_000, "memory": 64e6, **LASTFM, "items": 2_000}],
    "full": [{"users": users, "memory": 1e9, **LASTFM} for users in (20_400, 204_000, 816_000, 3_600_000)],
}


class WorkerMemory:
    """The peak memory of processes while a block runs, beyond what they had before; Linux only."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self.resident, self.private = 0, 0
        self.seconds = 0.0  # what watching takes of the processor
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "WorkerMemory":
        self._before = {pid: (_status(pid, "status", "VmRSS"), self._private(pid)) for pid in self._pids}
        for pid in self._pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts again
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()
        self.resident = max(_status(pid, "status", "VmHWM") - self._before[pid][0] for pid in self._pids)

    def _watch(self) -> None:
        while not self._stopped.wait(0.1):
            self.private = max([self.private, *(self._private(pid) - self._before[pid][1] for pid in self._pids)])
        self.seconds = thread_time()

    def _private(self, pid: int) -> int:
        return _status(pid, "smaps_rollup", "Private_Dirty")


def _status(pid: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def run_single(folder: Path) -> dict[str, Any]:
    plays = PlaysFolder.open(folder / "plays")
    parts = [plays.read(number) for number in range(len(plays.partitions))]
    jaccard_neighbors(parts[0][:5], k=K, min_plays=1, n_jobs=1)  # compiles
    matrix = sp.vstack(parts, format="csr")
    parts.clear()
    start = process_time()
    ids, similarities = jaccard_neighbors(matrix, k=K, min_plays=1, n_jobs=1)
    seconds = process_time() - start
    np.savez(folder / "single.npz", ids=ids, similarities=similarities)
    return {"single_cpu_seconds": round(seconds, 2), "single_peak_gb": round(peak_gb(), 3)}


def run_blockwise(folder: Path, memory: float) -> dict[str, Any]:
    from distributed import LocalCluster

    plays = PlaysFolder.open(folder / "plays")
    n_tasks: dict[str, int] = {}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = [psutil.Process(worker.pid) for worker in cluster.workers.values()]
        first = PlaysFolder.write(folder / "first", [plays.read(0)[:50]] * 4 * WORKERS, 100)
        jaccard_neighbors_blockwise(first, folder / "compiles", K, 1, cluster=cluster.scheduler_address)
        one_process = process_time()
        jaccard_neighbors_blockwise(plays, folder / "work", K, 1, memory=int(memory), jobs=1)
        one_process = process_time() - one_process
        before = process_time() + sum(sum(worker.cpu_times()[:2]) for worker in workers)
        start = perf_counter()
        with WorkerMemory([worker.pid for worker in workers]) as peak:
            ids, similarities = jaccard_neighbors_blockwise(
                plays,
                folder / "work",
                K,
                1,
                memory=int(memory),
                cluster=cluster.scheduler_address,
                progress=lambda stage, done, total: n_tasks.update({stage: total}),
            )
        wall = perf_counter() - start
        processor = process_time() + sum(sum(worker.cpu_times()[:2]) for worker in workers) - before - peak.seconds
    with np.load(folder / "single.npz") as single:
        is_same = np.array_equal(ids, single["ids"]) and np.array_equal(similarities, single["similarities"])
    return {
        "blockwise_one_process_cpu_seconds": round(one_process, 2),
        "blockwise_cpu_seconds": round(processor, 2),
        "blockwise_seconds": round(wall, 2),
        "worker_resident_gb": round(peak.resident / 1e9, 3),
        "worker_private_gb": round(peak.private / 1e9, 3),
        "blocks": n_tasks["counts"],
        "same": is_same,
    }


def step(task: str, folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Do one task in this process."""
    if task == "draw":
        sizes = {name: case[name] for name in ("users", "items", "draws", "genres", "shift")}
        written = PlaysFolder.write(folder / "plays", draw_users(**sizes))
        return {"listens": sum(each.plays for each in written.partitions), "partitions": len(written.partitions)}
    return run_single(folder) if task == "single" else run_blockwise(folder, case["memory"])


def fresh(task: str, folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Do one task in a fresh process, whose peak memory is its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--step", task, str(folder), json.dumps(case)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(case: dict[str, Any]) -> dict[str, Any]:
    line = {
        "case": "jaccard_blockwise",
        "users": case["users"],
        "items": case["items"],
        "memory_gb": case["memory"] / 1e9,
    }
    with tempfile.TemporaryDirectory() as name:
        for task in ("draw", "single", "blockwise"):
            line |= fresh(task, Path(name), case)
    line["one_process_ratio"] = round(line["blockwise_one_process_cpu_seconds"] / line["single_cpu_seconds"], 2)
    line["ratio"] = round(line["blockwise_cpu_seconds"] / line["single_cpu_seconds"], 2)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--users", type=int, help="only the size with so many users")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        task, folder, case = arguments.step
        print(json.dumps(step(task, Path(folder), json.loads(case))))
        return
    for case in PROFILES[arguments.profile]:
        if arguments.users in (None, case["users"]):
            print(json.dumps(measure(case)), flush=True)


if __name__ == "__main__":
    main()
