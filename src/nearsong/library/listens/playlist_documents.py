"""Playlists that are JSON or XML documents: JSPF, XSPF, and Spotify's own playlists -> blocks."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from nearsong.errors import ListensError
from nearsong.library.listens.blocks import BATCH_ROWS, BlockBuilder
from nearsong.library.listens.json_records import Said, as_text, batch_of, load_whole, records, shape_of
from nearsong.library.listens.playlists import guess_artist_title
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

_RECORDING = re.compile(r"(recording|track)/[0-9a-f-]{36}", re.IGNORECASE)
_NOTHING: Said = ("", "", "", "", "", 1, None)
_TRACK_EXTENSION = "https://musicbrainz.org/doc/jspf#track"


def read_jspf(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a playlist in JSON, as ListenBrainz exports it; its listener is called like the playlist."""
    document = load_whole(source)
    playlist = document.get("playlist", document) if isinstance(document, dict) else {}
    tracks = playlist.get("track") if isinstance(playlist, dict) else None
    if not isinstance(tracks, list):
        raise ListensError(f"{source.name} is no JSPF playlist: it has no list of tracks.")
    name = as_text(playlist.get("title")) or source.stem
    builder.begin(source.name, name, "track")
    songs = (_jspf_track(name, track) if isinstance(track, dict) else _NOTHING for track in tracks)
    yield from _songs(builder, songs)


def read_xspf(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read a playlist in XML; its listener is called like the playlist."""
    parser: Any = ElementTree.XMLPullParser(events=("end",))
    name = source.stem
    tracks: list[tuple[str, str, str, str]] = []
    try:
        for piece in source.text_pieces():
            if "<!DOCTYPE" in piece or "<!ENTITY" in piece:
                raise ListensError(f"{source.name} defines entities of its own, which no playlist needs; not read.")
            parser.feed(piece)
            for _, element in parser.read_events():
                tag = element.tag.rpartition("}")[2]
                if tag == "track":
                    tracks.append(_xspf_track(element))
                    element.clear()
                elif tag == "playlist":
                    title = next((child.text for child in element if child.tag.rpartition("}")[2] == "title"), None)
                    name = (title or "").strip() or name
        parser.close()
    except ElementTree.ParseError as error:
        raise ListensError(f"{source.name} is cut or broken XML ({error}); export or copy it again.") from error
    builder.begin(source.name, name, "track")
    yield from _songs(builder, ((name, *track, 1, None) for track in tracks))


def read_spotify_playlists(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read many playlists: Spotify's ``Playlist*.json``, or a slice of its Million Playlist Dataset."""
    shape = shape_of(source)
    builder.begin(source.name, user, "track")
    yield from _songs(builder, _spotify_songs(source.stem, records(source, builder, shape)))


def _spotify_songs(stem: str, playlists: Iterable[tuple[int, Any]]) -> Iterator[Said]:
    for number, playlist in playlists:
        if not isinstance(playlist, dict):
            yield _NOTHING
            continue
        name = as_text(playlist.get("name")) or f"{stem} {number}"
        if "pid" in playlist:
            name = f"{name} #{as_text(playlist['pid'])}"
        items = playlist.get("tracks") or playlist.get("items")
        for item in items if isinstance(items, list) else ():
            track = item.get("track", item) if isinstance(item, dict) else None
            if isinstance(track, dict):  # else an episode, or a file of the user's own
                artist = as_text(track.get("artist_name") or track.get("artistName"))
                title = as_text(track.get("track_name") or track.get("trackName"))
                yield name, artist, title, "", "", 1, None


def _songs(builder: BlockBuilder, songs: Iterator[Said]) -> Iterator[ListenBlock]:
    """Hand the songs of playlists to the builder, some at a time."""
    first = 1
    while said := list(islice(songs, BATCH_ROWS)):
        yield from builder.add(batch_of(said, range(first, first + len(said)), "nameless"))
        first += len(said)
    builder.end()


def _jspf_track(name: str, track: dict[str, Any]) -> Said:
    extension = track.get("extension")
    more = extension.get(_TRACK_EXTENSION) if isinstance(extension, dict) else None
    more = more[0] if isinstance(more, list) and more else more
    artist_id = ""
    if isinstance(more, dict):
        artist_id = as_text(more.get("artist_identifiers") or more.get("artist_identifier"))
    said = _track(
        as_text(track.get("creator")),
        as_text(track.get("title")),
        _texts(track.get("identifier")),
        _texts(track.get("location")),
        artist_id,
    )
    return name, *said, 1, None


def _xspf_track(element: ElementTree.Element) -> tuple[str, str, str, str]:
    said: dict[str, list[str]] = {}
    for child in element:
        said.setdefault(child.tag.rpartition("}")[2], []).append((child.text or "").strip())
    creator, title = said.get("creator", [""])[0], said.get("title", [""])[0]
    return _track(creator, title, said.get("identifier", []), said.get("location", []), "")


def _track(
    artist: str, title: str, identifiers: list[str], locations: list[str], artist_id: str
) -> tuple[str, str, str, str]:
    """Return artist, title, recording MBID and artist MBID."""
    if not (artist.strip() and title.strip()) and locations:
        guessed_artist, guessed_title = guess_artist_title(locations[0])
        artist, title = artist.strip() or guessed_artist, title.strip() or guessed_title
    recording = next((identifier for identifier in identifiers if _RECORDING.search(identifier)), "")
    return artist, title, recording, artist_id


def _texts(value: Any) -> list[str]:
    return [as_text(part) for part in value] if isinstance(value, list) else [as_text(value)]
