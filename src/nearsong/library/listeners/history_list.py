"""A library's listening histories -> whose they are, and how much of each the library has."""

import threading
from contextlib import suppress

import numpy as np
from cachetools import LRUCache, cached

from nearsong.errors import DatabaseError
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.matches.records import HistoryFacts, MatchList, MatchReport
from nearsong.library.listeners.matches.stored import MATCHES, keep_matches, recorded_state, state_of, stored_matches
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.store import Store

MAX_NAMED_USERS = 3
N_REPORTED_NAMES = 10
MAX_REFRESHED_SONGS = 200_000
"""Above, matching takes several seconds, which is left to who asks for the list."""


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


def match_list(store: Store, imported: list[int] | None = None) -> tuple[MatchList, MatchReport]:
    """Return how much of all histories the library has, and of those just imported; keep the first in the library.

    What was recorded becomes a history first, so that it has an id, by which it can be removed.
    """
    recorded = recorded_state(store)
    PlayLog(store).update_history()
    state = state_of(store)
    histories = Histories(store)
    reports = {history.id: histories.report([history.id]) for history in histories.histories}
    shares = {history: report.share for history, report in reports.items() if report.plays}
    total = histories.report()
    matches = MatchList(tuple(history_list(store)), shares, total)
    if recorded == recorded_state(store) and state == state_of(store):  # all of it is of one state
        keep_matches(store, matches, state)
    return matches, total if imported is None else histories.report(imported)


def refresh_match_list(store: Store) -> None:
    """Match again if a list was kept and songs have changed since, so that the next list is there at once."""
    if store.models.setting(MATCHES) is None or stored_matches(store) is not None:
        return
    if store.songs.counts()["songs"] <= MAX_REFRESHED_SONGS:
        with suppress(DatabaseError):  # what changed the songs is done, and the next list matches again
            match_list(store)
