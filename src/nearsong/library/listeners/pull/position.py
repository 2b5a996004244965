"""The pull position: how far a pull has come and which times are still to be fetched, as text in the library."""

import json
from dataclasses import dataclass, replace
from typing import NamedTuple

OVERLAP_SECONDS = 86_400
"""A pull asks again for the last day before the newest listen: players hand in late what they played offline."""

EARLIEST_TIME = 100_000_000
"""No history has times before 1973."""

MAX_GAPS = 20
"""Interrupted pulls that are remembered apart; beyond, the oldest are fetched again as one."""


class Gap(NamedTuple):
    """Times that are still to be fetched: from ``after`` up to but without ``before``, None for now."""

    after: int
    before: int | None


@dataclass(frozen=True)
class PullPosition:
    """How far a pull has come.

    Attributes
    ----------
    listener : str
        Whose listens these are in the library.
    newest : int
        Time of the newest listen.
    gaps : tuple of Gap
        What is still to be fetched, the newest first.

    Examples
    --------
    >>> PullPosition("ann").with_news().gaps
    (Gap(after=100000000, before=None),)
    >>> PullPosition("ann", newest=1_700_000_000).with_news().gaps
    (Gap(after=1699913600, before=None),)
    """

    listener: str
    newest: int = 0
    gaps: tuple[Gap, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> "PullPosition":
        """Return the position that :attr:`text` describes."""
        facts = json.loads(text)
        return cls(facts["listener"], facts["newest"], tuple(Gap(*gap) for gap in facts["gaps"]))

    @property
    def text(self) -> str:
        """The position as text."""
        return json.dumps({"listener": self.listener, "newest": self.newest, "gaps": self.gaps}, ensure_ascii=False)

    def with_news(self) -> "PullPosition":
        """Return the position with everything since the newest listen as the first gap."""
        after = max(EARLIEST_TIME, self.newest - OVERLAP_SECONDS)
        gaps = [Gap(after, None), *self.gaps]
        if len(gaps) > MAX_GAPS:
            older = gaps[MAX_GAPS - 1 :]
            gaps[MAX_GAPS - 1 :] = [Gap(min(gap.after for gap in older), older[0].before)]
        return replace(self, gaps=tuple(gaps))

    def reached(self, newest: int, before: int | None) -> "PullPosition":
        """Return the position after a page: the first gap now ends at ``before``, or is closed with None."""
        first, *others = self.gaps
        rest = (*others,) if before is None or before <= first.after else (Gap(first.after, before), *others)
        return replace(self, newest=max(self.newest, newest), gaps=rest)
