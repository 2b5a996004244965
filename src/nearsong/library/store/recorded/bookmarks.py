"""Where listeners want to go on in a song: the table `bookmarks`."""

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from nearsong.errors import NoSuchSongError
from nearsong.library.store.database import Database
from nearsong.library.store.schema import bookmarks, songs


@dataclass(frozen=True)
class Bookmark:
    """Where to go on in a song.

    Attributes
    ----------
    song_id : int
    position : int
        Milliseconds from the start.
    comment : str
        What the listener wrote.
    created, changed : float
        Seconds since 1970.
    """

    song_id: int
    position: int
    comment: str
    created: float
    changed: float


class BookmarkTable:
    """Reads and writes the bookmarks of each listener, at most one in a song."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, listener: str, bookmark: Bookmark, most: int) -> bool:
        """Set the bookmark of a song, which keeps the time it was created; False if there are too many others."""
        mine = bookmarks.c.listener == listener
        same = mine & (bookmarks.c.song_id == bookmark.song_id)
        with self._database.writing() as connection:
            if connection.execute(sa.select(songs.c.id).where(songs.c.id == bookmark.song_id)).first() is None:
                raise NoSuchSongError(f"song not found: {bookmark.song_id}; search for it by name.")
            created = connection.execute(sa.select(bookmarks.c.created).where(same)).scalar()
            n_others = connection.execute(
                sa.select(sa.func.count()).select_from(bookmarks).where(mine & ~same)
            ).scalar_one()
            if n_others >= most:
                return False
            connection.execute(bookmarks.delete().where(same))
            row = asdict(bookmark) if created is None else {**asdict(bookmark), "created": created}
            connection.execute(bookmarks.insert(), {"listener": listener, **row})
        return True

    def remove(self, listener: str, song_id: int) -> bool:
        """Remove the bookmark of a song; return whether there was one."""
        same = (bookmarks.c.listener == listener) & (bookmarks.c.song_id == song_id)
        with self._database.writing() as connection:
            return connection.execute(bookmarks.delete().where(same)).rowcount > 0

    def of(self, listener: str) -> list[Bookmark]:
        """Return the bookmarks of a listener, the latest change first."""
        columns = [bookmarks.c[name] for name in Bookmark.__dataclass_fields__]
        mine = sa.select(*columns).where(bookmarks.c.listener == listener)
        with self._database.reading() as connection:
            rows = connection.execute(mine.order_by(bookmarks.c.changed.desc(), bookmarks.c.song_id)).all()
        return [Bookmark(*row) for row in rows]
