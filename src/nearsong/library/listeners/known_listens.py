"""What a model learned from -> the part of today's listens that it could know."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any, Self

from nearsong.library.listeners.deduplicate import HistoryListens


@dataclass(frozen=True)
class KnownListens:
    """Histories by name, and the newest listen, at the time of a training.

    Histories keep their name when they grow or are imported again, so of one with times the later rows are unknown;
    of one without times all rows count as known. What was imported later but is older counts as known too: a model is
    credited with too much rather than with too little.

    Attributes
    ----------
    histories : tuple of str
        Short hashes of their names.
    newest : int
        When the newest listen was, in seconds since 1970.
    """

    histories: tuple[str, ...]
    newest: int

    def part_of(self, name: str, listens: HistoryListens) -> HistoryListens:
        """Return the rows of a history that were known."""
        is_known = short_hash(name) in self.histories
        if is_known and listens.kind != "events":
            return listens
        rows = (listens.time <= self.newest) & is_known
        columns = {column: getattr(listens, column)[rows] for column in ("user", "name", "plays", "time")}
        return replace(listens, **columns)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Restore what :meth:`as_json` returned."""
        return cls(histories=tuple(facts["histories"]), newest=int(facts["newest"]))

    @classmethod
    def of(cls, names: Iterable[str], newest: int) -> Self:
        """Return the record of histories by their full names."""
        return cls(histories=tuple(sorted({short_hash(name) for name in names})), newest=newest)


def short_hash(name: str) -> str:
    """Return 8 letters that stand for the name of a history, which may be a path that others should not see."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
