"""What was played through the service: the table `plays`, to which each play is added at once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from nearsong.errors import NoSuchSongError
from nearsong.library.records import Heard
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import plays, songs

_NAMES = ("artist", "title", "recording_mbid", "artist_mbid")
_MOST = 2**63  # numbers from here on no database holds


class Play(NamedTuple):
    """That a listener has played something; ``time`` is when it began, in seconds since 1970."""

    listener: str
    time: int
    heard: Heard


class PlayTable:
    """Reads and writes plays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, listener: str, played: Sequence[tuple[int, int]], apart: int) -> int:
        """Note plays; those of songs that are not there are told after the others were noted.

        Parameters
        ----------
        listener : str
        played : sequence of (int, int)
            Songs, by id, and when each began.
        apart : int
            Seconds: the same song by the same listener, not farther apart than this, is the same play.

        Returns
        -------
        int
            How many are new.

        Raises
        ------
        NoSuchSongError
            If a song is not in the library.
        """
        added, missing = 0, None
        with self._database.writing() as connection:
            for song, time in played:
                names = _names(connection, song)
                if names is None:
                    missing = song if missing is None else missing
                    continue
                same = sa.select(plays.c.id).where(
                    plays.c.song_id == song,
                    plays.c.time.between(time - apart, time + apart),
                    plays.c.listener == listener,
                )
                if connection.execute(same.limit(1)).first() is None:
                    row = {"listener": listener, "time": time, "song_id": song, **names}
                    connection.execute(plays.insert(), row)
                    added += 1
        if missing is not None:
            raise NoSuchSongError(
                f"there is no song {missing} in the library, so that it was played cannot be noted."
            )
        return added

    def count(self) -> int:
        """Return how many there are."""
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(plays)).scalar_one())

    def first(self) -> int | None:
        """Return the number of the first play there is; no other one ever gets it."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(sa.func.min(plays.c.id))).scalar()

    def all(self) -> Iterator[Play]:
        """Read all of them, in the order in which they came.

        A song is called as its tags call it now; one that is gone, as they did when it was played.
        """
        there = sa.and_(songs.c.id == plays.c.song_id, songs.c.problem == "")
        names = [sa.case((songs.c.id.is_(None), plays.c[name]), else_=songs.c[name]) for name in _NAMES]
        query = sa.select(plays.c.listener, plays.c.time, *names).select_from(plays.outerjoin(songs, there))
        with self._database.reading() as connection:
            for listener, time, *heard in connection.execute(query.order_by(plays.c.id)):
                yield Play(listener, time, Heard(*heard))


def delete_plays(connection: Connection) -> None:
    """Forget all plays."""
    connection.execute(plays.delete())


def _names(connection: Connection, song: int) -> dict[str, str] | None:
    """Return what a song is called; None if it is not there."""
    query = sa.select(*(songs.c[name] for name in _NAMES)).where(songs.c.id == song)
    row = connection.execute(query).first() if 0 < song < _MOST else None
    return None if row is None else dict(row._mapping)
