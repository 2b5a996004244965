"""What a scan is asked for, and what it found and did."""

from dataclasses import dataclass, field

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count, check_positive


@dataclass(frozen=True)
class ScanOptions:
    """How to scan.

    Attributes
    ----------
    workers : int or None
        Processes that decode; by default one a processor.
    nice : int
        How far they stand back for other programs.
    timeout : float or None
        Seconds a file may take.
    prune : bool
        Whether songs whose file is gone are forgotten.
    retry : bool
        Whether files that could not be read last time are tried again though they have not changed.
    seed : int
        Of the codebook's sample.
    """

    workers: int | None = None
    nice: int = 0
    timeout: float | None = 600.0
    prune: bool = False
    retry: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.workers is not None:
            check_count(self.workers, "workers")
        if not 0 <= self.nice <= 19:
            raise InvalidInputError(
                f"nice={self.nice} cannot be; choose 0 (like others) to 19 (when all others rest)."
            )
        if self.timeout is not None:
            check_positive(self.timeout, "timeout")
        check_count(self.seed, "seed", minimum=0)


@dataclass
class ScanReport:
    """What a scan found and did.

    Attributes
    ----------
    found : int
        Audio files below the folders: the sum of the next six, ``known_unreadable`` and the files ``unreadable``.
    unchanged, added, changed, moved, copied, reheard : int
        Files as they were; new; with another content; known under another path; the same as another one, which
        therefore need not be heard; heard again with another codebook.
    missing, removed : int
        Songs of these folders whose file is gone: kept, or forgotten because that was asked for.
    known_unreadable : int
        Files that gave no sound before, have not changed, and were left alone.
    unreadable : list of (str, str)
        Files that give no sound, and why.
    damaged : list of (str, str)
        Files that could be used in part, and what is wrong with them.
    seconds : float
        How long it took.
    """

    found: int = 0
    unchanged: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    copied: int = 0
    reheard: int = 0
    missing: int = 0
    removed: int = 0
    known_unreadable: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def heard(self) -> int:
        """Songs that were decoded and encoded."""
        return self.added + self.changed + self.reheard
