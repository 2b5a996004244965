"""Methods that find what sounds alike: songs near a song, an album or an artist, artists, ways between songs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearsong.library.playlist import PlaylistRules
from nearsong.library.recommend import Filters
from nearsong.library.records import Song
from nearsong.library.shelves import Artist
from nearsong.web.subsonic.call import Call, Method
from nearsong.web.subsonic.envelope import GENERAL, ProtocolError
from nearsong.web.subsonic.records import artist_folder, artist_mbid, artist_record, song_record, song_records

MOST_SIMILAR = 500
SEEDS = 5
"""Songs that stand for an artist or an album, spread evenly over all of them."""


def get_similar_songs(call: Call) -> dict[str, Any]:
    """List the songs nearest to a song, an album or an artist."""
    return {"similarSongs": {"song": song_records(call.catalogue, _near(call, 50))}}


def get_similar_songs2(call: Call) -> dict[str, Any]:
    """List the songs nearest to an artist."""
    return {"similarSongs2": {"song": song_records(call.catalogue, _near(call, 50))}}


def get_sonic_similar_tracks(call: Call) -> dict[str, Any]:
    """List the songs nearest to a song, with how near they are."""
    seed = call.snapshot.seed(call.song(call.asked.need("id")).id)
    count = call.asked.number("count", 10, most=MOST_SIMILAR)
    near = call.snapshot.similar([seed], n=count) if count else []
    return {"sonicMatch": [_match(call, one.song, one.similarity) for one in near]}


def find_sonic_path(call: Call) -> dict[str, Any]:
    """List songs that lead from one to another, with how near each is to the first."""
    start, end = call.song(call.asked.need("startSongId")), call.song(call.asked.need("endSongId"))
    count = call.asked.number("count", 25, most=MOST_SIMILAR)
    if start.id == end.id:
        return {"sonicMatch": [_match(call, start, 1.0)]}
    if count < 2:
        raise ProtocolError(GENERAL, f"count={count} leaves no room for both ends of a path; ask for 2 or more.")
    snapshot, space = call.snapshot, call.snapshot.space
    rules = PlaylistRules(length=count)
    with call.service.heavy.turn():
        songs, _ = snapshot.playlist([snapshot.seed(start.id)], rules, to=snapshot.seed(end.id))
    places = np.stack([space.place_of(song) for song in songs]).astype(np.float64)
    similarities = space.calibration.similarity(np.linalg.norm(places - places[0], axis=1))
    return {
        "sonicMatch": [
            _match(call, song, float(near)) for song, near in zip(songs, similarities.tolist(), strict=True)
        ]
    }


def get_artist_info(call: Call) -> dict[str, Any]:
    """List the artists nearest to one, for players that browse by folder."""
    artist, near = _near_artists(call)
    return {
        "artistInfo": {"musicBrainzId": artist_mbid(artist) or None, "similarArtist": list(map(artist_folder, near))}
    }


def get_artist_info2(call: Call) -> dict[str, Any]:
    """List the artists nearest to one."""
    artist, near = _near_artists(call)
    return {
        "artistInfo2": {"musicBrainzId": artist_mbid(artist) or None, "similarArtist": list(map(artist_record, near))}
    }


def _near(call: Call, usual: int) -> list[Song]:
    seeds = [call.snapshot.seed(song.id) for song in _spread(call.songs_behind(call.asked.need("id")))]
    count = call.asked.number("count", usual, most=MOST_SIMILAR)
    return [one.song for one in call.snapshot.similar(seeds, n=count)] if count else []


def _near_artists(call: Call) -> tuple[Artist, list[Artist]]:
    artist = call.artist_behind(call.asked.need("id"))
    count = call.asked.number("count", 20, most=100)
    songs = _spread(call.songs_behind(artist.id))
    if not count or not songs[0].artist_key:  # who has no name has no neighbours
        return artist, []
    seeds = [call.snapshot.seed(song.id) for song in songs]
    near = call.snapshot.similar(seeds, n=count, filters=Filters(artist_once=True, new_artists=True))
    ids = dict.fromkeys(call.catalogue.album_of(one.song).artist_id for one in near if one.song.artist_key)
    return artist, [call.artist(one) for one in ids]


def _spread(songs: Sequence[Song]) -> list[Song]:
    """Return some songs of many, the same ones each time."""
    if len(songs) <= SEEDS:
        return list(songs)
    return [songs[round(place)] for place in np.linspace(0, len(songs) - 1, SEEDS).tolist()]


def _match(call: Call, song: Song, similarity: float) -> dict[str, Any]:
    return {"entry": song_record(call.catalogue, song), "similarity": similarity}


METHODS: dict[str, Method] = {
    "getSimilarSongs": get_similar_songs,
    "getSimilarSongs2": get_similar_songs2,
    "getSonicSimilarTracks": get_sonic_similar_tracks,
    "findSonicPath": find_sonic_path,
    "getArtistInfo": get_artist_info,
    "getArtistInfo2": get_artist_info2,
}
