"""The commands that a failing disk interrupts: what each needs, and what it writes."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torture.attack import Workshop, check
from torture.contents import Contents, contents_of
from torture.faults import Faults
from torture.material import listens, music
from torture.warm.start import Ended, WarmStart

N_ARTISTS, MANY_ARTISTS = 3, 27
"""Artists of the small library, and of one that can be trained."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A command that writes.

    Attributes
    ----------
    name : str
    base : str
        The library that it begins with: ``none``, ``scanned``, ``ready``, ``trained``.
    arguments : sequence of str
        Those of nearsong; ``{music}``, ``{listens}`` and ``{out}`` are replaced.
    export : str
        Name of the file that it writes; empty without one.
    share : int
        How many probes of a hundred it gets.
    n_artists : int
        Of the music and the listens.
    """

    name: str
    base: str
    arguments: Sequence[str]
    export: str = ""
    share: int
    n_artists: int = N_ARTISTS


TASKS = (
    Task(
        name="scan",
        base="none",
        arguments=("scan", "{music}", "--workers", "1", "--encoders", "gaussian,chroma"),
        share=26,
    ),
    Task(name="import", base="scanned", arguments=("listens", "import", "{listens}"), share=18),
    Task(
        name="train",
        base="trainable",
        arguments=("train", "--methods", "listener_space", "--splits", "3"),
        share=16,
        n_artists=MANY_ARTISTS,
    ),
    Task(name="use", base="trained", arguments=("models", "use", "1"), share=12, n_artists=MANY_ARTISTS),
    Task(name="export", base="scanned", arguments=("export", "{out}/model.npz"), export="model.npz", share=10),
    Task(
        name="playlist",
        base="scanned",
        arguments=("playlist", "1", "--length", "3", "--out", "{out}/evening.m3u8"),
        export="evening.m3u8",
        share=8,
    ),
    Task(name="map", base="scanned", arguments=("map", "--out", "{out}/map.html"), export="map.html", share=10),
)


class Bench:
    """Libraries, and commands that run on copies of them, with faults.

    Parameters
    ----------
    workshop : Workshop
    name : str
        Of the attack.
    """

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.workshop, self.name = workshop, name
        self.faults = Faults(workshop.folder / "faults", name)
        self.warm = WarmStart(workshop.scratch(f"{name}-commands"), self.faults.env)

    def close(self) -> None:
        """End all processes."""
        self.warm.close()
        self.faults.close()

    def base(self, name: str) -> Path:
        """Return the folder of a library to begin with; made once."""
        makers: dict[str, Callable[[Path], None]] = {
            "none": lambda _folder: None,
            "scanned": lambda folder: self._make(folder, TASKS[0].arguments),
            "ready": lambda folder: self._make(self._after("scanned", folder), TASKS[1].arguments),
            "trainable": lambda folder: self._make_trainable(folder),
            "trained": lambda folder: self._make(self._after("trainable", folder), TASKS[2].arguments, MANY_ARTISTS),
        }
        return self.workshop.material(f"bench-{name}", makers[name])

    def _after(self, name: str, folder: Path) -> Path:
        shutil.copytree(self.base(name), folder, dirs_exist_ok=True)
        return folder

    def _make_trainable(self, folder: Path) -> None:
        self._make(folder, TASKS[0].arguments, MANY_ARTISTS)
        self._make(folder, TASKS[1].arguments, MANY_ARTISTS)

    def _make(self, folder: Path, arguments: Sequence[str], n_artists: int = N_ARTISTS) -> None:
        ended = self.run(arguments, folder, n_artists)
        check(ended.code == 0, f"{' '.join(arguments)} failed without a fault: {ended.errors.strip()[-300:]}")

    def run(self, arguments: Sequence[str], folder: Path, n_artists: int = N_ARTISTS) -> Ended:
        """Run a command on the library of a folder, whose temporary files are in that folder too."""
        return self.warm.run(*self.words(arguments, folder, n_artists), env=self.env(folder))

    def words(self, arguments: Sequence[str], folder: Path, n_artists: int = N_ARTISTS) -> list[str]:
        """Return the arguments of a command on the library of a folder."""
        files = {
            "music": str(music(self.workshop, n_artists)),
            "listens": str(listens(self.workshop, 40 * n_artists, n_artists)),
            "out": str(folder),
        }
        return [*(word.format(**files) for word in arguments), "--library", str(folder / "library.sqlite")]

    @staticmethod
    def env(folder: Path) -> dict[str, str]:
        """Return the environment in which everything temporary is below a folder."""
        inside = folder / "tmp"
        inside.mkdir(exist_ok=True)
        return {"TMPDIR": str(inside), "XDG_CACHE_HOME": str(inside), "XDG_DATA_HOME": str(inside)}

    def fresh(self, base: str) -> Path:
        """Return a copy of a library in a folder that is the same for all probes, since files may hold its name."""
        folder = self.workshop.scratch(self.name)
        shutil.copytree(self.base(base), folder, dirs_exist_ok=True)
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        return folder

    @staticmethod
    def contents(folder: Path) -> Contents:
        """Return the contents of the library of a folder."""
        return contents_of(str(folder / "library.sqlite"))
