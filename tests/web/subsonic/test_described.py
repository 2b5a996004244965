"""Every answer is valid: JSON by OpenSubsonic's own description, XML for old players by the schema of their time."""

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlparse

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from lxml import etree
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from nearsong.library import Library
from nearsong.web.subsonic import METHODS, WRITING_METHODS
from rest_server import Player, playing

FOLDER = Path(
    os.environ.get("NEARSONG_OPENSUBSONIC", Path(__file__).parents[3] / ".." / "shared" / "opensubsonic")
).resolve()
SCHEMA = FOLDER / "subsonic-rest-api-1.16.1.xsd"

pytestmark = pytest.mark.skipif(
    not SCHEMA.exists(),
    reason="OpenSubsonic's description is not in ../shared/opensubsonic, nor where NEARSONG_OPENSUBSONIC says",
)

BINARY = {"stream", "download", "getCoverArt", "getAvatar"}
"""Methods that send no document, but for an error."""

ADDED = {"getLyricsBySongId", "getPlayQueueByIndex", "getSonicSimilarTracks", "findSonicPath", "tokenInfo"}
"""Methods with a result that version 1.16.1 does not have, and so old players never ask for."""

WRITES: dict[str, dict[str, Any]] = {
    "createPlaylist": {"name": "A few", "songId": [1, 2]},
    "updatePlaylist": {"playlistId": "{playlist}", "name": "Some", "songIdToAdd": 3},
    "star": {"id": 1, "albumId": "{album}", "artistId": "{artist}"},
    "setRating": {"id": "{album}", "rating": 4},
    "savePlayQueue": {"id": [1, 2], "current": 2, "position": 4_000},
    "savePlayQueueByIndex": {"id": [1, 2], "currentIndex": 1},
    "createBookmark": {"id": 1, "position": 2_500, "comment": "here"},
    "scrobble": {"id": 1},
    "reportPlayback": {"mediaId": 2, "mediaType": "song", "positionMs": 2_000, "state": "playing"},
}
UNDONE: dict[str, dict[str, Any]] = {
    "unstar": {"id": 2},
    "deleteBookmark": {"id": 1},
    "deletePlaylist": {"id": "{playlist}"},
}
READS: dict[str, dict[str, Any]] = {
    "ping": {},
    "getLicense": {},
    "getUser": {},
    "getUsers": {},
    "getMusicFolders": {},
    "getScanStatus": {},
    "getIndexes": {},
    "getArtists": {},
    "getGenres": {},
    "getPlaylists": {},
    "getRandomSongs": {},
    "getStarred": {},
    "getStarred2": {},
    "getNowPlaying": {},
    "getPlayQueue": {},
    "getPlayQueueByIndex": {},
    "getBookmarks": {},
    "tokenInfo": {},
    "getPodcasts": {},
    "getNewestPodcasts": {},
    "getInternetRadioStations": {},
    "getShares": {},
    "getVideos": {},
    "getAvatar": {},
    "search2": {},
    "search3": {},
    "getMusicDirectory": {"id": "{album}"},
    "getArtist": {"id": "{artist}"},
    "getAlbum": {"id": "{album}"},
    "getSong": {"id": 1},
    "getAlbumInfo": {"id": "{album}"},
    "getAlbumInfo2": {"id": "{album}"},
    "getArtistInfo": {"id": "{artist}"},
    "getArtistInfo2": {"id": "{artist}"},
    "getAlbumList": {"type": "newest"},
    "getAlbumList2": {"type": "newest"},
    "getSongsByGenre": {"genre": "{genre}"},
    "getTopSongs": {"artist": "{artist name}"},
    "getSimilarSongs": {"id": 1},
    "getSimilarSongs2": {"id": "{artist}"},
    "getSonicSimilarTracks": {"id": 1},
    "findSonicPath": {"startSongId": 1, "endSongId": 2, "count": 3},
    "getPlaylist": {"id": "{playlist}"},
    "getLyrics": {"artist": "{artist name}", "title": "{title}"},
    "getLyricsBySongId": {"id": 1},
    "stream": {"id": 1},
    "download": {"id": 1},
    "getCoverArt": {"id": "{album}"},
    "startScan": {},
}
CALLS = {**WRITES, **READS, **UNDONE}


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    """A player of a library in which everything that can be listed is there once."""
    with playing(trained_file, tmp_path_factory.mktemp("described")) as found:
        yield found


@pytest.fixture(scope="module")
def names(player) -> dict[str, str]:
    song = player.ask("getSong", id=1)["song"]
    given = ("albumId", "artistId", "genre", "artist", "title")
    return dict(
        zip(("album", "artist", "genre", "artist name", "title"), (song[name] for name in given), strict=True)
    )


@pytest.fixture(scope="module")
def filled(player, names) -> Player:
    for method, asked in WRITES.items():
        player.ask(method, **asked_for(player, names, asked))
    return player


def asked_for(player: Player, names: dict[str, str], asked: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call, with a playlist of its own if it needs one."""
    if "{playlist}" in asked.values():
        names = {**names, "playlist": player.ask("createPlaylist", name="Another", songId=[1, 2])["playlist"]["id"]}
    return {key: value.format(**names) if isinstance(value, str) else value for key, value in asked.items()}


@pytest.fixture(scope="module")
def described() -> Callable[[str, Any], list[str]]:
    """Return what is wrong with an answer in JSON."""
    formats = FormatChecker(formats=())
    formats.checks("date-time", raises=ValueError)(lambda text: bool(datetime.fromisoformat(text)))

    def read(address: str) -> Resource[Any]:
        document = json.loads(Path(unquote(urlparse(address).path)).read_text())
        return Resource.from_contents(document, default_specification=DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=read)

    def errors(method: str, answer: Any) -> list[str]:
        endpoint = FOLDER / "openapi" / "endpoints" / f"{method}.json"
        result = json.loads(endpoint.read_text())["get"]["responses"]["200"]
        base = endpoint.as_uri()
        if "$ref" in result:
            base = urljoin(base, result["$ref"])
            result = read(base).contents
        schema = urljoin(base, result["content"]["application/json"]["schema"]["$ref"])
        validator = Draft202012Validator({"$ref": schema}, registry=registry, format_checker=formats)
        return [
            f"{error.json_path}: {error.message[:300]} {[inner.message[:300] for inner in error.context or ()]}"
            for error in validator.iter_errors(answer)
        ]

    return errors


@pytest.fixture(scope="module")
def schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(SCHEMA))


def test_every_method_is_called_here():
    assert set(CALLS) == set(METHODS)
    assert {*WRITES, *UNDONE} == set(WRITING_METHODS)


@pytest.mark.parametrize("method", [*(name for name in CALLS if name not in BINARY), "getOpenSubsonicExtensions"])
def test_json_is_what_opensubsonic_describes(filled, names, described, method):
    filled.ask("createBookmark", **WRITES["createBookmark"])
    answer = filled.response(method, **asked_for(filled, names, CALLS.get(method, {}))).json()
    assert described(method, answer) == []
    assert answer["subsonic-response"]["status"] == "ok"


@pytest.mark.parametrize("method", [name for name in CALLS if name not in BINARY | ADDED])
def test_xml_for_an_old_player_is_what_the_protocol_had_in_its_time(filled, names, schema, method):
    filled.ask("createBookmark", **WRITES["createBookmark"])
    asked = asked_for(filled, names, CALLS[method])
    answer = filled.response(method, **{**asked, "f": "xml", "c": "Clementine"})
    document = etree.fromstring(answer.content)
    schema.validate(document)
    assert [str(error) for error in schema.error_log] == []
    assert document.get("status") == "ok"


@pytest.mark.parametrize("method", sorted(BINARY))
def test_errors_are_described_too(filled, schema, method):
    asked = {"id": "999999"} if method != "getAvatar" else {"size": "large"}
    answer = filled.response(method, **asked, f="xml", c="clementine")
    document = etree.fromstring(answer.content)
    assert schema.validate(document)
    assert document.get("status") == "failed"


def test_answers_without_anything_to_list_are_valid(described, schema, tmp_path):
    with Library.open(tmp_path / "none.sqlite"):
        pass
    (tmp_path / "served").mkdir()
    nobody = {"album": "al-1", "artist": "ar-1", "genre": "x", "artist name": "x", "title": "x", "playlist": "pl-1"}
    with playing(tmp_path / "none.sqlite", tmp_path / "served") as empty:
        for method, wanted in READS.items():
            asked = {key: str(value).format(**nobody) for key, value in wanted.items()}
            if method not in BINARY:
                assert described(method, empty.response(method, **asked).json()) == [], method
            if method not in ADDED:
                answer = empty.response(method, **{**asked, "f": "xml", "c": "Clementine"})
                is_picture = answer.headers["content-type"] == "image/jpeg"
                assert is_picture or schema.validate(etree.fromstring(answer.content)), (method, schema.error_log)
        assert empty.ask("getPlayQueue")["playQueue"]["entry"] == []
        assert empty.ask("getNowPlaying")["nowPlaying"] == {"entry": []}


def test_only_players_of_the_list_get_less(filled):
    song = filled.ask("getSong", id=1)["song"]
    old = filled.ask("getSong", id=1, c="CLEMENTINE")["song"]
    assert {"genres", "artists", "displayArtist", "mediaType"} <= song.keys() - old.keys()
    assert {name: song[name] for name in old} == old
