"""The long load: many clients on a large library while scans and trainings change it."""

import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.random_library import N_ARTISTS, bare_index, make_files, make_library_of
from nearsong.library import Library
from torture import material
from torture.attack import Attack, Defect, Figures, Trial, Workshop, check
from torture.processes import RunningService, children_of, memory_of
from torture.wire.client import check_alive
from torture.wire.crowd import Crowd, Diary
from torture.wire.endless_jobs import EndlessJobs

LISTENED_ARTISTS = 40
LISTENERS = 120
N_COMPARED = 200
"""Songs whose nearest are known from the bare index."""

MAX_GROWTH_SHARE = 0.05
MAX_GROWTH_MB = {"full": 20, "smoke": 60}
"""A service that has just started still fills its caches."""

WAIT_EDGES = np.geomspace(1e-4, 1e3, 701)
"""Edges of a histogram of waits, in seconds: 1 % apart."""


class Soak(Attack):
    """Many clients with all kinds of requests, for as long as the profile says, a minute a trial."""

    name = "soak"
    title = "many clients on a large library while scans and trainings run as jobs"
    defects = (
        Defect(
            name="answers of a batch are exchanged",
            file="nearsong/web/service/batching.py",
            old="for pending, answer in zip(batch, work.result(), strict=True):",
            new="for pending, answer in zip(batch, reversed(work.result()), strict=True):",
        ),
        Defect(
            name="memory that grows with time",
            file="nearsong/web/service/service.py",
            old="        ended = {job.id for job in self.jobs.all() if job.ended is not None}\n",
            new="        ended = {job.id for job in self.jobs.all() if job.ended is not None}\n"
            '        self.__dict__.setdefault("kept", []).append(bytearray(200_000_000))\n',
        ),
    )

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._n_songs = workshop.pick(smoke=500, full=100_000)
        self._codewords = workshop.pick(smoke=64, full=1_024)
        self._n_clients = workshop.pick(smoke=16, full=200)
        self._seconds = workshop.pick(smoke=6.0, full=60.0)
        self._service: RunningService | None = None
        self._jobs: EndlessJobs | None = None

    def trials(self) -> Iterable[Trial]:
        for minute in range(self.workshop.pick(smoke=1, full=30)):
            yield Trial(key=f"minute {minute + 1:02}")

    def set_up(self) -> None:
        music = sorted(path for path in material.music(self.workshop).rglob("*") if path.is_file())
        library_file = self._library(music)
        self._alone, self._together = bare_index(library_file)
        nearest, model = _nearest(library_file, N_COMPARED)
        scratch = self.workshop.scratch("soak")
        copy = Path(shutil.copy(library_file, scratch / "library.sqlite"))
        self._service = RunningService(str(copy), log=scratch / "service.log")
        self._service.wait_until_up()
        self._service.get("/api/v1/similar?seed=1")
        audio = {number: path.read_bytes() for number, path in enumerate(music, 1)}
        self._crowd = Crowd(self._service.port, self._n_clients, self._n_songs, audio, nearest, model)
        train_seconds = self.workshop.pick(smoke=60.0, full=300.0)
        self._jobs = EndlessJobs(self._service, music, scratch / "new", train_seconds)
        self._jobs.start()

    def _library(self, music: list[Path]) -> Path:
        """Return a library of real songs, many songs of empty files, and listeners of some of their artists."""
        n = self._n_songs
        files = self.workshop.material(f"soak-files-{n}", lambda folder: make_files(folder, n - len(music)))

        def make(folder: Path) -> None:
            paths = [*map(str, music), *sorted(str(path) for path in files.rglob("*.mp3"))]
            make_library_of(folder / "library.sqlite", paths, self._codewords)
            _write_listens(folder / "listens.csv")
            with Library.open(folder / "library.sqlite") as library:
                library.import_listens(folder / "listens.csv")

        return self.workshop.material(f"soak-{n}", make) / "library.sqlite"

    def tear_down(self) -> None:
        if self._jobs is not None:
            self._jobs.stop()
        if self._service is not None:
            self._service.kill_group()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        service, jobs = self._service, self._jobs
        assert service is not None
        assert jobs is not None
        before = Counter(jobs.counts)
        every = self.workshop.pick(smoke=0.2, full=5.0)
        with _MemorySamples(service.process.pid, every) as samples:
            diary = self._crowd.run(self._seconds, random)
        check_alive(service)
        check(not jobs.failures, f"{len(jobs.failures)} jobs failed, the first: {jobs.failures[:1]}")
        check(not diary.wrong, f"{len(diary.wrong)} of {diary.counts.total()} answers, the first: {diary.wrong[:1]}")
        return {
            "requests": dict(diary.counts),
            "compared": diary.n_compared,
            "waits": _histogram(diary),
            "bare index ms": round(1000 * self._alone, 3),
            "bare index of 32 ms": round(1000 * self._together, 3),
            "service": f"{service.process.pid} {service.port}",
            "memory": samples.service,
            "child": samples.child,
            "jobs": dict(jobs.counts - before),
        }

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        requests: Counter[str] = sum((Counter(row["requests"]) for row in rows), Counter())
        done: Counter[str] = sum((Counter(row["jobs"]) for row in rows), Counter())
        growth = max((_growth(run) for run in _runs(rows)), default=(0, 0))
        limit = MAX_GROWTH_MB[self.workshop.profile] + MAX_GROWTH_SHARE * growth[1]
        check(growth[0] <= limit, f"the memory of the service grew from {growth[1]} MB by {growth[0]} MB")
        n_compared = sum(row["compared"] for row in rows)
        check(not rows or n_compared > 0, "no answer was compared with the bare index")
        return {
            "clients": self._n_clients,
            "songs": self._n_songs,
            "requests": requests.total(),
            "requests a second": round(requests.total() / max(1, self._seconds * len(rows)), 1),
            "errors": 0,
            "similar songs in ms": _quantiles(rows),
            "bare index ms": float(np.median([row["bare index ms"] for row in rows] or [0])),
            "answers compared": n_compared,
            "jobs": dict(done),
            "memory in MB": growth[1],
            "growth in MB": growth[0],
            "peak of a job in MB": max((row["child"] for row in rows), default=0),
        }


class _MemorySamples:
    """The memory of a service and its largest child, from time to time while a block runs."""

    def __init__(self, pid: int, every: float) -> None:
        self.service: list[int] = []
        self.child = 0
        self._pid, self._every = pid, every
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self) -> None:
        while not self._is_over.wait(self._every):
            self.service.append(memory_of(self._pid)[0])
            self.child = max([self.child, *(memory_of(child)[0] for child in children_of(self._pid))])

    def __enter__(self) -> "_MemorySamples":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()


def _runs(rows: Sequence[Figures]) -> list[list[int]]:
    """Return the memory over time of each service; a run that was stopped goes on with another."""
    runs: dict[str, list[int]] = {}
    for row in rows:
        runs.setdefault(row["service"], []).extend(row["memory"])
    return [samples for samples in runs.values() if len(samples) >= 8]


def _growth(samples: list[int]) -> tuple[int, int]:
    """Return by how much memory grew from the second to the last quarter, and from what."""
    quarter = len(samples) // 4
    second, last = np.median(samples[quarter : 2 * quarter]), np.median(samples[-quarter:])
    return int(last - second), int(second)


def _histogram(diary: Diary) -> dict[str, int]:
    counts, _ = np.histogram(np.clip(diary.waits, WAIT_EDGES[0], WAIT_EDGES[-1]), WAIT_EDGES)
    return {str(at): int(n) for at, n in enumerate(counts) if n}


def _quantiles(rows: Sequence[Figures]) -> dict[str, float]:
    counts = np.zeros(len(WAIT_EDGES) - 1)
    for row in rows:
        for at, n in row["waits"].items():
            counts[int(at)] += n
    if not counts.any():
        return {}
    below = np.cumsum(counts) / counts.sum()
    return {f"p{q}": round(1000 * float(WAIT_EDGES[1:][np.searchsorted(below, q / 100)]), 1) for q in (50, 95, 99)}


def _nearest(library_file: Path, n: int) -> tuple[dict[int, list[int]], int]:
    """Return the ten nearest of some songs by the bare index, and the active model."""
    with Library.open(library_file, create=False) as library:
        space = library.space
        rows = np.random.default_rng(2).choice(len(space.songs), size=min(n, len(space.songs)), replace=False)
        found, _ = space.index.nearest(space.embeddings[rows], 11)
        model = library.active_model
    assert model is not None
    ids = space.ids
    nearest = {
        int(ids[row]): [int(one) for one in near if one != ids[row]][:10]
        for row, near in zip(rows, found, strict=True)
    }
    return nearest, model


def _write_listens(path: Path) -> None:
    """Write listeners of some artists of the library, each with a taste for a third of them."""
    random = np.random.default_rng(0)
    lines = ["user,artist,plays"]
    for user in range(LISTENERS):
        own = random.choice(np.arange(user % 3, LISTENED_ARTISTS, 3), 8, replace=False)
        lines += [f"user{user},artist {artist % N_ARTISTS},{random.integers(2, 50)}" for artist in own]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
