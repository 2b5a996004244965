"""Libraries that are not as one would wish: without songs, with tags made to do harm; and scans by a player."""

import dataclasses
import shutil
import sqlite3
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from nearsong.library import Library
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.scan import Scan
from nearsong.web.subsonic.envelope import NAMESPACE
from rest_server import playing, serving

HOSTILE = "</title><script>alert(1)</script> & \"'\x01\x1b\ufffe\u2028 ]]> ../..\\\r\n\t🎵 \u202eevil"


@pytest.fixture(scope="module")
def hostile(trained_file, tmp_path_factory):
    """A player of a library in which all texts are the same bad one."""
    address = tmp_path_factory.mktemp("hostile") / "library.sqlite"
    shutil.copy(trained_file, address)
    connection = sqlite3.connect(address)
    with connection:
        for column in ("artist", "title", "album", "genre", "recording_mbid", "artist_mbid"):
            connection.execute(f"UPDATE songs SET {column} = ?", (HOSTILE,))
    connection.close()
    with playing(address, tmp_path_factory.mktemp("served")) as player:
        yield player


@pytest.mark.parametrize(
    ("method", "asked", "element_path", "name"),
    [
        ("getSong", {"id": 1}, "song", "title"),
        ("search3", {"query": ""}, "searchResult3/song", "title"),
        ("getArtists", {}, "artists/index/artist", "name"),
        ("getAlbumList2", {"type": "newest"}, "albumList2/album", "genre"),
        ("getSimilarSongs", {"id": 1}, "similarSongs/song", "title"),
        ("getSonicSimilarTracks", {"id": 1}, "sonicMatch/entry", "artist"),
        ("getRandomSongs", {}, "randomSongs/song", "musicBrainzId"),
    ],
)
def test_tags_made_to_do_harm_are_nothing_but_text(hostile, method, asked, element_path, name):
    text = hostile.response(method, f="xml", **asked).text
    root = ET.fromstring(text)  # well formed, and what looks like markup is none
    assert not [element for element in root.iter() if "script" in element.tag]
    element = root.find("/".join(f"{{{NAMESPACE}}}{part}" for part in element_path.split("/")))
    answer: Any = hostile.ask(method, **asked)
    for part in element_path.split("/"):
        answer = answer[part][0] if isinstance(answer[part], list) else answer[part]
    assert element.get(name) == answer[name]
    stored = HOSTILE if name != "name" else answer[name]
    assert (
        answer[name].split()
        == stored.replace("\x01", "\ufffd").replace("\x1b", "\ufffd").replace("\ufffe", "\ufffd").split()
    )


def test_a_playlist_may_have_any_name_but_none(hostile):
    made = hostile.ask("createPlaylist", name=HOSTILE, songId=[1, 2, 1])["playlist"]
    assert "<script>" in made["name"]
    assert [song["id"] for song in made["entry"]] == ["1", "2", "1"]
    assert hostile.fails("createPlaylist", name=" \r\n ")[0] == 0
    assert hostile.fails("createPlaylist", name="x" * 201) == (0, "the name has 201 characters; the maximum is 200.")
    code, message = hostile.fails("createPlaylist", name="x", songId=["1", "2; DROP TABLE songs"])
    assert (code, "DROP TABLE" in message) == (70, True)
    hostile.ask("deletePlaylist", id=made["id"])
    assert hostile.ask("getPlaylists")["playlists"]["playlist"] == []


def test_a_library_without_songs_answers_and_says_what_to_do(tmp_path):
    with (
        Library.open(tmp_path / "library.sqlite") as library,
        serving(library) as (_, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/rest/", params={"u": "me", "f": "json"}) as client,
    ):

        def ask(method: str) -> dict[str, Any]:
            return client.get(method).json()["subsonic-response"]

        assert ask("ping")["status"] == "ok"
        assert ask("getScanStatus")["scanStatus"] == {"scanning": False, "count": 0}
        assert ask("getPlaylists")["playlists"] == {"playlist": []}
        for method in ("getArtists", "search3", "getRandomSongs"):
            assert ask(method)["error"] == {
                "code": 70,
                "message": "the library has no songs yet; scan a folder of music first.",
            }
        assert "nearsong scan FOLDER" in ask("startScan")["error"]["message"]


class Jobs:
    """Stands for the jobs of a service: none is ever run."""

    def __init__(self) -> None:
        self.started: list[JobSpec] = []

    def all(self) -> list[Any]:
        return [SimpleNamespace(kind=spec.kind, ended=None) for spec in self.started]

    def add(self, spec: JobSpec) -> None:
        self.started.append(spec)


def test_a_player_starts_one_scan_of_the_known_folders(hostile, monkeypatch):
    jobs = Jobs()
    monkeypatch.setattr(hostile.service, "jobs", jobs)
    for _ in range(2):
        assert hostile.ask("startScan")["scanStatus"] == {"scanning": True, "count": 72}
    assert jobs.started == [Scan()]
    assert hostile.ask("getScanStatus")["scanStatus"]["scanning"] is True


def test_scans_that_are_started_too_often_are_refused(hostile, monkeypatch):
    monkeypatch.setattr(hostile.service, "job_limit", RateLimit(1, per=3600))
    for _ in range(2):
        monkeypatch.setattr(hostile.service, "jobs", Jobs())
        response = hostile.response("startScan")
    assert response.status_code == 429
    assert "too many jobs" in response.json()["subsonic-response"]["error"]["message"]


def test_a_song_whose_file_is_gone_is_not_found(hostile, monkeypatch):
    space = hostile.snapshot.space
    song = space.songs[2]
    gone = dataclasses.replace(song, path=f"{song.path}.gone")
    monkeypatch.setattr(space, "songs", [*space.songs[:2], gone, *space.songs[3:]])
    code, message = hostile.fails("stream", id=song.id)
    assert (code, message) == (70, f"the file of song {song.id} is missing; restore it and scan again.")
