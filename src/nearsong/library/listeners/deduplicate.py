"""Listens of users from several histories -> each listen once, sorted by user and time.

Two histories may record the same listen differently: one has MBIDs and the other does not, one has seconds and the
other only minutes. So listens are compared by the track that is meant, not by spelling. Everything that counts
listens counts what is left here. Rows are processed for a range of users at a time, so that twenty million of them
fit in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.library.listeners.same_track import NamedTracks

PORTION_ROWS = 4_000_000
"""Rows processed at a time; the rows of one user are never split."""

SAME_LISTEN_SECONDS = 60
"""Largest difference between the times of one listen in two histories: some have a resolution of minutes."""


@dataclass(frozen=True, eq=False)
class HistoryListens:
    """Rows of a listening history.

    Attributes
    ----------
    kind : str
        "counts" (play counts), "events" (single listens with times) or "playlists".
    user, name : ndarrays of int32 and shape (n,)
        User (or playlist) and track name of each row, numbered from 0; the same numbers in all histories.
    plays : ndarray of float32 and shape (n,)
        Play counts.
    time : ndarray of int64 and shape (n,)
        Seconds since 1970; 0 if unknown.
    """

    kind: str
    user: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.user)


class ListenRows(NamedTuple):
    """Listens of a range of users, numbered from 0, in columns of equal length.

    ``user``, ``name``, ``plays`` and ``time`` are as in :class:`HistoryListens`; ``source`` is the number of the
    row's history.
    """

    user: npt.NDArray[Any]
    name: npt.NDArray[Any]
    plays: npt.NDArray[Any]
    time: npt.NDArray[Any]
    source: npt.NDArray[Any]

    def at(self, rows: npt.NDArray[Any]) -> "ListenRows":
        """Return the rows selected by a mask or by indices."""
        if rows.dtype == bool and rows.all():
            return self  # avoids a copy
        return ListenRows(*(column[rows] for column in self))


TracksOf = Callable[[npt.NDArray[np.bool_]], NamedTracks]
"""A mask of the names that have to be compared -> what all names mean."""


def portions(
    sources: Sequence[HistoryListens], n_names: int, tracks_of: TracksOf
) -> Iterator[tuple[int, ListenRows, ListenRows]]:
    """Yield (number of users, rows that are not events, deduplicated sorted events), a range of users at a time.

    Parameters
    ----------
    sources : sequence of HistoryListens
        None of them empty.
    n_names : int
        Number of track names.
    tracks_of : callable
        Only called if a user is in two histories with events.
    """
    if not sources:
        return
    n_users = 1 + max(int(source.user.max()) for source in sources)
    events = [source for source in sources if source.kind == "events"]
    counts = [source for source in sources if source.kind != "events"]
    compared = _compared_names(events, n_users, n_names)
    tracks = None if compared is None else tracks_of(compared)
    rows_until = np.zeros(n_users, np.int64)
    for source in sources:
        rows_until += np.bincount(source.user, minlength=n_users)
    np.cumsum(rows_until, out=rows_until)
    cuts = np.searchsorted(rows_until, np.arange(PORTION_ROWS, rows_until[-1], PORTION_ROWS)) + 1
    edges = np.unique([0, *cuts, n_users]).tolist()
    for low, high in pairwise(edges):
        yield high - low, _users_between(counts, low, high), deduplicate(_users_between(events, low, high), tracks)


def _compared_names(events: Sequence[HistoryListens], n_users: int, n_names: int) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the names of users who are in two histories; None if there is no such user."""
    n_histories = np.zeros(n_users, np.int32)
    for source in events:
        n_histories += np.bincount(source.user, minlength=n_users) > 0
    shared = n_histories > 1
    if not shared.any():
        return None
    compared = np.zeros(n_names, bool)
    for source in events:
        compared[source.name[shared[source.user]]] = True
    return compared


def _users_between(sources: Sequence[HistoryListens], low: int, high: int) -> ListenRows:
    """Return the rows of a range of users; rows with no plays are left out."""
    pieces = []
    for number, source in enumerate(sources):
        wanted = source.plays > 0
        if low > 0:
            wanted &= source.user >= low
        wanted &= source.user < high
        numbers = np.broadcast_to(np.int32(number), len(source))  # a view: takes no memory
        rows = ListenRows(source.user, source.name, source.plays, source.time, numbers).at(wanted)
        pieces.append(rows._replace(user=rows.user - np.int32(low)))
    return joined(pieces)


def joined(pieces: Sequence[ListenRows]) -> ListenRows:
    """Return all rows."""
    if len(pieces) == 1:
        return pieces[0]
    kinds = (np.int32, np.int32, np.float32, np.int64, np.int32)
    columns = ([np.empty(0, kind), *(piece[index] for piece in pieces)] for index, kind in enumerate(kinds))
    return ListenRows(*(np.concatenate(column) for column in columns))


def deduplicate(events: ListenRows, tracks: NamedTracks | None) -> ListenRows:
    """Sort events by user and time, and keep each listen once.

    Parameters
    ----------
    events : ListenRows
        Rows in the order of their histories.
    tracks : NamedTracks or None
        What each name means; None if no user is in two histories.

    Returns
    -------
    ListenRows
        Without rows that repeat user, name and time of another, and without those that another history also has:
        same user, same track, at most `SAME_LISTEN_SECONDS` apart. Of these the row with the least vague name stays,
        then that of the earliest history. Rows without a time are kept.

    Examples
    --------
    >>> columns = ([0, 0, 0], [0, 1, 1], [1, 1, 1], [600, 630, 900], [0, 1, 1])
    >>> rows = ListenRows(*(np.array(column) for column in columns))
    >>> deduplicate(rows, NamedTracks(track=np.array([7, 7]), vagueness=np.array([0, 0]))).time.tolist()
    [600, 900]
    """
    if not len(events.user):
        return events
    events = _without_repetitions(_sorted(events))
    repeated = None if tracks is None else _in_a_better_history(events, tracks)
    return events if repeated is None else events.at(~repeated)


def _sorted(events: ListenRows) -> ListenRows:
    first, last = int(events.time.min()), int(events.time.max())
    span = last - first + 1
    if (int(events.user.max()) + 1) * span < 2**63:  # sorting one combined key is much faster
        when = events.time - first
        when += events.user.astype(np.int64) * span
        return events.at(np.argsort(when, kind="stable"))
    return events.at(np.lexsort((events.time, events.user)))


def _without_repetitions(events: ListenRows) -> ListenRows:
    """Keep one of the rows with the same user, time and name."""
    same = (events.user[1:] == events.user[:-1]) & (events.time[1:] == events.time[:-1]) & (events.time[1:] > 0)
    if not same.any():
        return events
    candidates = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = events.at(candidates)
    by_name = np.lexsort((rows.name, rows.time, rows.user))
    rows = rows.at(by_name)
    repeated = np.zeros(len(candidates), bool)
    repeated[1:] = (
        (rows.user[1:] == rows.user[:-1]) & (rows.time[1:] == rows.time[:-1]) & (rows.name[1:] == rows.name[:-1])
    )
    is_first = np.ones(len(events.user), bool)
    is_first[candidates[by_name[repeated]]] = False
    return events.at(is_first)


def _in_a_better_history(events: ListenRows, tracks: NamedTracks) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the events that another history has, earlier or less vague; None if no user is in two."""
    begins = np.append(True, events.user[1:] != events.user[:-1])
    starts = np.flatnonzero(begins)
    several = np.minimum.reduceat(events.source, starts) < np.maximum.reduceat(events.source, starts)
    if not several.any():
        return None
    rows = np.flatnonzero(several[np.cumsum(begins) - 1] & (events.time > 0))
    user, time, source = events.user[rows], events.time[rows], events.source[rows]
    name = events.name[rows]
    track = tracks.track[name]
    rank = tracks.vagueness[name] * (int(source.max(initial=0)) + 1) + source
    order = np.lexsort((time, track, user))
    rows, user, time, source, track, rank = (column[order] for column in (rows, user, time, source, track, rank))
    repeated = np.zeros(len(events.user), bool)
    # compare each row with the one 1, 2, 3 ... rows later while they are close in time: few remain after step 1
    near, step = np.arange(len(rows)), 0
    while len(near):
        step += 1
        near = near[near + step < len(rows)]
        other = near + step
        alike = (user[near] == user[other]) & (track[near] == track[other])
        alike &= time[other] - time[near] <= SAME_LISTEN_SECONDS
        near, other = near[alike], other[alike]
        differ = source[near] != source[other]  # a history may have a song twice within the minute
        repeated[rows[other[differ & (rank[near] < rank[other])]]] = True
        repeated[rows[near[differ & (rank[other] < rank[near])]]] = True
    return repeated
