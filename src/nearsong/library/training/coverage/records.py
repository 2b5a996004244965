"""What the last fit learned from, and what was left out, by reason: the record in reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Count:
    """A number of artists, and of songs."""

    artists: int
    songs: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What the last fit learns from.

    Attributes
    ----------
    min_listeners : int
        Listeners that an artist needs.
    used : Count
        Artists and songs that it learns from.
    ranked : Count
        Those whose rankings MLR learns from: a part of them where there are very many.
    library : Count
        All that there are.
    left_out : mapping of str to Count
        All others: "unplayed" (nobody plays the artist, or nobody knows it), "few_listeners", "not_reached" (artists
        beyond the limit, or not analysed) and "further" (more songs of the artists that are used). Used and left-out
        songs add up to the library's, and so do artists.
    """

    min_listeners: int
    used: Count
    ranked: Count
    library: Count
    left_out: Mapping[str, Count] = field(default_factory=dict)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Restore what ``asdict`` made of it."""
        left_out = {str(reason): Count(**count) for reason, count in facts["left_out"].items()}
        counts = {name: Count(**facts[name]) for name in ("used", "ranked", "library")}
        return cls(min_listeners=int(facts["min_listeners"]), left_out=left_out, **counts)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON-serialisable values."""
        return asdict(self)
