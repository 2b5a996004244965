"""Methods that list albums and songs: newest, most played, random, by genre, by search."""

import random
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from nearsong.library import Album, Artist, Song, artist_value, folded
from nearsong.library import artist_id as id_of_artist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.records import Record

MAX_LISTED = 500
MAX_RESULTS = 10_000
"""Results of each kind in one search."""

_MAX_YEAR = 10_000


def get_album_list(call: Call) -> dict[str, Any]:
    """List albums, for players that browse by folder."""
    return {"albumList": {"album": [call.records.album_folder(album) for album in _albums(call)]}}


def get_album_list2(call: Call) -> dict[str, Any]:
    """List albums."""
    return {"albumList2": {"album": [call.records.album(album) for album in _albums(call)]}}


def get_random_songs(call: Call) -> dict[str, Any]:
    """List random songs; the same ``seed`` gives the same list."""
    parameters = call.parameters
    songs: Sequence[Song] = call.snapshot.space.songs
    first, last = parameters.number("fromYear", 0), parameters.number("toYear", _MAX_YEAR)
    genre = folded(parameters.text("genre"))
    if genre:
        songs = [song for song in songs if folded(song.genre) == genre]
    if "fromYear" in parameters or "toYear" in parameters:
        songs = [song for song in songs if song.year is not None and first <= song.year <= last]
    size = parameters.number("size", 10, maximum=MAX_LISTED)
    chosen = _random(call).sample(songs, min(size, len(songs)))
    return {"randomSongs": {"song": call.records.songs(chosen)}}


def get_songs_by_genre(call: Call) -> dict[str, Any]:
    """List the songs of a genre."""
    genre = call.parameters.require("genre")
    songs: list[Song] = []
    if folded(genre):
        count, offset = call.parameters.number("count", 10, maximum=MAX_LISTED), call.parameters.number("offset", 0)
        songs = call.snapshot.browser.page(genre=genre, offset=offset, limit=count).songs
    return {"songsByGenre": {"song": call.records.songs(songs)}}


def get_top_songs(call: Call) -> dict[str, Any]:
    """List the most played songs of an artist; never-played ones are left out."""
    wanted = id_of_artist(artist_value(call.parameters.require("artist")))
    plays = call.catalogue.plays
    songs = [
        song
        for artist in call.catalogue.albums.artists
        if artist.id == wanted
        for song in artist.songs
        if plays.get(song.id, 0.0) > 0
    ]
    songs.sort(key=lambda song: (-plays[song.id], song.id))
    count = call.parameters.number("count", 50, maximum=MAX_LISTED)
    return {"topSongs": {"song": call.records.songs(songs[:count])}}


def search2(call: Call) -> dict[str, Any]:
    """Find artists, albums and songs, for players that browse by folder."""
    return {"searchResult2": _search(call, call.records.artist_folder, call.records.album_folder)}


def search3(call: Call) -> dict[str, Any]:
    """Find artists, albums and songs; all of them for an empty query."""
    return {"searchResult3": _search(call, call.records.artist, call.records.album)}


def _search(
    call: Call,
    to_artist: Callable[[Artist], Record],
    to_album: Callable[[Album], Record],
) -> dict[str, list[Record]]:
    query = call.parameters.text("query").strip().strip('"').strip("*").strip()  # players send "" and * for all
    catalogue = call.catalogue
    songs = call.snapshot.browser.page(query, offset=_offset(call, "song"), limit=_count(call, "song")).songs
    return {
        "artist": [to_artist(artist) for artist in _page(call, "artist", catalogue.artists_named(query))],
        "album": [to_album(album) for album in _page(call, "album", catalogue.albums_named(query))],
        "song": call.records.songs(songs),
    }


def _page(call: Call, kind: str, items: Sequence[Any]) -> Sequence[Any]:
    offset = _offset(call, kind)
    return items[offset : offset + _count(call, kind)]


def _offset(call: Call, kind: str) -> int:
    return call.parameters.number(f"{kind}Offset", 0)


def _count(call: Call, kind: str) -> int:
    return call.parameters.number(f"{kind}Count", 20, maximum=MAX_RESULTS)


def _albums(call: Call) -> Sequence[Album]:
    """Return a page of the albums of the requested type."""
    offset, size = call.parameters.number("offset", 0), call.parameters.number("size", 10, maximum=MAX_LISTED)
    return _all_albums(call, call.parameters.require("type"))[offset : offset + size]


def _all_albums(call: Call, kind: str) -> Sequence[Album]:
    select = ALBUM_LISTS.get(kind)
    if select is None:
        raise ProtocolError(
            GENERAL, f"unknown type of album list: {kind[:40]!r}; use one of {', '.join(ALBUM_LISTS)}."
        )
    return select(call)


def _random_albums(call: Call) -> list[Album]:
    albums = call.catalogue.albums.albums
    return _random(call).sample(albums, len(albums))


def _albums_of_genre(call: Call) -> list[Album]:
    genre = folded(call.parameters.require("genre"))
    albums = call.catalogue.albums.albums
    return [album for album in albums if any(folded(song.genre) == genre for song in album.songs)]


def _albums_of_years(call: Call) -> list[Album]:
    """Return the albums from one year to another, in reverse if the second is earlier."""
    call.parameters.require("fromYear")
    call.parameters.require("toYear")
    first, last = call.parameters.number("fromYear", 0), call.parameters.number("toYear", 0)
    low, high = min(first, last), max(first, last)
    albums = [album for album in call.catalogue.albums.albums if album.year is not None and low <= album.year <= high]
    return sorted(albums, key=lambda album: album.year or 0, reverse=first > last)


def _recent_albums(call: Call) -> list[Album]:
    """Return the albums that the listener has played with nearsong, the latest first."""
    last = call.snapshot.histories.last_played(call.listener)
    played = sorted(
        (song for song in last if song in call.snapshot.space.row_of), key=lambda song: (-last[song], song)
    )
    albums = [call.catalogue.album_of(call.snapshot.song(song)) for song in played]
    return list({album.id: album for album in albums}.values())


def _highest_albums(call: Call) -> list[Album]:
    """Return the albums that the listener rated, or songs of which, best first; by the album's own rating if any."""
    stars: dict[str, list[int]] = {}
    for item, (rating, _) in call.reactions.ratings.items():
        if isinstance(item, int) and item in call.snapshot.space.row_of:
            stars.setdefault(call.catalogue.album_of(call.snapshot.song(item)).id, []).append(rating)
    best = {album: sum(ratings) / len(ratings) for album, ratings in stars.items()}
    best |= {item: rating for item, (rating, _) in call.reactions.ratings.items() if isinstance(item, str)}
    return sorted(call.known_albums(best), key=lambda album: -best[album.id])


def _random(call: Call) -> random.Random:
    return random.Random(call.parameters.number("seed", secrets.randbits(52)))


ALBUM_LISTS: dict[str, Callable[[Call], Sequence[Album]]] = {
    "random": _random_albums,
    "newest": lambda call: call.catalogue.newest,
    "frequent": lambda call: call.catalogue.frequent,
    "alphabeticalByName": lambda call: call.catalogue.albums.albums,
    "alphabeticalByArtist": lambda call: [
        album for artist in call.catalogue.albums.artists for album in artist.albums
    ],
    "byYear": _albums_of_years,
    "byGenre": _albums_of_genre,
    "recent": _recent_albums,
    "starred": lambda call: call.known_albums(call.reactions.hearts),
    "highest": _highest_albums,
}
"""The types of album lists."""

METHODS: dict[str, Method] = {
    "getAlbumList": get_album_list,
    "getAlbumList2": get_album_list2,
    "getRandomSongs": get_random_songs,
    "getSongsByGenre": get_songs_by_genre,
    "getTopSongs": get_top_songs,
    "search2": search2,
    "search3": search3,
}
