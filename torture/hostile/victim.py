"""``python -m torture.hostile.victim TASK``: tasks that read what strangers sent, as `torture.victim` runs its own.

Each result tells what became of every file, and the peak memory of this process, in MB, after each step.
"""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from torture.processes import memory_of
from torture.victim import tell, tell_stage

PARTS = ("unchanged", "added", "changed", "moved", "copied", "reanalysed", "known_unreadable")
COVER_PIXELS = 300
CPU_SECONDS = 20
WALL_SECONDS = 240
"""How long one file may take, on a machine that may be busy."""


def main() -> None:
    """Run the task of the command line."""
    task = json.loads(sys.argv[1])
    tasks = {"teach": teach, "scan": scan_hostile, "import": import_hostile, "models": import_forgeries}
    tell(stage=task["do"])
    tell(result=tasks[task["do"]](task))


def peak() -> int:
    """Return the peak memory of this process in MB."""
    return memory_of(os.getpid())[1]


# ---- songs


def teach(task: dict[str, Any]) -> dict[str, str]:
    """Fit an encoder to some music, write it to a file; return the vectors of the good songs, scanned alone."""
    from nearsong.library import Library

    with Library.open(task["library"]) as library:
        library.scan(task["music"], workers=1, encoders=("gaussian",))
        library.export_model(task["model"])
    alone = task["library"] + "-alone.sqlite"
    with Library.open(alone) as library:
        library.scan(task["good"], workers=1, codebook=task["model"])
    return vectors_of(alone, task["good"])


def vectors_of(address: str, folder: str) -> dict[str, str]:
    """Return a hash of the vectors of each song in a folder, by its name."""
    from nearsong.library.store import Store

    with closing(Store(address, create=False)) as store:
        names = {song.id: song.path for song in store.songs.all() if song.path.startswith(folder)}
        scanned = sorted(store.models.scanned_encoders().values())
        return {
            os.path.basename(names[int(number)]): hashlib.blake2b(vector.tobytes(), digest_size=12).hexdigest()
            for ids, matrix in store.songs.vectors(scanned, sorted(names))
            for number, vector in zip(ids, matrix, strict=True)
        }


def scan_hostile(task: dict[str, Any]) -> dict[str, Any]:
    """Scan a folder, touch and move some files, scan it again, then show the covers of all songs."""
    from nearsong.library import Library

    result: dict[str, Any] = {"start": peak()}
    options: dict[str, Any] = {"workers": 2, "timeout": task["timeout"], "keep_all": task["keep_all"]}
    if task["model"] is None:
        options["encoders"] = tuple(task["encoders"])
    else:
        options["codebook"] = task["model"]
    with Library.open(task["library"]) as library:
        for turn in ("first", "second"):
            report = library.scan(task["music"], progress=tell_stage, **options)
            accounted = sum(getattr(report, part) for part in PARTS) + len(report.unreadable) + len(report.set_aside)
            result[turn] = {"found": report.found, "accounted": accounted, "damaged": len(report.damaged)}
            result[turn] |= {"seconds": round(report.seconds, 1), "peak": peak()}
            if turn == "first":
                touch_some(Path(task["music"]), np.random.default_rng(task["seed"]))
    result |= what_became_of(task["library"], task["music"])
    result["vectors"] = vectors_of(task["library"], task["good"])
    tell(stage="covers")
    result["covers"] = show_covers(task["library"]) | {"peak": peak()}
    return result


def touch_some(folder: Path, random: np.random.Generator) -> None:
    """Touch a part of the files of a folder and move a few of them; good songs keep their names."""
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                choice = random.random()
                if choice < 0.5:
                    os.utime(path, (1_600_000_000, 1_600_000_000))
                elif choice < 0.6 and len(os.fsencode(name)) < 240 and not name.startswith("good"):
                    os.replace(path, path.with_name("m" + name))


def what_became_of(address: str, folder: str) -> dict[str, Any]:
    """Return how many files became songs, why the others did not, and which are neither."""
    from nearsong.library.files.find import ENDINGS
    from nearsong.library.store import Store

    with closing(Store(address, create=False)) as store:
        songs = {song.path for song in store.songs.all() if not song.missing}
        reasons = dict(store.songs.problems()) | dict(store.songs.set_aside())
    paths = {
        path
        for parent, _, names in os.walk(os.path.realpath(folder))
        for name in names
        if os.path.splitext(name)[1].lower() in ENDINGS
        if os.path.isfile(path := os.path.join(parent, name)) and not os.path.islink(path)
    }
    lost = sorted(paths - songs - reasons.keys())
    return {
        "files": len(paths),
        "songs": len(songs & paths),
        "lost": [repr(path) for path in lost],
        "reasons": [(os.path.basename(path).encode(errors="replace").decode(), why) for path, why in reasons.items()],
    }


def show_covers(address: str) -> dict[str, Any]:
    """Make the thumbnail of every song, as the service does."""
    from nearsong.library import Library
    from nearsong.library.store import Store
    from nearsong.web.media.covers import Covers

    with closing(Store(address, create=False)) as store:
        songs = [song for song in store.songs.all() if not song.missing]
    shown, slowest = 0, 0.0
    with Library.open(address) as library, closing(Covers(library)) as covers:
        for song in songs:
            started = time.monotonic()
            shown += covers.thumbnail(song, COVER_PIXELS) is not None
            covers.drawing(song)
            slowest = max(slowest, time.monotonic() - started)
    return {"shown": shown, "of": len(songs), "slowest": round(slowest, 2)}


# ---- listening histories


def import_hostile(task: dict[str, Any]) -> dict[str, Any]:
    """Import listening histories one after the other; return what became of each."""
    from nearsong.errors import NearsongError
    from nearsong.library import Library

    start, outcomes = peak(), {}
    with Library.open(task["library"], create=False) as library:
        for name in task["names"]:
            before, cpu = peak(), time.process_time()
            with limited(name):
                try:
                    (file,) = library.import_listens(os.path.join(task["folder"], name))
                    outcome = {"state": file.state, "rows": file.rows, "bad_rows": file.bad_rows}
                except NearsongError as error:
                    outcome = {"state": "refused", "reason": str(error), "kind": type(error).__name__}
                except Exception as error:  # what a user would see as a traceback
                    outcome = {"state": "traceback", "reason": f"{type(error).__name__}: {error}"[:300]}
            outcomes[name] = outcome | {"cpu": round(time.process_time() - cpu, 2), "grew": peak() - before}
        with limited("all histories together"):
            report = library.match_report()
    return {"start": start, "peak": peak(), "files": outcomes, "unmatched": report.plays_unmatched}


@contextmanager
def limited(name: str) -> Iterator[None]:
    """Say what is read, and end this process if it takes more than `CPU_SECONDS`: even a regular expression ends."""
    tell(result={"reading": name})
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.alarm(WALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


# ---- models


def import_forgeries(task: dict[str, Any]) -> dict[str, Any]:
    """Import forged models one after the other; return what became of each.

    A forgery that is accepted must give embeddings that are finite; then the model before it is used again.
    """
    from nearsong.errors import NearsongError
    from nearsong.library import Library

    start, outcomes = peak(), {}
    with Library.open(task["library"], create=False) as library:
        model = library.active_model
        for name in task["names"]:
            before = peak()
            with limited(name):
                try:
                    library.import_model(os.path.join(task["folder"], name))
                    outcome = accepted(library, task["library"])
                except NearsongError as error:
                    outcome = {"state": "refused", "kind": type(error).__name__, "reason": str(error)}
                except Exception as error:  # what a user would see as a traceback
                    outcome = {"state": "traceback", "reason": f"{type(error).__name__}: {error}"[:300]}
                outcomes[name] = outcome | {"grew": peak() - before}
                if library.active_model != model or pending_model(task["library"]) is not None:
                    if outcome["state"] != "accepted":
                        outcomes[name] |= {"state": "left behind"}
                    library.use_model(model)
    return {"start": start, "peak": peak(), "files": outcomes}


def accepted(library: Any, address: str) -> dict[str, Any]:
    """Return whether all embeddings under the active model are finite, and queries give an answer."""
    from nearsong.library.store import Store

    with closing(Store(address, create=False)) as store:
        _, matrix = store.songs.embeddings(store.models.active)
    if not np.isfinite(matrix).all():
        return {"state": "not finite"}
    similar = library.similar(library.songs()[0], n=3)
    if not all(np.isfinite(one.distance) for one in similar):
        return {"state": "not finite"}
    return {"state": "accepted", "rank": int(matrix.shape[1])}


def pending_model(address: str) -> str | None:
    """Return the model that the next scan would make active."""
    from nearsong.library.store import PENDING, Store

    with closing(Store(address, create=False)) as store:
        return store.models.setting(PENDING)


if __name__ == "__main__":
    main()
