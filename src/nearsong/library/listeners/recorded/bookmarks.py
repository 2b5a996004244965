"""Where a listener wants to go on in a long song, in any player."""

import time

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.recorded.plays import checked_listener
from nearsong.library.store import Bookmark, Store
from nearsong.names import clean_text, visible_name

MAX_BOOKMARKS = 1_000
"""Bookmarks of one listener."""

MAX_POSITION_MS = 2**53


class Bookmarks:
    """Stores the bookmarks of each listener, at most one in a song."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, listener: str) -> list[Bookmark]:
        """Return the bookmarks of a listener, the latest change first."""
        return self._store.bookmarks.of(visible_name(listener))

    def put(self, song_id: int, position: int, listener: str, comment: str = "") -> None:
        """Set the bookmark of a song.

        Parameters
        ----------
        song_id : int
        position : int
            Milliseconds from the start.
        listener : str
        comment : str

        Raises
        ------
        InvalidInputError
            If the position cannot be, the listener has no name, or has too many bookmarks.
        NoSuchSongError
            If there is no such song.
        """
        name, now = checked_listener(listener), time.time()
        if not 0 <= position <= MAX_POSITION_MS:
            raise InvalidInputError(f"a position of {position} ms in a song cannot be; send 0 or more.")
        bookmark = Bookmark(song_id, position, clean_text(comment), created=now, changed=now)
        if not self._store.bookmarks.put(name, bookmark, MAX_BOOKMARKS):
            raise InvalidInputError(f"there are {MAX_BOOKMARKS:,} bookmarks already; remove some of them.")

    def remove(self, song_id: int, listener: str) -> bool:
        """Remove the bookmark of a song; return whether there was one."""
        return self._store.bookmarks.remove(visible_name(listener), song_id)
