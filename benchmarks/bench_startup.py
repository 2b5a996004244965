"""How much processor time a command takes from start to end, and how soon the service answers.

One JSON line a case: the processor seconds of the whole process, user and system, the best of some runs, beside
those of `python -c pass` and of importing NumPy, taken in turn. `serve` is measured by the wall: from the start
of the process to the page, and to the first similar songs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import numpy as np
import scipy.sparse

from nearsong.library import Library
from nearsong.library.models.lifecycle import add_model
from nearsong.library.store import Store
from nearsong.metric import MetricLearningToRank
from nearsong.model import MetricProjector, SimilarityModel
from nearsong.model.projection import learn_projection
from random_library import N_ARTISTS, make_histograms, make_library

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"songs": 300, "codewords": 32, "rounds": 1},
    "full": {"songs": 100_000, "codewords": 256, "rounds": 7},
}
COMMANDS = {
    "status": ["status"],
    "models": ["models"],
    "listens_list": ["listens", "list"],
    "unknown_command": ["stats"],
    "unknown_option": ["status", "--nope"],
    "library_not_found": ["status", "--library", "none.sqlite"],
    "similar_id": ["similar", "17"],
    "similar_name_not_found": ["similar", "xqzwv"],
    "similar_id_not_found": ["similar", "999999999"],
    "playlist_name_not_found": ["playlist", "xqzwv"],
    "radio_name_not_found": ["radio", "xqzwv"],
    "why_id_not_found": ["why", "1", "999999999"],
    "train_option": ["train", "--splits", "0"],
    "train_encoder": ["train", "--encoders", "nope"],
    "model_not_found": ["models", "use", "99"],
    "history_not_found": ["listens", "remove", "99"],
    "listener_not_found": ["for", "nobody"],
    "serve_port": ["serve", "--port", "99999"],
    "help": ["--help"],
}
WITH_HISTORIES = {"listens_list_with_histories": ["listens", "list"]}
"""Measured with the histories of three listeners; the first run, which is not counted, finds their names."""

WITH_LEARNED = {"similar_id_learned": ["similar", "17"]}
"""Measured with a combined model of two learned metrics."""

LEARNED_SONGS, LEARNED_STYLES = 200, 10
LISTENS_EACH = 1_000
REFERENCES = {"python": "pass", "numpy": "import numpy"}
SERVE_TIMEOUT_SECONDS = 300.0


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Return the processor seconds of a process and of those it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def nearsong(*words: str) -> list[str]:
    return [sys.executable, "-m", "nearsong", "--library", "library.sqlite", *words]


def import_histories(folder: Path, songs: int) -> None:
    """Give the library the histories of three listeners."""
    for number, listener in enumerate(("anna", "bert", "carl")):
        rows = [
            f"{listener},artist {i % N_ARTISTS},song {i}" for i in range(number, songs, songs // LISTENS_EACH + 1)
        ]
        (folder / f"{listener}.csv").write_text("user,artist,title\n" + "\n".join(rows) + "\n")
    with Library.open(folder / "library.sqlite", create=False) as library:
        library.import_listens(*folder.glob("*.csv"))


def learn(folder: Path, codewords: int) -> None:
    """Give the library a combined model of two metrics that were learned from some songs of planted styles."""
    vectors = make_histograms(LEARNED_SONGS, codewords, 1).astype(np.float64)
    styles = np.arange(LEARNED_SONGS) % LEARNED_STYLES
    relevant = scipy.sparse.csr_array((styles[:, None] == styles) & ~np.eye(LEARNED_SONGS, dtype=bool))
    with Library.open(folder / "library.sqlite", create=False) as library:
        encoder = library.load_model().encoder
    models = []
    for C in (1e3, 1e5):
        learner = MetricLearningToRank(loss="auc", C=C)
        projection, _ = learn_projection(vectors, relevant, encoder=encoder, learner=learner)
        models.append(SimilarityModel(encoder, MetricProjector([projection]), {}))
    with closing(Store(folder / "library.sqlite")) as store:
        (native,) = store.models.rows()
        add_model(store, SimilarityModel.combined(models), native.encoder_ids, "learned", {})


def measure_commands(folder: Path, songs: int, rounds: int, words_of: dict[str, list[str]]) -> None:
    commands = {name: nearsong(*words) for name, words in words_of.items()}
    commands |= {name: [sys.executable, "-c", code] for name, code in REFERENCES.items()}
    best = dict.fromkeys(commands, float("inf"))
    for turn in range(rounds + 1):
        for name, command in commands.items():  # in turn, so that whatever else the machine does falls on all
            seconds = cpu_seconds(command, folder)
            if turn:  # the first run fills the page cache and writes bytecode, and what it found into the library
                best[name] = min(best[name], seconds)
    alone = {f"{name}_cpu_seconds": round(best.pop(name), 3) for name in REFERENCES}
    for name, seconds in best.items():
        ratios = {
            f"ratio_to_{reference}": round(seconds / max(alone[f"{reference}_cpu_seconds"], 1e-3), 2)
            for reference in REFERENCES
        }
        print(json.dumps({"case": name, "songs": songs, "cpu_seconds": round(seconds, 3), **alone, **ratios}))


def measure_serve(folder: Path, songs: int, rounds: int) -> None:
    """Print how long the page and the first similar songs take from the start of the process, the best of some."""
    times = [serve_times(folder) for _ in range(min(3, rounds))]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", REFERENCES["numpy"]], check=True)
    numpy = time.perf_counter() - start
    page, similar = (min(column) for column in zip(*times, strict=True))
    numbers = {"page_seconds": round(page, 2), "similar_seconds": round(similar, 2), "numpy_seconds": round(numpy, 3)}
    print(json.dumps({"case": "serve", "songs": songs, **numbers, "ratio_to_numpy": round(page / numpy, 1)}))


def serve_times(folder: Path) -> tuple[float, float]:
    """Return the seconds until the page and until the first similar songs are answered."""
    start = time.perf_counter()
    command = nearsong("serve", "--port", "0", "--no-automatic")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            words = next(line for line in service.stdout if "runs at" in line)
            address = words.split()[-1].rstrip("/")
            return tuple(answered(address + path, start) for path in ("/", "/api/v1/similar?seed=17"))
        finally:
            service.terminate()


def answered(url: str, start: float) -> float:
    """Return when a request was first answered with 200, in seconds from the start."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=SERVE_TIMEOUT_SECONDS) as answer:
                answer.read()
                return time.perf_counter() - start
        except (urllib.error.HTTPError, OSError):
            if time.perf_counter() - start > SERVE_TIMEOUT_SECONDS:
                raise
            time.sleep(0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    sizes = PROFILES[parser.parse_args().profile]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_library(folder, sizes["songs"], sizes["codewords"])
        measure_commands(folder, sizes["songs"], sizes["rounds"], COMMANDS)
        import_histories(folder, sizes["songs"])
        measure_commands(folder, sizes["songs"], sizes["rounds"], WITH_HISTORIES)
        learn(folder, sizes["codewords"])
        measure_commands(folder, sizes["songs"], sizes["rounds"], WITH_LEARNED)
        measure_serve(folder, sizes["songs"], sizes["rounds"])


if __name__ == "__main__":
    main()
