"""An audio file -> its tags, completed from its path: artist, title, album, genre, year, MBIDs.

Reading never raises, so that a damaged file cannot end a scan: it has no tags.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any

import mutagen
from mutagen import id3
from mutagen.apev2 import APEv2
from mutagen.asf import ASFTags
from mutagen.mp4 import AtomDataType, MP4FreeForm, MP4Tags

from nearsong.audio.headers.tag_file import TagFile, opened_for_tags
from nearsong.errors import UnreadableAudioError
from nearsong.names import clean_text
from nearsong.path_names import is_various_artists, names_in_path

_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|2[01])\d\d)(?:(?=\d{4}(?!\d))|(?!\d))")
_NUMBER = re.compile(r"[0-9]{1,9}")
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
    """Return the first number of a text, such as that of "3/12" or of MP4's "(3, 12)".

    Examples
    --------
    >>> [number_in(text) for text in ("03", "3/12", "(3, 12)", "A3", "")]
    [3, 3, 3, 3, None]
    """
    found = _NUMBER.search(text)
    return int(found[0]) if found else None


def _mbid(text: str) -> str:
    found = _MBID.search(text.lower())
    return found[0] if found else ""


def _text(text: str) -> str:
    return text


def tag(
    default: str | int | None,
    *,
    id3: tuple[str, ...] = (),
    mp4: tuple[str, ...] = (),
    asf: tuple[str, ...] = (),
    comments: tuple[str, ...] = (),
    parse: Callable[[str], Any] = _text,
    searched: bool = False,
    listed: bool = True,
) -> Any:
    """Declare a field of `Tags`.

    Parameters
    ----------
    default : str, int or None
        Its value where a file says nothing.
    id3, mp4, asf, comments : tuple of str
        Names of the field in each kind of tags; the first that has a value is used, and the first is written.
    parse : callable
        Text of a tag -> value; empty or None if the text has none.
    searched : bool, default=False
        Whether a search in the library looks at its words.
    listed : bool, default=True
        Whether lists of songs show it: in the API and in ``--json``.
    """
    names = {"id3": id3, "mp4": mp4, "asf": asf, "comments": comments}
    return field(default=default, metadata={"names": names, "parse": parse, "searched": searched, "listed": listed})


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a file; empty where unknown. The fields are the table of all song fields.

    A new field is one more line here: `Song`, the table of songs, the API and the search derive theirs from it.

    Attributes
    ----------
    artist, title, album, genre : str
        As in the file, or guessed from its path.
    year : int or None
        Year of the release.
    track_number : int or None
        Number of the song on its album.
    recording_mbid, artist_mbid : str
        MusicBrainz identifiers of the recording and of the (first) artist.
    """

    artist: str = tag(
        "", id3=("TPE1",), mp4=("\xa9ART",), asf=("Author", "WM/Artist"), comments=("artist",), searched=True
    )
    title: str = tag("", id3=("TIT2",), mp4=("\xa9nam",), asf=("Title",), comments=("title",), searched=True)
    album: str = tag("", id3=("TALB",), mp4=("\xa9alb",), asf=("WM/AlbumTitle",), comments=("album",), searched=True)
    genre: str = tag("", id3=("TCON",), mp4=("\xa9gen",), asf=("WM/Genre",), comments=("genre",), searched=True)
    year: int | None = tag(
        None,
        id3=("TDRC", "TDRL", "TDOR"),
        mp4=("\xa9day",),
        asf=("WM/Year", "WM/OriginalReleaseYear"),
        comments=("date", "year", "originaldate", "originalyear"),
        parse=year_in,
    )
    recording_mbid: str = tag(
        "",
        id3=("UFID:http://musicbrainz.org", "TXXX:musicbrainz_trackid"),
        mp4=("----:com.apple.iTunes:MusicBrainz Track Id",),
        asf=("MusicBrainz/Track Id",),
        comments=("musicbrainz_trackid",),
        parse=_mbid,
        listed=False,
    )
    artist_mbid: str = tag(
        "",
        id3=("TXXX:MusicBrainz Artist Id", "TXXX:musicbrainz_artistid"),
        mp4=("----:com.apple.iTunes:MusicBrainz Artist Id",),
        asf=("MusicBrainz/Artist Id",),
        comments=("musicbrainz_artistid",),
        parse=_mbid,
        listed=False,
    )
    track_number: int | None = tag(
        None,
        id3=("TRCK",),
        mp4=("trkn",),
        asf=("WM/TrackNumber",),
        comments=("tracknumber", "track"),
        parse=number_in,
    )


TAG_FIELDS = fields(Tags)
"""All fields of a song that its tags give."""

LISTED_FIELDS = tuple(field.name for field in TAG_FIELDS if field.metadata["listed"])
SEARCHED_FIELDS = tuple(field.name for field in TAG_FIELDS if field.metadata["searched"])

_ALBUM_ARTIST = {  # stands in for a missing artist
    "id3": ("TPE2",),
    "mp4": ("aART",),
    "asf": ("WM/AlbumArtist",),
    "comments": ("albumartist", "album artist", "album_artist"),
}


TAGS_TOO_LARGE = "damaged (its tags are too large to be read); what is readable of them was used."


def _ignore(damage: str) -> None:
    """Do nothing."""


def read_tags(
    path: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    on_damage: Callable[[str], None] = _ignore,
) -> Tags:
    """Return the tags of a file; missing ones are guessed from its path.

    Parameters
    ----------
    path : path-like
    root : path-like, optional
        The music folder; only folders below it are used for guesses.
    on_damage : callable
        Called with `TAGS_TOO_LARGE` if tags were refused because they would take too much memory.

    Returns
    -------
    Tags
        Of several artists the first; without an artist that of the album. Texts are valid UTF-8 without control
        characters, of at most `MAX_TEXT_LENGTH` characters.
    """
    return read_tags_and_length(path, root, on_damage)[0]


def read_tags_and_length(
    path: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    on_damage: Callable[[str], None] = _ignore,
) -> tuple[Tags, float | None]:
    """Return the tags as `read_tags` does, and the length in seconds that the file declares, if any."""
    tags, seconds = Tags(), None
    try:
        with opened_for_tags(path) as file:
            tags, seconds = _read(file)
            if file.has_refused:
                on_damage(TAGS_TOO_LARGE)
    except OSError:  # a file that cannot be opened has no tags
        pass
    guess = guess_from_path(path, root)
    missing = {field.name: getattr(guess, field.name) for field in TAG_FIELDS if not getattr(tags, field.name)}
    return replace(tags, **missing), seconds


def _read(file: TagFile) -> tuple[Tags, float | None]:
    """Return the tags in a file and the length that it declares; what cannot be read is left out."""
    tags, seconds = Tags(), None
    try:
        found: Any = mutagen.File(file)
        if found is not None:
            seconds = _length(found)
            tags = _parse(found.tags)
    except Exception:  # a damaged file may raise anything in the parser
        pass
    return (tags if tags != Tags() else _read_foreign_tags(file)), seconds


def _length(file: Any) -> float | None:
    seconds = getattr(file.info, "length", None)
    return float(seconds) if isinstance(seconds, int | float) and isfinite(seconds) and seconds > 0 else None


def _read_foreign_tags(file: TagFile) -> Tags:
    """Return ID3 or APE tags of a file that is damaged or in a format that should not have them."""
    for kind in (id3.ID3, APEv2):
        try:
            file.start_again()
            tags = _parse(kind(file))
        except Exception:  # as above
            continue
        if tags != Tags():
            return tags
    return Tags()


def _format_of(tags: Any) -> str:
    for kind, name in ((id3.ID3, "id3"), (MP4Tags, "mp4"), (ASFTags, "asf")):
        if isinstance(tags, kind):
            return name
    return "comments"


def _parse(tags: Any) -> Tags:
    if not tags:
        return Tags()
    values: dict[str, Any] = {}
    for key in tags.keys():  # noqa: SIM118  (ASF and APE tags are not plain mappings)
        values.setdefault(key.lower(), tags[key])
    kind = _format_of(tags)

    def first(names: tuple[str, ...], parse: Callable[[str], Any], default: Any) -> Any:
        parsed = (parse(text) for name in names for text in _texts(values.get(name.lower())) if text)
        return next((value for value in parsed if value), default)

    parsed_tags = Tags(
        **{
            field.name: first(field.metadata["names"][kind], field.metadata["parse"], field.default)
            for field in TAG_FIELDS
        }
    )
    if not parsed_tags.artist:
        album_artist = first(_ALBUM_ARTIST[kind], _text, "")
        parsed_tags = replace(parsed_tags, artist="" if is_various_artists(album_artist) else album_artist)
    return parsed_tags


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a tag of any format."""
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


def guess_from_path(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Tags:
    """Return the names in a path as tags; there is always a title. See `names_in_path`."""
    names = names_in_path(path, root)
    return Tags(artist=names.artist, title=names.title or "?", album=names.album, year=names.year)


# ---- writing


def write_tags(path: str | os.PathLike[str], tags: Tags) -> None:
    """Write tags into an MP3, FLAC, Ogg, Opus, M4A, WAV, AIFF or WMA file; empty tags are removed.

    Raises
    ------
    UnreadableAudioError
        If the file is missing, damaged, or of a format without tags.
    """
    try:
        file: Any = mutagen.File(os.fspath(path))
        if file is None:
            raise ValueError("not an audio file")
        if file.tags is None:
            file.add_tags()
        kind = _format_of(file.tags)
        for field in TAG_FIELDS:
            value = getattr(tags, field.name)
            _put(file.tags, field.metadata["names"][kind], clean_text(str(value)) if value else "")
        file.save()
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnreadableAudioError(path, f"cannot be tagged ({reason}); convert it to FLAC or MP3.") from error


def _put(tags: Any, keys: tuple[str, ...], text: str) -> None:
    """Write a text under the first of some keys and remove the others."""
    lower = {key.lower() for key in keys}
    for key in [key for key in tags.keys() if key.lower() in lower]:  # noqa: SIM118
        del tags[key]
    if not text:
        return
    kind, _, rest = keys[0].partition(":")
    if kind == "UFID":
        tags.add(id3.UFID(owner=rest, data=text.encode()))  # type: ignore[no-untyped-call]
    elif kind == "TXXX":
        tags.add(id3.TXXX(encoding=3, desc=rest, text=[text]))  # type: ignore[no-untyped-call]
    elif kind == "----":
        tags[keys[0]] = [MP4FreeForm(text.encode(), AtomDataType.UTF8)]  # type: ignore[no-untyped-call]
    elif keys[0] == "trkn":
        tags[keys[0]] = [(int(text), 0)]
    elif keys[0] in id3.Frames:
        tags.add(id3.Frames[keys[0]](encoding=3, text=[text]))
    else:
        tags[keys[0]] = [text]
