"""Records of listening histories and of how much of them the library has; nothing here needs arrays."""

from dataclasses import dataclass
from typing import Any

from nearsong.library.store.light.records import PLAYED
from nearsong.names import count

NOT, BY_RECORDING, BY_TITLE, BY_ARTIST = range(4)
WAYS = ("not found", "recording MBID", "artist and title", "artist")
"""Descriptions of the codes in `nearsong.library.listeners.matching.Matched.how`."""


@dataclass(frozen=True)
class MatchReport:
    """How much of a listening history was matched with the library.

    Attributes
    ----------
    plays_matched, plays_unmatched : float
    plays_by_way, names_by_way : dict
        Number of plays, and of names, for each of `WAYS`.
    most_played_unmatched : list of (name, plays)
        By decreasing plays, ties in the order of the names.
    songs, artists : int
        How many the library has.
    common_artists : tuple of str
        Those with the most songs.
    is_swapped : bool
        Whether none of the names matches, and some do with artist and title exchanged.
    """

    plays_matched: float
    plays_unmatched: float
    plays_by_way: dict[str, float]
    names_by_way: dict[str, int]
    most_played_unmatched: list[tuple[str, float]]
    songs: int = 0
    artists: int = 0
    common_artists: tuple[str, ...] = ()
    is_swapped: bool = False

    @property
    def plays(self) -> float:
        """Number of plays, matched or not."""
        return self.plays_matched + self.plays_unmatched

    @property
    def share(self) -> float:
        """Share of the plays that are matched; 0 without any."""
        return self.plays_matched / self.plays if self.plays else 0.0

    @property
    def names_matched(self) -> int:
        """Number of names that match a song or artist of the library."""
        return sum(self.names_by_way.values()) - self.names_unmatched

    @property
    def names_unmatched(self) -> int:
        """Number of names that match nothing in the library."""
        return self.names_by_way[WAYS[NOT]]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON-serialisable values."""
        return {
            "plays_matched": self.plays_matched,
            "plays_unmatched": self.plays_unmatched,
            "plays_by_way": self.plays_by_way,
            "names_by_way": self.names_by_way,
            "most_played_unmatched": [{"name": name, "plays": plays} for name, plays in self.most_played_unmatched],
        }


@dataclass(frozen=True, kw_only=True)
class HistoryFacts:
    """A listening history and its listeners.

    Attributes
    ----------
    id, name, format, kind, rows, imported
        As in `nearsong.library.store.History`.
    n_users : int
        Users, or playlists, whose rows it has.
    users : tuple of str
        The names of some users, sorted; none of playlists.
    """

    id: int
    name: str
    format: str
    kind: str
    rows: int
    imported: float
    n_users: int
    users: tuple[str, ...]

    def is_of(self, listener: str) -> bool:
        """Return whether somebody imported it for this listener, and it has nobody else's rows."""
        if self.format == PLAYED:
            return False
        if self.kind == "playlists":
            return is_history_of(self.name, self.kind, listener)
        return self.n_users == 1 and self.users == (listener,)

    @property
    def whose(self) -> str:
        """Whose rows it has, in a few words."""
        if self.kind == "playlists":
            return count(self.n_users, "playlist")
        return ", ".join(self.users) if self.n_users == len(self.users) else count(self.n_users, "listener")


@dataclass(frozen=True)
class MatchList:
    """All listening histories, and how much of each the library has.

    Attributes
    ----------
    histories : tuple of HistoryFacts
        The oldest first.
    shares : dict
        Id of a history -> share of its plays that are matched; without those that have no plays.
    report : MatchReport
        Of all histories together.
    """

    histories: tuple[HistoryFacts, ...]
    shares: dict[int, float]
    report: MatchReport


def is_history_of(name: str, kind: str, user: str) -> bool:
    """Return whether a history has the name of one that was imported for a user.

    >>> is_history_of("/a.zip (ann) (playlists)", "playlists", "ann"), is_history_of("/ann.csv", "events", "ann")
    (True, False)
    """
    ends = (f" ({user}) ({kind})",) if user == kind else (f" ({user})", f" ({user}) ({kind})")
    return name.endswith(ends)
