"""Hostile listening histories, one after the other into one library, and all at once by the command line."""

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from torture import material
from torture.attack import Attack, BrokenError, Defect, Figures, Trial, check
from torture.contents import contents_of
from torture.hostile.archives import BOMBS, SMOKE_BOMBS, make_bomb
from torture.hostile.histories import HISTORIES, HistoryFile
from torture.hostile.mutations import MUTATIONS
from torture.hostile.songs import Song
from torture.processes import MemoryWatch, nearsong
from torture.warm.victim import Victim, all_ended

MAX_REASON_CHARACTERS = 1_000
PEAK_MB = 900
"""What an import may take above its start."""

COMMAND_BOMBS = ("zeros.csv.gz", "version.zip", "laughs.xspf", "deep.json")
SECRET = "a-secret-beside-the-histories"
GOOD_ROWS = 2_000


class Histories(Attack):
    """Imports of listening histories that strangers wrote."""

    name = "histories"
    title = "hostile rows, archives and playlists imported beside a good history"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="a time of any length is searched",
            file="nearsong/listens/times.py",
            old="if len(text) > MAX_TIME_CHARACTERS:",
            new="if not text.isascii() and len(text) > MAX_TIME_CHARACTERS:",
        ),
        Defect(
            name="a strange zip is a traceback",
            file="nearsong/listens/sources.py",
            old="except (*DAMAGE_ERRORS, OSError, ValueError) as error:",
            new="except (zipfile.BadZipFile, OSError) as error:",
        ),
        Defect(
            name="zips of any number of files",
            file="nearsong/listens/sources.py",
            old="MAX_ZIP_MEMBERS = 100_000\n",
            new="MAX_ZIP_MEMBERS = 100_000_000\n",
        ),
        Defect(
            name="Parquet repeats a name in memory",
            file="nearsong/listens/parquet.py",
            old="read_dictionary=list(texts)",
            new="read_dictionary=[]",
        ),
        Defect(
            name="rows left out are not reported",
            file="nearsong/library/listeners/importing/files.py",
            old="bad_rows=bad_rows.count,",
            new="bad_rows=0,",
        ),
    )

    def trials(self) -> Iterable[Trial]:
        n_trials, n_rows = self.workshop.pick(smoke=(1, 300), full=(20, 2_000))
        names = list(self.workshop.pick(smoke=SMOKE_BOMBS, full=tuple(BOMBS)))
        for number in range(n_trials):
            bombs = names if n_trials == 1 else names[number % 10 :: 10]
            yield Trial(key=f"{number:03}", options={"rows": n_rows, "bombs": bombs, "command": number % 10 == 0})

    def set_up(self) -> None:
        self.library = self.workshop.material("good-history", self._make_library) / "library.sqlite"

    def _make_library(self, folder: Path) -> None:
        address = str(folder / "library.sqlite")
        Victim(
            {"do": "import", "library": address, "listens": str(material.listens(self.workshop, GOOD_ROWS))}
        ).wait()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        scratch = self.workshop.scratch(self.name, trial.key)
        address = shutil.copy(self.library, scratch / "library.sqlite")
        before = contents_of(str(address))
        files = self._write(scratch / "histories", trial, random)
        task = {
            "do": "import",
            "library": str(address),
            "folder": str(scratch / "histories"),
            "names": [file.name for file in files],
        }
        found, peak = self._import(task)
        figures = self._judge(files, found, peak)
        self._check_library(Path(address), before)
        if trial.options["command"]:
            self._run_command(scratch, [file.name for file in files if file.rows or file.name in COMMAND_BOMBS])
        shutil.rmtree(scratch)
        return figures | {
            "rows": sum(file.rows for file in files),
            "files": len(files),
            "bombs": len(trial.options["bombs"]),
        }

    def _write(self, folder: Path, trial: Trial, random: np.random.Generator) -> list[HistoryFile]:
        """Write a history in every format, a mutant of each, and some bombs."""
        folder.mkdir()
        (folder.parent / "secret.txt").write_text(SECRET)
        os.mkfifo(folder / "pipe.mp3")
        files = [make(trial.options["rows"], random) for make in HISTORIES]
        whole = [Song(ending=file.name, data=file.data) for file in files]
        for file in list(files):
            kind = list(MUTATIONS)[int(random.integers(len(MUTATIONS)))]
            data = MUTATIONS[kind](file.data, whole, random)
            files.append(HistoryFile(name=f"{kind}-{file.name}", data=data, rows=file.rows))
        files += [make_bomb(name) for name in trial.options["bombs"]]
        for file in files:
            (folder / file.name).write_bytes(file.data)
        return files

    def _import(self, task: dict[str, object]) -> tuple[Figures, int]:
        victim = Victim(task, module="torture.hostile.victim")
        with all_ended([victim]), MemoryWatch(victim.pid) as memory:
            try:
                found = victim.wait()
            except BrokenError as error:
                raise BrokenError(f"{(victim.result or {}).get('reading')}: {error}") from error
        return found, max(memory.peaks["parent"], found["peak"]) - found["start"]

    def _judge(self, files: Sequence[HistoryFile], found: Figures, peak: int) -> Figures:
        broken = []
        for file in files:
            outcome = found["files"][file.name]
            reason = outcome.get("reason", "")
            if outcome["state"] == "traceback":
                broken.append(f"{file.name}: {reason}")
            elif "\n" in reason or len(reason) > MAX_REASON_CHARACTERS:
                broken.append(f"{file.name}: the reason is not a short line: {reason[:200]!r}")
            elif file.exact and outcome["state"] == "imported" and outcome["rows"] + outcome["bad_rows"] != file.rows:
                counts = f"{outcome['rows']} rows read and {outcome['bad_rows']} left out, of {file.rows}"
                broken.append(f"{file.name}: {counts}")
        check(not broken, f"{len(broken)} histories: {' | '.join(broken[:12])}")
        hungriest = max(found["files"], key=lambda name: found["files"][name]["grew"])
        check(
            peak < PEAK_MB,
            f"the import grew by {peak} MB, most with {hungriest} ({found['files'][hungriest]['grew']} MB)",
        )
        states = Counter(outcome["state"] for outcome in found["files"].values())
        slowest = max(found["files"], key=lambda name: found["files"][name]["cpu"])
        return {
            "states": dict(states),
            "read": sum(outcome.get("rows", 0) for outcome in found["files"].values()),
            "left out": sum(outcome.get("bad_rows", 0) for outcome in found["files"].values()),
            "slowest": [slowest, found["files"][slowest]["cpu"]],
            "hungriest": hungriest,
            "MB": peak,
        }

    def _check_library(self, address: Path, before: Figures) -> None:
        """Check that the library is whole, that the good history is as it was, and that no secret is in it."""
        after = contents_of(str(address))
        for name, rows in before["listens"].items():
            check(after["listens"].get(name) == rows, f"the good history {name} changed")
        connection = sqlite3.connect(address)
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        connection.close()
        check(state == "ok", f"the library is damaged: {state}")
        for path in address.parent.glob("library.sqlite*"):
            check(
                SECRET.encode() not in path.read_bytes(),
                "a playlist brought the content of another file into the library",
            )
        strays = [
            path for path in (address.parent / "outside.csv", address.parent.parent / "outside.csv") if path.exists()
        ]
        check(not strays, f"an archive wrote outside: {strays}")

    def _run_command(self, scratch: Path, names: Sequence[str]) -> None:
        """Import some of the files by the command line."""
        library = shutil.copy(self.library, scratch / "command.sqlite")
        paths = [str(scratch / "histories" / name) for name in names]
        done = nearsong("listens", "import", *paths, "--library", str(library))
        check(done.returncode in (0, 1), f"the command ended with {done.returncode}: {done.stderr[-300:]}")
        check("Traceback" not in done.stderr + done.stdout, f"the command shows a traceback: {done.stderr[-500:]}")

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        states: Counter[str] = Counter()
        for row in rows:
            states.update(row["states"])
        return {
            "rows": sum(row["rows"] for row in rows),
            "files": sum(row["files"] for row in rows),
            "bombs": sum(row["bombs"] for row in rows),
            "states": dict(states),
            "rows read": sum(row["read"] for row in rows),
            "rows left out": sum(row["left out"] for row in rows),
            "MB above its start": max((row["MB"] for row in rows), default=0),
        }
