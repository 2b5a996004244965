"""A store -> the current snapshot of its library, reloaded when the library has changed."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nearsong.errors import EmptyLibraryError
from nearsong.library.records import VersionStamp
from nearsong.library.store import Store

if TYPE_CHECKING:
    from nearsong.library.snapshot import Snapshot

RELOAD_SECONDS = 2.0
"""New songs of another process may be missing for this long, ..."""

RELOAD_SHARE = 4.0
"""... or for this many times the seconds it takes to load all songs and warm up, if that is longer."""


class SnapshotCache:
    """The current snapshot of a library, reloaded when the library has changed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._current: Snapshot | None = None
        self._loaded_at, self._load_seconds = 0.0, 0.0

    def get(self, *, now: bool = False) -> Snapshot:
        """Return a current snapshot.

        Parameters
        ----------
        now : bool, default=False
            Whether it must contain songs that were just added; otherwise they may be missing for some seconds, so
            that not every query reloads all songs while a scan adds them one by one.

        Raises
        ------
        EmptyLibraryError
            If there are no songs to compare yet.
        """
        current = self._current
        if current is not None and self._is_current(current, self._store.version_stamp(), now):
            return current
        with self._lock:
            current, stamp = self._current, self._store.version_stamp()  # another thread may have loaded it by now
            if current is None or not self._is_current(current, stamp, now):
                try:
                    current = self._current = self._load(current, stamp, now)
                except EmptyLibraryError:
                    self._current = None  # or a later query, which may be some seconds behind, would see them again
                    raise
            return current

    def clear(self) -> None:
        """Drop the snapshot; the next query loads a new one."""
        with self._lock:
            self._current = None

    def _is_current(self, snapshot: Snapshot, stamp: VersionStamp, now: bool) -> bool:
        return snapshot.stamp.listens == stamp.listens and self._has_songs(snapshot, stamp, now)

    def _has_songs(self, snapshot: Snapshot, stamp: VersionStamp, now: bool) -> bool:
        """Return whether the songs of a snapshot are recent enough."""
        if now or not snapshot.stamp.has_model_of(stamp) or snapshot.stamp.has_songs_of(stamp):
            return snapshot.stamp.has_songs_of(stamp)
        max_age = max(RELOAD_SECONDS, RELOAD_SHARE * (self._load_seconds + snapshot.warming))
        return time.monotonic() - self._loaded_at < max_age

    def _load(self, snapshot: Snapshot | None, stamp: VersionStamp, now: bool) -> Snapshot:
        if snapshot is not None and self._has_songs(snapshot, stamp, now):  # only the listens have changed
            return snapshot.with_listens(replace(snapshot.stamp, listens=stamp.listens))
        from nearsong.library.neighbours.space import Space
        from nearsong.library.snapshot import Snapshot

        start = time.monotonic()
        space = Space.load(self._store)
        loaded = Snapshot(self._store, space, self._store.models.row(space.model_id), stamp)
        self._loaded_at = time.monotonic()
        self._load_seconds = self._loaded_at - start
        return loaded
