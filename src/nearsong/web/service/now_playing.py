"""What each listener plays now: in memory only, and forgotten when the track must have ended."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from nearsong.library import checked_listener
from nearsong.listens.records import TrackName

MAX_LISTENERS = 1_000
"""Listeners that are remembered, the most recent."""

DEFAULT_SECONDS = 600.0
"""How long a track plays whose duration was not reported."""

MAX_SECONDS = 4 * 3600.0
"""Longest time that a track plays, whatever was reported."""


@dataclass(frozen=True)
class NowPlaying:
    """A track that a listener plays now.

    Attributes
    ----------
    listener : str
    track : TrackName
    song_id : int or None
        The song, if the player reported its id.
    since : float
        When it was reported, in seconds since 1970.
    player : str
        Name of the program that reported it; may be empty.
    """

    listener: str
    track: TrackName
    song_id: int | None
    since: float
    player: str


class NowPlayingBoard:
    """What listeners play now. Thread-safe, and of bounded size.

    Parameters
    ----------
    clock : callable
        Seconds since 1970.

    Examples
    --------
    >>> board = NowPlayingBoard()
    >>> board.put("anna", TrackName("Björk", "Jóga"), seconds=305)
    >>> board.of("anna").track.title, board.of("ben")
    ('Jóga', None)
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._playing: LRUCache[str, tuple[NowPlaying, float]] = LRUCache(MAX_LISTENERS)

    def put(
        self,
        listener: str,
        track: TrackName,
        *,
        seconds: float | None = None,
        song_id: int | None = None,
        player: str = "",
    ) -> None:
        """Note what a listener plays from now on; ``seconds`` is the duration of the track, if it is known."""
        name, now = checked_listener(listener), self._clock()
        lasts = DEFAULT_SECONDS if seconds is None or seconds <= 0 else min(seconds, MAX_SECONDS)
        with self._lock:
            self._playing[name] = NowPlaying(name, track, song_id, now, player), now + lasts

    def forget(self, listener: str) -> None:
        """Forget what a listener plays."""
        with self._lock:
            self._playing.pop(listener, None)

    def of(self, listener: str) -> NowPlaying | None:
        """Return what a listener plays now."""
        return next((playing for playing in self.all() if playing.listener == listener), None)

    def all(self) -> list[NowPlaying]:
        """Return what all listeners play now, the latest first."""
        now = self._clock()
        with self._lock:
            found = [playing for playing, until in self._playing.values() if until > now]
        return sorted(found, key=lambda playing: -playing.since)
