"""Forged model files, imported one after the other into a library whose own model must stay as it is."""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from torture import material
from torture.attack import Attack, BrokenError, Defect, Figures, Trial, check
from torture.contents import contents_of, difference
from torture.hostile.forgeries import crafted, forge, read_model
from torture.hostile.material import strangers
from torture.processes import MemoryWatch
from torture.warm.victim import Victim, all_ended

MAX_REASON_CHARACTERS = 1_000
PEAK_MB = 500
"""What importing forgeries may take above the start of the process."""


class Models(Attack):
    """Imports of model files that strangers forged."""

    name = "models"
    title = "forged model files imported into a library with a model"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="compressed arrays are unpacked",
            file="nearsong/model/file_format.py",
            old="if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):",
            new="if not archive.infolist():",
        ),
        Defect(
            name="objects are unpickled",
            file="nearsong/model/plain_arrays.py",
            old="        array = _empty(file, entry)\n",
            new="        return np.lib.format.read_array(file, allow_pickle=True)\n",
        ),
    )

    def trials(self) -> Iterable[Trial]:
        n_trials, n_forgeries = self.workshop.pick(smoke=(1, 60), full=(10, 100))
        for number in range(n_trials):
            yield Trial(key=f"{number:03}", options={"forgeries": n_forgeries, "trained": bool(number % 2)})

    def set_up(self) -> None:
        self.native = strangers(self.workshop) / "library.sqlite"

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        scratch = self.workshop.scratch(self.name, trial.key)
        is_trained = trial.options["trained"]
        source = material.library(self.workshop, trained=True) if is_trained else self.native
        address = Path(shutil.copy(source, scratch / "library.sqlite"))
        model = scratch / "model.npz"
        Victim({"do": "export model", "library": str(address), "file": str(model), "model": None}).wait()
        names = self._write(scratch / "forgeries", model.read_bytes(), trial.options["forgeries"], random)
        before = contents_of(str(address))
        task = {"do": "models", "library": str(address), "folder": str(scratch / "forgeries"), "names": names}
        victim = Victim(task, module="torture.hostile.victim")
        with all_ended([victim]), MemoryWatch(victim.pid) as memory:
            try:
                found = victim.wait()
            except BrokenError as error:
                raise BrokenError(f"{(victim.result or {}).get('reading')}: {error}") from error
        check(not self._canaries(scratch), "a forged model was executed, or wrote outside its place")
        figures = self._judge(found, max(memory.peaks["parent"], found["peak"]) - found["start"])
        after = contents_of(str(address))
        for part in ("kinds of models", "encoders"):  # forgeries that are accepted are kept beside the model
            before.pop(part), after.pop(part)
        changes = difference(before, {name: part for name, part in after.items() if name in before})
        check(not changes, f"the library changed: {changes}")
        shutil.rmtree(scratch)
        return figures | {"forgeries": len(names)}

    def _write(self, folder: Path, model: bytes, n_forgeries: int, random: np.random.Generator) -> list[str]:
        folder.mkdir()
        forgeries = crafted(*read_model(model), canary=str(folder.parent / "canary"))
        for number in range(n_forgeries):
            kind, data = forge(model, random)
            forgeries[f"{kind} {number}"] = data
        for name, data in forgeries.items():
            (folder / f"{name}.npz").write_bytes(data)
        return [f"{name}.npz" for name in forgeries]

    def _canaries(self, scratch: Path) -> list[Path]:
        places = [
            scratch / "canary",
            scratch / "outside.npy",
            self.workshop.folder / "outside.npy",
            Path("/tmp/outside.npy"),
        ]
        return [path for path in places if path.exists()]

    def _judge(self, found: Figures, peak: int) -> Figures:
        files = found["files"]
        broken = []
        for name, outcome in files.items():
            reason = outcome.get("reason", "")
            if outcome["state"] not in ("refused", "accepted"):
                broken.append(f"{name}: {outcome['state']}: {reason}")
            elif "\n" in reason or len(reason) > MAX_REASON_CHARACTERS:
                broken.append(f"{name}: the reason is not a short line: {reason[:200]!r}")
        check(not broken, f"{len(broken)} forgeries: {' | '.join(broken[:12])}")
        hungriest = max(files, key=lambda name: files[name]["grew"])
        check(peak < PEAK_MB, f"the import grew by {peak} MB, most with {hungriest} ({files[hungriest]['grew']} MB)")
        return {
            "states": dict(Counter(outcome["state"] for outcome in files.values())),
            "hungriest": hungriest,
            "MB": peak,
        }

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        states: Counter[str] = Counter()
        for row in rows:
            states.update(row["states"])
        return {
            "forgeries": sum(row["forgeries"] for row in rows),
            "states": dict(states),
            "MB above its start": max((row["MB"] for row in rows), default=0),
        }
