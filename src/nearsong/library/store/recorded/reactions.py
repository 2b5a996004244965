"""Hearts, ratings and skips recorded by the service: the table `reactions`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from nearsong.errors import NoSuchSongError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.recorded.plays import NAME_COLUMNS, extent_of, song_names, with_names
from nearsong.library.store.schema import reactions
from nearsong.listens.records import Action, TrackName

Reacted = int | str
"""What a listener reacts to: the id of a song, or that of an album or artist in the album index."""


class Reaction(NamedTuple):
    """What a listener told about a song; ``stars`` is 0 unless it is a rating."""

    listener: str
    action: Action
    time: int
    stars: int
    track: TrackName


@dataclass(frozen=True)
class ListenerReactions:
    """The hearts and ratings of one listener, the latest first.

    Attributes
    ----------
    hearts : dict of int or str to int
        Song, album or artist -> when, in seconds since 1970.
    ratings : dict of int or str to (int, int)
        Song, album or artist -> stars, and when.
    """

    hearts: dict[Reacted, int] = field(default_factory=dict)
    ratings: dict[Reacted, tuple[int, int]] = field(default_factory=dict)


class ReactionTable:
    """Reads and writes hearts, ratings and skips."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, listener: str, action: Action, items: Sequence[Reacted], time: int, stars: int = 0) -> None:
        """Store a heart or rating of each item, all or none; one that is stored already keeps its time.

        Raises
        ------
        NoSuchSongError
            If a song is not in the library.
        """
        with self._database.writing() as connection:
            for item in dict.fromkeys(items):
                mine = _is(listener, action, item)
                stored = connection.execute(sa.select(reactions.c.stars).where(mine)).scalar()
                if stored is None:
                    connection.execute(reactions.insert(), _row(connection, listener, action, item, time, stars))
                elif stored != stars:
                    connection.execute(reactions.update().where(mine), {"time": time, "stars": stars})

    def remove(self, listener: str, action: Action, items: Sequence[Reacted]) -> None:
        """Delete the heart or rating of each item.

        Raises
        ------
        NoSuchSongError
            If there is none, and the song is not in the library.
        """
        with self._database.writing() as connection:
            for item in dict.fromkeys(items):
                deleted = connection.execute(reactions.delete().where(_is(listener, action, item))).rowcount
                if not deleted and isinstance(item, int) and song_names(connection, item) is None:
                    raise NoSuchSongError(f"song not found: {item}; it may have been removed.")

    def add_skip(self, listener: str, song: int, time: int, same_skip_seconds: int) -> bool:
        """Store a skip; return whether it is new.

        Parameters
        ----------
        listener : str
        song, time : int
        same_skip_seconds : int
            Maximum difference in seconds at which two reports of a song by a listener count as the same skip.

        Raises
        ------
        NoSuchSongError
            If the song is not in the library.
        """
        near = reactions.c.time.between(time - same_skip_seconds, time + same_skip_seconds)
        with self._database.writing() as connection:
            row = _row(connection, listener, Action.SKIP, song, time, 0)
            same = sa.select(reactions.c.id).where(_is(listener, Action.SKIP, song), near)
            if connection.execute(same.limit(1)).first() is not None:
                return False
            connection.execute(reactions.insert(), row)
            return True

    def of(self, listener: str) -> ListenerReactions:
        """Return the hearts and ratings of a listener."""
        columns = (reactions.c.action, reactions.c.song_id, reactions.c.item, reactions.c.time, reactions.c.stars)
        query = sa.select(*columns).where(
            reactions.c.listener == listener, reactions.c.action.in_([Action.HEART, Action.RATING])
        )
        found = ListenerReactions()
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(reactions.c.time.desc(), reactions.c.id.desc())).all()
        for action, song, item, time, stars in rows:
            if action == Action.HEART:
                found.hearts[item or int(song)] = int(time)
            else:
                found.ratings[item or int(song)] = (int(stars), int(time))
        return found

    def of_albums_and_artists(self, listener: str) -> list[tuple[Action, str, int, int]]:
        """Return what a listener told about albums and artists: action, id, time and stars."""
        columns = (reactions.c.action, reactions.c.item, reactions.c.time, reactions.c.stars)
        mine = sa.select(*columns).where(reactions.c.listener == listener, reactions.c.song_id == 0)
        with self._database.reading() as connection:
            rows = connection.execute(mine.order_by(reactions.c.id)).all()
        return [(Action(action), str(item), int(time), int(stars)) for action, item, time, stars in rows]

    def counts(self) -> dict[Action, int]:
        """Return how many reactions to songs there are of each kind."""
        query = sa.select(reactions.c.action, sa.func.count()).where(reactions.c.song_id > 0)
        with self._database.reading() as connection:
            return {Action(action): int(n) for action, n in connection.execute(query.group_by(reactions.c.action))}

    def extent(self, last: int | None = None) -> tuple[int, int]:
        """Return the id of the newest reaction, or ``last``, and how many there are up to it; as for plays."""
        with self._database.reading() as connection:
            return extent_of(connection, reactions, last)

    def all(self, listener: str | None = None) -> Iterator[Reaction]:
        """Yield the reactions of one listener or of all to songs, in the order reported, named as plays are."""
        columns = (reactions.c.listener, reactions.c.action, reactions.c.time, reactions.c.stars)
        query = with_names(reactions, *columns).where(reactions.c.song_id > 0).order_by(reactions.c.id)
        query = query if listener is None else query.where(reactions.c.listener == listener)
        with self._database.reading() as connection:
            for name, action, time, stars, *track in connection.execute(query):
                yield Reaction(name, Action(action), int(time), int(stars), TrackName(*track))


def _is(listener: str, action: Action, item: Reacted) -> sa.ColumnElement[bool]:
    song, other = _keys(item)
    return sa.and_(
        reactions.c.listener == listener,
        reactions.c.action == int(action),
        reactions.c.song_id == song,
        reactions.c.item == other,
    )


def _keys(item: Reacted) -> tuple[int, str]:
    """Return the columns `song_id` and `item`."""
    if isinstance(item, str):
        return 0, item
    if not 0 < item < 2**63:  # what databases store
        raise NoSuchSongError(f"song not found: {item}; search for it by name.")
    return item, ""


def _row(
    connection: Connection, listener: str, action: Action, item: Reacted, time: int, stars: int
) -> dict[str, Any]:
    song, other = _keys(item)
    names = dict.fromkeys(NAME_COLUMNS, "") if other else song_names(connection, song)
    if names is None:
        raise NoSuchSongError(f"song not found: {song}; search for it by name.")
    key = {"listener": listener, "action": int(action), "song_id": song, "item": other}
    return {**key, "time": time, "stars": stars, **names}
