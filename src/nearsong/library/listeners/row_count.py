"""The store's listening histories -> the number of their listens."""

import numpy as np

from nearsong.library.store import Store


def count_rows(store: Store) -> int:
    """Return the rows of all histories; a listen that several histories report counts once.

    Only rows of users who are in two histories with events are read. What one file repeats are rows of that file.
    """
    histories = store.listens.histories()
    n_rows = sum(history.rows for history in histories)
    users_of = store.listens.users_of_histories()
    users = [users_of[history.id] for history in histories if history.kind == "events" and history.id in users_of]
    numbers, n_histories = np.unique(np.concatenate(users) if users else np.empty(0, np.int32), return_counts=True)
    shared = numbers[n_histories > 1].tolist()
    if not shared:
        return n_rows
    from nearsong.library.listeners.histories import Histories  # loads SciPy

    return n_rows - Histories(store, shared).n_repeated()
