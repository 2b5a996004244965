"""M3U and M3U8: one path per line; most players read it.

Songs are named by ``#EXTINF`` lines ("Artist - Title"). Paths are written relative to the playlist's folder, so that
music and playlists can move together.
"""

import re
from collections.abc import Iterable, Iterator

from nearsong.errors import ListensError
from nearsong.listens.playlists.paths import path_line
from nearsong.listens.playlists.playlist_format import (
    DASH,
    ListedSong,
    PlaylistContent,
    PlaylistEntry,
    PlaylistFormat,
    length_seconds,
    one_line,
    shown_name,
)
from nearsong.listens.sources import SourceFile

_ENDINGS = (".m3u8", ".m3u")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LAST_LINE_END = re.compile(r"(?:\r\n|\r|\n)\Z")
# possessive, so that a line that does not match takes no longer than one that does
_EXTINF = re.compile(r'#EXTINF:\s*+[-\d.]*+(?:\s*+[\w-]++="[^"]*+")*+\s*+,(?P<name>.*)', re.IGNORECASE)
_EXTART = re.compile(r"#EXTART:(.*)", re.IGNORECASE)
_PLAYLIST = re.compile(r"#PLAYLIST:(.*)", re.IGNORECASE)


def read_m3u8(source: SourceFile) -> PlaylistContent:
    """Read a playlist lazily; its title is a ``#PLAYLIST`` line before the first song."""
    return PlaylistContent(_title(source), _entries(source))


def write_m3u8(songs: Iterable[ListedSong], title: str, folder: str | None) -> str:
    r"""Return an M3U8 playlist for a file in ``folder``; with absolute paths if that is None.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> song = SimpleNamespace(path="/music/Caravan.mp3", artist="Wynton Marsalis", title="Caravan", seconds=497.6)
    >>> print(write_m3u8([song], "", "/music/lists"), end="")
    #EXTM3U
    #EXTINF:498,Wynton Marsalis - Caravan
    ../Caravan.mp3
    """
    lines = ["#EXTM3U"]
    if title:
        lines.append(f"#PLAYLIST:{one_line(title)}")
    for song in songs:
        path = path_line(song.path, folder)
        lines.append(f"#EXTINF:{round(length_seconds(song)) or -1},{shown_name(song)}")
        lines.append(f"./{path}" if path.startswith("#") else path)  # a line that begins with # is a comment
    return "\n".join(lines) + "\n"


def _lines(source: SourceFile) -> Iterator[tuple[int, str]]:
    number = 0
    for piece in source.text_pieces():
        for line in _LINE_END.split(_LAST_LINE_END.sub("", piece)):
            number += 1
            if line := line.strip():
                yield number, line


def _title(source: SourceFile) -> str:
    for _, line in _lines(source):
        if match := _PLAYLIST.match(line):
            return match[1].strip()
        if not line.startswith("#"):
            break
    return ""


def _entries(source: SourceFile) -> Iterator[PlaylistEntry]:
    shown, artist, album_artist = "", "", ""
    for number, line in _lines(source):
        if not line.startswith("#"):
            if not artist and not DASH.search(shown):
                artist = album_artist
            yield PlaylistEntry(number, artist=artist, shown=shown, location=line)
            shown = artist = ""
        elif line.upper().startswith("#EXT-X-"):
            raise ListensError(f"{source.name} is a video or radio stream (HLS), not a list of songs.")
        elif match := _EXTINF.match(line):
            shown = match["name"].strip()
        elif match := _EXTART.match(line):
            artist = album_artist = match[1].strip()


M3U8 = PlaylistFormat(
    name="m3u8",
    label="M3U8, for most players",
    endings=_ENDINGS,
    media_type="audio/x-mpegurl; charset=utf-8",
    unit="line",
    read=read_m3u8,
    write=write_m3u8,
    matches_text=lambda text, ending: text[:7].upper() == "#EXTM3U" or ending in _ENDINGS,
)
