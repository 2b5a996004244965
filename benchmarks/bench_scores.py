"""Ranking scores of many queries against a large database, compared with the matrix products they cannot avoid.

One JSON line: seconds of ``ranking_scores``, of the blockwise distance products alone in the same run,
their ratio, and the peak memory of a fresh process that does nothing else.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import scipy.sparse as sp

from nearsong.evaluation import ranking_scores

ROUNDS = 3
PROFILES = {
    "smoke": {
        "case": "scores_200_x_2k",
        "queries": 200,
        "songs": 2_000,
        "r": 20,
        "relevant": 10,
        "block": 64,
    },
    "full": {
        "case": "scores_10k_x_100k",
        "queries": 10_000,
        "songs": 100_000,
        "r": 100,
        "relevant": 30,
        "block": 335,  # the default of ranking_scores: 256 MiB of distances
    },
}


def wall(work: Callable[[], None]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def peak_gb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e9


def measure(profile: str) -> dict[str, object]:
    case = PROFILES[profile]
    rng = np.random.default_rng(0)
    n_queries, n_songs, block = case["queries"], case["songs"], case["block"]
    queries = rng.standard_normal((n_queries, case["r"]))
    songs = rng.standard_normal((n_songs, case["r"]))
    rows = np.repeat(np.arange(n_queries), case["relevant"])
    columns = rng.integers(n_songs, size=rows.size)
    relevant = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(n_queries, n_songs))
    ranking_scores(queries[:2], songs, relevant[:2], block=block)  # compiles

    def score() -> None:
        ranking_scores(queries, songs, relevant, block=block)

    def multiply() -> None:
        distances = np.empty((block, n_songs))
        for first in range(0, n_queries, block):
            part = queries[first : first + block]
            np.matmul(part, songs.T, out=distances[: len(part)])

    # Taken in turn, so that whatever else the machine does falls on both; the best of each counts.
    seconds, gemm_seconds = np.min([[wall(score), wall(multiply)] for _ in range(ROUNDS)], axis=0).tolist()
    return {
        "case": case["case"],
        "seconds": round(seconds, 3),
        "gemm_seconds": round(gemm_seconds, 3),
        "ratio": round(seconds / gemm_seconds, 2),
        "peak_gb": round(peak_gb(), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--here", action="store_true", help="measure in this process instead of a fresh one")
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(measure(arguments.profile)))
    else:
        subprocess.run([sys.executable, __file__, "--profile", arguments.profile, "--here"], check=True)


if __name__ == "__main__":
    main()
