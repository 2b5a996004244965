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
ENDPOINTS = FOLDER / "openapi" / "endpoints"

ANY_RESULT = {"$ref": "../responses/EmptySubsonicResponse.json"}
"""What a method answers that has no description of its own, or that sends a file, if it fails."""

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

WITHOUT = {
    "getUser": "username",
    "getAvatar": "username",
    "search2": "query",
    "search3": "query",
    "reportPlayback": "mediaType",
}
"""Method -> a parameter that OpenSubsonic requires and nearsong does not: it means oneself, everything, a song."""

UNKNOWN = {"{album}": "al-none", "{artist}": "ar-none", "{playlist}": "pl-999"}
WITH_ID = [method for method, asked in CALLS.items() if any(name.lower().endswith("id") for name in asked)]

TOKEN = "correct-horse-battery-staple-4242"


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


def described_call(method: str) -> dict[str, Any]:
    """Return what OpenSubsonic says of a method."""
    file = ENDPOINTS / f"{method}.json"
    if not file.exists():
        return {"responses": {"200": ANY_RESULT}}
    call = json.loads(file.read_text())
    return call.get("get") or call["post"]


@pytest.fixture(scope="module")
def described() -> Callable[[str, Any], list[str]]:
    """Return what is wrong with an answer in JSON."""
    formats = FormatChecker(formats=())
    formats.checks("date-time", raises=ValueError)(lambda text: bool(datetime.fromisoformat(text)))

    def read(address: str) -> Resource[Any]:
        document = json.loads(Path(unquote(urlparse(address).path)).read_text())
        return Resource.from_contents(document, default_specification=DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=read)

    def resolved(result: dict[str, Any]) -> tuple[str, Any]:
        base = (ENDPOINTS / "any.json").as_uri()
        if "$ref" not in result:
            return base, result
        base = urljoin(base, result["$ref"])
        return base, read(base).contents

    def errors(method: str, answer: Any) -> list[str]:
        base, result = resolved(described_call(method)["responses"]["200"])
        if "application/json" not in result["content"]:
            base, result = resolved(ANY_RESULT)
        schema = {"$id": base, **result["content"]["application/json"]["schema"]}
        validator = Draft202012Validator(schema, registry=registry, format_checker=formats)
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


@pytest.fixture(scope="module")
def fails(described, schema) -> Callable[..., None]:
    """See that a call fails with a code, as is described: in JSON, and in XML for an old player."""

    def check(player: Player, method: str, code: int, asked: dict[str, Any], status: int = 200) -> None:
        answer = player.response(method, **asked)
        assert described(method, answer.json()) == [], asked
        failure = answer.json()["subsonic-response"]
        assert (answer.status_code, failure["status"], failure["error"]["code"]) == (status, "failed", code), asked
        document = etree.fromstring(player.response(method, **asked, f="xml", c="clementine").content)
        assert schema.validate(document), schema.error_log
        assert (document.get("status"), document[0].get("code")) == ("failed", str(code))

    return check


@pytest.mark.parametrize("method", WITH_ID)
def test_the_failure_for_an_unknown_id_is_as_described(filled, fails, method):
    asked = {
        name: UNKNOWN.get(str(value), "999999") if name.lower().endswith("id") else value
        for name, value in CALLS[method].items()
    }
    fails(filled, method, 70, asked)


@pytest.mark.parametrize("method", sorted(CALLS))
def test_the_failure_without_a_parameter_is_as_described(filled, names, fails, method):
    needed = [one["name"] for one in described_call(method).get("parameters", ()) if one.get("required")]
    for name in needed:
        if name != WITHOUT.get(method):
            asked = asked_for(filled, names, CALLS[method])
            assert name in asked
            fails(filled, method, 10, {key: value for key, value in asked.items() if key != name})


def test_the_failure_of_a_method_that_is_not_supported_is_as_described(filled, fails):
    missing = {file.stem for file in ENDPOINTS.glob("*.json")} - {*METHODS, "getOpenSubsonicExtensions"}
    for method in [*sorted(missing), "nonsense"]:
        fails(filled, method, 0, {"id": 1}, status=404)


def test_the_failure_with_a_wrong_password_is_as_described(trained_file, tmp_path, fails):
    with playing(trained_file, tmp_path, token=TOKEN) as player:
        for method in ("ping", "getSong", "star", "stream"):
            fails(player, method, 40, {"p": "guess", "id": 1})


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
