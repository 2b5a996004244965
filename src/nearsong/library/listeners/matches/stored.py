"""A match list -> kept in the library, and read again as long as it is still true, without matching any names."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nearsong import __version__
from nearsong.errors import DatabaseError
from nearsong.library.listeners.matches.records import HistoryFacts, MatchList, MatchReport

if TYPE_CHECKING:
    from nearsong.library.store import Store
    from nearsong.library.store.light.store import LightStore

MATCHES = "history_matches"
"""Setting: the last match list, as JSON, and the state of the library that it is of."""

MAX_WAIT_SECONDS = 1.0
"""How long keeping a match list waits for others that write; the next one is kept then."""


def recorded_state(store: LightStore | Store) -> list[list[int]]:
    """Return numbers that change with what the page and players record: plays, hearts and skips."""
    return [[*store.plays.extent()], [*store.reactions.extent()]]


def state_of(store: LightStore | Store) -> list[Any]:
    """Return what changes whenever a match list could: songs, histories, what was recorded, and the way to match."""
    return [__version__, store.songs.changes(), store.listens.digest(), *recorded_state(store)]


def keep_matches(store: Store, matches: MatchList, state: list[Any]) -> None:
    """Write a match list, and the state that it is of, into the library; not if that cannot be written to now."""
    text = json.dumps([state, {**asdict(matches), "shares": [*matches.shares.items()]}])
    with suppress(DatabaseError), store.writing(timeout_seconds=MAX_WAIT_SECONDS) as connection:
        store.models.set(connection, MATCHES, text)


def stored_matches(store: LightStore | Store) -> MatchList | None:
    """Return the match list that was kept; None without one, or if the library has changed since."""
    text = store.models.setting(MATCHES)
    if text is None:
        return None
    with suppress(ValueError, TypeError, KeyError):  # written by another version of this module
        state, facts = json.loads(text)
        return _match_list(facts) if state == state_of(store) else None
    return None


def _match_list(facts: dict[str, Any]) -> MatchList:
    histories = (HistoryFacts(**{**history, "users": tuple(history["users"])}) for history in facts["histories"])
    report = facts["report"]
    unmatched = [(name, plays) for name, plays in report["most_played_unmatched"]]
    lists = {"most_played_unmatched": unmatched, "common_artists": tuple(report["common_artists"])}
    return MatchList(tuple(histories), dict(facts["shares"]), MatchReport(**{**report, **lists}))
