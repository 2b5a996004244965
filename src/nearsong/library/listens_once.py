"""Listens of some users from several histories -> each listen once, sorted by user and time.

Two histories tell of one listen in different words: one has MBIDs and the other none, one has seconds and the other
only minutes. So histories are compared by what was meant, not by how it was spelled.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SAME_LISTEN = 60
"""Seconds that two histories may be apart about one listen: some of them know minutes only."""


class Rows(NamedTuple):
    """Rows of a portion of users, who are numbered from 0 on; columns of equal length.

    ``user``, ``name``, ``plays`` and ``time`` are as in :class:`nearsong.library.listeners.SourceListens`; ``source``
    is the number of the history that a row is from.
    """

    user: npt.NDArray[Any]
    name: npt.NDArray[Any]
    plays: npt.NDArray[Any]
    time: npt.NDArray[Any]
    source: npt.NDArray[Any]

    def at(self, places: npt.NDArray[Any]) -> "Rows":
        """Return some of the rows."""
        if places.dtype == bool and places.all():
            return self  # nothing is copied
        return Rows(*(column[places] for column in self))


def each_once(events: Rows, meaning: npt.NDArray[np.int64]) -> Rows:
    """Sort events by user and time, and keep each listen once.

    Parameters
    ----------
    events : Rows
        Those of an earlier history first.
    meaning : ndarray of int64 and shape (n_names,)
        What each name means; spellings of one song mean the same.

    Returns
    -------
    Rows
        Without those that have user, name and time of another, and without those that an earlier history has too:
        by the same user, of the same meaning, at most `SAME_LISTEN` seconds apart. Rows whose time is not known stay.

    Examples
    --------
    >>> columns = ([0, 0, 0], [0, 1, 1], [1, 1, 1], [600, 630, 900], [0, 1, 1])
    >>> rows = Rows(*(np.array(column) for column in columns))
    >>> each_once(rows, meaning=np.array([7, 7])).time.tolist()
    [600, 900]
    """
    if not len(events.user):
        return events
    events = _without_repetitions(_sorted(events))
    again = _in_an_earlier_history(events, meaning)
    return events if again is None else events.at(~again)


def _sorted(events: Rows) -> Rows:
    first, last = int(events.time.min()), int(events.time.max())
    span = last - first + 1
    if (int(events.user.max()) + 1) * span < 2**63:  # one number for both is sorted much faster
        when = events.time - first
        when += events.user.astype(np.int64) * span
        return events.at(np.argsort(when, kind="stable"))
    return events.at(np.lexsort((events.time, events.user)))


def _without_repetitions(events: Rows) -> Rows:
    """Keep one of those with the same user, time and name."""
    same = (events.user[1:] == events.user[:-1]) & (events.time[1:] == events.time[:-1]) & (events.time[1:] > 0)
    if not same.any():
        return events
    together = np.flatnonzero(np.append(same, False) | np.append(False, same))
    some = events.at(together)
    by_name = np.lexsort((some.name, some.time, some.user))
    some = some.at(by_name)
    again = np.zeros(len(together), bool)
    again[1:] = (
        (some.user[1:] == some.user[:-1]) & (some.time[1:] == some.time[:-1]) & (some.name[1:] == some.name[:-1])
    )
    kept = np.ones(len(events.user), bool)
    kept[together[by_name[again]]] = False
    return events.at(kept)


def _in_an_earlier_history(events: Rows, meaning: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
    """Say which events an earlier history has too; None if no user is in two histories."""
    begins = np.append(True, events.user[1:] != events.user[:-1])
    starts = np.flatnonzero(begins)
    several = np.minimum.reduceat(events.source, starts) < np.maximum.reduceat(events.source, starts)
    if not several.any():
        return None
    places = np.flatnonzero(several[np.cumsum(begins) - 1] & (events.time > 0))
    user, time, source = events.user[places], events.time[places], events.source[places]
    meant = meaning[events.name[places]]
    order = np.lexsort((time, meant, user))
    places, user, time, source, meant = (column[order] for column in (places, user, time, source, meant))
    again = np.zeros(len(events.user), bool)
    # each row is compared with the next but 0, 1, 2 ... as long as those are near: few are after the first round
    near, step = np.arange(len(places)), 0
    while len(near):
        step += 1
        near = near[near + step < len(places)]
        other = near + step
        alike = (user[near] == user[other]) & (meant[near] == meant[other])
        alike &= time[other] - time[near] <= SAME_LISTEN
        near, other = near[alike], other[alike]
        again[places[other[source[near] < source[other]]]] = True
        again[places[near[source[other] < source[near]]]] = True
    return again
