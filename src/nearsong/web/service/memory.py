"""Memory that was freed -> back to the system, where the C library would keep it.

glibc has up to eight heaps for each processor, so that threads do not wait for each other, and keeps what is freed in
each. A service whose threads replace large snapshots again and again would take several times what it needs.
"""

import ctypes
import ctypes.util
from functools import cache
from typing import Any

MAX_HEAPS = 2
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
