"""XSPF: playlists as XML, which VLC, Audacious and Clementine read and write.

Files with a document type are refused before parsing: entities can make a small file expand without limit.
"""

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from nearsong.errors import ListensError
from nearsong.listens.playlists.playlist_format import (
    ListedSong,
    PlaylistContent,
    PlaylistEntry,
    PlaylistFormat,
    one_line,
    recording_of,
    track_fields,
)
from nearsong.listens.sources import SourceFile

MAX_CHARACTERS = 256 << 20
"""Maximum size of a file: its elements are kept in memory."""

_NAMESPACE = "http://xspf.org/ns/0/"


def read_xspf(source: SourceFile) -> PlaylistContent:
    """Read a playlist."""
    parser: Any = ElementTree.XMLPullParser(events=("end",))
    title = ""
    entries: list[PlaylistEntry] = []
    try:
        for piece in _safe_pieces(source):
            parser.feed(piece)
            for _, element in parser.read_events():
                tag = _tag(element)
                if tag == "track":
                    entries.append(_entry(len(entries) + 1, element))
                    element.clear()
                elif tag == "playlist":
                    title = _fields(element).get("title", [""])[0]
        parser.close()
    except ElementTree.ParseError as error:
        raise ListensError(
            f"{source.name} is truncated or invalid XML ({error}); export or copy it again."
        ) from error
    return PlaylistContent(title, entries)


def write_xspf(songs: Iterable[ListedSong], title: str, folder: str | None) -> str:
    """Return an XSPF playlist; its locations are absolute URLs."""
    playlist = ElementTree.Element("playlist", {"version": "1", "xmlns": _NAMESPACE})
    ElementTree.SubElement(playlist, "title").text = one_line(title)
    tracks = ElementTree.SubElement(playlist, "trackList")
    for song in songs:
        track = ElementTree.SubElement(tracks, "track")
        for tag, value in track_fields(song):
            if text := one_line(str(value)):
                ElementTree.SubElement(track, tag).text = text
    ElementTree.indent(playlist, " ")
    text = ElementTree.tostring(playlist, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _safe_pieces(source: SourceFile) -> Iterable[str]:
    n_characters = 0
    for piece in source.text_pieces():
        n_characters += len(piece)
        if n_characters > MAX_CHARACTERS:
            raise ListensError(
                f"{source.name} has more than {MAX_CHARACTERS >> 20} MB, which is too large for a playlist."
            )
        if "<!DOCTYPE" in piece or "<!ENTITY" in piece:
            raise ListensError(f"{source.name} defines XML entities, which are not allowed in a playlist.")
        yield piece


def _entry(number: int, element: ElementTree.Element) -> PlaylistEntry:
    fields = _fields(element)
    return PlaylistEntry(
        number,
        artist=fields.get("creator", [""])[0],
        title=fields.get("title", [""])[0],
        location=fields.get("location", [""])[0],
        recording_mbid=recording_of(fields.get("identifier", [])),
    )


def _fields(element: ElementTree.Element) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for child in element:
        fields.setdefault(_tag(child), []).append((child.text or "").strip())
    return fields


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


XSPF = PlaylistFormat(
    name="xspf",
    label="XSPF, for VLC and others",
    endings=(".xspf",),
    media_type="application/xspf+xml",
    unit="track",
    read=read_xspf,
    write=write_xspf,
    needs_title=True,
    matches_text=lambda text, ending: text.startswith("<") and "<playlist" in text,
)
