"""Songs, albums, artists and playlists of the library -> records of the protocol, as plain values.

Song ids are numbers, albums and artists have those of the shelves, playlists are ``pl-`` and a number. None of them
is ever part of a path; the ``path`` that players name downloads by is made of names that cannot lead out of a folder.
"""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nearsong.audio.playable import is_playable_by_name
from nearsong.library.records import Song
from nearsong.library.shelves import Album, Artist
from nearsong.web.files import media_type_of
from nearsong.web.subsonic.catalogue import Catalogue

Record = dict[str, Any]

_UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|]')


def song_record(catalogue: Catalogue, song: Song, size: int | None = None, plays: bool | None = None) -> Record:
    """Return a song as a ``Child``; ``size`` is that of its file and ``plays`` its kind, if it was looked at."""
    album = catalogue.album_of(song)
    name = os.path.basename(song.path)
    converted = not (is_playable_by_name(name) if plays is None else plays)
    bit_rate = round(size * 8 / song.seconds / 1000) if size and song.seconds > 0 else None
    return {
        "id": str(song.id),
        "parent": album.id,
        "isDir": False,
        "title": song.title or name,
        "album": album.name,
        "artist": song.artist or album.artist,
        "track": catalogue.tracks[song.id],
        "year": song.year,
        "genre": song.genre or None,
        "coverArt": str(song.id),
        "size": size,
        "contentType": media_type_of(song.path),
        "suffix": _suffix(name),
        "transcodedContentType": "audio/mpeg" if converted else None,
        "transcodedSuffix": "mp3" if converted else None,
        "duration": _seconds(song.seconds),
        "bitRate": bit_rate,
        "path": "/".join(_safe(part) for part in (album.artist, album.name, name)),
        "isVideo": False,
        "created": moment(song.added),
        "playCount": _count(catalogue.plays.get(song.id, 0.0)),
        "albumId": album.id,
        "artistId": album.artist_id,
        "type": "music",
        "mediaType": "song",
        "musicBrainzId": song.recording_mbid,
        "genres": [{"name": song.genre}] if song.genre else [],
        "artists": [{"id": album.artist_id, "name": album.artist}],
        "displayArtist": song.artist or album.artist,
        "albumArtists": [{"id": album.artist_id, "name": album.artist}],
        "displayAlbumArtist": album.artist,
    }


def song_records(catalogue: Catalogue, songs: Sequence[Song]) -> list[Record]:
    """Return several songs."""
    return [song_record(catalogue, song) for song in songs]


def album_record(catalogue: Catalogue, album: Album) -> Record:
    """Return an album as an ``AlbumID3``."""
    return {
        "id": album.id,
        "name": album.name,
        "artist": album.artist,
        "artistId": album.artist_id,
        "coverArt": album.id,
        "songCount": len(album.songs),
        "duration": _seconds(sum(song.seconds for song in album.songs)),
        "playCount": _count(catalogue.album_plays(album)),
        "created": moment(max(song.added for song in album.songs)),
        "year": album.year,
        "genre": album.genre or None,
        "genres": [{"name": album.genre}] if album.genre else [],
        "artists": [{"id": album.artist_id, "name": album.artist}],
        "displayArtist": album.artist,
    }


def album_folder(catalogue: Catalogue, album: Album) -> Record:
    """Return an album as players see it that browse by folder."""
    return {
        **album_record(catalogue, album),
        "parent": album.artist_id,
        "isDir": True,
        "title": album.name,
        "album": album.name,
        "mediaType": "album",
    }


def artist_record(artist: Artist) -> Record:
    """Return an artist as an ``ArtistID3``."""
    return {
        "id": artist.id,
        "name": artist.name,
        "coverArt": artist.id,
        "albumCount": len(artist.albums),
        "musicBrainzId": artist_mbid(artist),
    }


def artist_folder(artist: Artist) -> Record:
    """Return an artist as players see it that browse by folder."""
    return {"id": artist.id, "name": artist.name, "coverArt": artist.id}


def artist_mbid(artist: Artist) -> str:
    """Return MusicBrainz' name for an artist, empty if no song has it."""
    return next((song.artist_mbid for album in artist.albums for song in album.songs if song.artist_mbid), "")


def moment(seconds: float) -> str:
    """Return a time as the protocol writes it.

    >>> moment(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(seconds: float) -> int:
    return max(1, round(seconds))


def _count(plays: float) -> int:
    return round(plays)


def _suffix(name: str) -> str | None:
    return os.path.splitext(name)[1][1:].lower() or None


def _safe(name: str) -> str:
    r"""Return a name that is one step of a path, whatever it holds.

    >>> [_safe(name) for name in ("AC/DC", "..", "\\\\host", "")]
    ['AC_DC', '_', '__host', '_']
    """
    return _UNSAFE.sub("_", name).strip(". ")[:200] or "_"
