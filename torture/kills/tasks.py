"""Tasks that are killed in each of their phases, and what must be true afterwards."""

import json
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from torture import material
from torture.attack import Workshop, check
from torture.contents import Contents, contents_of
from torture.warm.victim import Victim


class KilledTask(ABC):
    """A task on a library.

    Attributes
    ----------
    phases : tuple of str
        Stages of `torture.victim` in the order in which a chain of kills meets them.
    reference : dict
        Contents of the library after a run that was not disturbed.
    """

    name: ClassVar[str]
    phases: ClassVar[tuple[str, ...]]
    smoke_phases: ClassVar[tuple[str, ...]] = ()

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.reference: Contents = {}
        self._seconds: dict[str, float] = {}

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Fill an empty folder with what the task starts from."""

    @abstractmethod
    def command(self, folder: Path) -> dict[str, Any]:
        """Return the task for `torture.victim`."""

    def contents(self, folder: Path) -> Contents:
        """Return what is compared."""
        return contents_of(str(folder / "library.sqlite"))

    def check_killed(self, folder: Path) -> None:  # noqa: B027 - not every task leaves something to check
        """Check what must hold right after a kill, before anything is repaired."""

    def learn_reference(self) -> None:
        """Run the task undisturbed: its contents, and how long each phase takes."""

        def make(folder: Path) -> None:
            self.prepare(folder)
            victim = Victim(self.command(folder))
            victim.wait()
            (folder / "seconds.json").write_text(json.dumps(victim.stage_seconds))

        folder = self.workshop.material(f"reference-{self.name}".replace(" ", "-"), make)
        self.reference = self.contents(folder)
        self._seconds = json.loads((folder / "seconds.json").read_text())

    def phase_of(self, stage: str) -> str:
        """Return the phase that a stage belongs to: short ones count to the phase before."""
        return stage if stage in self.phases else "starting"

    def seconds_of(self, phase: str) -> float:
        """Return how long a phase took in the reference run; short ones a moment longer, to be met at all ages."""
        return max(self._seconds.get(phase, 0.0), 0.01)


class KilledScan(KilledTask):
    """A first scan with all default encoders."""

    name = "scan"
    phases = (
        "starting",
        "looking for music",
        "fitting the encoder",
        "fitting the encoder",
        "analysing songs",
        "analysing songs",
        "embedding songs",
    )
    smoke_phases = ("fitting the encoder", "analysing songs")

    def prepare(self, folder: Path) -> None:
        material.music(self.workshop)

    def command(self, folder: Path) -> dict[str, Any]:
        address, music = str(folder / "library.sqlite"), str(material.music(self.workshop))
        encoders = self.workshop.pick(smoke=["codewords", "gaussian"], full=None)
        return {"do": "scan", "library": address, "music": music, "encoders": encoders}


class KilledImport(KilledTask):
    """An import of a long listening history, beside one that was imported before."""

    name = "import"
    phases = ("starting", "reading listens", "reading listens", "reading listens")
    smoke_phases = ("reading listens",)

    def prepare(self, folder: Path) -> None:
        shutil.copy(material.library(self.workshop), folder / "library.sqlite")
        self._rows()

    def _rows(self) -> Path:
        return material.listens(self.workshop, self.workshop.pick(smoke=50_000, full=300_000))

    def command(self, folder: Path) -> dict[str, Any]:
        return {"do": "import", "library": str(folder / "library.sqlite"), "listens": str(self._rows())}

    def check_killed(self, folder: Path) -> None:
        found = self.contents(folder)["histories"]
        check(
            all(history in self.reference["histories"] for history in found) and len(found) >= 1,
            f"a killed import left {found}",
        )


class KilledTraining(KilledTask):
    """A training of a scanned library with listeners."""

    name = "train"
    phases = (
        "starting",
        "reading listens",
        "matching track names",
        "reading songs",
        "learning",
        "learning",
        "embedding songs",
    )
    smoke_phases = ("embedding songs",)

    def prepare(self, folder: Path) -> None:
        shutil.copy(material.library(self.workshop), folder / "library.sqlite")

    def command(self, folder: Path) -> dict[str, Any]:
        return {
            "do": "train",
            "library": str(folder / "library.sqlite"),
            "settings": material.QUICK_TRAINING,
        }

    def check_killed(self, folder: Path) -> None:
        _check_active_model(self.contents(folder))


class KilledUse(KilledTask):
    """Going back from the learned model to the native one, whose embeddings have to be computed again."""

    name = "models use"
    phases = ("starting", "use")

    def prepare(self, folder: Path) -> None:
        shutil.copy(material.library(self.workshop, trained=True), folder / "library.sqlite")

    def command(self, folder: Path) -> dict[str, Any]:
        return {"do": "use", "library": str(folder / "library.sqlite"), "model": 1}

    def phase_of(self, stage: str) -> str:
        return "use" if stage in ("use", "embedding songs") else "starting"

    def check_killed(self, folder: Path) -> None:
        _check_active_model(self.contents(folder))


class KilledModelImport(KilledTask):
    """An import of a model file into a library that has only scanned."""

    name = "models import"
    phases = ("starting", "import model")

    def prepare(self, folder: Path) -> None:
        shutil.copy(material.library(self.workshop), folder / "library.sqlite")
        self._model()

    def _model(self) -> Path:
        def make(folder: Path) -> None:
            source = str(material.library(self.workshop, trained=True))
            Victim({"do": "export model", "library": source, "model": 2, "file": str(folder / "model.npz")}).wait()

        return self.workshop.material("model", make) / "model.npz"

    def command(self, folder: Path) -> dict[str, Any]:
        return {"do": "import model", "library": str(folder / "library.sqlite"), "file": str(self._model())}

    def phase_of(self, stage: str) -> str:
        return "import model" if stage in ("import model", "embedding songs") else "starting"

    def check_killed(self, folder: Path) -> None:
        _check_active_model(self.contents(folder))


class KilledModelExport(KilledTask):
    """An export of a model over an older file."""

    name = "models export"
    phases = ("starting", "export model")
    OLD = b"an older export"

    def prepare(self, folder: Path) -> None:
        shutil.copy(material.library(self.workshop, trained=True), folder / "library.sqlite")
        (folder / "model.npz").write_bytes(self.OLD)

    def command(self, folder: Path) -> dict[str, Any]:
        address, file = str(folder / "library.sqlite"), str(folder / "model.npz")
        return {"do": "export model", "library": address, "model": 2, "file": file}

    def contents(self, folder: Path) -> Contents:
        return {**super().contents(folder), "file": (folder / "model.npz").read_bytes()}

    def check_killed(self, folder: Path) -> None:
        found = (folder / "model.npz").read_bytes()
        check(found in (self.OLD, self.reference["file"]), f"a killed export left a file of {len(found)} bytes")


def _check_active_model(found: Contents) -> None:
    songs, embedded = set(found["tags"]), set(found.get("embeddings", {}))
    check(found["active"] is not None, "no model is active after a kill")
    check(songs == embedded, f"{len(songs - embedded)} songs have no embedding under the active model after a kill")


TASKS: tuple[type[KilledTask], ...] = (
    KilledScan,
    KilledImport,
    KilledTraining,
    KilledUse,
    KilledModelImport,
    KilledModelExport,
)
