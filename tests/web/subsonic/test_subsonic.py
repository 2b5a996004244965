"""The methods, asked over HTTP as a player asks: how, and what one browses."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import music_library
from nearsong.library.browsing.albums import AlbumIndex
from nearsong.web.subsonic import METHODS
from nearsong.web.subsonic.envelope import NAMESPACE
from rest_server import ids, playing


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    """Ask a method; a server on a library of its own answers."""
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        yield client


# ---- how a method is asked


@pytest.mark.parametrize("name", ["ping", "ping.view"])
def test_a_method_has_two_names_and_takes_a_form(player, name):
    assert player.ask(name)["status"] == "ok"
    answer = player.client.post(name, data={"u": "me", "p": "", "f": "json"}).json()
    assert answer["subsonic-response"]["status"] == "ok"


def test_xml_is_what_is_answered_unless_json_is_asked_for(player):
    for form in ("", "xml", "yaml"):
        response = player.response("ping", f=form)
        assert response.headers["content-type"].startswith("text/xml")
        assert ET.fromstring(response.text).tag == f"{{{NAMESPACE}}}subsonic-response"


def test_a_page_cannot_have_the_answer_as_a_script(player):
    response = player.response("getArtists", f="jsonp", callback="steal")
    assert "use json or xml" in ET.fromstring(response.text)[0].get("message")
    assert "steal" not in response.text


def test_a_method_that_is_not_there_is_404_and_says_so(player):
    response = player.response("jukeboxControl")
    assert response.status_code == 404
    assert response.json()["subsonic-response"]["error"] == {
        "code": 0,
        "message": "method not supported: 'jukeboxControl'",
    }


def test_extensions_are_shown_to_anyone_and_nothing_else_is(player):
    answer = player.client.get("getOpenSubsonicExtensions", params={"f": "json"}).json()["subsonic-response"]
    assert {one["name"]: one["versions"] for one in answer["openSubsonicExtensions"]} == {
        "apiKeyAuthentication": [1],
        "formPost": [1],
        "indexBasedQueue": [1],
        "playbackReport": [1],
        "songLyrics": [1],
        "sonicSimilarity": [1],
        "transcodeOffset": [1],
    }
    for name in [*METHODS, "unknown"]:
        failed = player.client.get(name, params={"f": "json"}).json()["subsonic-response"]
        assert (failed["status"], failed["error"]["code"]) == ("failed", 10), name


def test_a_form_that_never_ends_is_refused(player):
    data = {"u": "me", "p": "", "f": "json", "name": "x" * 2_100_000}
    answer = player.client.post("createPlaylist", data=data)
    assert "bytes; send less at a time" in answer.text


@given(
    st.sampled_from(sorted(METHODS.keys() - {"startScan"})),
    st.dictionaries(
        st.sampled_from(["id", "count", "size", "type", "query", "genre", "artist", "offset", "fromYear", "toYear"]),
        st.one_of(
            st.integers(-(10**20), 10**20), st.text(max_size=20), st.sampled_from(["1", "al-", "ar-0", "pl-1"])
        ),
    ),
    st.sampled_from(["json", "xml"]),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_the_answer_is_one_of_the_protocol(player, method, asked, form):
    response = player.response(method, **asked, f=form)
    assert response.status_code == 200
    if response.headers["content-type"].startswith(("audio", "image")):
        return
    if form == "json":
        assert response.json()["subsonic-response"]["status"] in ("ok", "failed")
    else:
        assert ET.fromstring(response.text).get("status") in ("ok", "failed")


# ---- browsing


def test_artists_albums_and_songs_lead_to_each_other(player):
    seen: set[str] = set()
    for index in player.ask("getArtists")["artists"]["index"]:
        for artist in index["artist"]:
            assert artist["name"].upper().startswith(index["name"])
            complete = player.ask("getArtist", id=artist["id"])["artist"]
            assert len(complete["album"]) == artist["albumCount"]
            for album in complete["album"]:
                songs = player.ask("getAlbum", id=album["id"])["album"]["song"]
                assert len(songs) == album["songCount"]
                assert [song["track"] for song in songs] == list(range(1, len(songs) + 1))
                assert {(song["albumId"], song["artistId"]) for song in songs} == {(album["id"], artist["id"])}
                seen.update(ids(songs))
    assert seen == {str(song.id) for song in player.snapshot.space.songs}


def test_folders_hold_the_same_as_the_tags(player):
    index = player.ask("getIndexes")["indexes"]["index"]
    assert ids(index[0]["artist"]) == ids(player.ask("getArtists")["artists"]["index"][0]["artist"])
    folder = player.ask("getMusicDirectory", id=index[0]["artist"][0]["id"])["directory"]
    album = folder["child"][0]
    assert album["isDir"] is True
    songs = player.ask("getMusicDirectory", id=album["id"])["directory"]
    assert (songs["parent"], songs["id"]) == (folder["id"], album["id"])
    assert ids(songs["child"]) == ids(player.ask("getAlbum", id=album["id"])["album"]["song"])


def test_artists_that_have_not_changed_are_not_sent_again(player):
    changed = player.ask("getIndexes")["indexes"]["lastModified"]
    assert player.ask("getIndexes", ifModifiedSince=changed)["indexes"]["index"] == []
    assert player.ask("getIndexes", ifModifiedSince=changed - 1)["indexes"]["index"]


def test_a_song_says_what_its_file_is(player):
    song = player.snapshot.space.songs[0]
    answer = player.ask("getSong", id=song.id)["song"]
    assert (answer["title"], answer["artist"], answer["album"], answer["genre"]) == (
        song.title, song.artist, song.album, song.genre,
    )  # fmt: skip
    with open(song.path, "rb") as file:
        assert answer["size"] == len(file.read())
    assert answer["suffix"] == song.path.rpartition(".")[2]
    assert song.path not in str(answer)


def test_genres_count_songs_and_albums(player):
    genres = player.ask("getGenres")["genres"]["genre"]
    songs = player.snapshot.space.songs
    albums = AlbumIndex(songs)
    for genre in genres:
        own = [song for song in songs if song.genre == genre["value"]]
        assert genre["songCount"] == len(own)
        assert genre["albumCount"] == len({albums.album_of(song).id for song in own})
    assert {genre["value"] for genre in genres} == set(music_library.STYLES)


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("getSong", {"id": "99999"}),
        ("getSong", {"id": "../../etc/passwd"}),
        ("getSong", {"id": "al-0000000000000000"}),
        ("getSong", {"id": "١"}),
        ("getAlbum", {"id": "al-0000000000000000"}),
        ("getArtist", {"id": "1"}),
        ("getMusicDirectory", {"id": "1"}),
        ("getSimilarSongs", {"id": "ar-nobody"}),
        ("getPlaylist", {"id": "1"}),
        ("getPlaylist", {"id": "pl-777"}),
        ("deletePlaylist", {"id": "pl-777"}),
        ("stream", {"id": "99999"}),
        ("getCoverArt", {"id": "99999"}),
        ("getLyricsBySongId", {"id": "99999"}),
        ("createBookmark", {"id": "99999", "position": "1"}),
        ("deleteBookmark", {"id": "3"}),
        ("findSonicPath", {"startSongId": "1", "endSongId": "99999"}),
    ],
)
def test_what_is_not_there_is_error_70(player, method, asked):
    assert player.fails(method, **asked)[0] == 70


@pytest.mark.parametrize(
    "method", ["getSong", "getAlbum", "stream", "getSimilarSongs2", "getAlbumList2", "createPlaylist"]
)
def test_a_parameter_that_is_missing_is_error_10_and_named(player, method):
    code, message = player.fails(method)
    assert code == 10
    assert "is missing" in message


# ---- files


def test_a_stream_is_the_complete_file_or_parts(player):
    song = player.snapshot.space.songs[4]
    with open(song.path, "rb") as file:
        data = file.read()
    for asked in ({}, {"format": "raw", "maxBitRate": 64}, {"maxBitRate": 0}):
        response = player.response("stream", id=song.id, **asked)
        assert response.content == data
    for method in ("stream", "download"):
        address = player.response(method, id=song.id).request.url
        part = player.client.get(address, headers={"Range": "bytes=100-299"})
        assert (part.status_code, part.content) == (206, data[100:300])
        assert part.headers["content-range"] == f"bytes 100-299/{len(data)}"
    assert player.response("download", id=song.id).headers["content-disposition"].startswith("attachment")
    head = player.client.head(player.response("stream", id=song.id).request.url)
    assert (head.headers["content-length"], head.content) == (str(len(data)), b"")


def test_what_a_player_reports_as_played_must_be_a_song(player):
    assert player.ask("scrobble", id=[1, 2], submission="true")["status"] == "ok"
    assert player.fails("scrobble", id="99999")[0] == 70


# ---- XML


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("getArtists", {}),
        ("getAlbumList", {"type": "newest"}),
        ("getGenres", {}),
        ("search3", {"query": "band a"}),
        ("getSonicSimilarTracks", {"id": 3}),
        ("findSonicPath", {"startSongId": 3, "endSongId": 30}),
        ("getArtistInfo2", {"id": 3}),
        ("getUser", {}),
        ("getMusicFolders", {}),
        ("getLicense", {}),
        ("getOpenSubsonicExtensions", {}),
    ],
)
def test_xml_and_json_say_the_same(player, method, asked):
    answer = player.ask(method, **asked)
    root = ET.fromstring(player.response(method, f="xml", **asked).text)
    assert flat(answer) == flat_xml(root)


def flat(value: Any, name: str = "") -> list[str]:
    """Every value with the names that lead to it, in no order."""
    if isinstance(value, dict):
        return sorted(line for key, one in value.items() for line in flat(one, f"{name}/{key}"))
    if isinstance(value, list):
        return sorted(line for one in value for line in flat(one, name))
    return [f"{name.removesuffix('/value')}={str(value).lower() if isinstance(value, bool) else value}"]


def flat_xml(element: ET.Element, name: str = "") -> list[str]:
    lines = [f"{name}/{key}={value}" for key, value in element.attrib.items() if key != "value"]  # its text again
    if element.text:
        lines.append(f"{name}={element.text}")
    for child in element:
        lines += flat_xml(child, f"{name}/{child.tag.removeprefix(f'{{{NAMESPACE}}}')}")
    return sorted(lines)
