"""An audio file -> what it says about itself, or what its path says: artist, title, album, genre, year, MBIDs.

A file that is damaged or no audio at all has no tags; reading it never raises, so that it cannot end a scan.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple

import mutagen
from mutagen import id3
from mutagen.apev2 import APEv2
from mutagen.asf import ASFTags
from mutagen.mp4 import AtomDataType, MP4FreeForm, MP4Tags

from nearsong.errors import UnreadableAudioError
from nearsong.library.records import Tags

LONGEST = 500
"""Characters of a tag that are kept."""

# field -> where a format keeps it; the first that says something wins, and is where it is written
_ID3 = {
    "artist": ("TPE1",),
    "album_artist": ("TPE2",),
    "title": ("TIT2",),
    "album": ("TALB",),
    "genre": ("TCON",),
    "year": ("TDRC", "TDRL", "TDOR"),
    "recording_mbid": ("UFID:http://musicbrainz.org", "TXXX:musicbrainz_trackid"),
    "artist_mbid": ("TXXX:MusicBrainz Artist Id", "TXXX:musicbrainz_artistid"),
}
_MP4 = {
    "artist": ("\xa9ART",),
    "album_artist": ("aART",),
    "title": ("\xa9nam",),
    "album": ("\xa9alb",),
    "genre": ("\xa9gen",),
    "year": ("\xa9day",),
    "recording_mbid": ("----:com.apple.iTunes:MusicBrainz Track Id",),
    "artist_mbid": ("----:com.apple.iTunes:MusicBrainz Artist Id",),
}
_ASF = {
    "artist": ("Author", "WM/Artist"),
    "album_artist": ("WM/AlbumArtist",),
    "title": ("Title",),
    "album": ("WM/AlbumTitle",),
    "genre": ("WM/Genre",),
    "year": ("WM/Year", "WM/OriginalReleaseYear"),
    "recording_mbid": ("MusicBrainz/Track Id",),
    "artist_mbid": ("MusicBrainz/Artist Id",),
}
_COMMENTS = {  # Vorbis comments, and APE tags, which use the same names
    "artist": ("artist",),
    "album_artist": ("albumartist", "album artist", "album_artist"),
    "title": ("title",),
    "album": ("album",),
    "genre": ("genre",),
    "year": ("date", "year", "originaldate", "originalyear"),
    "recording_mbid": ("musicbrainz_trackid",),
    "artist_mbid": ("musicbrainz_artistid",),
}

_UNWRITABLE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ufeff]+")
_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|2[01])\d\d)(?:(?=\d{4}(?!\d))|(?!\d))")
_MBID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_NOBODY = {"various artists", "various", "va", "v.a.", "compilations", "unknown artist", "unknown", "<unknown>"}


def read_tags(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Tags:
    """Return what a file says about itself; what it does not say is guessed from its path.

    Parameters
    ----------
    path : path-like
    root : path-like, optional
        The music folder: nothing is guessed from the names of the folders that lead to it.

    Returns
    -------
    Tags
        Of several artists the first. The artist of the album stands in for a missing artist. Texts have no control
        characters, at most `LONGEST` characters, and nothing that UTF-8 cannot hold.
    """
    return read_tags_and_length(path, root)[0]


def read_tags_and_length(
    path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None
) -> tuple[Tags, float | None]:
    """Return what :func:`read_tags` returns, and how many seconds the file claims to last, if it says."""
    said, seconds = Tags(), None
    try:
        file: Any = mutagen.File(os.fspath(path))
        if file is not None:
            seconds = _length(file)
            said = _said(file.tags)
    except Exception:  # whatever a damaged file does to a parser, a scan goes on
        pass
    if said == Tags():
        said = _said_on_the_side(path)
    guess = guess_from_path(path, root)
    missing = {field.name: getattr(guess, field.name) for field in fields(Tags) if not getattr(said, field.name)}
    return replace(said, **missing), seconds


def _length(file: Any) -> float | None:
    seconds = getattr(file.info, "length", None)
    return float(seconds) if isinstance(seconds, int | float) and isfinite(seconds) and seconds > 0 else None


def _said_on_the_side(path: str | os.PathLike[str]) -> Tags:
    """Return what ID3 or APE tags say in a file whose sound is damaged or whose format should have no such tags."""
    for kind in (id3.ID3, APEv2):
        try:
            said = _said(kind(os.fspath(path)))
        except Exception:  # as above
            continue
        if said != Tags():
            return said
    return Tags()


def _names_of(tags: Any) -> Mapping[str, tuple[str, ...]]:
    for kind, names in ((id3.ID3, _ID3), (MP4Tags, _MP4), (ASFTags, _ASF)):
        if isinstance(tags, kind):
            return names
    return _COMMENTS


def _said(tags: Any) -> Tags:
    if not tags:
        return Tags()
    values: dict[str, Any] = {}
    for key in tags.keys():  # noqa: SIM118  (ASF and APE tags are no plain mappings)
        values.setdefault(key.lower(), tags[key])
    names = _names_of(tags)

    def texts(field: str) -> Iterator[str]:
        for key in names[field]:
            for text in _texts(values.get(key.lower())):
                if text:
                    yield text

    def first(field: str) -> str:
        return next(texts(field), "")

    album_artist = first("album_artist")
    return Tags(
        artist=first("artist") or ("" if album_artist.lower() in _NOBODY else album_artist),
        title=first("title"),
        album=first("album"),
        genre=first("genre"),
        year=next((year for text in texts("year") if (year := year_in(text))), None),
        recording_mbid=next((mbid for text in texts("recording_mbid") if (mbid := _mbid(text))), ""),
        artist_mbid=next((mbid for text in texts("artist_mbid") if (mbid := _mbid(text))), ""),
    )


def _texts(value: Any) -> Iterator[str]:
    """Give the texts of a tag, whatever a format wraps them in."""
    if value is None:
        return
    if isinstance(value, id3.TCON):
        parts: Any = value.genres  # numbers become names
    elif isinstance(value, id3.UFID):
        parts = [value.data]  # type: ignore[attr-defined]
    elif isinstance(value, id3.TextFrame):
        parts = value.text  # type: ignore[attr-defined]
    else:
        parts = value if isinstance(value, list) else [value]
    for part in parts:
        text = bytes(part).decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
        for piece in text.split("\0"):
            yield clean_text(piece)


def clean_text(text: str) -> str:
    r"""Return a text as a database and a table can hold it.

    Examples
    --------
    >>> clean_text(" Sigur\x00  R\u00f3s\n")
    'Sigur Rós'
    """
    spaced = _CONTROLS.sub(" ", _UNWRITABLE.sub("\ufffd", text))
    return unicodedata.normalize("NFC", " ".join(spaced.split()))[:LONGEST].strip()


def year_in(text: str) -> int | None:
    """Return the year that a date names.

    Examples
    --------
    >>> [year_in(text) for text in ("2011-05-01", "20110501", "1.5.2011", "2011", "unknown")]
    [2011, 2011, 2011, 2011, None]
    """
    found = _YEAR.search(text)
    return int(found[1]) if found else None


def _mbid(text: str) -> str:
    found = _MBID.search(text.lower())
    return found[0] if found else ""


# ---- what a path says

_DASH = re.compile(r"\s+[-\u2013\u2014]\s+")
# "01 - Title", "1-01 Title", "3. Title", "03-Title", "12 Title"; but "99 Luftballons", "7 Seconds", "9-5", "1999"
_NUMBER = re.compile(
    r"""^(?: \(?\d{1,3}\s*[-\u2013\u2014.)]+\s+ | \d{1,2}-\d{2,3}[\s.-]+ | \d{2,3}[-.](?=[^\d\s])
    | (?:0\d{1,2}|[12]\d|3[0-5])\s+ )(?=\S)""",
    re.VERBOSE,
)
_TRACK = re.compile(r"\d{1,3}")
_DISC = re.compile(r"(?:cd|dis[ck]|lp|vinyl|side)\W*\w{1,2}", re.IGNORECASE)
_YEAR_BEHIND = re.compile(r"^(.+?)\s*[(\[]((?:1[5-9]|2[01])\d\d)[)\]]$")
_YEAR_BEFORE = re.compile(
    r"^(?:[(\[]((?:1[5-9]|2[01])\d\d)[)\]]\s*[-\u2013\u2014.]?|((?:1[5-9]|2[01])\d\d)\s+[-\u2013\u2014.])\s*(.+)$"
)
_VERSION = re.compile(
    r"\b(?:live|remix|mix|edit|version|remaster\w*|acoustic|demo|instrumental|mono|stereo|feat|ft|bonus|reprise)\b",
    re.IGNORECASE,
)
# folders that hold music and are no artist; what is above them says nothing either
_SHELVES = re.compile(
    "music|musik|musica|música|musique|my music|meine musik|audio|media|mp3s?|flac|songs|tracks|singles|albums|new"
    "|downloads?|desktop|documents|library|itunes|itunes media|itunes music|home|users|mnt|data|te?mp"
    "|incoming|unsorted|share|public|volumes|playlists",
    re.IGNORECASE,
)


class _FileName(NamedTuple):
    """What a file's name says, and whether it began with a track number."""

    artist: str
    album: str
    title: str
    numbered: bool


def guess_from_path(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Tags:
    """Return what the names of a file and of its two nearest folders say.

    Parameters
    ----------
    path : path-like
    root : path-like, optional
        The music folder: the folders that lead to it say nothing.

    Returns
    -------
    Tags
        There is always a title.

    Examples
    --------
    >>> tags = guess_from_path("Miles Davis/Kind of Blue (1959)/01 - So What.flac")
    >>> tags.artist, tags.title, tags.album, tags.year
    ('Miles Davis', 'So What', 'Kind of Blue', 1959)
    >>> guess_from_path("Nina Simone - Sinnerman.mp3").artist
    'Nina Simone'
    """
    folders = _folders(PurePath(path), root)
    above = folders[1] if len(folders) > 1 else ""
    name = _file_name(PurePath(path).stem, above)
    artist, album, year = "", "", None
    if folders:
        by, album, year = _album(folders[0])
        artist = above or by
        if not artist and year is None and not name.numbered:  # Artist/Title.mp3
            artist, album = album, ""
    artist = name.artist or artist
    if artist.lower() in _NOBODY:
        artist = ""
    return Tags(artist=artist, title=name.title, album=name.album or album, year=year)


def _folders(path: PurePath, root: str | os.PathLike[str] | None) -> list[str]:
    """Return the names of up to two folders that may be album and artist, the nearest first."""
    parts = list(path.parent.parts)
    if root is not None and path.is_relative_to(PurePath(root)):
        parts = parts[len(PurePath(root).parts) :]
    elif path.anchor:
        parts = parts[1:]
    found: list[str] = []
    for place in range(len(parts) - 1, -1, -1):
        folder = clean_text(parts[place])
        of_a_person = root is None and place > 0 and parts[place - 1].lower() in ("home", "users")
        if len(found) == 2 or of_a_person or _SHELVES.fullmatch(folder):
            break
        if folder.strip(".") and not _DISC.fullmatch(folder):
            found.append(folder)
    return found


def _album(folder: str) -> tuple[str, str, int | None]:
    """Read "Artist - Album (2001)" and its kin: artist, album, year."""
    year, artist = None, ""
    if found := _YEAR_BEHIND.match(folder):
        folder, year = found[1], int(found[2])
    parts = _DASH.split(folder, maxsplit=1)
    if len(parts) == 2 and not parts[0].isdigit():
        artist, folder = parts
    if found := _YEAR_BEFORE.match(folder):
        folder, year = found[3], int(found[1] or found[2])
    return artist, folder, year


def _file_name(stem: str, folder_artist: str) -> _FileName:
    name = clean_text(stem if " " in stem else stem.replace("_", " ")) or "?"
    rest = _NUMBER.sub("", name)
    numbered = rest != name
    parts = _DASH.split(rest)
    tracks = [place for place, part in enumerate(parts) if _TRACK.fullmatch(part) and 0 < place < len(parts) - 1]
    if tracks:  # Artist - Album - 03 - Title
        place = tracks[0]
        return _FileName(parts[0], " - ".join(parts[1:place]), " - ".join(parts[place + 1 :]), True)
    note = len(parts) > 1 and folder_artist and _VERSION.search(parts[1]) and parts[0] != folder_artist
    if len(parts) == 1 or note:  # Title - Live, in a folder of the artist's
        return _FileName("", "", rest, numbered)
    return _FileName(parts[0], "", " - ".join(parts[1:]), numbered)


# ---- writing


def write_tags(path: str | os.PathLike[str], tags: Tags) -> None:
    """Write tags into an MP3, FLAC, Ogg, Opus, M4A, WAV, AIFF or WMA file; what is empty is removed.

    Parameters
    ----------
    path : path-like
    tags : Tags

    Raises
    ------
    UnreadableAudioError
        If the file is missing, damaged, or of a format without tags.
    """
    try:
        file: Any = mutagen.File(os.fspath(path))
        if file is None:
            raise ValueError("it is no audio file")
        if file.tags is None:
            file.add_tags()
        for field, names in _names_of(file.tags).items():
            if field != "album_artist":
                value = getattr(tags, field)
                _put(file.tags, names, clean_text(str(value)) if value else "")
        file.save()
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnreadableAudioError(path, f"tags cannot be written ({reason}); convert it to FLAC or MP3") from error


def _put(tags: Any, names: tuple[str, ...], text: str) -> None:
    """Write a text under the first of some names, and nothing under the others."""
    lower = {name.lower() for name in names}
    for key in [key for key in tags.keys() if key.lower() in lower]:  # noqa: SIM118
        del tags[key]
    if not text:
        return
    kind, _, rest = names[0].partition(":")
    if kind == "UFID":
        tags.add(id3.UFID(owner=rest, data=text.encode()))  # type: ignore[no-untyped-call]
    elif kind == "TXXX":
        tags.add(id3.TXXX(encoding=3, desc=rest, text=[text]))  # type: ignore[no-untyped-call]
    elif kind == "----":
        tags[names[0]] = [MP4FreeForm(text.encode(), AtomDataType.UTF8)]  # type: ignore[no-untyped-call]
    elif names[0] in id3.Frames:
        tags.add(id3.Frames[names[0]](encoding=3, text=[text]))
    else:
        tags[names[0]] = [text]
