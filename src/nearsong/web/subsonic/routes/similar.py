"""Methods that find similar songs and artists, go on as a radio, and find paths between songs."""

from collections.abc import Iterable
from typing import Any

from nearsong.library import Artist, Filters, PlaylistRules, Seed, Song, spread_songs
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.records import Record, artist_mbid

MAX_SIMILAR = 500
MAX_RADIO = 100
"""Songs that are chosen one after another; of a longer list the rest are the nearest."""

MAX_SEEDS = 5
"""Songs that represent an artist or an album, evenly spaced among theirs."""


def get_similar_songs(call: Call) -> dict[str, Any]:
    """List songs similar to a song, an album or an artist."""
    seeds, count = _seeds(call), call.parameters.number("count", 50, maximum=MAX_SIMILAR)
    found = call.snapshot.similar(seeds, n=count) if count else []
    return {"similarSongs": {"song": call.records.songs([neighbour.song for neighbour in found])}}


def get_similar_songs2(call: Call) -> dict[str, Any]:
    """List songs as a radio from an artist, an album or a song: artists change, and the listener's taste counts."""
    seeds, count = _seeds(call), call.parameters.number("count", 50, maximum=MAX_SIMILAR)
    songs: list[Song] = []
    if count:
        with call.service.concurrency.slot():
            found = call.snapshot.radio(seeds, n=min(count, MAX_RADIO), listener=call.listener)
        songs = [one.song for one in found]
    if len(songs) < count:
        known = {song.id for song in songs}
        nearest = call.snapshot.similar(seeds, n=count)
        songs += [near.song for near in nearest if near.song.id not in known][: count - len(songs)]
    return {"similarSongs2": {"song": call.records.songs(songs)}}


def get_sonic_similar_tracks(call: Call) -> dict[str, Any]:
    """List songs similar to a song, with their closeness, which separates near songs where similarity does not."""
    seed = call.snapshot.seed(call.song(call.parameters.require("id")).id)
    count = call.parameters.number("count", 10, maximum=MAX_SIMILAR)
    neighbours = call.snapshot.similar([seed], n=count) if count else []
    return {"sonicMatch": [_match(call, neighbour.song, neighbour.closeness) for neighbour in neighbours]}


def find_sonic_path(call: Call) -> dict[str, Any]:
    """List songs on a path from one song to another, with the closeness of each to the first."""
    start, end = call.song(call.parameters.require("startSongId")), call.song(call.parameters.require("endSongId"))
    count = call.parameters.number("count", 25, maximum=MAX_SIMILAR)
    if start.id == end.id:
        return {"sonicMatch": [_match(call, start, 1.0)]}
    if count < 2:
        raise ProtocolError(GENERAL, f"count={count} is too small for a path; use 2 or more.")
    snapshot = call.snapshot
    rules = PlaylistRules(length=count)
    with call.service.concurrency.slot():
        songs, _ = snapshot.playlist([snapshot.seed(start.id)], rules, to=snapshot.seed(end.id))
    closeness = snapshot.space.closeness_to(songs[0], songs)
    return {"sonicMatch": [_match(call, song, value) for song, value in zip(songs, closeness, strict=True)]}


def get_artist_info(call: Call) -> dict[str, Any]:
    """List similar artists, for players that browse by folder."""
    artist, similar = _similar_artists(call)
    return {"artistInfo": _artist_info(artist, map(call.records.artist_folder, similar))}


def get_artist_info2(call: Call) -> dict[str, Any]:
    """List similar artists."""
    artist, similar = _similar_artists(call)
    return {"artistInfo2": _artist_info(artist, map(call.records.artist, similar))}


def _artist_info(artist: Artist, similar: Iterable[Record]) -> dict[str, Any]:
    return {"musicBrainzId": artist_mbid(artist) or None, "similarArtist": list(similar)}


def _seeds(call: Call) -> list[Seed]:
    return [
        call.snapshot.seed(song.id) for song in spread_songs(call.songs_of(call.parameters.require("id")), MAX_SEEDS)
    ]


def _similar_artists(call: Call) -> tuple[Artist, list[Artist]]:
    artist = call.artist_of(call.parameters.require("id"))
    count = call.parameters.number("count", 20, maximum=100)
    songs = spread_songs(call.songs_of(artist.id), MAX_SEEDS)
    if not count or not songs[0].artist_key:  # songs without an artist tag have no similar artists
        return artist, []
    seeds = [call.snapshot.seed(song.id) for song in songs]
    neighbours = call.snapshot.similar(seeds, n=count, filters=Filters(one_per_artist=True, new_artists=True))
    songs = [neighbour.song for neighbour in neighbours if neighbour.song.artist_key]
    ids = dict.fromkeys(call.catalogue.artist_of(song).id for song in songs)
    return artist, [call.artist(artist_id) for artist_id in ids]


def _match(call: Call, song: Song, closeness: float) -> dict[str, Any]:
    return {"entry": call.records.song(song), "similarity": closeness}


METHODS: dict[str, Method] = {
    "getSimilarSongs": get_similar_songs,
    "getSimilarSongs2": get_similar_songs2,
    "getSonicSimilarTracks": get_sonic_similar_tracks,
    "findSonicPath": find_sonic_path,
    "getArtistInfo": get_artist_info,
    "getArtistInfo2": get_artist_info2,
}
