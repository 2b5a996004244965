"""Options and report of a scan."""

from dataclasses import dataclass, field, fields

from nearsong.audio.excerpt import check_excerpt
from nearsong.errors import InvalidInputError
from nearsong.model.encoders import check_encoder_names
from nearsong.validation import check_count, check_positive


@dataclass(frozen=True)
class ScanOptions:
    """How to scan.

    Attributes
    ----------
    workers : int or None
        Processes that decode; by default one a processor.
    nice : int
        Priority of these processes: 0 (normal) to 19 (only when the machine is idle).
    timeout : float or None
        Seconds a file may take.
    prune : bool
        Whether songs whose file is gone are removed.
    retry : bool
        Whether unchanged files that could not be read last time, or were set aside, are tried again.
    keep_all : bool
        Whether nothing is set aside: files that were are analysed, and stay songs until they change.
    seed : int
        Of the sample that encoders are fitted on.
    encoders : sequence of str or None
        Names of the encoders whose vectors the library stores; vectors of others are deleted. By default those it
        has, and `nearsong.model.encoders.DEFAULT_ENCODERS` in a new library.
    excerpt : float or None
        Seconds from the middle of each song that are analysed, at least 10; 0 for complete songs. All songs of a
        library have the same: with another one they are analysed again. By default that of the library; complete
        songs in a new one.
    cluster : str or None
        Address of a Dask scheduler whose workers read, analyse and write instead of processes here; the library has
        to be in PostgreSQL.
    """

    workers: int | None = None
    nice: int = 0
    timeout: float | None = 600.0
    prune: bool = False
    retry: bool = False
    keep_all: bool = False
    seed: int = 0
    encoders: tuple[str, ...] | None = None
    excerpt: float | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            check_count(self.workers, "workers")
        if not 0 <= self.nice <= 19:
            raise InvalidInputError(f"nice={self.nice} is out of range; choose 0 (normal) to 19 (idle only).")
        if self.timeout is not None:
            check_positive(self.timeout, "timeout")
        check_count(self.seed, "seed", minimum=0)
        if self.encoders is not None:
            object.__setattr__(self, "encoders", check_encoder_names(self.encoders))
        if self.excerpt is not None:
            object.__setattr__(self, "excerpt", check_excerpt(self.excerpt))


@dataclass
class ScanReport:
    """What a scan found and did.

    Attributes
    ----------
    found : int
        Audio files below the folders: the sum of the next six, ``known_unreadable``, ``known_set_aside``, and the
        files ``unreadable`` and ``set_aside``.
    unchanged, added, changed, moved, copied, reanalysed : int
        Files as they were; new; with another content; known under another path; with the content of another file, so
        that they need no analysis; unchanged and analysed with another encoder or excerpt.
    missing, removed : int
        Songs of these folders whose file is gone: kept, or removed with ``prune``.
    known_unreadable : int
        Files that could not be read before, have not changed, and were left alone.
    known_set_aside : int
        Files that were set aside before, have not changed, and were left alone.
    unreadable : list of (str, str)
        Files that cannot be read, and why.
    set_aside : list of (str, str)
        Files without music, and why they are not compared with songs.
    damaged : list of (str, str)
        Files that could be used in part, and what is wrong with them.
    seconds : float
        Duration of the scan.
    """

    found: int = 0
    unchanged: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    copied: int = 0
    reanalysed: int = 0
    missing: int = 0
    removed: int = 0
    known_unreadable: int = 0
    known_set_aside: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    set_aside: list[tuple[str, str]] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, part: "ScanReport") -> None:
        """Add what was found in a part of the files."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(part, one.name))

    @property
    def analysed(self) -> int:
        """Songs that were decoded and encoded."""
        return self.added + self.changed + self.reanalysed
