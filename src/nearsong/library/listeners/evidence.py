"""A store and a listener -> all that they did with songs and artists: plays, each once, hearts, ratings and skips.

What was recorded is read as it is now, whether or not it is a history already; what was imported or pulled is read
once for a snapshot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from nearsong.library.listeners.deduplicate import HistoryListens, ListenRows, portions
from nearsong.library.listeners.histories import rows_of_users
from nearsong.library.listeners.matching import SongCatalogue, match
from nearsong.library.listeners.same_track import named_tracks
from nearsong.library.store import PLAYED, Store
from nearsong.listens.records import Action, TrackName
from nearsong.names import visible_name

Ints = npt.NDArray[np.int64]

MAX_RECORDED_PLAYS = 1_000_000
"""Recorded plays of a listener that count; of more, the latest."""


_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.float32), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Rows of one history of one listener.

    Attributes
    ----------
    kind : str
        "counts" or "events".
    tracks : sequence of TrackName
        Of each row, (n,).
    plays : array of shape (n,)
        Plays, or the stars of a rating.
    time : array of int64 and shape (n,)
        Seconds since 1970; 0 if unknown.
    action : array of int8 and shape (n,)
    """

    kind: str
    tracks: Sequence[TrackName]
    plays: npt.NDArray[np.float32]
    time: Ints
    action: npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a listener did, in columns of n rows.

    Attributes
    ----------
    song, artist : arrays of int64 and shape (n,)
        Rows of the catalogue's songs and artists; -1 where there is none.
    action : array of int8 and shape (n,)
        An `Action`; listens that several histories report are there once.
    plays : array of float64 and shape (n,)
        Plays of a listen, stars of a rating.
    time : array of int64 and shape (n,)
        Seconds since 1970; 0 if unknown.
    """

    song: Ints
    artist: Ints
    action: npt.NDArray[np.int8]
    plays: npt.NDArray[np.float64]
    time: Ints

    @property
    def n_plays(self) -> int:
        """Number of plays of songs and artists of the library."""
        is_play = (self.action == Action.LISTEN) & (self.artist >= 0)
        return round(float(self.plays[is_play].sum()))


def imported_rows(store: Store, listener: str) -> list[NamedRows]:
    """Return the rows of a listener in each imported or pulled history."""
    number = store.listens.user_id(visible_name(listener))
    if number is None:
        return []
    histories = [history for history in store.listens.histories() if history.format != PLAYED]
    blocks_of = rows_of_users(store, histories, {}, [number])
    found = []
    for history in histories:
        for block in blocks_of.get(history.id, ()):
            ids, names = store.listens.names(block.name)
            tracks = [names[row] for row in np.searchsorted(ids, block.name).tolist()]
            found.append(
                NamedRows(kind=history.kind, tracks=tracks, plays=block.plays, time=block.time, action=block.action)
            )
    return found


def recorded_rows(store: Store, listener: str) -> NamedRows:
    """Return what was recorded of a listener, as it is now."""
    name = visible_name(listener)
    plays = store.plays.between(name, None, None, MAX_RECORDED_PLAYS)
    rows = [(play.track, 1, play.time, Action.LISTEN) for play in plays]
    rows += [(row.track, row.stars or 1, row.time, row.action) for row in store.reactions.all(name)]
    return NamedRows(
        kind="events",
        tracks=[row[0] for row in rows],
        plays=np.array([row[1] for row in rows], np.float32),
        time=np.array([row[2] for row in rows], np.int64),
        action=np.array([row[3] for row in rows], np.int8),
    )


def evidence_of(catalogue: SongCatalogue, histories: Sequence[NamedRows]) -> Evidence:
    """Match the rows of a listener's histories with the songs, and leave out listens that are there already.

    Parameters
    ----------
    catalogue : SongCatalogue
    histories : sequence of NamedRows
        Of one listener; a listen in two of them counts once, see `deduplicate`.
    """
    numbers: dict[TrackName, int] = {}
    names = [
        np.array([numbers.setdefault(track, len(numbers)) for track in rows.tracks], np.int32) for rows in histories
    ]
    tracks = list(numbers)
    matched = match(catalogue, tracks)
    sources = []
    others: list[tuple[Ints, npt.NDArray[np.int8], npt.NDArray[np.float32], Ints]] = [_NOTHING]
    for rows, name in zip(histories, names, strict=True):
        is_listen = rows.action == Action.LISTEN
        others.append(
            (
                name[~is_listen].astype(np.int64),
                rows.action[~is_listen],
                rows.plays[~is_listen],
                rows.time[~is_listen],
            )
        )
        if is_listen.any():
            user = np.zeros(int(is_listen.sum()), np.int32)
            sources.append(
                HistoryListens(rows.kind, user, name[is_listen], rows.plays[is_listen], rows.time[is_listen])
            )
    tracks_of = partial(named_tracks, matched, tracks)
    for _, counts, events in portions(sources, len(tracks), tracks_of):
        others += [_listens(counts), _listens(events)]
    name, action, plays, time = (np.concatenate(column) for column in zip(*others, strict=True))
    return Evidence(matched.song[name], matched.artist[name], action, plays.astype(np.float64), time)


def _listens(rows: ListenRows) -> tuple[Ints, npt.NDArray[np.int8], npt.NDArray[np.float32], Ints]:
    return rows.name.astype(np.int64), np.full(len(rows.name), Action.LISTEN, np.int8), rows.plays, rows.time
