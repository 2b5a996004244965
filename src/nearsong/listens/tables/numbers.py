"""Fields as bytes -> whole numbers and times; what is written otherwise is left to the slower functions."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

UNUSUAL = -1

_FIRST_SECONDS = 100_000_000  # smaller ones may be a day: 20230131
_LAST_SECONDS = 4_102_444_800
_DAY_SECONDS = 86_400

Fields = npt.NDArray[np.int64]


def plain_numbers(data: npt.NDArray[np.uint8], starts: Fields, ends: Fields) -> npt.NDArray[np.int64]:
    """Return numbers of one to nine digits; `UNUSUAL` for all else."""
    found = np.empty(len(starts), np.int64)
    _plain_numbers(data, starts, ends, found)
    return found


def usual_times(data: npt.NDArray[np.uint8], starts: Fields, ends: Fields) -> npt.NDArray[np.int64]:
    """Return times given as seconds, or such as 2023-01-31 12:34:56, 2023-01-31T12:34Z; `UNUSUAL` for all else."""
    found = np.empty(len(starts), np.int64)
    _usual_times(data, starts, ends, found)
    return found


@njit(cache=True, nogil=True)
def _digits(data, start, end) -> Any:  # type: ignore[no-untyped-def]
    """Return the number that all these bytes are digits of, or -1."""
    number = np.int64(0)
    for at in range(start, end):
        digit = np.int64(data[at]) - 48
        if digit < 0 or digit > 9:
            return -1
        number = 10 * number + digit
    return number


@njit(cache=True, nogil=True)
def _plain_numbers(data, starts, ends, found) -> None:  # type: ignore[no-untyped-def]
    for i in range(starts.size):
        length = ends[i] - starts[i]
        found[i] = _digits(data, starts[i], ends[i]) if 1 <= length <= 9 else UNUSUAL


@njit(cache=True, nogil=True)
def _days(year, month, day) -> Any:  # type: ignore[no-untyped-def]
    """Return the days since 1970 of a date in the years 1970 to 2099, or -1."""
    if not 1970 <= year < 2100 or not 1 <= month <= 12 or day < 1:
        return -1
    leap = 1 if year % 4 == 0 else 0  # 2000 was one
    length = 30 + (month + month // 8) % 2 - (2 - leap if month == 2 else 0)
    if day > length:
        return -1
    before = 30 * (month - 1) + (month + month // 9) // 2 - (2 - leap if month > 2 else 0)
    return 365 * (year - 1970) + (year - 1969) // 4 + before + day - 1


@njit(cache=True, nogil=True)
def _iso_time(data, start, length) -> Any:  # type: ignore[no-untyped-def]
    """Return the seconds of a date and time of 16 or 19 characters, or -1."""
    if data[start + 4] != 45 or data[start + 7] != 45 or data[start + 13] != 58:
        return -1
    if data[start + 10] != 32 and data[start + 10] != 84:
        return -1
    second = 0
    if length == 19:
        if data[start + 16] != 58:
            return -1
        second = _digits(data, start + 17, start + 19)
    year = _digits(data, start, start + 4)
    month, day = _digits(data, start + 5, start + 7), _digits(data, start + 8, start + 10)
    hour, minute = _digits(data, start + 11, start + 13), _digits(data, start + 14, start + 16)
    days = _days(year, month, day)
    if days < 0 or not 0 <= hour < 24 or not 0 <= minute < 60 or not 0 <= second < 60:
        return -1
    return _DAY_SECONDS * days + 3600 * hour + 60 * minute + second


@njit(cache=True, nogil=True)
def _usual_times(data, starts, ends, found) -> None:  # type: ignore[no-untyped-def]
    for i in range(starts.size):
        start, length = starts[i], ends[i] - starts[i]
        found[i] = UNUSUAL if length else 0  # 0: not known
        if 9 <= length <= 10:
            seconds = _digits(data, start, ends[i])
            if _FIRST_SECONDS <= seconds < _LAST_SECONDS:
                found[i] = seconds
        elif 16 <= length <= 20:
            if (length == 17 or length == 20) and data[ends[i] - 1] == 90:  # Z
                length -= 1
            if length == 16 or length == 19:
                found[i] = _iso_time(data, start, length)
