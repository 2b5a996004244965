"""Songs, albums and artists -> records of the protocol, as plain values.

Song ids are numbers, album and artist ids those of the album index, playlist ids ``pl-`` and a number; none of them
is used in a file path. The ``path`` that players name downloads after is sanitised, so that it cannot leave a folder.
Some old players stop at fields that the protocol did not have in their time; for them OpenSubsonic's are left out.
"""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nearsong.audio.playable import is_playable_by_name
from nearsong.library import Album, Artist, ListenerReactions, Song, disc_of
from nearsong.library import artist_id as id_of_artist
from nearsong.web.media.files import media_type_of
from nearsong.web.subsonic.catalogue import SubsonicCatalogue

Record = dict[str, Any]

_UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|]')

ADDITIONS = frozenset(
    {
        "albumArtists",
        "artists",
        "channelCount",
        "discTitles",
        "displayAlbumArtist",
        "displayArtist",
        "genres",
        "isCompilation",
        "mediaType",
        "musicBrainzId",
        "readonly",
        "replayGain",
        "samplingRate",
    }
)
"""Fields of records that OpenSubsonic has added to version 1.16.1 of the protocol."""


class Records:
    """Records with the stars and ratings of the listener who asks.

    Parameters
    ----------
    catalogue : SubsonicCatalogue
    reactions : ListenerReactions
    bookmarks : mapping of int to int
        Song id -> where the listener has a bookmark in it, in milliseconds.
    is_plain : bool, default=False
        Whether to leave out what is not in version 1.16.1 of the protocol.
    """

    def __init__(
        self,
        catalogue: SubsonicCatalogue,
        reactions: ListenerReactions,
        bookmarks: Mapping[int, int],
        *,
        is_plain: bool = False,
    ) -> None:
        self._catalogue, self._reactions, self._bookmarks = catalogue, reactions, bookmarks
        self._is_plain = is_plain

    def song(self, song: Song, is_playable: bool | None = None) -> Record:
        """Return a song as a ``Child``; ``is_playable`` is about its file, if known."""
        marks = self._marks(song.id)
        if song.id in self._bookmarks:
            marks["bookmarkPosition"] = self._bookmarks[song.id]
        return self.fitting({**song_record(self._catalogue, song, is_playable), **marks})

    def songs(self, songs: Sequence[Song]) -> list[Record]:
        """Return several songs."""
        return [self.song(song) for song in songs]

    def album(self, album: Album) -> Record:
        """Return an album as an ``AlbumID3``."""
        return self.fitting({**album_record(self._catalogue, album), **self._marks(album.id)}, "userRating")

    def album_folder(self, album: Album) -> Record:
        """Return an album for players that browse by folder."""
        folder = {**album_folder(self._catalogue, album), **self._marks(album.id)}
        return self.fitting(folder, "name", "songCount")

    def artist(self, artist: Artist) -> Record:
        """Return an artist as an ``ArtistID3``."""
        return self.fitting({**artist_record(artist), **self._marks(artist.id)}, "userRating")

    def artist_folder(self, artist: Artist) -> Record:
        """Return an artist for players that browse by folder."""
        return self.fitting({**artist_folder(artist), **self._marks(artist.id)}, "coverArt")

    def fitting(self, record: Record, *more: str) -> Record:
        """Return a record as it is, or without additions and some more fields for old players."""
        if not self._is_plain:
            return record
        return {name: value for name, value in record.items() if name not in ADDITIONS and name not in more}

    def _marks(self, item: int | str) -> Record:
        starred, rating = self._reactions.hearts.get(item), self._reactions.ratings.get(item)
        marks: Record = {} if starred is None else {"starred": timestamp(starred)}
        return marks if rating is None else {**marks, "userRating": rating[0]}


def song_record(catalogue: SubsonicCatalogue, song: Song, is_playable: bool | None = None) -> Record:
    """Return a song as a ``Child``; ``is_playable`` is about its file, if known."""
    album, artist = catalogue.album_of(song), catalogue.artist_of(song)
    name = os.path.basename(song.path)
    converted = not (is_playable_by_name(name) if is_playable is None else is_playable)
    return {
        "id": str(song.id),
        "parent": album.id,
        "isDir": False,
        "title": song.title or name,
        "album": album.name,
        "artist": song.artist or artist.name,
        "track": catalogue.tracks[song.id],
        "discNumber": disc_of(song),
        "year": song.year,
        "genre": song.genre or None,
        "coverArt": str(song.id),
        "size": song.size,
        "contentType": media_type_of(song.path),
        "suffix": _suffix(name),
        "transcodedContentType": "audio/mpeg" if converted else None,
        "transcodedSuffix": "mp3" if converted else None,
        "duration": _seconds(song.seconds),
        "bitRate": song.bit_rate,
        "samplingRate": song.sample_rate,
        "channelCount": song.channels,
        "path": "/".join(_safe(part) for part in (album.artist, album.name, name)),
        "isVideo": False,
        "created": timestamp(song.added),
        "playCount": _count(catalogue.plays.get(song.id, 0.0)),
        "albumId": album.id,
        "artistId": artist.id,
        "type": "music",
        "mediaType": "song",
        "musicBrainzId": song.recording_mbid,
        "genres": [{"name": song.genre}] if song.genre else [],
        "artists": [{"id": artist.id, "name": artist.name}],
        "displayArtist": song.artist or artist.name,
        "albumArtists": [{"id": album.artist_id, "name": album.artist}],
        "displayAlbumArtist": album.artist,
        "replayGain": _replay_gain(song),
    }


def _replay_gain(song: Song) -> Record | None:
    """Return how loud a song is meant to be played, as its tags say; None if they do not."""
    gain = {
        "trackGain": song.track_gain,
        "trackPeak": song.track_peak,
        "albumGain": song.album_gain,
        "albumPeak": song.album_peak,
    }
    known = {name: value for name, value in gain.items() if value is not None}
    return known or None


def album_record(catalogue: SubsonicCatalogue, album: Album) -> Record:
    """Return an album as an ``AlbumID3``."""
    return {
        "id": album.id,
        "name": album.name,
        "artist": album.artist,
        "artistId": album.artist_id,
        "coverArt": album.id,
        "songCount": len(album.songs),
        "duration": _seconds(album.seconds),
        "playCount": _count(catalogue.album_plays(album)),
        "created": timestamp(album.added),
        "year": album.year,
        "genre": album.genre or None,
        "genres": [{"name": album.genre}] if album.genre else [],
        "artists": [{"id": album.artist_id, "name": album.artist}],
        "displayArtist": album.artist,
        "isCompilation": album.is_compilation,
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
        "albumCount": len(artist.albums) + len(artist.appears_on),
        "musicBrainzId": artist_mbid(artist),
    }


def artist_folder(artist: Artist) -> Record:
    """Return an artist for players that browse by folder."""
    return {"id": artist.id, "name": artist.name, "coverArt": artist.id}


def artist_mbid(artist: Artist) -> str:
    """Return the MusicBrainz id of an artist, empty if no song has it."""
    own = (song.artist_mbid for song in artist.songs if id_of_artist(song.artist_key) == artist.id)
    return next((mbid for mbid in own if mbid), "")


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
