"""All neighbour lists of a play log the size of Last.fm 360K, against implicit's item-item cosine recommender.

Both get the same binary matrix, the same number of threads and must find the same number of neighbours. Each
run is a fresh process, ours and the peer's in turn; medians count. One JSON line a case: wall and processor
seconds of either, their ratio, the peak memory of either process and that of one that only holds the matrix.

The matrix is drawn, with the size of Last.fm 360K. Popularity follows a Zipf-Mandelbrot law: the first artist
is heard by a quarter of the users, the median artist by eleven of them. A user hears artists of three genres
and some of any. The second case has no genres, so nothing but popularity tells artists apart.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

PEER = "implicit CosineRecommender"
K = 10
TASTES = {"genres": 100, "shift": 25.0}
NO_TASTES = {"genres": 1, "shift": 50.0}
LASTFM = {"users": 359_347, "items": 186_642}
PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "smoke": {"jaccard_smoke": {"users": 3_000, "items": 2_000, "draws": 30, "rounds": 1, **TASTES}},
    "full": {
        "jaccard_lastfm360k": {**LASTFM, "draws": 62, "rounds": 3, **TASTES},
        "jaccard_lastfm360k_no_genres": {**LASTFM, "draws": 50, "rounds": 3, **NO_TASTES},
    },
}


def draw_listens(users: int, items: int, draws: int, genres: int, shift: float) -> sp.csr_matrix:
    """Draw who listens to whom: ``draws`` artists a user, of which repeated ones count once."""
    return sp.vstack(list(draw_users(users, items, draws, genres, shift)), format="csr").astype(np.float64)


def draw_users(users: int, items: int, draws: int, genres: int, shift: float) -> Iterator[sp.csr_matrix]:
    """Draw the same, some thousand users at a time."""
    rng = np.random.default_rng(0)
    genre = rng.integers(0, genres, items)
    order = np.argsort(genre, kind="stable")  # artists by genre, the popular ones first in each
    edges = np.concatenate([[0.0], np.cumsum(((np.arange(items) + shift) ** -1.2)[order])])
    bounds = edges[np.searchsorted(genre[order], np.arange(genres + 1))]
    name = rng.permutation(items)[order]
    for first in range(0, users, 20_000):
        shape = (min(20_000, users - first), draws)
        favourites = rng.choice(genres, (shape[0], 3), p=np.diff(bounds) / edges[-1])
        chosen = np.take_along_axis(favourites, rng.integers(0, 3, shape), axis=1)
        at_home = rng.random(shape) < 0.6
        low, high = np.where(at_home, bounds[chosen], 0), np.where(at_home, bounds[chosen + 1], edges[-1])
        slot = np.searchsorted(edges, low + rng.random(shape) * (high - low), side="right") - 1
        user = np.arange(shape[0])[:, None]
        row, item = np.divmod(np.unique(user * items + name[np.minimum(slot, items - 1)]), items)
        yield sp.csr_matrix((np.ones(row.size, np.uint8), (row, item)), shape=(shape[0], items))


def peak_gb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e9


def run_ours(listens: sp.csr_matrix, threads: int) -> tuple[float, float, int]:
    from nearsong.relevance import jaccard_neighbors

    jaccard_neighbors(listens[:5], k=K, min_plays=1, n_jobs=threads)  # compiles
    wall, processor = perf_counter(), process_time()
    ids, _ = jaccard_neighbors(listens, k=K, min_plays=1, n_jobs=threads)
    return perf_counter() - wall, process_time() - processor, int((ids >= 0).sum())


def run_peer(listens: sp.csr_matrix, threads: int) -> tuple[float, float, int]:
    from implicit.nearest_neighbours import CosineRecommender

    recommender = CosineRecommender(K=K + 1, num_threads=threads)  # its lists include the item itself
    wall, processor = perf_counter(), process_time()
    recommender.fit(listens, show_progress=False)
    seconds = perf_counter() - wall, process_time() - processor
    found = recommender.similarity
    return *seconds, int(found.nnz - np.count_nonzero(found.diagonal()))


def step(task: str, path: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Do one task in this process; what it holds and how long it takes is this process's alone."""
    if task == "draw":
        sizes = {name: case[name] for name in ("users", "items", "draws", "genres", "shift")}
        sp.save_npz(path, draw_listens(**sizes), compressed=False)
        return {}
    listens = sp.load_npz(path)
    if task == "hold":
        return {"gb": peak_gb(), "listens": listens.nnz}
    run = run_ours if task == "ours" else run_peer
    seconds, processor_seconds, neighbours = run(listens, case["threads"])
    return {"seconds": seconds, "cpu": processor_seconds, "neighbours": neighbours, "gb": peak_gb()}


def fresh(task: str, path: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Do one task in a fresh process; this one stays small, as a child's peak counts its parent's."""
    command = [sys.executable, "-W", "ignore", __file__, "--step", task, str(path), json.dumps(case)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(name: str, case: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / f"{name}.npz"
    fresh("draw", path, case)
    held = fresh("hold", path, case)
    tasks = ["ours", "peer"] if find_spec("implicit") else ["ours"]
    runs = {task: [] for task in tasks}
    for _ in range(case["rounds"]):
        for task in tasks:
            runs[task].append(fresh(task, path, case))
    path.unlink()
    middle = {task: {key: median(run[key] for run in found) for key in found[0]} for task, found in runs.items()}
    ours, peer = middle["ours"], middle.get("peer")
    line = {
        "case": name,
        "seconds": round(ours["seconds"], 3),
        "cpu_seconds": round(ours["cpu"], 3),
        "peak_gb": round(ours["gb"], 3),
        "matrix_gb": round(held["gb"], 3),
    }
    if peer:
        if peer["neighbours"] != ours["neighbours"]:
            raise SystemExit(f"{name}: {ours['neighbours']} neighbours here, {peer['neighbours']} by {PEER}.")
        line |= {
            "peer": PEER,
            "peer_seconds": round(peer["seconds"], 3),
            "peer_cpu_seconds": round(peer["cpu"], 3),
            "peer_peak_gb": round(peer["gb"], 3),
            "ratio": round(ours["seconds"] / peer["seconds"], 3),
        }
    size = {"users": case["users"], "items": case["items"], "listens": held["listens"], "k": K}
    return line | size | {"threads": case["threads"], "rounds": case["rounds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        task, path, case = arguments.step
        print(json.dumps(step(task, Path(path), json.loads(case))))
        return
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        for name, case in PROFILES[arguments.profile].items():
            print(json.dumps(measure(name, {**case, "threads": threads}, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
