"""JSPF: the XSPF playlist as JSON, with MusicBrainz identifiers; ListenBrainz reads and writes it."""

import json
from collections.abc import Iterable
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.json_records import as_text, load_document
from nearsong.listens.playlists.playlist_format import (
    ListedSong,
    PlaylistContent,
    PlaylistEntry,
    PlaylistFormat,
    recording_of,
    track_fields,
)
from nearsong.listens.sources import SourceFile
from nearsong.names import readable

_TRACK_EXTENSION = "https://musicbrainz.org/doc/jspf#track"


def read_jspf(source: SourceFile) -> PlaylistContent:
    """Read a playlist."""
    document = load_document(source)
    playlist = document.get("playlist", document) if isinstance(document, dict) else {}
    tracks = playlist.get("track") if isinstance(playlist, dict) else None
    if not isinstance(tracks, list):
        raise ListensError(f"{source.name} is not a JSPF playlist: it has no list of tracks.")
    return PlaylistContent(as_text(playlist.get("title")), map(_entry, range(1, len(tracks) + 1), tracks))


def write_jspf(songs: Iterable[ListedSong], title: str, folder: str | None) -> str:
    """Return a JSPF playlist; its locations are absolute URLs."""
    playlist = {"title": readable(title), "track": [_track(song) for song in songs]}
    return json.dumps({"playlist": playlist}, ensure_ascii=False, indent=1) + "\n"


def _entry(number: int, track: Any) -> PlaylistEntry:
    if not isinstance(track, dict):
        return PlaylistEntry(number)
    extension = track.get("extension")
    details = extension.get(_TRACK_EXTENSION) if isinstance(extension, dict) else None
    details = details[0] if isinstance(details, list) and details else details
    artist_mbid = ""
    if isinstance(details, dict):
        artist_mbid = as_text(details.get("artist_identifiers") or details.get("artist_identifier"))
    return PlaylistEntry(
        number,
        artist=as_text(track.get("creator")),
        title=as_text(track.get("title")),
        location=as_text(track.get("location")),
        recording_mbid=recording_of(_texts(track.get("identifier"))),
        artist_mbid=artist_mbid,
    )


def _track(song: ListedSong) -> dict[str, Any]:
    return {name: [value] if name in ("location", "identifier") else value for name, value in track_fields(song)}


def _texts(value: Any) -> list[str]:
    return [as_text(part) for part in value] if isinstance(value, list) else [as_text(value)]


def _is_jspf(document: dict[str, Any]) -> bool:
    return isinstance(document.get("playlist"), dict) or isinstance(document.get("track"), list)


JSPF = PlaylistFormat(
    name="jspf",
    label="JSPF, for ListenBrainz and others",
    endings=(".jspf",),
    media_type="application/json",
    unit="track",
    read=read_jspf,
    write=write_jspf,
    needs_title=True,
    matches_json=_is_jspf,
)
