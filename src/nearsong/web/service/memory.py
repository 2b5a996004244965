"""The memory of a service: what was freed goes back to the system, what is held for long is not looked through again.

glibc has up to eight heaps for each processor, so that threads do not wait for each other, and keeps what is freed in
each. A service whose threads replace large snapshots again and again would take several times what it needs.

A full round of Python's garbage collector looks at every object, a quarter of a second for 100,000 songs, in which
nothing is answered; under load there was one each second.
"""

import ctypes
import ctypes.util
import gc
import time
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearsong.library import Snapshot

MAX_HEAPS = 2

MIN_SPARED_SONGS = 10_000
"""A round takes less than a fortieth of a second for fewer songs."""

AGAIN_SECONDS = 20.0
"""After which no request uses the snapshot before any longer."""

_M_ARENA_MAX = -8  # glibc's malloc.h


@cache
def _c_library() -> Any:
    name = ctypes.util.find_library("c")
    return None if name is None else ctypes.CDLL(name)


def use_few_heaps() -> bool:
    """Let all threads share a few heaps; return whether the C library can."""
    return bool(hasattr(_c_library(), "mallopt") and _c_library().mallopt(_M_ARENA_MAX, MAX_HEAPS))


def give_back_memory() -> None:
    """Give freed memory back to the system, where the C library can."""
    if hasattr(_c_library(), "malloc_trim"):
        _c_library().malloc_trim(0)


class SparedMemory:
    """Spares a large snapshot, and all else that lives by then, from the rounds of the garbage collector."""

    def __init__(self) -> None:
        self._spared: weakref.ref[Snapshot] | None = None
        self._again: float | None = None

    def look_after(self, snapshot: "Snapshot") -> None:
        """Spare a snapshot when it is new, and once more when the one before is garbage; for frequent calls."""
        if len(snapshot.space.songs) < MIN_SPARED_SONGS:
            return
        now = time.monotonic()
        if self._spared is None or self._spared() is not snapshot:
            self._again = None if self._spared is None else now + AGAIN_SECONDS
            self._spared = weakref.ref(snapshot)
        elif self._again is not None and now >= self._again:
            self._again = None
        else:
            return
        gc.unfreeze()  # what was spared before may be garbage now
        gc.collect()
        gc.freeze()

    def close(self) -> None:
        """Leave everything to the garbage collector again."""
        if self._spared is not None:
            self._spared = None
            gc.unfreeze()
