"""Float32 keys -> integers in the same order, ties by index, so that the compiler can vectorise a search for minima.

A key and its index share one 64-bit integer, the key in the upper half. The smallest such integer is the
smallest key with the lowest index, and integer minima, unlike those of floats, vectorise.
"""

import numpy as np
from numba import njit

LAST = np.int64(2**63 - 1)
"""Greater than every key."""

_SIGN = np.int32(-(2**31))


@njit(cache=True, nogil=True, inline="always")
def ordered(bits, index):  # type: ignore[no-untyped-def]
    """Join the bits of a float32 key, no NaN, and its index; ``-0.0`` and ``0.0`` become the same number."""
    key = bits if bits >= 0 else _SIGN - bits
    return (np.int64(key) << 32) | np.int64(index)


@njit(cache=True, nogil=True, inline="always")
def index_of(entry):  # type: ignore[no-untyped-def]
    """Return the index joined to a key."""
    return entry & np.int64(0xFFFFFFFF)
