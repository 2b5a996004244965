"""The attack over the wire: a running service, and clients that do everything wrong."""

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torture.attack import Attack, Figures, Trial, Workshop, check
from torture.processes import MemoryWatch, RunningService, memory_of, n_descriptors, n_threads
from torture.wire.client import check_alive
from torture.wire.floods import flood_with_covers, flood_with_jobs, flood_with_streams, flood_with_uploads
from torture.wire.known_defects import DEFECTS
from torture.wire.listeners import trespass
from torture.wire.locked import hold_lock
from torture.wire.players import fuzz_methods
from torture.wire.ranges import abuse_ranges
from torture.wire.schema import ask_every_operation
from torture.wire.scrobbles import send_scrobbles
from torture.wire.slow import be_slow
from torture.wire.smuggling import smuggle
from torture.wire.target import Target, collection
from torture.wire.tokens import guess_tokens

TOKEN = "a-token-that-nobody-guesses-0123456789"
MAX_FILES = 512
MAX_CONNECTIONS = (MAX_FILES - 256) // 2
SETTLE_SECONDS = 60.0
SPARE_DESCRIPTORS = 24
MAX_THREADS = 100
"""Of the service: 40 for requests, and its own."""
MAX_SERVICE_MB = 500
MAX_CHILD_MB = 1_600
MAX_GROWTH_MB = 250
"""Of the service's memory from its start to the end of the attack."""

LARGEST = ("slowest", "methods", "schemathesis operations", "shapes", "threads", "seconds", "jobs waiting")
"""Figures whose largest value counts instead of their sum."""

Probe = Callable[[Target, np.random.Generator, int], Figures]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A kind of probe: how many trials of which size a profile has."""

    probe: Probe
    smoke: tuple[int, int]
    full: tuple[int, int]


PLANS = {
    "schema": Plan(probe=ask_every_operation, smoke=(1, 3), full=(50, 6)),
    "ranges": Plan(probe=abuse_ranges, smoke=(1, 150), full=(20, 500)),
    "smuggling": Plan(probe=smuggle, smoke=(1, 40), full=(10, 120)),
    "tokens": Plan(probe=guess_tokens, smoke=(1, 60), full=(10, 1_000)),
    "players": Plan(probe=fuzz_methods, smoke=(1, 4), full=(20, 30)),
    "listeners": Plan(probe=trespass, smoke=(1, 60), full=(10, 400)),
    "scrobbles": Plan(probe=send_scrobbles, smoke=(1, 40), full=(10, 400)),
    "jobs": Plan(probe=flood_with_jobs, smoke=(1, 40), full=(5, 400)),
    "streams": Plan(probe=flood_with_streams, smoke=(1, 60), full=(5, 98)),
    "covers": Plan(probe=flood_with_covers, smoke=(1, 8), full=(5, 400)),
    "uploads": Plan(probe=flood_with_uploads, smoke=(1, 20), full=(10, 100)),
    "lock": Plan(probe=hold_lock, smoke=(1, 10), full=(5, 60)),
    "slow": Plan(probe=be_slow, smoke=(1, 2), full=(6, 40)),
}


class Wire(Attack):
    """Clients that do everything wrong, one kind after the other, on one running service."""

    name = "wire"
    title = "floods, slow clients, fuzzed requests, smuggling, locks and wrong tokens against a running service"
    defects = DEFECTS

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._target: Target | None = None

    def trials(self) -> Iterable[Trial]:
        for name, plan in PLANS.items():
            n_trials, size = self.workshop.pick(smoke=plan.smoke, full=plan.full)
            for at in range(n_trials):
                yield Trial(key=f"{name} {at}", options={"kind": name, "size": size})

    def set_up(self) -> None:
        files = collection(self.workshop)
        scratch = self.workshop.scratch("wire")
        library = Path(shutil.copy(files.library, scratch / "library.sqlite"))
        temporary = scratch / "tmp"
        temporary.mkdir()
        service = RunningService(
            str(library),
            env={"TMPDIR": str(temporary)},
            log=scratch / "service.log",
            token=TOKEN,
            max_files=MAX_FILES,
        )
        n_songs = len(files.songs)
        self._target = Target(
            service=service,
            library=library,
            songs=files.songs,
            long_song=n_songs + 1,
            bombs=range(n_songs + 2, n_songs + 2 + len(files.bombs)),
            scratch=scratch,
            max_connections=MAX_CONNECTIONS,
        )
        service.wait_until_up()
        service.get("/api/v1/similar?seed=1")
        self._settled = memory_of(service.process.pid)[0]

    def tear_down(self) -> None:
        if self._target is not None:
            self._target.service.kill_group()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        target = self._target
        assert target is not None
        pid = target.service.process.pid
        before, n_open = memory_of(pid)[0], n_descriptors(pid)
        with MemoryWatch(pid) as watch:
            figures = PLANS[trial.options["kind"]].probe(target, random, trial.options["size"])
            check_alive(target.service)
        n_left = _settled_descriptors(pid, n_open + SPARE_DESCRIPTORS)
        check(n_left <= n_open + SPARE_DESCRIPTORS, f"{n_left} files and connections are open, {n_open} before")
        check(n_threads(pid) <= MAX_THREADS, f"{n_threads(pid)} threads")
        memory = {"before MB": before, "after MB": memory_of(pid)[0], "since start MB": self._settled}
        check(watch.peaks["parent"] <= MAX_SERVICE_MB, f"the service took {watch.peaks['parent']} MB")
        check(watch.peaks["child"] <= MAX_CHILD_MB, f"a child of the service took {watch.peaks['child']} MB")
        return figures | {"memory": memory | watch.peaks, "threads": n_threads(pid), "descriptors": n_left}

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        peaks = {name: max((row["memory"][name] for row in rows), default=0) for name in ("parent", "child")}
        growth = max((row["memory"]["after MB"] - row["memory"]["since start MB"] for row in rows), default=0)
        check(growth <= MAX_GROWTH_MB, f"the memory of the service grew by {growth} MB")
        summed: Figures = {}
        for row in rows:
            for name, value in row.items():
                if name.startswith(
                    ("slowest", "methods", "operations", "shapes", "threads", "seconds", "jobs waiting")
                ):
                    summed[name] = max(value, summed.get(name, 0))
                elif isinstance(value, int) and "seed" not in name and name != "descriptors":
                    summed[name] = summed.get(name, 0) + value
        return summed | {"peak memory in MB": peaks, "growth in MB": growth}


def _settled_descriptors(pid: int, enough: int) -> int:
    """Wait until a service has closed what is no longer needed; return how many descriptors are open."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (n_open := n_descriptors(pid)) > enough and time.monotonic() < deadline:
        time.sleep(0.05)
    return n_open
