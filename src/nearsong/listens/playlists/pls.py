"""PLS: an INI file with a File, Title and Length for each song, which Winamp, foobar2000 and internet radios use."""

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter

from nearsong.errors import ListensError
from nearsong.listens.playlists.paths import path_line
from nearsong.listens.playlists.playlist_format import (
    ListedSong,
    PlaylistContent,
    PlaylistEntry,
    PlaylistFormat,
    length_seconds,
    one_line,
    shown_name,
)
from nearsong.listens.sources import SourceFile

_HEADER = "[playlist]"
_FIELD = re.compile(r"(file|title)(\d{1,9})\s*=(.*)", re.IGNORECASE)
_NAME = re.compile(r"(?:x-gnome-title|playlistname)\s*=(.*)", re.IGNORECASE)


def read_pls(source: SourceFile) -> PlaylistContent:
    """Read a playlist; songs are in the order of their numbers."""
    head = next((line for line in _lines(source) if line), "")
    if head.lower() != _HEADER:
        raise ListensError(f"{source.name} is not a PLS playlist: it does not start with {_HEADER}.")
    title = ""
    fields: dict[int, dict[str, str]] = {}
    for line in _lines(source):
        if match := _FIELD.match(line):
            fields.setdefault(int(match[2]), {})[match[1].lower()] = match[3].strip()
        elif match := _NAME.match(line):
            title = match[1].strip()
    entries = (
        PlaylistEntry(number, shown=song.get("title", ""), location=song["file"])
        for number, song in sorted(fields.items(), key=itemgetter(0))
        if song.get("file")
    )
    return PlaylistContent(title, entries)


def write_pls(songs: Iterable[ListedSong], title: str, folder: str | None) -> str:
    """Return a PLS playlist for a file in ``folder``; with absolute paths if that is None."""
    lines = [_HEADER]
    if title:
        lines.append(f"X-GNOME-Title={one_line(title)}")
    number = 0
    for number, song in enumerate(songs, 1):
        lines.append(f"File{number}={path_line(song.path, folder)}")
        lines.append(f"Title{number}={shown_name(song)}")
        lines.append(f"Length{number}={round(length_seconds(song)) or -1}")
    return "\n".join([*lines, f"NumberOfEntries={number}", "Version=2"]) + "\n"


def _lines(source: SourceFile) -> Iterator[str]:
    for piece in source.text_pieces():
        yield from map(str.strip, piece.replace("\r", "\n").split("\n"))


PLS = PlaylistFormat(
    name="pls",
    label="PLS, for Winamp, foobar2000 and radios",
    endings=(".pls",),
    media_type="audio/x-scpls; charset=utf-8",
    unit="entry",
    read=read_pls,
    write=write_pls,
    matches_text=lambda text, ending: text[: len(_HEADER)].lower() == _HEADER,
)
