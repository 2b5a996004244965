"""An audio file -> its tags, completed from its path, and what its header declares.

Reading never raises, so that a damaged file cannot end a scan: it has no tags.
"""

import os
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
from nearsong.audio.headers.tag_values import gain_in, gain_of_r128, is_yes, mbid_in, number_in, peak_in, year_in
from nearsong.errors import UnreadableAudioError
from nearsong.names import clean_text
from nearsong.path_names import is_various_artists, names_in_path


def _text(text: str) -> str:
    return text


Value = str | int | float | None  # bool is an int


def tag(
    default: Value,
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
    default : str, int, float, bool or None
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


def replaygain(name: str, parse: Callable[[str], Any]) -> Any:
    """Declare a field of `Tags` that is a value of ReplayGain, which has the same name in every kind of tags."""
    full = f"replaygain_{name}"
    scope, _, kind = name.partition("_")
    return tag(
        None,
        id3=(f"TXXX:{full.upper()}", f"RVA2:{scope}:{kind}"),
        mp4=(f"----:com.apple.iTunes:{full}",),
        asf=(full,),
        comments=(full,),
        parse=parse,
    )


def declared() -> Any:
    """Declare a field of `Tags` that the header of the sound gives: not a tag, so that it is not compared."""
    return field(default=None, compare=False, metadata={"searched": False, "listed": False})


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
    recording_mbid, artist_mbid : str
        MusicBrainz identifiers of the recording and of the (first) artist.
    track_number, disc_number : int or None
        Number of the song on its disc, and of the disc.
    album_artist : str
        Who released the album, if the file says so; perhaps "Various Artists".
    is_compilation : bool
        Whether the file says that its album has songs of several artists.
    track_gain, album_gain : float or None
        ReplayGain: decibels to add so that all songs, or all albums, are equally loud.
    track_peak, album_peak : float or None
        Highest sample; 1 is full scale.
    bit_rate : int or None
        Kilobits in a second of the file.
    sample_rate, channels : int or None
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
        parse=mbid_in,
        listed=False,
    )
    artist_mbid: str = tag(
        "",
        id3=("TXXX:MusicBrainz Artist Id", "TXXX:musicbrainz_artistid"),
        mp4=("----:com.apple.iTunes:MusicBrainz Artist Id",),
        asf=("MusicBrainz/Artist Id",),
        comments=("musicbrainz_artistid",),
        parse=mbid_in,
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
    disc_number: int | None = tag(
        None, id3=("TPOS",), mp4=("disk",), asf=("WM/PartOfSet",), comments=("discnumber", "disc"), parse=number_in
    )
    album_artist: str = tag(
        "",
        id3=("TPE2",),
        mp4=("aART",),
        asf=("WM/AlbumArtist",),
        comments=("albumartist", "album artist", "album_artist"),
        searched=True,
    )
    is_compilation: bool = tag(
        False, id3=("TCMP",), mp4=("cpil",), asf=("WM/IsCompilation",), comments=("compilation",), parse=is_yes
    )
    track_gain: float | None = replaygain("track_gain", gain_in)
    track_peak: float | None = replaygain("track_peak", peak_in)
    album_gain: float | None = replaygain("album_gain", gain_in)
    album_peak: float | None = replaygain("album_peak", peak_in)
    bit_rate: int | None = declared()
    sample_rate: int | None = declared()
    channels: int | None = declared()


TAG_FIELDS = fields(Tags)
"""All fields of a song that its tags give."""

LISTED_FIELDS = tuple(field.name for field in TAG_FIELDS if field.metadata["listed"])
SEARCHED_FIELDS = tuple(field.name for field in TAG_FIELDS if field.metadata["searched"])

_WRITTEN_FIELDS = tuple(field for field in TAG_FIELDS if "names" in field.metadata)

MAX_DECLARED = {"bit_rate": 100_000, "sample_rate": 1_000_000, "channels": 64}
"""Larger values of a header are not believed."""


TAGS_TOO_LARGE = "damaged (its tags are too large to be read); what is readable of them was used."


Path = str | os.PathLike[str]


def _ignore(damage: str) -> None:
    """Do nothing."""


def read_tags(
    path: Path, root: Path | None = None, on_damage: Callable[[str], None] = _ignore, named: Path | None = None
) -> Tags:
    """Return the tags of a file; missing ones are guessed from its path.

    Parameters
    ----------
    path, named : path-like
        Names are guessed from ``named``, by default the path: another one if the file is a copy.
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
    return read_tags_and_length(path, root, on_damage, named)[0]


def read_tags_and_length(
    path: Path, root: Path | None = None, on_damage: Callable[[str], None] = _ignore, named: Path | None = None
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
    guess = guess_from_path(path if named is None else named, root)
    missing = {field.name: getattr(guess, field.name) for field in TAG_FIELDS if _is_empty(getattr(tags, field.name))}
    return replace(tags, **missing), seconds


def _read(file: TagFile) -> tuple[Tags, float | None]:
    """Return the tags in a file and the length that it declares; what cannot be read is left out."""
    tags, seconds = Tags(), None
    header: dict[str, Any] = {}
    try:
        found: Any = mutagen.File(file)
        if found is not None:
            seconds = _length(found)
            header = _declared(found.info, file.size, seconds)
            tags = _parse(found.tags)
    except Exception:  # a damaged file may raise anything in the parser
        pass
    return replace(tags if tags != Tags() else _read_foreign_tags(file), **header), seconds


def _is_empty(value: Value) -> bool:
    return value is None or value == "" or value is False


def _declared(info: Any, size: int, seconds: float | None) -> dict[str, Any]:
    """Return what the header of the sound declares; without a bit rate, as Opus, its mean."""
    bits = getattr(info, "bitrate", 0) or (size * 8 / seconds if seconds else 0)
    values = {
        "bit_rate": bits / 1000,
        "sample_rate": getattr(info, "sample_rate", 0),
        "channels": getattr(info, "channels", 0),
    }
    return {name: round(value) for name, value in values.items() if 1 <= value <= MAX_DECLARED[name]}


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
    _add_gains(values)
    kind = _format_of(tags)

    def first(names: tuple[str, ...], parse: Callable[[str], Any], default: Any) -> Any:
        parsed = (parse(text) for name in names for text in _texts(values.get(name.lower())) if text)
        return next((value for value in parsed if not _is_empty(value)), default)

    parsed_tags = Tags(
        **{
            field.name: first(field.metadata["names"][kind], field.metadata["parse"], field.default)
            for field in _WRITTEN_FIELDS
        }
    )
    if not parsed_tags.artist and not is_various_artists(parsed_tags.album_artist):  # it stands in
        parsed_tags = replace(parsed_tags, artist=parsed_tags.album_artist)
    return parsed_tags


def _add_gains(values: dict[str, Any]) -> None:
    """Add what ID3's RVA2 frames and the gains of Opus mean under the names of ReplayGain."""
    for scope in ("track", "album"):
        volume = values.get(f"rva2:{scope}")
        if isinstance(volume, id3.RVA2):
            values[f"rva2:{scope}:gain"] = f"{volume.gain:.6f}"  # type: ignore[attr-defined]
            values[f"rva2:{scope}:peak"] = f"{volume.peak:.6f}"  # type: ignore[attr-defined]
        for text in _texts(values.get(f"r128_{scope}_gain")):
            values[f"replaygain_{scope}_gain"] = gain_of_r128(text) or values.get(f"replaygain_{scope}_gain")


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
        for field in _WRITTEN_FIELDS:
            value = getattr(tags, field.name)
            text = "" if _is_empty(value) else "1" if value is True else clean_text(str(value))
            _put(file.tags, field.metadata["names"][kind], text)
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
    elif keys[0] in ("trkn", "disk"):
        tags[keys[0]] = [(int(text), 0)]
    elif keys[0] == "cpil":
        tags[keys[0]] = True
    elif keys[0] in id3.Frames:
        tags.add(id3.Frames[keys[0]](encoding=3, text=[text]))
    else:
        tags[keys[0]] = [text]
