"""What tests ask about a pulled history: its rows with names, and whether its totals fit."""

from collections import Counter

import numpy as np

from nearsong.library.store import Store
from nearsong.listens.records import Action


def rows_of(store: Store, source: int, action: Action = Action.LISTEN) -> list[tuple[int, str, str]]:
    """Return time, artist and title of the rows of one kind, sorted."""
    names = _names(store)
    rows = []
    for block in store.listens.columns(source):
        part = block.of(action)
        rows += [(int(when), *names[name]) for when, name in zip(part.time, part.name.tolist(), strict=True)]
    return sorted(rows)


def check_history(store: Store, source: int) -> None:
    """Assert that the number of rows, the totals and the users of a history are those of its blocks."""
    history = next(history for history in store.listens.histories() if history.id == source)
    blocks = list(store.listens.columns(source))
    assert history.rows == sum(len(block.user) for block in blocks)
    plays: Counter[int] = Counter()
    for block in blocks:
        for name, n in zip(block.name.tolist(), np.where(block.action == 0, block.plays, 0).tolist(), strict=True):
            plays[name] += n
    assert store.listens.totals([source]) == dict(plays)
    assert store.listens.n_users() == len({user for block in blocks for user in block.user.tolist()})


def _names(store: Store) -> dict[int, tuple[str, str]]:
    ids, tracks = store.listens.names()
    return {id: (track.artist, track.title) for id, track in zip(ids.tolist(), tracks, strict=True)}
