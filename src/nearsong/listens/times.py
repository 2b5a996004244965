"""A time in any common notation -> seconds since 1970 (UTC)."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

UNKNOWN = 0
UNREADABLE = -1

MAX_TIME_CHARACTERS = 64
"""Longest text that may be a time: matching a much longer one would take minutes."""

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_CLOCK = r"(?:,?\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[ap]m)?)?"
_WORDED = (
    re.compile(r"(?P<day>\d{1,2})[\s.-]+(?P<month>[a-z]{3,9})[\s.,-]+(?P<year>\d{4})" + _CLOCK, re.IGNORECASE),
    re.compile(r"(?P<month>[a-z]{3,9})[\s.]+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})" + _CLOCK, re.IGNORECASE),
    re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})" + _CLOCK, re.IGNORECASE),
)
_UTC_SUFFIX = re.compile(r"\s*(UTC|GMT|Z)$", re.IGNORECASE)
_MISSING_VALUES = frozenset({"", "null", "none", "nan", "nat", "n/a"})

_MAX_SECONDS = 4_102_444_800  # the year 2100
_AS_DAY = (1970_01_01, 2100_01_01)  # 20230131: as seconds this would be August 1970
_AS_DAY_AND_CLOCK = (1970_01_01_00_00_00, 2100_01_01_00_00_00)  # 20230131123456: as ms this would be the year 2611


def parse_time(value: Any) -> int:
    """Return seconds since 1970; 0 if no time is given, -1 if it cannot be parsed.

    Parameters
    ----------
    value : str, int, float or None
        Seconds, milli-, micro- or nanoseconds since 1970; ISO 8601 with or without an offset; the notation of
        Last.fm's exports. A time without a zone is UTC. ``03/04/2023`` is rejected as ambiguous: April or March.

    Examples
    --------
    >>> parse_time("2023-01-31T12:34:00Z"), parse_time("31 Jan 2023, 12:34"), parse_time(1675168440000)
    (1675168440, 1675168440, 1675168440)
    >>> parse_time(""), parse_time("yesterday")
    (0, -1)
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return UNREADABLE
    if isinstance(value, (int, float)):
        return _of_number(value)
    text = str(value).strip()
    if len(text) > MAX_TIME_CHARACTERS:
        return UNREADABLE
    text = _UTC_SUFFIX.sub("", text)
    if text.lower() in _MISSING_VALUES:
        return UNKNOWN
    try:
        return _of_number(int(text) if text.isdecimal() else float(text))
    except ValueError:
        pass
    try:
        return _of_iso(text.replace("/", "-", 2) if text[4:5] == "/" else text)
    except (ValueError, OverflowError):
        pass
    try:
        return _of_words(text)
    except (ValueError, KeyError, OverflowError):
        return UNREADABLE


def start_time(end: Any, played_ms: Any) -> Any:
    """Return when a play began that ended at a time and lasted so long; the end if either cannot be used.

    A listen has the time when it began: services that tell the end meet those that tell the start.

    >>> start_time("2023-01-31T12:34:00Z", 60_000), start_time("2023-01-31 12:34", "60500"), start_time("x", 5)
    (1675168380, 1675168380, 'x')
    """
    seconds, played = parse_time(end), float(played_ms) / 1000
    began = seconds - played
    return round(began) if seconds > 0 and played > 0 and began >= 1 else end


def parse_times(values: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Apply ``parse_time`` to every value; fast if all are seconds or all are ISO 8601."""
    n = len(values)
    for convert in (_of_seconds, _of_dashed_iso):
        try:
            return np.fromiter(map(convert, values), np.int64, n)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return np.fromiter(map(parse_time, values), np.int64, n)


def _of_seconds(value: Any) -> int:
    """Return a time given in whole seconds between 1973 and 2100, or raise ``ValueError``."""
    seconds = int(value)
    if not 100_000_000 <= seconds < _MAX_SECONDS:
        raise ValueError
    return seconds


def _of_dashed_iso(text: str) -> int:
    """Return a time such as 2023-01-31..., or raise: 1212121212345 is milliseconds, not a day in the year 1212."""
    if text[4] != "-":
        raise ValueError
    return _of_iso(text)


def _of_iso(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _checked(int(moment.timestamp()))


def _of_number(number: float) -> int:
    if number != number:
        return UNKNOWN
    if any(first <= number < last for first, last in (_AS_DAY, _AS_DAY_AND_CLOCK)):
        try:
            return _of_iso(datetime.strptime(f"{number:.0f}".ljust(14, "0"), "%Y%m%d%H%M%S").isoformat())
        except ValueError:
            pass
    for unit in (1, 1_000, 1_000_000, 1_000_000_000):
        if abs(number) < 1e11 * unit:
            return _checked(int(number // unit))
    return UNREADABLE


def _of_words(text: str) -> int:
    for pattern in _WORDED:
        if match := pattern.fullmatch(text):
            break
    else:
        raise ValueError
    part = match.groupdict()
    month = int(part["month"]) if part["month"].isdecimal() else _MONTHS[part["month"][:3].lower()]
    hour = int(part["hour"] or 0)
    if part["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if part["half"].lower() == "pm" else 0)
    second = int(part["second"] or 0)
    moment = datetime(int(part["year"]), month, int(part["day"]), hour, int(part["minute"] or 0), second, tzinfo=UTC)
    return _checked(int(moment.timestamp()))


def _checked(seconds: int) -> int:
    return seconds if 0 <= seconds < _MAX_SECONDS else UNREADABLE
