"""Methods that browse the library: artists, albums, songs, genres."""

from typing import Any

from nearsong.errors import NoSuchSongError
from nearsong.library import Song
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.catalogue import IGNORED_ARTICLES
from nearsong.web.subsonic.envelope import NOT_FOUND, ProtocolError


def get_indexes(call: Call) -> dict[str, Any]:
    """List all artists by letter, for players that browse by folder."""
    changed = round(call.catalogue.created * 1000)
    since = call.parameters.number("ifModifiedSince", -1, minimum=-1)
    letters = call.catalogue.letters if since < changed else []
    index = [
        {"name": letter, "artist": [call.records.artist_folder(artist) for artist in artists]}
        for letter, artists in letters
    ]
    return {"indexes": {"lastModified": changed, "ignoredArticles": IGNORED_ARTICLES, "index": index}}


def get_artists(call: Call) -> dict[str, Any]:
    """List all artists by letter."""
    letters = call.catalogue.letters
    index = [
        {"name": letter, "artist": [call.records.artist(artist) for artist in artists]} for letter, artists in letters
    ]
    return {"artists": {"ignoredArticles": IGNORED_ARTICLES, "index": index}}


def get_music_directory(call: Call) -> dict[str, Any]:
    """List the content of a folder: an artist's albums or an album's songs."""
    wanted = call.parameters.require("id")
    if wanted.startswith("ar-"):
        artist = call.artist(wanted)
        children = [call.records.album_folder(album) for album in (*artist.albums, *artist.appears_on)]
        return {"directory": {"id": artist.id, "name": artist.name, "child": children}}
    if not wanted.startswith("al-"):
        raise ProtocolError(NOT_FOUND, f"folder not found: {wanted[:40]!r}; getIndexes lists the folders of artists.")
    album = call.album(wanted)
    songs = call.records.songs(album.songs)
    return {"directory": {"id": album.id, "parent": album.artist_id, "name": album.name, "child": songs}}


def get_artist(call: Call) -> dict[str, Any]:
    """Return an artist, its albums, and those of others that it is on."""
    artist = call.artist(call.parameters.require("id"))
    albums = [call.records.album(album) for album in (*artist.albums, *artist.appears_on)]
    return {"artist": {**call.records.artist(artist), "album": albums}}


def get_album(call: Call) -> dict[str, Any]:
    """Return an album and its songs."""
    album = call.album(call.parameters.require("id"))
    return {"album": {**call.records.album(album), "song": call.records.songs(album.songs)}}


def get_song(call: Call) -> dict[str, Any]:
    """Return a song."""
    song = call.song(call.parameters.require("id"))
    return {"song": call.records.song(song, _is_playable(call, song))}


def _is_playable(call: Call, song: Song) -> bool | None:
    """Return whether players can be expected to play a song's file; None if it is missing."""
    try:
        with call.service.library.open_file(song) as file:
            return call.service.conversions.is_playable(song, file)
    except NoSuchSongError:
        return None


def get_genres(call: Call) -> dict[str, Any]:
    """List all genres."""
    genres = [
        {"songCount": songs, "albumCount": albums, "value": name} for name, songs, albums in call.catalogue.genres
    ]
    return {"genres": {"genre": genres}}


def get_album_info(call: Call) -> dict[str, Any]:
    """Return an empty record, as there is no information beyond the album itself."""
    wanted = call.parameters.require("id")
    if wanted.startswith("al-"):
        call.album(wanted)
    else:
        call.song(wanted)
    return {"albumInfo": {}}


METHODS: dict[str, Method] = {
    "getIndexes": get_indexes,
    "getMusicDirectory": get_music_directory,
    "getArtists": get_artists,
    "getArtist": get_artist,
    "getAlbum": get_album,
    "getSong": get_song,
    "getGenres": get_genres,
    "getAlbumInfo": get_album_info,
    "getAlbumInfo2": get_album_info,
}
