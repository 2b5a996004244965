"""Hearts, ratings and skips through the page and players, of each listener; plays.py makes a history of them."""

import time
from collections.abc import Sequence

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.recorded.plays import (
    MAX_PLAYS_PER_REQUEST,
    SAME_PLAY_SECONDS,
    checked_listener,
    checked_time,
)
from nearsong.library.store import ListenerReactions, Reacted, Store
from nearsong.listens.records import DEFAULT_USER, Action
from nearsong.names import visible_name

MAX_STARS = 5


class ReactionLog:
    """Records hearts, ratings and skips.

    Songs are given by their ids, albums and artists by their ids in the album index. All methods that write raise an
    `InvalidInputError` if the listener has no name, and a `NoSuchSongError` if a song is not in the library; then
    nothing is stored.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def heart(self, items: Sequence[Reacted], listener: str = DEFAULT_USER) -> None:
        """Record that a listener likes songs, albums or artists; a heart that is there keeps its time."""
        self._store.reactions.put(checked_listener(listener), Action.HEART, _checked(items), int(time.time()))

    def remove_heart(self, items: Sequence[Reacted], listener: str = DEFAULT_USER) -> None:
        """Remove hearts; one that is not there is no error."""
        self._store.reactions.remove(checked_listener(listener), Action.HEART, _checked(items))

    def rate(self, item: Reacted, stars: int, listener: str = DEFAULT_USER) -> None:
        """Record how many stars, 1 to 5, a listener gives a song, album or artist; replaces an earlier rating."""
        if not 1 <= stars <= MAX_STARS:
            raise InvalidInputError(f"a rating of {stars} stars; give 1 to {MAX_STARS}.")
        self._store.reactions.put(checked_listener(listener), Action.RATING, [item], int(time.time()), stars)

    def remove_rating(self, item: Reacted, listener: str = DEFAULT_USER) -> None:
        """Remove a rating; one that is not there is no error."""
        self._store.reactions.remove(checked_listener(listener), Action.RATING, [item])

    def skip(self, song_id: int, listener: str = DEFAULT_USER, at: float | None = None) -> bool:
        """Record that a listener left a song, or wants less like it.

        Parameters
        ----------
        song_id : int
        listener : str
        at : float, optional
            When the song began, in seconds since 1970; by default now.

        Returns
        -------
        bool
            Whether it is new: the same song by the same listener within half a minute is one skip.
        """
        start = checked_time(at, time.time())
        return self._store.reactions.add_skip(checked_listener(listener), song_id, start, SAME_PLAY_SECONDS)

    def of(self, listener: str = DEFAULT_USER) -> ListenerReactions:
        """Return the hearts and ratings of a listener, the latest first; none of one who has no valid name."""
        return self._store.reactions.of(visible_name(listener))


def _checked(items: Sequence[Reacted]) -> Sequence[Reacted]:
    if len(items) > MAX_PLAYS_PER_REQUEST:
        raise InvalidInputError(
            f"{len(items):,} hearts in one request; send at most {MAX_PLAYS_PER_REQUEST:,} at a time."
        )
    return items
