"""An audio file -> its lyrics: in its tags, or in a file with the ending ``.lrc`` beside it.

Texts in the format of LRC, with a time before each line, are synchronised wherever they are. Damaged or malicious
files are treated as having no lyrics. The service reads lyrics in worker processes with limits.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mutagen
from mutagen import id3

from nearsong.audio.headers.tag_file import TagFile, opened_for_tags
from nearsong.guarded_file import FileIdentity, leads_within, open_regular
from nearsong.names import clean_text

MAX_BYTES = 1 << 18
"""Largest file of lyrics, in bytes."""

MAX_LINES = 2_000
MAX_LYRICS = 8
"""Languages and versions of one song."""

UNKNOWN_LANGUAGE = "xxx"

_KEYS = ("syncedlyrics", "lyrics", "unsyncedlyrics", "unsynced lyrics", "\xa9lyr", "wm/lyrics")
"""Names of lyrics in the tags of formats other than ID3."""

_MILLISECONDS = 2  # the unit of time stamps in SYLT; the other is MPEG frames
_LYRICS = 1  # the kind of content in SYLT; others are chords, events and the like
_LANGUAGE = re.compile("[a-z]{3}")
_TIME = re.compile(r"\[(\d{1,3}):(\d{1,2})(?:[.:](\d{1,3}))?\]")
_OFFSET = re.compile(r"\[offset:\s*([+-]?\d{1,7})\s*\]", re.IGNORECASE)
_ABOUT = re.compile(r"\[[a-z#]+:[^\]]*\]\s*", re.IGNORECASE)
_WORD_TIME = re.compile(r"<\d{1,3}:\d{1,2}(?:[.:]\d{1,3})?>\s?")


@dataclass(frozen=True)
class Lyrics:
    """The lyrics of a song in one language.

    Attributes
    ----------
    language : str
        Three letters of ISO 639; `UNKNOWN_LANGUAGE` if unknown.
    lines : tuple of str
    times : tuple of int
        When each line starts, in milliseconds; empty if unknown.
    """

    language: str
    lines: tuple[str, ...]
    times: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def lyrics_of(
    path: str | os.PathLike[str], identity: FileIdentity | None = None, folders: Sequence[str] = ()
) -> tuple[Lyrics, ...]:
    """Return the lyrics of a song, synchronised ones first; those beside the file before those in it.

    Parameters
    ----------
    path : path-like
        The audio file.
    identity : FileIdentity, optional
        Of the file when the caller opened it; one that has replaced it since has no lyrics.
    folders : sequence of str
        The scanned folders. A file beside it that is a link is used only if it leads into one of them.
    """
    folder, name = os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path)
    separate = _in_lrc_file(os.path.join(folder, os.path.splitext(name)[0]), folders)
    try:
        with opened_for_tags(os.path.join(folder, name), identity) as file:
            found = [*separate, *_in_tags(file)]
    except OSError:
        return ()
    return tuple(sorted(dict.fromkeys(found), key=lambda lyrics: not lyrics.times)[:MAX_LYRICS])


def parsed_lyrics(text: str, language: str = UNKNOWN_LANGUAGE) -> Lyrics | None:
    r"""Return a text as lyrics, synchronised if it is in the format of LRC; None if it has no line.

    Examples
    --------
    >>> parsed_lyrics("[ar:Someone]\n[00:12.50]First\n[01:02.3][00:20]Twice")
    Lyrics(language='xxx', lines=('First', 'Twice', 'Twice'), times=(12500, 20000, 62300))
    >>> parsed_lyrics("First\n\nSecond", "eng")
    Lyrics(language='eng', lines=('First', '', 'Second'), times=())
    """
    rows = text[:MAX_BYTES].replace("\r\n", "\n").replace("\r", "\n").strip("\n\ufeff").split("\n")[:MAX_LINES]
    shift = next((int(found[1]) for row in rows if (found := _OFFSET.match(row))), 0)
    timed = sorted((max(0, start - shift), words) for row in rows for start, words in _timed(row))[:MAX_LINES]
    if timed:
        return Lyrics(_language(language), tuple(words for _, words in timed), tuple(start for start, _ in timed))
    lines = tuple(clean_text(row) for row in rows if not _ABOUT.fullmatch(row))
    return Lyrics(_language(language), lines) if any(lines) else None


def _timed(row: str) -> Iterator[tuple[int, str]]:
    """Yield the start of a line in milliseconds and its words, once for each time it is sung."""
    starts, position = [], 0
    while found := _TIME.match(row, position):
        minutes, seconds, fraction = found.groups()
        starts.append(60_000 * int(minutes) + 1000 * int(seconds) + int((fraction or "0").ljust(3, "0")))
        position = found.end()
    words = clean_text(_WORD_TIME.sub(" ", row[position:]))
    return ((start, words) for start in starts)


def _in_lrc_file(stem: str, folders: Sequence[str]) -> list[Lyrics]:
    for ending in (".lrc", ".LRC"):
        try:
            with open_regular(stem + ending) as file:
                if leads_within(file, stem + ending, lambda: folders):
                    found = parsed_lyrics(file.read(MAX_BYTES).decode("utf-8-sig", "replace"))
                    return [] if found is None else [found]
        except OSError:
            continue
    return []


def _in_tags(file: TagFile) -> list[Lyrics]:
    found: list[Lyrics | None] = []
    try:
        opened: Any = mutagen.File(file)
        tags: Any = None if opened is None else opened.tags
        if isinstance(tags, id3.ID3):
            frames: Any = tags
            found += [_synchronised(frame) for frame in frames.getall("SYLT")[:MAX_LYRICS]]
            found += [parsed_lyrics(str(frame.text), frame.lang) for frame in frames.getall("USLT")[:MAX_LYRICS]]
        elif tags:
            for key in [key for key in tags.keys() if key.lower() in _KEYS]:  # noqa: SIM118 - not plain mappings
                value = tags[key]
                found += [parsed_lyrics(str(one)) for one in (value if isinstance(value, list) else [value])]
    except Exception:  # parsers may raise anything on a damaged file
        pass
    return [lyrics for lyrics in found if lyrics is not None]


def _synchronised(frame: Any) -> Lyrics | None:
    if frame.format != _MILLISECONDS or frame.type != _LYRICS:
        return None
    timed = sorted((int(start), clean_text(words)) for words, start in frame.text[:MAX_LINES])
    if not any(words for _, words in timed):
        return None
    return Lyrics(_language(frame.lang), tuple(words for _, words in timed), tuple(start for start, _ in timed))


def _language(language: str) -> str:
    return language.lower() if _LANGUAGE.fullmatch(language.lower()) else UNKNOWN_LANGUAGE
