"""The full disk and failing media, at every write; files that stall as on a network."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from torture import disk_service
from torture.attack import Attack, BrokenError, Defect, Figures, Trial, Workshop, check
from torture.contents import Contents, difference
from torture.faults import FOR_EVER
from torture.warm.bench import TASKS, Bench, Task
from torture.warm.start import Ended

PROBES_IN_A_TRIAL = 10
OLD_FILE = b"what was there before\n"

WORDS = {
    "full": r"full|no space|the disk",
    "failing": r"the disk|I/O|input/output",
    "read-only": r"read-only|the disk",
    "over quota": r"quota|full|the disk",
}
"""Kind of fault -> what the one-line error must say."""

KINDS = ("full", "failing", "full", "over quota", "full", "read-only", "failing", "short")
"""Kinds of faults, in turn."""


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """What a task does when nothing fails."""

    calls: int
    contents: Contents
    export: bytes


class Disk(Attack):
    """Makes the Nth write of a task fail, and all after it or only that one; then runs the task again."""

    name = "disk"
    title = "full disk, failing and read-only media at every write, files that stall"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="a full disk is no error of its own",
            file="nearsong/library/store/opening/errors.py",
            old="DiskFullError if words == _FULL else DatabaseError",
            new="DatabaseError",
        ),
        Defect(
            name="a file that cannot be written leaves its part",
            file="nearsong/atomic_write.py",
            old="                temporary.unlink()",
            new="                pass",
        ),
        Defect(
            name="an export that fails shows a traceback",
            file="nearsong/model/file_format.py",
            old="            _write(file, signed, arrays)\n    except (OSError, ValueError) as error:",
            new="            _write(file, signed, arrays)\n    except ValueError as error:",
        ),
        Defect(
            name="a scan opens what took too long",
            file="nearsong/library/scanning/write_files.py",
            old="isinstance(error, AudioTimeoutError) or (",
            new="(",
        ),
        Defect(
            name="songs are opened in the threads of all requests",
            file="nearsong/web/media/files.py",
            old="return await to_thread.run_sync(work, *arguments, limiter=threads)",
            new="return await to_thread.run_sync(work, *arguments)",
        ),
    )

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._undisturbed: dict[str, Undisturbed] = {}

    def trials(self) -> Iterable[Trial]:
        """Return the probes of each task in lots, and the trials of services and of files that stall."""
        n_probes = self.workshop.pick(smoke=0, full=400)
        for task in TASKS:
            n = {"scan": 2, "import": 2, "export": 4}.get(task.name, 0)
            n = n if self.workshop.profile == "smoke" else n_probes * task.share // 100
            for first in range(0, n, PROBES_IN_A_TRIAL):
                numbers = list(range(first, min(first + PROBES_IN_A_TRIAL, n)))
                yield Trial(key=f"{task.name} {first}", options={"task": task.name, "probes": numbers, "of": n})
        for kind in disk_service.TRIALS:
            for number in range(self.workshop.pick(smoke=kind != "cold", full=disk_service.TRIALS[kind])):
                yield Trial(key=f"{kind} {number}", options={"service": kind, "number": number})

    def set_up(self) -> None:
        """Start the process that commands are forked from."""
        self._bench = Bench(self.workshop, self.name)

    def tear_down(self) -> None:
        """End all processes."""
        if hasattr(self, "_bench"):
            self._bench.close()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        """Run the probes of a trial."""
        self._bench.faults.mend()
        if "service" in trial.options:
            return disk_service.run(self._bench, trial.options["service"], trial.options["number"])
        task = next(task for task in TASKS if task.name == trial.options["task"])
        figures: dict[str, Any] = {"probes": 0, "failed": 0, "went on": 0}
        messages: dict[str, int] = {}
        for number in trial.options["probes"]:
            kind = KINDS[(number + len(task.name)) % len(KINDS)]
            share = (number + random.random()) / trial.options["of"]
            ended, has_failed = self._probe(task, kind, share)
            figures["probes"] += 1
            figures["failed"] += has_failed and ended.code != 0
            figures["went on"] += ended.code == 0
            if ended.code:
                words = _without_names(_last_line(ended))
                messages[words] = messages.get(words, 0) + 1
        return figures | {"messages": messages, "calls": self._reference(task).calls}

    def _reference(self, task: Task) -> Undisturbed:
        if task.name not in self._undisturbed:
            bench, folder = self._bench, self._bench.fresh(task.base)
            bench.faults.count_below(folder)
            ended = bench.run(task.arguments, folder, task.n_artists)
            check(ended.code == 0, f"{task.name} failed without a fault: {ended.errors.strip()[-300:]}")
            export = (folder / task.export).read_bytes() if task.export else b""
            self._undisturbed[task.name] = Undisturbed(
                calls=bench.faults.get("calls"), contents=bench.contents(folder), export=export
            )
        return self._undisturbed[task.name]

    def _probe(self, task: Task, kind: str, share: float) -> tuple[Ended, bool]:
        reference, bench = self._reference(task), self._bench
        folder = bench.fresh(task.base)
        if task.export:
            (folder / task.export).write_bytes(OLD_FILE)
        call = 1 + int(share * reference.calls)
        where = f"{task.name}, {kind} at call {call} of {reference.calls}"
        bench.faults.count_below(folder)
        bench.faults.fail(kind, call, 1 if kind in ("failing", "short") else FOR_EVER)
        try:
            ended = bench.run(task.arguments, folder, task.n_artists)
            has_failed = bench.faults.get("failed") > 0
        finally:
            bench.faults.mend()
        check_end(ended, kind, where, has_failed)
        if task.export:
            check_export((folder / task.export).read_bytes(), reference.export, where)
        if ended.code:
            again = bench.run(task.arguments, folder, task.n_artists)
            check(again.code == 0, f"{where}: a second run failed without a fault: {_last_line(again)}")
        check_contents(reference, bench, folder, f"{where}, and {'a second run' if ended.code else 'it went on'}")
        if task.export:
            check((folder / task.export).read_bytes() == reference.export, f"{where}: the export is not complete")
        left = [path.name for path in folder.rglob("*.part")]
        check(not left, f"{where}: left behind {left}")
        return ended, has_failed

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        """Return how many writes failed, and what was said."""
        total: Figures = {"runs with a fault": 0, "ended with one line": 0, "went on": 0}
        messages: set[str] = set()
        for row in rows:
            total["runs with a fault"] += row.get("probes", 0)
            total["ended with one line"] += row.get("failed", 0)
            total["went on"] += row.get("went on", 0)
            messages |= set(row.get("messages", ()))
            for name, value in row.get("service", {}).items():
                total[name] = total.get(name, 0) + value if isinstance(value, int) else value
        check(total["ended with one line"] > 0, "no fault ended a command: the faults do not reach it")
        return total | {"different messages": len(messages)}


def check_end(ended: Ended, kind: str, where: str, has_failed: bool) -> None:
    """Raise unless a command with a fault ended well, or with one line that says what is wrong."""
    text = ended.errors + ended.output
    if "Traceback" in text:
        raise BrokenError(f"{where}: a traceback that ends with {_last_line(ended)!r}")
    if ended.code == 0:
        return
    line = _last_line(ended)
    check(has_failed, f"{where}: failed without a fault: {line}")
    check(ended.code == 2, f"{where}: exit code {ended.code}: {line}")
    check(line.startswith("nearsong:"), f"{where}: no one-line error but {line!r}")
    check(kind in WORDS and re.search(WORDS[kind], line, re.IGNORECASE) is not None, f"{where}: says {line!r}")


def check_export(found: bytes, complete: bytes, where: str) -> None:
    """Raise if a file that was being exported is neither the old nor the complete new one."""
    check(found in (OLD_FILE, complete), f"{where}: the file is neither the old nor the new one ({len(found)} bytes)")


def check_contents(reference: Undisturbed, bench: Bench, folder: Path, where: str) -> None:
    """Raise if a library is not as after an undisturbed run."""
    lost = difference(reference.contents, bench.contents(folder))
    check(not lost, f"{where}: {lost}")


def _last_line(ended: Ended) -> str:
    lines = [line for line in (ended.errors or ended.output).splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _without_names(line: str) -> str:
    return re.sub(r"/\S+", "FILE", line)
