"""Songs in order -> a playlist file, or the text of one: M3U8 or JSPF.

M3U8 is what players read: a path a line, relative to the playlist's folder, so that music and playlists can move
together; whole paths where nobody knows yet which folder that will be. A name that cannot stand in a line of UTF-8
(it has a line break, or bytes that are no UTF-8) is written as a ``file:`` address, which players follow too. JSPF is
the XSPF playlist in JSON, with MusicBrainz identifiers; ListenBrainz reads it.
"""

import json
import math
import ntpath
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import quote_from_bytes

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.names import readable
from nearsong.validation import check_choice

UNPRINTABLE = {chr(code) for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
"""Control characters, and whatever else some reader takes for the end of a line."""
FORMATS = ("m3u8", "jspf")
RECORDING = "https://musicbrainz.org/recording/"


class ListedSong(Protocol):
    """What a playlist says of a song; :class:`nearsong.library.records.Song` has all of it.

    ``album`` and ``recording_mbid`` are used where a song has them.
    """

    @property
    def path(self) -> str:
        """Where the file is."""

    @property
    def artist(self) -> str:
        """Empty if not known."""

    @property
    def title(self) -> str:
        """Empty if not known."""

    @property
    def seconds(self) -> float:
        """How long it is; 0 if not known."""


def write_playlist(path: str | os.PathLike[str], songs: Iterable[ListedSong], title: str = "") -> Path:
    """Write a playlist in the format its ending names: ``.m3u8`` (or ``.m3u``, the same text) or ``.jspf``.

    Parameters
    ----------
    path : path-like
        The file; one that is there is replaced, at once and only when the new one is whole.
    songs : iterable of ListedSong
    title : str
        Of the playlist; empty for the name of the file.

    Returns
    -------
    Path

    Raises
    ------
    InvalidInputError
        If the ending is another.
    LibraryError
        If the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in (".m3u8", ".m3u"):
        return write_m3u8(path, songs, title)
    if ending == ".jspf":
        return write_jspf(path, songs, title)
    came = f"ends in {ending}" if ending else "has no ending"
    raise InvalidInputError(
        f"{readable(str(path))} {came}, which says no format that can be written; "
        f"use {readable(path.stem)}.m3u8 for players or {readable(path.stem)}.jspf."
    )


def write_m3u8(path: str | os.PathLike[str], songs: Iterable[ListedSong], title: str = "") -> Path:
    """Write an M3U8 playlist; see :func:`write_playlist`."""
    path = Path(path)
    return _write(path, m3u8_text(songs, path.parent, title))


def playlist_text(songs: Iterable[ListedSong], format: str, title: str = "") -> str:
    """Return a playlist that may lie anywhere: its paths are whole.

    Parameters
    ----------
    songs : iterable of ListedSong
    format : str
        ``"m3u8"`` or ``"jspf"``.
    title : str
        Of the playlist.

    Returns
    -------
    str
        To be written as UTF-8.

    Raises
    ------
    InvalidInputError
        If the format is another.
    """
    check_choice(format, "format", FORMATS)
    return m3u8_text(songs, None, title) if format == "m3u8" else jspf_text(songs, title)


def m3u8_text(songs: Iterable[ListedSong], folder: str | os.PathLike[str] | None, title: str = "") -> str:
    r"""Return an M3U8 playlist that is to lie in ``folder``; with whole paths if nobody knows where it will lie.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from nearsong.library.playlist_files import m3u8_text
    >>> song = SimpleNamespace(path="/music/Caravan.mp3", artist="Wynton Marsalis", title="Caravan", seconds=497.6)
    >>> print(m3u8_text([song], "/music/lists"), end="")
    #EXTM3U
    #EXTINF:498,Wynton Marsalis - Caravan
    ../Caravan.mp3
    """
    lines = ["#EXTM3U"]
    if title:
        lines.append(f"#PLAYLIST:{_one_line(title)}")
    base = None if folder is None else os.path.realpath(folder)
    for song in songs:
        lines += [f"#EXTINF:{_whole_seconds(song)},{_one_line(_name(song))}", _entry(song.path, base)]
    return "\n".join(lines) + "\n"


def write_jspf(path: str | os.PathLike[str], songs: Iterable[ListedSong], title: str = "") -> Path:
    """Write a JSPF playlist; see :func:`write_playlist`."""
    path = Path(path)
    return _write(path, jspf_text(songs, title or path.stem))


def jspf_text(songs: Iterable[ListedSong], title: str) -> str:
    """Return a JSPF playlist."""
    playlist = {"title": readable(title), "track": [_track(song) for song in songs]}
    return json.dumps({"playlist": playlist}, ensure_ascii=False, indent=1) + "\n"


def _track(song: ListedSong) -> dict[str, Any]:
    """Return what JSPF says of a song; what is not known is left out."""
    mbid = getattr(song, "recording_mbid", "")
    seconds = song.seconds if math.isfinite(song.seconds) else 0.0
    track = {
        "location": [_address(os.path.abspath(song.path))],
        "title": readable(song.title),
        "creator": readable(song.artist),
        "album": readable(getattr(song, "album", "")),
        "duration": round(1000 * seconds),
        "identifier": [RECORDING + mbid] if mbid else [],
    }
    return {key: value for key, value in track.items() if value}


def _name(song: ListedSong) -> str:
    """Return artist and title as a person would write them; the file's name if there is no title."""
    title = song.title or Path(song.path).stem
    return f"{song.artist} - {title}" if song.artist else title


def _whole_seconds(song: ListedSong) -> int:
    """Return the length; -1, as players have it, if it is not known."""
    return round(song.seconds) if math.isfinite(song.seconds) and song.seconds > 0 else -1


def _entry(path: str, base: str | None) -> str:
    """Return the line that leads from a (real) folder, or from anywhere, to a file."""
    whole = line = os.path.abspath(path)
    if base is not None:
        # Where a link leads is looked up for the folder of the file as for that of the playlist, since ".." goes up
        # from there; a file that is a link itself keeps its name.
        whole = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        line = _relative(whole, base, os.path)
    if _one_line(line) != line:
        return _address(whole)
    return f"./{line}" if line.startswith("#") else line  # a line with # is a comment


def _relative(path: str, base: str, flavour: ModuleType) -> str:
    """Return a path from a folder, with ``/``; the whole path if they are on different drives."""
    with suppress(ValueError):
        path = flavour.relpath(path, base)
    return path.replace("\\", "/") if flavour is ntpath else path


def _address(path: str) -> str:
    """Return a ``file:`` address: ASCII, byte for byte the name the system knows."""
    if os.name == "nt":
        return Path(path).as_uri()
    return "file://" + quote_from_bytes(os.fsencode(path))


def _one_line(text: str) -> str:
    """Return readable text without line breaks and other control characters."""
    return "".join(" " if letter in UNPRINTABLE else letter for letter in readable(text)).strip()


def _write(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    content = text.encode()
    target = Path(os.path.realpath(path))  # a link stays one
    partial = target.with_name(f".nearsong-{os.getpid()}.partial")
    try:
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout
            target.write_bytes(content)
            return path
        try:
            partial.write_bytes(content)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise LibraryError(
            f"{readable(str(path))} cannot be written ({error.strerror}); choose another file or folder."
        ) from error
    return path
