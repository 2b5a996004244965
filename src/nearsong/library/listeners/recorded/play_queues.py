"""What a listener has queued in one player -> the same in another."""

import time
from collections.abc import Container, Sequence

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.recorded.plays import MAX_NAME_LENGTH, checked_listener
from nearsong.library.store import PlayQueue, Store
from nearsong.listens.records import DEFAULT_USER
from nearsong.names import visible_name

MAX_QUEUED_SONGS = 10_000
MAX_POSITION_MS = 2**53


class PlayQueues:
    """Stores one queue for each listener."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(
        self,
        songs: Sequence[int],
        current: int = 0,
        position: int = 0,
        listener: str = DEFAULT_USER,
        changed_by: str = "",
    ) -> None:
        """Replace the queue of a listener; one without songs removes it.

        Parameters
        ----------
        songs : sequence of int
            Ids of songs in order.
        current : int
            Index of the current song.
        position : int
            Where it is, in milliseconds.
        listener : str
        changed_by : str
            Name of the player.

        Raises
        ------
        InvalidInputError
            If there are too many songs, the index or position cannot be right, or the listener has no name.
        """
        name = checked_listener(listener)
        if len(songs) > MAX_QUEUED_SONGS:
            raise InvalidInputError(f"a queue of {len(songs):,} songs; send at most {MAX_QUEUED_SONGS:,}.")
        if songs and not 0 <= current < len(songs):
            raise InvalidInputError(
                f"the current song is number {current} of {len(songs)}, counted from 0; check it."
            )
        if not 0 <= position <= MAX_POSITION_MS:
            raise InvalidInputError(f"a position of {position} ms in the current song cannot be; send 0 or more.")
        queue = PlayQueue(
            songs=tuple(songs),
            current=current,
            position=position,
            changed=time.time(),
            changed_by=visible_name(changed_by)[:MAX_NAME_LENGTH],
        )
        self._store.play_queues.put(name, queue)

    def get(self, known: Container[int], listener: str = DEFAULT_USER) -> PlayQueue | None:
        """Return the queue of a listener with those songs that are known; None if there is none."""
        queue = self._store.play_queues.get(visible_name(listener))
        return None if queue is None else queue.among([song in known for song in queue.songs])
