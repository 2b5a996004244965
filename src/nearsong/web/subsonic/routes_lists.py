"""Methods that list albums and songs: the newest, the most played, by chance, by genre, by what was typed."""

import random
import secrets
from collections.abc import Sequence
from typing import Any

from nearsong.library.browse import artist_value, folded
from nearsong.library.records import Song
from nearsong.library.shelves import Album
from nearsong.library.shelves import artist_id as id_of_artist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.records import (
    album_folder,
    album_record,
    artist_folder,
    artist_record,
    song_records,
)

MOST_LISTED = 500
MOST_FOUND = 10_000
"""Of each kind in one answer to a search."""

_NO_YEAR = 10_000


def get_album_list(call: Call) -> dict[str, Any]:
    """List albums, for players that browse by folder."""
    return {"albumList": {"album": [album_folder(call.catalogue, album) for album in _albums(call)]}}


def get_album_list2(call: Call) -> dict[str, Any]:
    """List albums."""
    return {"albumList2": {"album": [album_record(call.catalogue, album) for album in _albums(call)]}}


def get_random_songs(call: Call) -> dict[str, Any]:
    """List songs by chance; ``seed`` gives the same again."""
    asked = call.asked
    songs: Sequence[Song] = call.snapshot.space.songs
    first, last = asked.number("fromYear", 0), asked.number("toYear", _NO_YEAR)
    genre = folded(asked.text("genre"))
    if genre:
        songs = [song for song in songs if folded(song.genre) == genre]
    if "fromYear" in asked or "toYear" in asked:
        songs = [song for song in songs if song.year is not None and first <= song.year <= last]
    size = asked.number("size", 10, most=MOST_LISTED)
    chosen = _chance(call).sample(songs, min(size, len(songs)))
    return {"randomSongs": {"song": song_records(call.catalogue, chosen)}}


def get_songs_by_genre(call: Call) -> dict[str, Any]:
    """List the songs of a genre."""
    genre = call.asked.need("genre")
    songs: list[Song] = []
    if folded(genre):
        count, offset = call.asked.number("count", 10, most=MOST_LISTED), call.asked.number("offset", 0)
        songs = call.snapshot.browser.page(genre=genre, offset=offset, limit=count).songs
    return {"songsByGenre": {"song": song_records(call.catalogue, songs)}}


def get_top_songs(call: Call) -> dict[str, Any]:
    """List the songs of an artist that were played most; those that never were are not among them."""
    wanted = id_of_artist(artist_value(call.asked.need("artist")))
    plays = call.catalogue.plays
    songs = [
        song
        for artist in call.catalogue.shelves.artists
        if artist.id == wanted
        for album in artist.albums
        for song in album.songs
        if plays.get(song.id, 0.0) > 0
    ]
    songs.sort(key=lambda song: (-plays[song.id], song.id))
    count = call.asked.number("count", 50, most=MOST_LISTED)
    return {"topSongs": {"song": song_records(call.catalogue, songs[:count])}}


def search2(call: Call) -> dict[str, Any]:
    """Find artists, albums and songs, for players that browse by folder."""
    artists, albums, songs = _found(call)
    return {
        "searchResult2": {
            "artist": [artist_folder(artist) for artist in artists],
            "album": [album_folder(call.catalogue, album) for album in albums],
            "song": song_records(call.catalogue, songs),
        }
    }


def search3(call: Call) -> dict[str, Any]:
    """Find artists, albums and songs; everything, for an empty query."""
    artists, albums, songs = _found(call)
    return {
        "searchResult3": {
            "artist": [artist_record(artist) for artist in artists],
            "album": [album_record(call.catalogue, album) for album in albums],
            "song": song_records(call.catalogue, songs),
        }
    }


def _found(call: Call) -> tuple[Sequence[Any], Sequence[Album], Sequence[Song]]:
    query = call.asked.text("query").strip().strip('"').strip("*").strip()  # "" and * are ways to ask for all
    catalogue = call.catalogue
    songs = call.snapshot.browser.page(query, offset=_offset(call, "song"), limit=_count(call, "song")).songs
    return (
        _part(call, "artist", catalogue.artists_named(query)),
        _part(call, "album", catalogue.albums_named(query)),
        songs,
    )


def _part(call: Call, kind: str, things: Sequence[Any]) -> Sequence[Any]:
    offset = _offset(call, kind)
    return things[offset : offset + _count(call, kind)]


def _offset(call: Call, kind: str) -> int:
    return call.asked.number(f"{kind}Offset", 0)


def _count(call: Call, kind: str) -> int:
    return call.asked.number(f"{kind}Count", 20, most=MOST_FOUND)


def _albums(call: Call) -> Sequence[Album]:
    """Return the albums that a list of some type asks for."""
    offset, size = call.asked.number("offset", 0), call.asked.number("size", 10, most=MOST_LISTED)
    return _all_albums(call, call.asked.need("type"))[offset : offset + size]


def _all_albums(call: Call, kind: str) -> Sequence[Album]:
    catalogue, shelves = call.catalogue, call.catalogue.shelves
    if kind == "random":
        return _chance(call).sample(shelves.albums, len(shelves.albums))
    if kind == "newest":
        return catalogue.newest
    if kind == "frequent":
        return catalogue.frequent
    if kind == "alphabeticalByName":
        return shelves.albums
    if kind == "alphabeticalByArtist":
        return [album for artist in shelves.artists for album in artist.albums]
    if kind == "byYear":
        return _of_years(call)
    if kind == "byGenre":
        genre = folded(call.asked.need("genre"))
        return [album for album in shelves.albums if any(folded(song.genre) == genre for song in album.songs)]
    if kind in ("recent", "starred", "highest"):
        return []  # when something was played, and what people think of it, is not kept
    raise ProtocolError(GENERAL, f"there is no list of albums of the type {kind[:40]!r}; ask for newest, say.")


def _of_years(call: Call) -> list[Album]:
    """Return the albums from one year to another, which may be an earlier one."""
    call.asked.need("fromYear")
    call.asked.need("toYear")
    first, last = call.asked.number("fromYear", 0), call.asked.number("toYear", 0)
    low, high = min(first, last), max(first, last)
    found = [album for album in call.catalogue.shelves.albums if album.year is not None and low <= album.year <= high]
    return sorted(found, key=lambda album: album.year or 0, reverse=first > last)


def _chance(call: Call) -> random.Random:
    return random.Random(call.asked.number("seed", secrets.randbits(52)))


METHODS: dict[str, Method] = {
    "getAlbumList": get_album_list,
    "getAlbumList2": get_album_list2,
    "getRandomSongs": get_random_songs,
    "getSongsByGenre": get_songs_by_genre,
    "getTopSongs": get_top_songs,
    "search2": search2,
    "search3": search3,
}
