"""Listens of some users from several histories -> each listen once, sorted by user and time.

Two histories may record the same listen differently: one has MBIDs and the other does not, one has seconds and the
other only minutes. So listens are compared by the matched song, not by spelling.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SAME_LISTEN_SECONDS = 60
"""Largest difference between the times of one listen in two histories: some have a resolution of minutes."""


class ListenRows(NamedTuple):
    """Listens of a range of users, numbered from 0, in columns of equal length.

    ``user``, ``name``, ``plays`` and ``time`` are as in :class:`nearsong.library.listeners.matrices.HistoryListens`;
    ``source`` is the number of the row's history.
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


def deduplicate(events: ListenRows, meaning: npt.NDArray[np.int64]) -> ListenRows:
    """Sort events by user and time, and keep each listen once.

    Parameters
    ----------
    events : ListenRows
        Rows in the order of their histories.
    meaning : ndarray of int64 and shape (n_names,)
        Identifies the track of each name: all spellings of a song have the same number.

    Returns
    -------
    ListenRows
        Without rows that repeat user, name and time of another, and without those that an earlier history also has:
        same user, same meaning, at most `SAME_LISTEN_SECONDS` apart. Rows without a time are kept.

    Examples
    --------
    >>> columns = ([0, 0, 0], [0, 1, 1], [1, 1, 1], [600, 630, 900], [0, 1, 1])
    >>> rows = ListenRows(*(np.array(column) for column in columns))
    >>> deduplicate(rows, meaning=np.array([7, 7])).time.tolist()
    [600, 900]
    """
    if not len(events.user):
        return events
    events = _without_repetitions(_sorted(events))
    repeated = _in_an_earlier_history(events, meaning)
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


def _in_an_earlier_history(events: ListenRows, meaning: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the events that an earlier history also has; None if no user is in two histories."""
    begins = np.append(True, events.user[1:] != events.user[:-1])
    starts = np.flatnonzero(begins)
    several = np.minimum.reduceat(events.source, starts) < np.maximum.reduceat(events.source, starts)
    if not several.any():
        return None
    rows = np.flatnonzero(several[np.cumsum(begins) - 1] & (events.time > 0))
    user, time, source = events.user[rows], events.time[rows], events.source[rows]
    meant = meaning[events.name[rows]]
    order = np.lexsort((time, meant, user))
    rows, user, time, source, meant = (column[order] for column in (rows, user, time, source, meant))
    repeated = np.zeros(len(events.user), bool)
    # compare each row with the one 1, 2, 3 ... rows later while they are close in time: few remain after step 1
    near, step = np.arange(len(rows)), 0
    while len(near):
        step += 1
        near = near[near + step < len(rows)]
        other = near + step
        alike = (user[near] == user[other]) & (meant[near] == meant[other])
        alike &= time[other] - time[near] <= SAME_LISTEN_SECONDS
        near, other = near[alike], other[alike]
        repeated[rows[other[source[near] < source[other]]]] = True
        repeated[rows[near[source[other] < source[near]]]] = True
    return repeated
