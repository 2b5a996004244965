"""What every attack has in common: a bounded list of trials, each of which holds or finds something broken."""

import hashlib
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

Profile = Literal["smoke", "full"]
Figures = dict[str, Any]
Choice = TypeVar("Choice")


class BrokenError(Exception):
    """An attack succeeded: something was lost, crashed, hung or grew without limit."""


def check(holds: bool, what: str) -> None:
    """Raise `BrokenError` with what is wrong unless a claim holds."""
    if not holds:
        raise BrokenError(what)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One attempt; ``key`` names it within its attack, and with the seed determines every random choice."""

    key: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A mutation of one source file that an attack must find.

    ``old`` must occur exactly once in ``file`` (relative to ``src``), so that no defect silently stops being one.
    """

    name: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Where attacks work.

    Attributes
    ----------
    folder : Path
        A folder of the run's own; nothing outside it is written.
    profile : {"smoke", "full"}
        How much is tried.
    seed : int
        Of every random choice.
    """

    folder: Path
    profile: Profile
    seed: int

    def pick(self, *, smoke: Choice, full: Choice) -> Choice:
        """Return the value for the profile."""
        return smoke if self.profile == "smoke" else full

    def random(self, *names: str) -> np.random.Generator:
        """Return a generator that depends on the seed and some names, and on nothing else."""
        digest = hashlib.blake2b("\0".join(names).encode(), digest_size=8).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest)])

    def material(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return a folder that is filled once and read by many trials; a run that was stopped fills it again."""
        target = self.folder / "material" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=target.parent))
            make(unfinished)
            os.replace(unfinished, target)
        return target

    def scratch(self, *names: str) -> Path:
        """Return an empty folder for a trial."""
        target = self.folder.joinpath("scratch", *names)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        return target


class Attack(ABC):
    """An attack: set up, a bounded number of trials, tear down, and a verdict over all of them.

    Parameters
    ----------
    workshop : Workshop
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What is done, in one line of a report."""
    lanes: ClassVar[int] = 1
    """Trials that run at the same time, in threads."""
    defects: ClassVar[tuple[Defect, ...]] = ()
    """Mutations that the smoke profile of this attack finds; at least one."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop

    @abstractmethod
    def trials(self) -> Iterable[Trial]:
        """Return all trials, in order; their number is fixed by the profile and the seed."""

    def set_up(self) -> None:  # noqa: B027 - most attacks need nothing
        """Prepare what the trials share; also called when a run continues."""

    def tear_down(self) -> None:  # noqa: B027
        """End what `set_up` started, whatever happened."""

    @abstractmethod
    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        """Run a trial; return its figures, or raise `BrokenError`."""

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        """Return the figures of a complete run, for the report; raise `BrokenError` where it falls short."""
        return {}
