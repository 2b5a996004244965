"""A library's listening histories -> whose they are, how much of each the library has, and that in words."""

import threading
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache, cached

from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import is_history_of
from nearsong.library.listeners.matching import MatchReport
from nearsong.library.store import PLAYED, Store
from nearsong.names import count

MAX_NAMED_USERS = 3
MAX_NAMED_TRACKS = 5
LOW_SHARE = 0.1
"""Below this share of matched plays a report says what can be done."""

N_REPORTED_NAMES = 10


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


def history_list(store: Store) -> list[HistoryFacts]:
    """Return all histories, the oldest first."""
    users_of = store.listens.users_of_histories()
    people = [history.id for history in store.listens.histories() if history.kind != "playlists"]
    named = {history: np.sort(users_of[history])[:MAX_NAMED_USERS] for history in people if history in users_of}
    names = store.listens.user_names(np.concatenate(list(named.values()))) if named else {}
    return [
        HistoryFacts(
            id=history.id,
            name=history.name,
            format=history.format,
            kind=history.kind,
            rows=history.rows,
            imported=history.imported,
            n_users=len(users_of.get(history.id, ())),
            users=tuple(sorted(names[user] for user in named.get(history.id, ()) if user in names)),
        )
        for history in store.listens.histories()
    ]


@cached(LRUCache(4), key=lambda store: (store.address, store.version_stamp()), lock=threading.Lock())
def history_matches(store: Store) -> dict[int, MatchReport]:
    """Return how much of each history the library has, by id; computed again when the library changes."""
    histories = Histories(store)
    return {history.id: histories.report([history.id], N_REPORTED_NAMES) for history in histories.histories}


def match_sentences(report: MatchReport) -> list[str]:
    """Return how much of a history the library has; where that is little, what is missing and what to do.

    Parameters
    ----------
    report : MatchReport

    Returns
    -------
    list of str
        Empty without plays, such as for hearts alone.

    Examples
    --------
    >>> from nearsong.library.listeners.matching import WAYS
    >>> ways = dict(zip(WAYS, (2, 0, 0, 0)))
    >>> unmatched = [("Can - Yoo Doo Right", 5), ("Neu!", 4)]
    >>> for line in match_sentences(MatchReport(0, 9, ways, ways, unmatched))[:-1]:
    ...     print(line)
    None of 2 track names is in the library (9 plays).
    Most played: Can - Yoo Doo Right (5); Neu! (4).
    The library has no songs yet.
    """
    if not report.plays:
        return []
    if not report.names_matched:
        sentences = [_nothing(report)]
    else:
        ways = [f"{n:,} by {way}" for way, n in report.names_by_way.items() if n and way != "not found"]
        names = f"{count(report.names_matched, 'track name')}: {', '.join(ways)}"
        sentences = [f"{share_words(report.share)} of {count(report.plays, 'play')} found in the library ({names})."]
    if unmatched := report.most_played_unmatched[:MAX_NAMED_TRACKS]:
        most_played = "; ".join(f"{name} ({plays:,.0f})" for name, plays in unmatched)
        before = f"{count(report.names_unmatched, 'track name')} not found. " if report.names_matched else ""
        sentences.append(f"{before}Most played: {most_played}.")
    return sentences if report.share >= LOW_SHARE else [*sentences, *_next_steps(report)]


def share_words(share: float) -> str:
    """Return a share in percent; not 0 % for a little, nor 100 % for nearly all.

    >>> [share_words(share) for share in (0, 0.001, 0.5, 0.999, 1)]
    ['0%', 'less than 1%', '50%', 'more than 99%', '100%']
    """
    if 0 < share < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.99 < share < 1 else f"{share:.0%}"


def _nothing(report: MatchReport) -> str:
    plays = count(report.plays, "play")
    if report.names_unmatched == 1:
        return f"The only track name is not in the library ({plays})."
    return f"None of {report.names_unmatched:,} track names is in the library ({plays})."


def _next_steps(report: MatchReport) -> list[str]:
    if not report.songs:
        return [
            "The library has no songs yet.",
            "Next: scan a folder of music. The history stays, and is matched again after each scan.",
        ]
    which = ": " if report.artists == len(report.common_artists) else ", such as "
    by = f" by {count(report.artists, 'artist')}{which}{', '.join(report.common_artists)}" if report.artists else ""
    library = f"The library has {count(report.songs, 'song')}{by or ', none of which names its artist'}."
    if report.is_swapped:
        return [
            library,
            "Next: artist and title seem to be swapped; exchange these columns and import the file again.",
        ]
    if not report.artists:
        return [library, "Next: give the files artist and title tags, and scan again."]
    return [
        library,
        "Next: scan the folder that has this music, or import the history of somebody who plays what is here. "
        "Histories are matched again after each scan.",
    ]
