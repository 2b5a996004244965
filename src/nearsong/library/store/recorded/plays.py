"""Plays recorded by the service: the table `plays`."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from nearsong.errors import NoSuchSongError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import plays, reactions, songs
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist, title_key

NAME_COLUMNS = ("artist", "title", "recording_mbid", "artist_mbid")
BY_NAME = 0
"""Stands for the song of a play by name."""

SAME_STRETCH_SECONDS = 6 * 3600
"""Reported plays that are closer than this are compared with the stored ones by one query."""

_BATCH_SONGS = 500
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
        with self._database.writing() as connection:
            names = _names_of_songs(connection, {song for song, _ in played})
            reported = [(song, names[song], time) for song, time in played if song in names]
            added = _insert_new(connection, listener, reported, same_play_seconds)
        missing = next((song for song, _ in played if song not in names), None)
        if missing is not None:
            raise NoSuchSongError(f"song not found: {missing}; the play was not recorded.")
        return added

    def add_named(self, listener: str, played: Sequence[tuple[TrackName, int]], same_play_seconds: int) -> int:
        """Store plays by name, and return how many are new; the songs may not be in the library."""
        with self._database.writing() as connection:
            reported = [(BY_NAME, track, time) for track, time in played]
            return _insert_new(connection, listener, reported, same_play_seconds)

    def count(self, listener: str | None = None) -> int:
        """Return the number of plays, of one listener or of all."""
        query = sa.select(sa.func.count()).select_from(plays)
        with self._database.reading() as connection:
            return int(connection.execute(_of(query, listener)).scalar_one())

    def extent(self, last: int | None = None) -> tuple[int, int]:
        """Return the id of the newest play, or ``last``, and how many there are up to it; ids are never reused."""
        with self._database.reading() as connection:
            return extent_of(connection, plays, last)

    def all(self) -> Iterator[Play]:
        """Yield all plays in the order in which they were reported.

        A song is named by its current tags; a removed song by its tags at the time of the play.
        """
        query = with_names(plays, plays.c.listener, plays.c.time)
        with self._database.reading() as connection:
            for listener, time, *track in connection.execute(query.order_by(plays.c.id)):
                yield Play(listener, time, TrackName(*track))

    def between(self, listener: str, after: int | None, before: int | None, n: int) -> list[Play]:
        """Return plays of a listener between two times, which are not included, the latest first.

        Of more than ``n`` these are the latest; the earliest if only ``after`` is given, to go on from there.
        """
        query = _of(with_names(plays, plays.c.listener, plays.c.time), listener)
        query = query if after is None else query.where(plays.c.time > after)
        query = query if before is None else query.where(plays.c.time < before)
        is_forward = after is not None and before is None
        order = (plays.c.time, plays.c.id) if is_forward else (plays.c.time.desc(), plays.c.id.desc())
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(*order).limit(n)).all()
        found = [Play(listener, time, TrackName(*track)) for listener, time, *track in rows]
        return found[::-1] if is_forward else found

    def last_played(self, listener: str) -> dict[int, int]:
        """Return song id -> when a listener last played it; without plays by name."""
        query = sa.select(plays.c.song_id, sa.func.max(plays.c.time)).where(plays.c.song_id != BY_NAME)
        with self._database.reading() as connection:
            rows = connection.execute(_of(query, listener).group_by(plays.c.song_id))
            return {int(song): int(time) for song, time in rows}

    def last_named(self, listener: str) -> dict[TrackName, int]:
        """Return track name -> when a listener last played it, of plays by name."""
        names = [plays.c[name] for name in NAME_COLUMNS]
        query = _of(sa.select(*names, sa.func.max(plays.c.time)).where(plays.c.song_id == BY_NAME), listener)
        with self._database.reading() as connection:
            rows = connection.execute(query.group_by(*names))
            return {TrackName(*track): int(time) for *track, time in rows}


def delete_plays(connection: Connection) -> None:
    """Delete all plays, hearts, ratings and skips."""
    for table in (plays, reactions):
        connection.execute(table.delete())


def extent_of(connection: Connection, table: sa.Table, last: int | None) -> tuple[int, int]:
    """Return the largest id of a table, or ``last``, and how many rows there are up to it."""
    newest = connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0 if last is None else last
    n_rows = connection.execute(sa.select(sa.func.count()).where(table.c.id <= newest)).scalar_one()
    return int(newest), int(n_rows)


def with_names(table: sa.Table, *columns: sa.Column[Any]) -> sa.Select[Any]:
    """Return a query of some columns of `plays` or `reactions` and the four names of the song.

    A song is named by its current tags; a removed song by its tags when the row was written.
    """
    there = sa.and_(songs.c.id == table.c.song_id, songs.c.problem == "")
    names = [sa.case((songs.c.id.is_(None), table.c[name]), else_=songs.c[name]) for name in NAME_COLUMNS]
    return sa.select(*columns, *names).select_from(table.outerjoin(songs, there))


def song_names(connection: Connection, song: int) -> dict[str, str] | None:
    """Return the names of a song; None if it does not exist."""
    query = sa.select(*(songs.c[name] for name in NAME_COLUMNS)).where(songs.c.id == song)
    row = connection.execute(query).first() if 0 < song < _MAX_ID else None
    return None if row is None else dict(row._mapping)


def _of(query: sa.Select[Any], listener: str | None) -> sa.Select[Any]:
    return query if listener is None else query.where(plays.c.listener == listener)


def _names_of_songs(connection: Connection, wanted: Collection[int]) -> dict[int, TrackName]:
    """Return the names of those songs that exist."""
    ids = sorted(song for song in wanted if 0 < song < _MAX_ID)
    columns = [songs.c.id, *(songs.c[name] for name in NAME_COLUMNS)]
    found: dict[int, TrackName] = {}
    for start in range(0, len(ids), _BATCH_SONGS):
        query = sa.select(*columns).where(songs.c.id.in_(ids[start : start + _BATCH_SONGS]))
        found |= {int(song): TrackName(*track) for song, *track in connection.execute(query)}
    return found


def _insert_new(
    connection: Connection, listener: str, reported: Sequence[tuple[int, TrackName, int]], same_play_seconds: int
) -> int:
    """Store those plays that are not stored yet, and return how many."""
    known = _KnownPlays(same_play_seconds)
    query = _of(with_names(plays, plays.c.song_id, plays.c.time), listener)
    for first, last in _stretches([time for *_, time in reported]):
        near = plays.c.time.between(first - same_play_seconds, last + same_play_seconds)
        for song, time, *names in connection.execute(query.where(near)):
            known.add(song, TrackName(*names), time)
    rows = []
    for song, track, time in reported:
        if not known.has(song, track, time):
            known.add(song, track, time)
            rows.append({"listener": listener, "time": time, "song_id": song, **track._asdict()})
    if rows:
        connection.execute(plays.insert(), rows)
    return len(rows)


def _stretches(times: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last of times that are close together.

    >>> _stretches([90_000, 0, 100, 90_200])
    [(0, 100), (90000, 90200)]
    """
    found: list[tuple[int, int]] = []
    for time in sorted(times):
        if found and time - found[-1][1] <= SAME_STRETCH_SECONDS:
            found[-1] = found[-1][0], time
        else:
            found.append((time, time))
    return found


class _KnownPlays:
    """Plays of one listener, found by song, recording MBID, or artist and title."""

    def __init__(self, same_play_seconds: int) -> None:
        self._seconds = same_play_seconds
        self._plays: dict[tuple[int | str, ...], list[tuple[int, int]]] = {}
        self._keys: dict[tuple[int, TrackName], list[tuple[int | str, ...]]] = {}

    def add(self, song: int, track: TrackName, time: int) -> None:
        """Remember a play."""
        for key in self._keys_of(song, track):
            self._plays.setdefault((self._period(time), *key), []).append((time, song))

    def has(self, song: int, track: TrackName, time: int) -> bool:
        """Say whether a play was reported before; of two songs with ids, each has plays of its own."""
        period = self._period(time)
        return any(
            abs(time - other_time) <= self._seconds and (BY_NAME in (song, other) or song == other)
            for key in self._keys_of(song, track)
            for near in (period - 1, period, period + 1)
            for other_time, other in self._plays.get((near, *key), ())
        )

    def _period(self, time: int) -> int:
        """Return the number of a period: one song on repeat would make a long list otherwise."""
        return time // max(self._seconds, 1)

    def _keys_of(self, song: int, track: TrackName) -> list[tuple[int | str, ...]]:
        cached = self._keys.get((song, track))
        if cached is not None:
            return cached
        artist, title = artist_key(primary_artist(track.artist)), title_key(track.title)
        keys: list[tuple[int | str, ...]] = [(song,)] if song != BY_NAME else []
        if track.recording_mbid:
            keys.append(("mbid", track.recording_mbid.strip().lower()))
        if artist and title:
            keys.append(("name", artist, title))
        self._keys[song, track] = keys
        return keys
