"""What each listener plays now, forgotten when the track must have ended.

It is in the memory of the service, or in the database where several services have one. What a player plays next
tells that the track before was left, and when: early, it was skipped.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from cachetools import LRUCache

from nearsong.library import PlayingTable, checked_listener
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


Change = Callable[[NowPlaying | None, float], tuple[NowPlaying, float] | None]
"""What plays, or None, and until when -> the same from now on; None for no change."""


class PlayingStore(Protocol):
    """Where what plays now is stored; threads may share it."""

    def change(self, listener: str, change: Change) -> None:
        """Change what a listener plays, one change at a time."""

    def remove(self, listener: str) -> None:
        """Forget what a listener plays."""

    def all(self, now: float) -> list[NowPlaying]:
        """Return what plays at a time."""


class MemoryPlaying:
    """What plays now, in the memory of this process; of too many listeners, the most recent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._playing: LRUCache[str, tuple[NowPlaying, float]] = LRUCache(MAX_LISTENERS)

    def change(self, listener: str, change: Change) -> None:
        """Change what a listener plays, one change at a time."""
        with self._lock:
            changed = change(*self._playing.get(listener, (None, 0.0)))
            if changed is not None:
                self._playing[listener] = changed

    def remove(self, listener: str) -> None:
        """Forget what a listener plays."""
        with self._lock:
            self._playing.pop(listener, None)

    def all(self, now: float) -> list[NowPlaying]:
        """Return what plays at a time."""
        with self._lock:
            return [playing for playing, until in self._playing.values() if until > now]


class SharedPlaying:
    """What plays now, in the database that several services have."""

    def __init__(self, table: PlayingTable) -> None:
        self._table = table

    def change(self, listener: str, change: Change) -> None:
        """Change what a listener plays, one change at a time."""

        def stored(playing: dict[str, Any] | None, until: float) -> tuple[dict[str, Any], float] | None:
            changed = change(None if playing is None else _of_json(playing), until)
            return None if changed is None else (asdict(changed[0]), changed[1])

        self._table.change(listener, stored)

    def remove(self, listener: str) -> None:
        """Forget what a listener plays."""
        self._table.remove(listener)

    def all(self, now: float) -> list[NowPlaying]:
        """Return what plays at a time."""
        return [_of_json(playing) for playing in self._table.all(now)]


def _of_json(playing: dict[str, Any]) -> NowPlaying:
    return NowPlaying(**{**playing, "track": TrackName(*playing["track"])})


class NowPlayingBoard:
    """What listeners play now. Thread-safe, and of bounded size.

    Parameters
    ----------
    clock : callable
        Seconds since 1970.
    store : PlayingStore, optional
        By default the memory of this process.

    Examples
    --------
    >>> board = NowPlayingBoard()
    >>> board.put("anna", TrackName("Björk", "Jóga"), seconds=305)
    >>> board.of("anna").track.title, board.of("ben")
    ('Jóga', None)
    """

    def __init__(self, clock: Callable[[], float] = time.time, store: PlayingStore | None = None) -> None:
        self._clock = clock
        self._store: PlayingStore = MemoryPlaying() if store is None else store

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
        left: list[NowPlaying] = []

        def change(before: NowPlaying | None, ends: float) -> tuple[NowPlaying, float]:
            if before is None or ends <= now or before.player != player:
                return playing, until
            if (before.song_id, before.track) == (song_id, track):
                return replace(before, since=min(before.since, playing.since)), until
            left.append(before)
            return playing, until

        self._store.change(name, change)
        return left[0] if left else None

    def note_play(self, listener: str, song_ids: Collection[int]) -> bool:
        """Note that songs were reported as played; return whether the current one was among them already."""
        was_played: list[bool] = []

        def change(playing: NowPlaying | None, until: float) -> tuple[NowPlaying, float] | None:
            if playing is None or playing.song_id not in song_ids:
                return None
            was_played.append(playing.was_played)
            return replace(playing, was_played=True), until

        self._store.change(listener, change)
        return any(was_played)

    def forget(self, listener: str) -> None:
        """Forget what a listener plays."""
        self._store.remove(listener)

    def of(self, listener: str) -> NowPlaying | None:
        """Return what a listener plays now."""
        return next((playing for playing in self.all() if playing.listener == listener), None)

    def all(self) -> list[NowPlaying]:
        """Return what all listeners play now, the latest first."""
        return sorted(self._store.all(self._clock()), key=lambda playing: -playing.since)
