"""The records of a Subsonic server -> its songs, and the path under which the library stores a streamed one."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any
from urllib.parse import quote, urlsplit

from nearsong.audio.headers.tag_values import mbid_in
from nearsong.audio.tags import Tags
from nearsong.listens.json_records import as_text
from nearsong.listens.times import parse_time
from nearsong.path_names import STREAMED_PREFIX

MAX_SIZE = 1 << 62
MAX_YEAR = 9_999


@dataclass(frozen=True, slots=True)
class ServerSong:
    """A song of a server.

    Attributes
    ----------
    id, album_id : str
        Of the server.
    path : str
        Of the file on the server, as it tells it; some make it up from tags.
    size, modified : int
        Bytes, and a date in nanoseconds since 1970, by which a changed file is noticed.
    seconds : float
        Length; 0 if the server does not tell it.
    tags : Tags
        As far as the server tells them.
    """

    id: str
    album_id: str
    path: str
    size: int
    modified: int
    seconds: float
    tags: Tags


def songs_of(records: Iterable[dict[str, Any]]) -> list[ServerSong]:
    """Return the songs among records of a server; videos and records without an id are left out."""
    songs = (_song(record) for record in records if not record.get("isDir") and not record.get("isVideo"))
    return [song for song in songs if song.id]


def streamed_path(url: str, song: ServerSong) -> str:
    """Return the path of a streamed song: of each album a folder, as songs of one folder are taken for one album.

    >>> song = ServerSong("17", "al 4", "a.mp3", 1, 1, 1.0, Tags())
    >>> streamed_path("https://music.example/sub", song)
    'subsonic://music.example/sub/al%204/17'
    """
    return f"{server_prefix(url)}{quote(song.album_id or '-', safe='')}/{quote(song.id, safe='')}"


def server_prefix(url: str) -> str:
    """Return the beginning of the paths of all songs that are streamed from a server."""
    parts = urlsplit(url)
    return f"{STREAMED_PREFIX}{parts.netloc.lower()}{parts.path.rstrip('/')}/"


def _song(record: dict[str, Any]) -> ServerSong:
    return ServerSong(
        id=as_text(record.get("id")),
        album_id=as_text(record.get("albumId")),
        path=as_text(record.get("path")),
        size=_count(record.get("size"), MAX_SIZE) or 0,
        modified=_date(record.get("created")),
        seconds=_seconds(record.get("duration")),
        tags=Tags(
            artist=as_text(record.get("artist")) or as_text(record.get("displayArtist")),
            title=as_text(record.get("title")),
            album=as_text(record.get("album")),
            genre=as_text(record.get("genre")),
            year=_count(record.get("year"), MAX_YEAR),
            recording_mbid=mbid_in(as_text(record.get("musicBrainzId"))),
            track_number=_count(record.get("track"), 1_000_000),
            disc_number=_count(record.get("discNumber"), 1_000_000),
            album_artist=as_text(record.get("displayAlbumArtist")),
        ),
    )


def _count(value: Any, maximum: int) -> int | None:
    """Return a whole number from 1 on, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= maximum else None


def _seconds(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) and 0 < value < 1e9 else 0.0


def _date(value: Any) -> int:
    return max(0, parse_time(value)) * 1_000_000_000 if isinstance(value, str) else 0
