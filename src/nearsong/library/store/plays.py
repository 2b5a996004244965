"""Plays recorded by the service: the table `plays`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from nearsong.errors import NoSuchSongError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import plays, songs
from nearsong.listens.records import TrackName

_NAMES = ("artist", "title", "recording_mbid", "artist_mbid")
_MAX_ID = 2**63  # ids are below this: databases store 64-bit signed integers


class Play(NamedTuple):
    """A song played by a listener; ``time`` is when it started, in seconds since 1970."""

    listener: str
    time: int
    track: TrackName


class PlayTable:
    """Reads and writes plays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, listener: str, played: Sequence[tuple[int, int]], same_play_seconds: int) -> int:
        """Store plays; raises for unknown songs only after the other plays are stored.

        Parameters
        ----------
        listener : str
        played : sequence of (int, int)
            Song ids and start times.
        same_play_seconds : int
            Maximum difference in seconds at which two reports of a song by a listener count as the same play.

        Returns
        -------
        int
            Number of new plays.

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
                    plays.c.time.between(time - same_play_seconds, time + same_play_seconds),
                    plays.c.listener == listener,
                )
                if connection.execute(same.limit(1)).first() is None:
                    row = {"listener": listener, "time": time, "song_id": song, **names}
                    connection.execute(plays.insert(), row)
                    added += 1
        if missing is not None:
            raise NoSuchSongError(f"song not found: {missing}; the play was not recorded.")
        return added

    def count(self) -> int:
        """Return the number of plays."""
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(plays)).scalar_one())

    def first(self) -> int | None:
        """Return the id of the oldest play; ids are never reused."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(sa.func.min(plays.c.id))).scalar()

    def all(self) -> Iterator[Play]:
        """Yield all plays in the order in which they were reported.

        A song is named by its current tags; a removed song by its tags at the time of the play.
        """
        there = sa.and_(songs.c.id == plays.c.song_id, songs.c.problem == "")
        names = [sa.case((songs.c.id.is_(None), plays.c[name]), else_=songs.c[name]) for name in _NAMES]
        query = sa.select(plays.c.listener, plays.c.time, *names).select_from(plays.outerjoin(songs, there))
        with self._database.reading() as connection:
            for listener, time, *track in connection.execute(query.order_by(plays.c.id)):
                yield Play(listener, time, TrackName(*track))


def delete_plays(connection: Connection) -> None:
    """Delete all plays."""
    connection.execute(plays.delete())


def _names(connection: Connection, song: int) -> dict[str, str] | None:
    """Return the names of a song; None if it does not exist."""
    query = sa.select(*(songs.c[name] for name in _NAMES)).where(songs.c.id == song)
    row = connection.execute(query).first() if 0 < song < _MAX_ID else None
    return None if row is None else dict(row._mapping)
