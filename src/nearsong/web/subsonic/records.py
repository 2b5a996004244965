"""Songs, albums, artists and playlists -> records of the protocol, as plain values.

Song ids are numbers, album and artist ids those of the album index, playlist ids ``pl-`` and a number; none of them
is used in a file path. The ``path`` that players name downloads after is sanitised, so that it cannot leave a folder.
"""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nearsong.audio.playable import is_playable_by_name
from nearsong.library import Album, Artist, ListenerReactions, Song
from nearsong.web.media.files import media_type_of
from nearsong.web.subsonic.catalogue import SubsonicCatalogue

Record = dict[str, Any]

_UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|]')


class Records:
    """Records with the stars and ratings of the listener who asks.

    Parameters
    ----------
    catalogue : SubsonicCatalogue
    reactions : ListenerReactions
    """

    def __init__(self, catalogue: SubsonicCatalogue, reactions: ListenerReactions) -> None:
        self._catalogue, self._reactions = catalogue, reactions

    def song(self, song: Song, size: int | None = None, is_playable: bool | None = None) -> Record:
        """Return a song as a ``Child``; ``size`` and ``is_playable`` are those of its file, if known."""
        return {**song_record(self._catalogue, song, size, is_playable), **self._marks(song.id)}

    def songs(self, songs: Sequence[Song]) -> list[Record]:
        """Return several songs."""
        return [self.song(song) for song in songs]

    def album(self, album: Album) -> Record:
        """Return an album as an ``AlbumID3``."""
        return {**album_record(self._catalogue, album), **self._marks(album.id)}

    def album_folder(self, album: Album) -> Record:
        """Return an album for players that browse by folder."""
        return {**album_folder(self._catalogue, album), **self._marks(album.id)}

    def artist(self, artist: Artist) -> Record:
        """Return an artist as an ``ArtistID3``."""
        return {**artist_record(artist), **self._marks(artist.id)}

    def artist_folder(self, artist: Artist) -> Record:
        """Return an artist for players that browse by folder."""
        return {**artist_folder(artist), **self._marks(artist.id)}

    def _marks(self, item: int | str) -> Record:
        starred, rating = self._reactions.hearts.get(item), self._reactions.ratings.get(item)
        marks: Record = {} if starred is None else {"starred": timestamp(starred)}
        return marks if rating is None else {**marks, "userRating": rating[0]}


def song_record(
    catalogue: SubsonicCatalogue, song: Song, size: int | None = None, is_playable: bool | None = None
) -> Record:
    """Return a song as a ``Child``; ``size`` and ``is_playable`` are those of its file, if known."""
    album = catalogue.album_of(song)
    name = os.path.basename(song.path)
    converted = not (is_playable_by_name(name) if is_playable is None else is_playable)
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
        "created": timestamp(song.added),
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


def album_record(catalogue: SubsonicCatalogue, album: Album) -> Record:
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
        "created": timestamp(max(song.added for song in album.songs)),
        "year": album.year,
        "genre": album.genre or None,
        "genres": [{"name": album.genre}] if album.genre else [],
        "artists": [{"id": album.artist_id, "name": album.artist}],
        "displayArtist": album.artist,
    }


def album_folder(catalogue: SubsonicCatalogue, album: Album) -> Record:
    """Return an album for players that browse by folder."""
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
    """Return an artist for players that browse by folder."""
    return {"id": artist.id, "name": artist.name, "coverArt": artist.id}


def artist_mbid(artist: Artist) -> str:
    """Return the MusicBrainz id of an artist, empty if no song has it."""
    return next((song.artist_mbid for album in artist.albums for song in album.songs if song.artist_mbid), "")


def timestamp(seconds: float) -> str:
    """Return a time in the protocol's format.

    >>> timestamp(0.25)
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
    r"""Return a name that is safe as one component of a path.

    >>> [_safe(name) for name in ("AC/DC", "..", "\\\\host", "")]
    ['AC_DC', '_', '__host', '_']
    """
    return _UNSAFE.sub("_", name).strip(". ")[:200] or "_"
