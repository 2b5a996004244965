"""Fitting a listener space and embedding songs with it, compared with the matrix products they cannot avoid.

Two JSON lines, each from a fresh process. Fit: seconds, those of its floor in the same run (the d x d moments of all
songs and one factorisation of them), their ratio and the peak memory. Embed: seconds for all songs as
a database, those of the matrix product alone by BLAS, and their ratio. Songs are single precision and random.
"""

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from nearsong.model.listener_space import ListenerSpace
from nearsong.model.listener_space.rows import row_blocks

PROFILES = {
    "smoke": {"songs": 3_000, "d": 60, "artists": 100, "others": 50, "listeners": 500},
    "full": {"songs": 100_000, "d": 2_000, "artists": 5_000, "others": 5_000, "listeners": 30_000},
}
PLAYS_PER_LISTENER = 40
CASES = ("fit", "embed")


def peak_gb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e9


def music(profile: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], sp.csr_array]:
    """Songs with some sound of their artist's taste; listeners with tastes, who play popular artists more."""
    case = PROFILES[profile]
    random = np.random.default_rng(0)
    n_columns = case["artists"] + case["others"]
    taste = random.standard_normal((n_columns, 20), dtype=np.float32)
    song_artist = np.concatenate(
        [np.arange(case["artists"]), random.integers(case["artists"], size=case["songs"] - case["artists"])]
    )
    axes = random.standard_normal((20, case["d"]), dtype=np.float32)
    phi = np.empty((case["songs"], case["d"]), np.float32)
    for start in range(0, len(phi), 4_096):
        part = song_artist[start : start + 4_096]
        songs = taste[part] @ axes + 5 * random.standard_normal((len(part), case["d"]), dtype=np.float32)
        phi[start : start + 4_096] = songs / np.sqrt(np.square(songs).sum(axis=1, keepdims=True))
    fame = 1.5 * random.gumbel(size=n_columns).astype(np.float32)
    rows, columns = [], []
    for listener in range(case["listeners"]):
        drawn = taste @ random.standard_normal(20, dtype=np.float32) + fame
        rows.append(np.full(PLAYS_PER_LISTENER, listener))
        columns.append(
            np.argpartition(-drawn - random.gumbel(size=n_columns), PLAYS_PER_LISTENER)[:PLAYS_PER_LISTENER]
        )
    entries = np.concatenate(rows), np.concatenate(columns)
    plays = sp.csr_array((np.ones(len(entries[0]), bool), entries), shape=(case["listeners"], n_columns))
    return phi, song_artist, plays


def measure_fit(profile: str) -> dict[str, object]:
    phi, song_artist, plays = music(profile)
    before = peak_gb()
    start = perf_counter()
    space = ListenerSpace().fit(phi, song_artist, plays)
    seconds, peak = perf_counter() - start, peak_gb()
    start = perf_counter()
    moments = np.zeros((phi.shape[1],) * 2)
    for _, block in row_blocks(phi):
        moments += block.T @ block
    scipy.linalg.cho_factor(moments + np.eye(len(moments)))
    floor = perf_counter() - start
    return {
        "case": f"listener_space_fit_{len(phi)}_x_{phi.shape[1]}_x_{len(space.artists_)}",
        "seconds": round(seconds, 2),
        "floor_seconds": round(floor, 2),
        "ratio": round(seconds / floor, 2),
        "songs_gb": round(phi.nbytes / 1e9, 2),
        "peak_gb_before": round(before, 2),
        "peak_gb": round(peak, 2),
    }


def measure_embed(profile: str) -> dict[str, object]:
    phi, song_artist, plays = music(profile)
    few = np.isin(song_artist, np.arange(600))
    space = ListenerSpace().fit(phi[few], song_artist[few], plays)
    space.transform(phi[:600])  # compiles
    start = perf_counter()
    embeddings = space.transform_database(phi, song_artist)
    seconds = perf_counter() - start
    n_columns = sum(block.n_coordinates for block in space.maps_.taste) + space.maps_.sound.shape[1]
    matrix = np.random.default_rng(1).standard_normal((phi.shape[1], n_columns))
    start = perf_counter()
    for _, block in row_blocks(phi):
        block @ matrix
    floor = perf_counter() - start
    return {
        "case": f"listener_space_embed_{len(phi)}",
        "seconds": round(seconds, 2),
        "gemm_seconds": round(floor, 2),
        "ratio": round(seconds / floor, 2),
        "songs_per_second": round(len(embeddings) / seconds),
        "coordinates": n_columns,
        "dimensions": embeddings.shape[1],
        "peak_gb": round(peak_gb(), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        measure = measure_fit if arguments.case == "fit" else measure_embed
        print(json.dumps(measure(arguments.profile)))
        return
    for case in CASES:  # each in a fresh process: peak memory never falls
        command = [sys.executable, __file__, "--profile", arguments.profile, "--case", case]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
