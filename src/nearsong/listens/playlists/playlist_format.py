"""What every playlist format offers: a file -> entries, songs -> the text of a file.

A format is one module with a ``PlaylistFormat`` and one line in the registry (``nearsong.listens.playlists``). The
import, the command line, the API and the page take their choices from there.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote_from_bytes

from nearsong.listens.sources import SourceFile
from nearsong.names import readable
from nearsong.path_names import is_remote, is_streamed

DASH = re.compile(r"\s+[-–—]\s+")
RECORDING_URL = "https://musicbrainz.org/recording/"

CONTROL_CHARACTERS = frozenset(chr(code) for code in (*range(32), *range(127, 160), 0x2028, 0x2029))
"""Control characters, and characters that some readers treat as line breaks."""

_RECORDING = re.compile(r"(recording|track)/[0-9a-f-]{36}", re.IGNORECASE)


class PlaylistEntry(NamedTuple):
    """One song of a playlist, as named in its file; unknown fields are empty.

    Attributes
    ----------
    number : int
        Its line or track number, for messages.
    artist, title : str
    shown : str
        What a player shows, mostly "Artist - Title".
    location : str
        Path or URL.
    recording_mbid, artist_mbid : str
        MBIDs, or URLs that end in them.
    """

    number: int
    artist: str = ""
    title: str = ""
    shown: str = ""
    location: str = ""
    recording_mbid: str = ""
    artist_mbid: str = ""


@dataclass(frozen=True)
class PlaylistContent:
    """The title of a playlist, which may be empty, and its entries, which may be read lazily."""

    title: str
    entries: Iterable[PlaylistEntry]


class ListedSong(Protocol):
    """A song to write; ``album`` and ``recording_mbid`` are used if it has them."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def artist(self) -> str:
        """Empty if not known."""

    @property
    def title(self) -> str:
        """Empty if not known."""

    @property
    def seconds(self) -> float:
        """The length; 0 if not known."""


@dataclass(frozen=True)
class PlaylistFormat:
    """A playlist format.

    Attributes
    ----------
    name : str
        Its name in options and in the API.
    label : str
        Its name in menus.
    endings : tuple of str
        Extensions of its files, the default first.
    media_type : str
    unit : str
        What ``PlaylistEntry.number`` counts.
    read : callable
        A source -> ``PlaylistContent``; raises ``ListensError`` if the file is damaged or something else.
    write : callable
        Songs, title, and the folder of the file or None (paths are then absolute) -> text, for UTF-8.
    needs_title : bool
        Whether a playlist without a title gets the name of its file.
    matches_text : callable
        Detects a text file of this format from its start (without leading white space) and its extension.
    matches_json : callable
        Detects a JSON object of this format.
    """

    name: str
    label: str
    endings: tuple[str, ...]
    media_type: str
    unit: str
    read: Callable[[SourceFile], PlaylistContent]
    write: Callable[[Iterable[ListedSong], str, str | None], str]
    needs_title: bool = False
    matches_text: Callable[[str, str], bool] = lambda text, ending: False
    matches_json: Callable[[dict[str, Any]], bool] = lambda document: False


def one_line(text: str) -> str:
    """Return text that UTF-8 can encode, without line breaks and other control characters."""
    return "".join(" " if letter in CONTROL_CHARACTERS else letter for letter in readable(text)).strip()


def shown_name(song: ListedSong) -> str:
    """Return "Artist - Title" in one line; the file's name if there is no title."""
    title = song.title or Path(song.path).stem
    return one_line(f"{song.artist} - {title}" if song.artist else title)


def length_seconds(song: ListedSong) -> float:
    """Return the length of a song, 0 if it is not known."""
    return song.seconds if isfinite(song.seconds) and song.seconds > 0 else 0.0


def file_url(path: str) -> str:
    """Return a ``file:`` URL in ASCII that preserves every byte of the path; a song elsewhere has its address."""
    if is_streamed(path) or is_remote(path):
        return path
    path = os.path.abspath(path)
    return Path(path).as_uri() if os.name == "nt" else "file://" + quote_from_bytes(os.fsencode(path))


def track_fields(song: ListedSong) -> list[tuple[str, str | int]]:
    """Return the facts of a song that are known, under the names that XSPF and JSPF give them."""
    mbid = getattr(song, "recording_mbid", "")
    fields: list[tuple[str, str | int]] = [
        ("location", file_url(song.path)),
        ("identifier", RECORDING_URL + mbid if mbid else ""),
        ("title", readable(song.title)),
        ("creator", readable(song.artist)),
        ("album", readable(getattr(song, "album", ""))),
        ("duration", round(1000 * length_seconds(song))),
    ]
    return [(name, value) for name, value in fields if value]


def recording_of(identifiers: Iterable[str]) -> str:
    """Return the first URL of a MusicBrainz recording."""
    return next((identifier for identifier in identifiers if _RECORDING.search(identifier)), "")
