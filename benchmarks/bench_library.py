"""The library at 100,000 songs and 20 million listens, against the work that nothing can avoid.

One JSON line a case: a scan that finds nothing changed beside walking the folders alone, a new model for all songs
beside reading their vectors and multiplying them, loading all embeddings beside SQLite alone, and an import of
listens
beside reading the file's lines. Each runs in a fresh process, whose peak memory it tells.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from nearsong.encoding import Codebook
from nearsong.library.listeners.importing import import_listens
from nearsong.library.models.library_encoders import set_encoders
from nearsong.library.models.lifecycle import activate_model, add_model, native_model
from nearsong.library.scanning.scan import ScanReport, scan
from nearsong.library.store import Store
from nearsong.model import CodewordEncoder, Quantizer, SimilarityModel
from random_library import fill, make_files, make_histograms

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"songs": 400, "codewords": 32, "rows": 3_000, "users": 50, "artists": 40, "rounds": 1},
    "full": {
        "songs": 100_000,
        "codewords": 1_024,
        "rows": 20_000_000,
        "users": 300_000,
        "artists": 250_000,
        "rounds": 3,
    },
}
CASES = ("songs", "listens")


def wall(work: Callable[[], Any]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def peak_gb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e9, 3)


def line(case: str, seconds: float, reference: str, alone: float, **facts: float) -> None:
    numbers = {
        "seconds": round(seconds, 3),
        f"{reference}_seconds": round(alone, 3),
        "ratio": round(seconds / alone, 2),
    }
    print(json.dumps({"case": case, **numbers, **facts, "peak_gb": peak_gb()}), flush=True)


# ---- songs


def walk_alone(folder: Path) -> int:
    return sum(os.stat(os.path.join(root, name)).st_size >= 0 for root, _, names in os.walk(folder) for name in names)


def project_alone(store: Store, encoder_id: int, model: SimilarityModel) -> None:
    for _, vectors in store.songs.vectors([encoder_id]):
        model.project(vectors)


def read_alone(path: Path, model_id: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT song_id, embedding FROM embeddings WHERE model_id = ? ORDER BY song_id"
        connection.execute(query, (model_id,)).fetchall()


def measure_songs(sizes: dict[str, int], folder: Path) -> None:
    n, codewords = sizes["songs"], sizes["codewords"]
    frames = np.random.default_rng(0).standard_normal((4 * codewords, 39))
    encoder = CodewordEncoder(Quantizer(Codebook(codewords, random_state=0).fit(frames)))
    library = folder / "library.sqlite"
    with closing(Store(library)) as store:
        (encoder_id,) = set_encoders(store, [encoder])
        fill(store, make_files(folder / "music", n), codewords, encoder_id)
        model = native_model(encoder, make_histograms(min(n, 3_000), codewords, 10**9).astype(np.float64), {})
        add_model(store, model, [encoder_id], "native", {"songs": n})

        def rescan() -> ScanReport:
            report = scan(store, [folder / "music"])
            assert (report.unchanged, report.analysed) == (n, 0)
            return report

        rescan()
        pairs = [[wall(rescan), wall(lambda: walk_alone(folder / "music"))] for _ in range(sizes["rounds"])]
        line(f"scan_unchanged_{n}", *interleaved("walk", pairs))

        def activate() -> None:
            model_id = add_model(store, model, [encoder_id], "learned", {}, activate=False)
            times.append(wall(lambda: activate_model(store, model_id, model)))

        times: list[float] = []
        pairs = []
        for _ in range(sizes["rounds"]):
            activate()
            pairs.append([times[-1], wall(lambda: project_alone(store, encoder_id, model))])
        line(f"new_model_{n}", *interleaved("read_and_multiply", pairs), rank=model.rank)

        active = store.models.active
        assert active is not None
        pairs = [
            [wall(lambda: store.songs.embeddings(active)), wall(lambda: read_alone(library, active))]
            for _ in range(sizes["rounds"])
        ]
        line(f"load_places_{n}", *interleaved("sqlite", pairs), rank=model.rank)


def interleaved(reference: str, pairs: list[list[float]]) -> tuple[float, str, float]:
    """Return the best of each; taken in turn, so that whatever else the machine does falls on both."""
    ours, alone = np.min(pairs, axis=0).tolist()
    return ours, reference, alone


# ---- listens


def make_listens(path: Path, sizes: dict[str, int]) -> None:
    """Write a history of users who play artists of a long tail, sorted by user as services export them."""
    random = np.random.default_rng(0)
    per_user = -(-sizes["rows"] // sizes["users"])
    with open(path, "w") as file:
        file.write("user,artist,plays\n")
        done = user = 0
        while done < sizes["rows"]:
            n = min(per_user * 100, sizes["rows"] - done)
            artists = (sizes["artists"] * random.random(n) ** 3).astype(int).tolist()
            plays = random.integers(1, 500, n).tolist()
            rows = [
                f"user{user + i // per_user:07d},the band number {artist},{count}\n"
                for i, (artist, count) in enumerate(zip(artists, plays, strict=True))
            ]
            file.writelines(rows)
            done, user = done + n, user + 100


def read_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def measure_listens(sizes: dict[str, int], folder: Path) -> None:
    history = folder / "history.csv"
    subprocess.run([sys.executable, __file__, "--write", history, json.dumps(sizes)], check=True)
    with closing(Store(folder / "library.sqlite")) as store:
        start = perf_counter()
        [done] = import_listens(store, [history])
        seconds = perf_counter() - start
        assert done.rows == sizes["rows"]
    alone = wall(lambda: read_lines(history))
    facts = {"rows_a_second": round(sizes["rows"] / seconds), "library_gb": round(folder_gb(folder, history), 3)}
    line(f"import_{sizes['rows']}", seconds, "read_lines", alone, **facts)


def folder_gb(folder: Path, without: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir() if path != without) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--rows", type=int, help="listens to import instead of the profile's")
    parser.add_argument("--songs", type=int, help="songs instead of the profile's")
    parser.add_argument("--case", choices=CASES, help="measure this one alone")
    parser.add_argument("--here", action="store_true", help="measure in this process instead of a fresh one")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        make_listens(Path(arguments.write[0]), json.loads(arguments.write[1]))
        return
    sizes = dict(PROFILES[arguments.profile])
    sizes |= {name: value for name in ("rows", "songs") if (value := getattr(arguments, name)) is not None}
    for case in [arguments.case] if arguments.case else CASES:
        if arguments.here:
            with tempfile.TemporaryDirectory() as folder:
                (measure_songs if case == "songs" else measure_listens)(sizes, Path(folder))
        else:
            options = ["--rows", str(sizes["rows"]), "--songs", str(sizes["songs"])]
            command = [sys.executable, __file__, "--profile", arguments.profile, *options, "--case", case, "--here"]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
