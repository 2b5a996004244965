"""The text of a tag -> its value, within sane limits: years, numbers, gains, peaks, identifiers."""

import re

MAX_NUMBER = 9_999
"""Highest number of a track or disc."""

MAX_GAIN_DB = 60.0
"""Largest change of loudness that is believed; ReplayGain's own values stay within some 20 dB."""

MAX_PEAK = 16.0
"""Highest peak that is believed; 1 is full scale, and lossy formats may exceed it a little."""

R128_TO_REPLAYGAIN_DB = 5.0
"""Opus refers its gains to -23 LUFS, ReplayGain to -18 LUFS."""

_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|2[01])\d\d)(?:(?=\d{4}(?!\d))|(?!\d))")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DECIMAL = re.compile(r"\s*([+-]?[0-9]{1,6}(?:[.,][0-9]{1,12})?)\s*(?:dB)?\s*", re.IGNORECASE)
_FIXED_POINT = re.compile(r"\s*([+-]?[0-9]{1,6})\s*")
_MBID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def year_in(text: str) -> int | None:
    """Return the year in a date.

    Examples
    --------
    >>> [year_in(text) for text in ("2011-05-01", "20110501", "1.5.2011", "2011", "unknown")]
    [2011, 2011, 2011, 2011, None]
    """
    found = _YEAR.search(text)
    return int(found[1]) if found else None


def number_in(text: str) -> int | None:
    """Return the first number of a text, such as that of "3/12" or of MP4's "(3, 12)"; None for 0 and huge ones.

    Examples
    --------
    >>> [number_in(text) for text in ("03", "3/12", "(3, 12)", "A3", "", "0/0", "20110501")]
    [3, 3, 3, 3, None, None, None]
    """
    found = _NUMBER.search(text)
    return int(found[0]) if found and 0 < int(found[0]) <= MAX_NUMBER else None


def gain_in(text: str) -> float | None:
    """Return a gain in decibels.

    Examples
    --------
    >>> [gain_in(text) for text in ("-7.03 dB", "+1,5", "0", "-600 dB", "nan", "loud")]
    [-7.03, 1.5, 0.0, None, None, None]
    """
    gain = _decimal(text)
    return gain if gain is not None and abs(gain) <= MAX_GAIN_DB else None


def peak_in(text: str) -> float | None:
    """Return the highest sample of a song or album; 1 is full scale.

    Examples
    --------
    >>> [peak_in(text) for text in ("0.988312", "1.02", "0", "-1", "1000")]
    [0.988312, 1.02, None, None, None]
    """
    peak = _decimal(text)
    return peak if peak is not None and 0 < peak <= MAX_PEAK else None


def gain_of_r128(text: str) -> str:
    """Return an Opus gain, in 1/256 dB, as the text of a ReplayGain; empty if it is none.

    Examples
    --------
    >>> [gain_of_r128(text) for text in ("-1280", "256", "loud")]
    ['0.00 dB', '6.00 dB', '']
    """
    found = _FIXED_POINT.fullmatch(text)
    return f"{int(found[1]) / 256 + R128_TO_REPLAYGAIN_DB:.2f} dB" if found else ""


def is_yes(text: str) -> bool:
    """Return whether a flag is set.

    >>> is_yes("1"), is_yes("True"), is_yes("0")
    (True, True, False)
    """
    return text.strip().lower() in ("1", "true", "yes")


def mbid_in(text: str) -> str:
    """Return the MusicBrainz identifier in a text; empty for none."""
    found = _MBID.search(text.lower())
    return found[0] if found else ""


def _decimal(text: str) -> float | None:
    found = _DECIMAL.fullmatch(text)
    return float(found[1].replace(",", ".")) if found else None
