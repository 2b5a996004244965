"""What each listener plays now: in memory only, and forgotten when the track must have ended.

What a player plays next tells that the track before was left, and when: early, it was skipped.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from cachetools import LRUCache

from nearsong.library import checked_listener
from nearsong.listens.records import TrackName

MAX_LISTENERS = 1_000
"""Listeners that are remembered, the most recent."""

DEFAULT_SECONDS = 600.0
"""How long a track plays whose duration was not reported."""

MAX_SECONDS = 4 * 3600.0
"""Longest time that a track plays, whatever was reported."""

MAX_SKIP_SECONDS = 30.0
"""A track that was left before this, and before half of it, was skipped."""

MAX_REQUIRED_SECONDS = 240.0
"""A track of which this, or half, was played, counts as played."""


def is_skip(played: float, seconds: float | None) -> bool:
    """Return whether leaving a track after so many seconds is a skip.

    >>> is_skip(12, 200), is_skip(12, 20), is_skip(40, 200), is_skip(12, None)
    (True, False, False, True)
    """
    return played < (min(MAX_SKIP_SECONDS, seconds / 2) if seconds else MAX_SKIP_SECONDS)


def is_play(played: float, seconds: float) -> bool:
    """Return whether so many seconds of a track are a play.

    >>> is_play(100, 200), is_play(99, 200), is_play(240, 3600)
    (True, False, True)
    """
    return played >= min(MAX_REQUIRED_SECONDS, seconds / 2)


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
        When it began, in seconds since 1970.
    player : str
        Name of the program that reported it; may be empty.
    seconds : float or None
        Duration of the track, if it is known.
    was_played : bool
        Whether the player has reported it as played since.
    """

    listener: str
    track: TrackName
    song_id: int | None
    since: float
    player: str
    seconds: float | None = None
    was_played: bool = False

    def is_skipped_at(self, time: float) -> bool:
        """Return whether leaving the track at a time is a skip."""
        return not self.was_played and is_skip(time - self.since, self.seconds)


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

    def now(self) -> float:
        """Return the time of the board, in seconds since 1970."""
        return self._clock()

    def put(
        self,
        listener: str,
        track: TrackName,
        *,
        seconds: float | None = None,
        song_id: int | None = None,
        player: str = "",
        position: float = 0.0,
    ) -> NowPlaying | None:
        """Note what a listener plays from now on, and return what the same player left for it.

        Parameters
        ----------
        listener : str
        track : TrackName
        seconds : float, optional
            Duration of the track.
        song_id : int, optional
        player : str
        position : float
            How many seconds of the track were played before now.

        Returns
        -------
        NowPlaying or None
            None if nothing was playing, or the same track: players repeat what plays, such as after a pause.
        """
        name, now = checked_listener(listener), self._clock()
        length = None if seconds is None or seconds <= 0 else min(seconds, MAX_SECONDS)
        playing = NowPlaying(
            listener=name, track=track, song_id=song_id, since=now - position, player=player, seconds=length
        )
        until = now + (DEFAULT_SECONDS if length is None else length)
        with self._lock:
            before, ends = self._playing.get(name, (None, 0.0))
            is_there = before is not None and ends > now and before.player == player
            if before is not None and is_there and (before.song_id, before.track) == (song_id, track):
                playing, before = replace(before, since=min(before.since, playing.since)), None
            self._playing[name] = playing, until
        return before if is_there else None

    def note_play(self, listener: str, song_ids: Collection[int]) -> bool:
        """Note that songs were reported as played; return whether the current one was among them already."""
        with self._lock:
            playing, until = self._playing.get(listener, (None, 0.0))
            if playing is None or playing.song_id not in song_ids:
                return False
            self._playing[listener] = replace(playing, was_played=True), until
            return playing.was_played

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
