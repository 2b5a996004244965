"""A path -> artist, title, album and year, according to common folder layouts.

The only code that reads names out of paths: the scan uses it for files without tags, playlist readers for entries
without a name.
"""

import os
import re
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote

from nearsong.names import clean_text

_DASH = re.compile(r"\s+[-\u2013\u2014]\s+")
# "01 - Title", "1-01 Title", "3. Title", "03-Title", "12 Title"; but "99 Luftballons", "7 Seconds", "9-5", "1999"
_TRACK_PREFIX = re.compile(
    r"""^(?: \(?\d{1,3}\s*[-\u2013\u2014.)]+\s+ | \d{1,2}-\d{2,3}[\s.-]+ | \d{2,3}[-.](?=[^\d\s])
    | (?:0\d{1,2}|[12]\d|3[0-5])\s+ )(?=\S)""",
    re.VERBOSE,
)
_TRACK_NUMBER = re.compile(r"\d{1,3}")
_DISC = re.compile(r"(?:cd|dis[ck]|lp|vinyl|side)\W*(\w{1,2}|[ivx]+)", re.IGNORECASE)
_DISC_NUMERALS = {
    "a": 1, "b": 2, "c": 3, "d": 4, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8,
}  # fmt: skip
_YEAR_AFTER = re.compile(r"^(.+?)\s*[(\[]((?:1[5-9]|2[01])\d\d)[)\]]$")
_YEAR_BEFORE = re.compile(
    r"^(?:[(\[]((?:1[5-9]|2[01])\d\d)[)\]]\s*[-\u2013\u2014.]?|((?:1[5-9]|2[01])\d\d)\s+[-\u2013\u2014.])\s*(.+)$"
)
_VERSION = re.compile(
    r"\b(?:live|remix|mix|edit|version|remaster\w*|acoustic|demo|instrumental|mono|stereo|feat|ft|bonus|reprise)\b",
    re.IGNORECASE,
)
_COLLECTION = re.compile(
    "music|musik|musica|música|musique|my music|meine musik|audio|media|mp3s?|flac|songs|tracks|singles|albums|new"
    "|downloads?|desktop|documents|library|itunes|itunes media|itunes music|home|users|mnt|data|te?mp"
    "|incoming|unsorted|share|public|volumes|playlists",
    re.IGNORECASE,
)
"""Folders of a collection: neither they nor the folders above them name an artist."""

_NOT_LETTERS = re.compile(r"[\W_]+")
_VARIOUS_ARTISTS = frozenset({
    "va", "vvaa", "various", "variousartists", "variosartistas", "artistesdivers", "diverse",
    "verschiedeneinterpreten", "verschiedenekünstler", "compilation", "compilations", "unknown", "unknownartist",
})  # fmt: skip

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:[\\/]", re.IGNORECASE)
_FILE_ENDING = re.compile(r"(?<=.)\.[a-z0-9]{2,5}\Z", re.IGNORECASE | re.DOTALL)


class PathNames(NamedTuple):
    """The names found in a path; empty or None where there are none."""

    artist: str
    title: str
    album: str = ""
    year: int | None = None


class _FileName(NamedTuple):
    artist: str
    album: str
    title: str
    has_number: bool


STREAMED_PREFIX = "subsonic://"
"""Beginning of the paths of songs whose files are on a server and never stored here."""


def is_streamed(path: str) -> bool:
    """Return whether a path is that of a song on a server, not of a file."""
    return path.startswith(STREAMED_PREFIX)


def is_remote(path: str) -> bool:
    """Return whether a path is a URL of shared storage, where a scan has read the file.

    >>> is_remote("s3://bucket/song.flac"), is_remote("/music/song.flac"), is_remote("subsonic://server/song.flac")
    (True, False, False)
    """
    return bool(_URL.match(path)) and not path.lower().startswith("file://") and not is_streamed(path)


def names_in_path(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> PathNames:
    r"""Read artist, title, album and year from the names of a file and of its two nearest folders.

    Parameters
    ----------
    path : path-like
        With slashes or backslashes, or a URL. The folders of a URL other than ``file:`` are ignored.
    root : path-like, optional
        The music folder: folders above it are ignored.

    Examples
    --------
    >>> names_in_path("Miles Davis/Kind of Blue (1959)/01 - So What.flac")
    PathNames(artist='Miles Davis', title='So What', album='Kind of Blue', year=1959)
    >>> names_in_path(r"C:\Music\V.A.\Hits\04 Porcelain.mp3")
    PathNames(artist='', title='Porcelain', album='Hits', year=None)
    >>> names_in_path("Nina Simone - Sinnerman.mp3").artist
    'Nina Simone'
    """
    parents, file_name = _split(path, root)
    folders = _album_folders(parents, skip_home=root is None)
    parent_artist = folders[1] if len(folders) > 1 else ""
    name = _read_file_name(file_name, parent_artist)
    artist, album, year = _read_folders(folders, name.has_number)
    artist = name.artist or artist
    return PathNames("" if is_various_artists(artist) else artist, name.title, name.album or album, year)


def is_various_artists(name: str) -> bool:
    """Return whether a name means several artists or an unknown one.

    >>> is_various_artists("V.A."), is_various_artists("Various Artists"), is_various_artists("Can")
    (True, True, False)
    """
    return _NOT_LETTERS.sub("", name.lower()) in _VARIOUS_ARTISTS


def disc_of_folder(name: str) -> int | None:
    """Return the number of a disc that a folder is named after; None for other folders.

    >>> [disc_of_folder(name) for name in ("CD 2", "Disc III", "Side B", "cd01", "Homogenic")]
    [2, 3, 2, 1, None]
    """
    found = _DISC.fullmatch(name)
    if not found:
        return None
    number = found[1].lower()
    return int(number) if number.isdecimal() else _DISC_NUMERALS.get(number, 1)


def _split(path: str | os.PathLike[str], root: str | os.PathLike[str] | None) -> tuple[list[str], str]:
    """Return the folders of a path, outermost first, and the name of its file."""
    if root is not None and PurePath(path).is_relative_to(PurePath(root)):
        path = PurePath(path).relative_to(PurePath(root))
    text = os.fspath(path)
    if text.lower().startswith("file://"):
        text = unquote(text[len("file://") :])
    is_posix = os.sep == "/" if root is not None else "/" in text and not _DRIVE.match(text)
    *folders, name = re.split("/" if is_posix else r"[\\/]", text)
    return [] if _URL.match(text) else folders, name


def _album_folders(parents: list[str], skip_home: bool) -> list[str]:
    """Return up to two folders that may be album and artist, the nearest first; disc folders are skipped."""
    folders: list[str] = []
    for depth in range(len(parents) - 1, -1, -1):
        folder = clean_text(parents[depth])
        is_home = skip_home and depth > 0 and parents[depth - 1].lower() in ("home", "users")
        if len(folders) == 2 or is_home or _COLLECTION.fullmatch(folder):
            break
        if folder.strip(".") and not folder.endswith(":") and not _DISC.fullmatch(folder):
            folders.append(folder)
    return folders


def _read_folders(folders: list[str], has_number: bool) -> tuple[str, str, int | None]:
    """Return artist, album and year of "Artist/Album", "Artist - Album" or "Artist"."""
    if not folders:
        return "", "", None
    artist, album, year = _read_album_folder(folders[0])
    if len(folders) > 1:
        artist = folders[1]
    if not artist and year is None and not has_number:  # Artist/Title.mp3
        return album, "", None
    return artist, album, year


def _read_album_folder(folder: str) -> tuple[str, str, int | None]:
    """Return artist, album and year of "Artist - Album (2001)" and its variants."""
    year, artist = None, ""
    if match := _YEAR_AFTER.match(folder):
        folder, year = match[1], int(match[2])
    parts = _DASH.split(folder, maxsplit=1)
    if len(parts) == 2 and not parts[0].isdigit():
        artist, folder = parts
    if match := _YEAR_BEFORE.match(folder):
        folder, year = match[3], int(match[1] or match[2])
    return artist, folder, year


def _read_file_name(file_name: str, parent_artist: str) -> _FileName:
    stem = _FILE_ENDING.sub("", file_name)
    name = clean_text(stem if " " in stem else stem.replace("_", " "))
    title = _TRACK_PREFIX.sub("", name)
    has_number = title != name
    parts = _DASH.split(title)
    for index in range(1, len(parts) - 1):
        if _TRACK_NUMBER.fullmatch(parts[index]):  # Artist - Album - 03 - Title
            return _FileName(parts[0], " - ".join(parts[1:index]), " - ".join(parts[index + 1 :]), True)
    is_version = len(parts) > 1 and parent_artist and _VERSION.search(parts[1]) and parts[0] != parent_artist
    if len(parts) == 1 or is_version:  # "Title - Live" in a folder of the artist
        return _FileName("", "", title, has_number)
    return _FileName(parts[0], "", " - ".join(parts[1:]), has_number)
