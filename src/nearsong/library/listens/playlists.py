"""M3U and M3U8 playlists -> blocks: a playlist is a listener, each of its songs one play.

A song is named by its ``#EXTINF`` line ("Artist - Title"); where that is missing, its path is all there is, and
artist and title are guessed from it.
"""

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

from nearsong.errors import ListensError
from nearsong.library.file_tags import read_tags
from nearsong.library.listens.blocks import BATCH_ROWS, Batch, BlockBuilder
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

_LINE_END = re.compile(r"\r\n|\r|\n")
_LAST_LINE_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_EXTINF = re.compile(r'#EXTINF:\s*[-\d.]*(?:\s*[\w-]+="[^"]*")*\s*,(?P<name>.*)', re.IGNORECASE)
_DIRECTIVE = re.compile(r"#(?P<what>EXTART|PLAYLIST):(?P<name>.*)", re.IGNORECASE)
_DASH = re.compile(r"\s+[-–—]\s+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:[\\/]", re.IGNORECASE)
_ENDING = re.compile(r"\.[a-z0-9]{2,5}$", re.IGNORECASE)
_SURE_NUMBER = re.compile(r"^(?:\d{1,2}[-.])?(?:0\d{1,2}[\s._)-]+|\d{1,3}(?:[._)-]\s*|\s+[-–.]\s+))(?=\S)")
_LIKELY_NUMBER = re.compile(r"^(?:[12]?\d|30)\s+(?=\S)")  # "99 Luftballons" is a title
_DISC = re.compile(r"(?:cd|dis[ck]|side|vol(?:ume)?)[\s._-]*(?:\d+|[ivx]+|[ab])", re.IGNORECASE)
_ROOTS = frozenset({
    "audio", "download", "downloads", "flac", "home", "itunes", "itunes media", "library", "media", "mp3", "mp3s",
    "music", "musik", "musique", "my music", "songs",
})  # fmt: skip
_VARIOUS = frozenset({"compilations", "unknown artist", "va", "various", "various artists"})


def read_m3u(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a playlist; its listener is called like the playlist, or like the file.

    Parameters
    ----------
    source : Source
    builder : BlockBuilder
        Takes the rows.
    user : str
        Not used: a playlist has a name of its own.

    Yields
    ------
    ListenBlock
    """
    builder.begin(source.name, source.stem)
    playlist = source.stem
    artists: list[str] = []
    titles: list[str] = []
    numbers: list[int] = []
    for number, kind, artist, title in _entries(source):
        if kind == "playlist":
            playlist = title or playlist
            continue
        artists.append(artist)
        titles.append(title)
        numbers.append(number)
        if len(artists) == BATCH_ROWS:
            yield from builder.add(Batch(artists, numbers, [playlist] * len(artists), titles))
            artists, titles, numbers = [], [], []
    if artists:
        yield from builder.add(Batch(artists, numbers, [playlist] * len(artists), titles))
    builder.end()


def guess_artist_title(path: str) -> tuple[str, str]:
    r"""Guess who plays what from where a file is.

    Parameters
    ----------
    path : str
        With slashes or backslashes, or a ``file://`` address.

    Returns
    -------
    artist, title : str
        Empty if there is nothing to guess from.

    Examples
    --------
    >>> guess_artist_title("Music/Nina Simone/Pastel Blues/08 Sinnerman.flac")
    ('Nina Simone', 'Sinnerman')
    >>> guess_artist_title(r"C:\Music\03 - Nena - 99 Luftballons.mp3")
    ('Nena', '99 Luftballons')
    >>> guess_artist_title("song.mp3")
    ('', 'song')
    """
    if path.lower().startswith("file://"):
        path = unquote(path[len("file://") :])
    parts = re.split(r"[\\/]" if "/" not in path or _DRIVE.match(path) else "/", path)
    *folders, name = [part.strip() for part in parts]
    folders = [folder for folder in folders if folder not in ("", ".", "..") and not folder.endswith(":")]
    if _ADDRESS.match(path):
        folders = []  # a server and its folders say nothing about artists
    if folders and _DISC.fullmatch(folders[-1]):
        folders.pop()
    name = _ENDING.sub("", name)
    if "_" in name and " " not in name:
        name = name.replace("_", " ")
    in_album = len(folders) > 1 and folders[-2].lower() not in _ROOTS
    name = _without_number(name, likely=in_album)
    first, *others = _DASH.split(name)
    if others:
        tail = [part for part in others if not part.isdecimal()] or others
        # "Artist - Album - 03 - Title": a number says that what comes before it is an album
        return first.strip(), (others[-1] if len(tail) < len(others) else " - ".join(others)).strip()
    return _artist_of(folders), name.strip()


def _artist_of(folders: list[str]) -> str:
    """Return the artist whose folder, or whose album's folder, this is."""
    if not folders or folders[-1].lower() in _ROOTS:
        return ""
    artist = folders[-1] if len(folders) == 1 or folders[-2].lower() in _ROOTS else folders[-2]
    return "" if artist.lower() in _VARIOUS else _DASH.split(artist)[0]


def _without_number(name: str, likely: bool) -> str:
    """Take a track's number away from the beginning of its name."""
    shorter = _SURE_NUMBER.sub("", name, count=1)
    if shorter == name and likely:
        shorter = _LIKELY_NUMBER.sub("", name, count=1)
    return shorter


def _entries(source: Source) -> Iterator[tuple[int, str, str, str]]:
    """Yield for every song its line, ``"song"``, artist and title; for a name of the playlist ``"playlist"``."""
    number, shown, artist, album_artist = 0, "", "", ""
    for piece in source.text_pieces():
        for line in map(str.strip, _LINE_END.split(_LAST_LINE_END.sub("", piece))):
            number += 1
            if not line:
                continue
            if not line.startswith("#"):
                yield number, "song", *(_by_itself(source, line) or _named(line, shown, artist, album_artist))
                shown = artist = ""
            elif line.upper().startswith("#EXT-X-"):
                raise ListensError(f"{source.name} is a stream cut into pieces (HLS), not a list of songs.")
            elif found := _EXTINF.match(line):
                shown = found["name"].strip()
            elif found := _DIRECTIVE.match(line):
                if found["what"].upper() == "PLAYLIST":
                    yield number, "playlist", "", found["name"].strip()
                else:
                    artist = album_artist = found["name"].strip()


def _by_itself(source: Source, path: str) -> tuple[str, str] | None:
    """Return artist and title as the file itself has them, if it is there: so a scan of it will call it too."""
    if source.member or _ADDRESS.match(path):
        return None
    file = os.path.join(source.path.absolute().parent, path)
    if not os.path.isfile(file):  # says no, too, to what no file can be called
        return None
    tags = read_tags(file)
    return (tags.artist, tags.title) if tags.artist else None


def _named(path: str, shown: str, artist: str, album_artist: str) -> tuple[str, str]:
    """Return artist and title of a song from what its playlist says, else from its path."""
    first, *others = _DASH.split(shown, maxsplit=1)
    if artist:
        return artist, others[0] if others and first.lower() == artist.lower() else shown or guess_artist_title(path)[
            1
        ]
    if others:
        return first, others[0]
    guessed_artist, guessed_title = guess_artist_title(path)
    return album_artist or guessed_artist, shown or guessed_title
