"""The songs that listeners had queued in a player, to go on with another: the table `play_queues`."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from nearsong.library.store.database import Database
from nearsong.library.store.schema import play_queues


@dataclass(frozen=True)
class PlayQueue:
    """The songs that a player had queued.

    Attributes
    ----------
    songs : tuple of int
        Ids in order; a song may occur more than once, and may have been removed from the library.
    current : int
        Index of the current song.
    position : int
        Where it was, in milliseconds.
    changed : float
        Seconds since 1970.
    changed_by : str
        Name of the player.
    """

    songs: tuple[int, ...]
    current: int
    position: int
    changed: float
    changed_by: str

    def among(self, songs: Sequence[bool]) -> "PlayQueue":
        """Return the queue with only those songs that are True; the next one is current if its song is left out.

        Examples
        --------
        >>> PlayQueue((5, 6, 7), 1, 900, 0.0, "x").among([True, False, True])
        PlayQueue(songs=(5, 7), current=1, position=0, changed=0.0, changed_by='x')
        """
        left = tuple(song for song, stays in zip(self.songs, songs, strict=True) if stays)
        before = sum(songs[: self.current])
        return PlayQueue(
            songs=left,
            current=min(before, max(len(left) - 1, 0)),
            position=self.position if self.songs and songs[self.current] else 0,
            changed=self.changed,
            changed_by=self.changed_by,
        )


class PlayQueueTable:
    """Reads and writes the queue of each listener."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, listener: str, queue: PlayQueue) -> None:
        """Replace the queue of a listener; one without songs deletes it."""
        row = {
            "listener": listener,
            "songs": ",".join(map(str, queue.songs)),
            "current": queue.current,
            "position": queue.position,
            "changed": queue.changed,
            "changed_by": queue.changed_by,
        }
        with self._database.writing() as connection:
            connection.execute(play_queues.delete().where(play_queues.c.listener == listener))
            if queue.songs:
                connection.execute(play_queues.insert(), row)

    def get(self, listener: str) -> PlayQueue | None:
        """Return the queue of a listener."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(play_queues).where(play_queues.c.listener == listener)).first()
        if row is None:
            return None
        return PlayQueue(
            songs=tuple(map(int, row.songs.split(","))),
            current=row.current,
            position=row.position,
            changed=row.changed,
            changed_by=row.changed_by,
        )
