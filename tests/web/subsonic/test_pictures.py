"""Every picture that an answer names is there: players ask for all of them."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from rest_server import playing

LISTS: dict[str, dict[str, Any]] = {
    "getIndexes": {},
    "getArtists": {},
    "getRandomSongs": {"size": 10},
    "getAlbumList": {"type": "newest"},
    "getAlbumList2": {"type": "random"},
    "getSongsByGenre": {"genre": "{genre}"},
    "getTopSongs": {"artist": "{artist name}"},
    "getSimilarSongs": {"id": "{song}"},
    "getSimilarSongs2": {"id": "{artist}"},
    "getSonicSimilarTracks": {"id": "{song}"},
    "getArtist": {"id": "{artist}"},
    "getArtistInfo": {"id": "{artist}"},
    "getArtistInfo2": {"id": "{artist}"},
    "getAlbum": {"id": "{album}"},
    "getSong": {"id": "{song}"},
    "getMusicDirectory": {"id": "{artist}"},
    "getPlaylists": {},
    "getStarred": {},
    "getStarred2": {},
    "getNowPlaying": {},
    "getPlayQueue": {},
    "getPlayQueueByIndex": {},
    "getBookmarks": {},
    "search2": {"query": ""},
    "search3": {"query": ""},
}


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    with playing(trained_file, tmp_path_factory.mktemp("pictures")) as found:
        yield found


def named(answer: Any) -> Iterator[str]:
    """Yield the pictures that an answer names, at any depth."""
    for key, value in answer.items() if isinstance(answer, dict) else enumerate(answer):
        if key == "coverArt":
            yield value
        elif isinstance(value, dict | list):
            yield from named(value)


def test_every_picture_that_an_answer_names_is_an_image(player):
    song = player.ask("getSong", id=1)["song"]
    of = {"{song}": "1", "{album}": song["albumId"], "{artist}": song["artistId"], "{genre}": song["genre"]}
    of["{artist name}"] = song["artist"]
    player.ask("star", id=1, albumId=song["albumId"], artistId=song["artistId"])
    player.ask("savePlayQueue", id=[1, 2], current=2)
    player.ask("createBookmark", id=3, position=1_000)
    player.ask("scrobble", id=[1, 2])  # for the two playlists that are made for a listener
    player.ask("scrobble", id=2, submission="false")
    player.ask("createPlaylist", name="A few", songId=[1, 2])
    player.ask("createPlaylist", name="Nothing yet")
    found: dict[str, str] = {}
    for method, asked in LISTS.items():
        answer = player.ask(method, **{name: of.get(value, value) for name, value in asked.items()})
        pictures = list(named(answer))
        assert pictures or method.startswith("getArtistInfo"), method
        found |= dict.fromkeys(pictures, method)
    for playlist in player.ask("getPlaylists")["playlists"]["playlist"]:
        found |= dict.fromkeys(named(player.ask("getPlaylist", id=playlist["id"])), "getPlaylist")
    for picture, method in found.items():
        answer = player.response("getCoverArt", id=picture, size=64)
        assert answer.headers["content-type"].startswith("image/"), (method, picture, answer.text)
        assert max(Image.open(io.BytesIO(answer.content)).size) == 64
    assert {picture.rstrip("0123456789abcdef") for picture in found} >= {"", "al-", "ar-", "pl-", "pl-for-you"}
