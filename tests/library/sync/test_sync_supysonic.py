"""A sync with Supysonic, a Subsonic server that nobody here wrote, run as a process of its own."""

import json
import os
import shutil
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from command_line import run_nearsong
from music_library import make_music
from nearsong.audio.tags import Tags, read_tags, write_tags
from nearsong.errors import NoSuchSongError
from nearsong.library import Library, playlist_text
from nearsong.library.files.open_song import open_song_file
from nearsong.library.sync.server_playlists import COMMENT
from supysonic_server import supysonic

PASSWORD = "sesame-17"


class Server:
    """Requests to a server as its user's player would send them."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method, **parameters):
        common = {"u": "ann", "p": PASSWORD, "v": "1.12.0", "c": "test", "f": "json"}
        query = urllib.parse.urlencode({**common, **parameters}, doseq=True)
        with urllib.request.urlopen(f"{self.url}/rest/{method}.view?{query}") as answer:
            response = json.load(answer)["subsonic-response"]
        assert response["status"] == "ok", response
        return response

    def songs(self):
        found = self.ask("search3", query="", songCount=500, artistCount=0, albumCount=0)
        songs = found.get("searchResult3", {}).get("song", [])
        if not songs:
            albums = self.ask("getAlbumList2", type="alphabeticalByName", size=500)["albumList2"]["album"]
            songs = [song for album in albums for song in self.ask("getAlbum", id=album["id"])["album"]["song"]]
        return songs

    def playlists(self):
        """Return name and comment -> songs of all playlists."""
        listed = self.ask("getPlaylists")["playlists"].get("playlist", [])
        full = [self.ask("getPlaylist", id=one["id"])["playlist"] for one in listed]
        return {(one["name"], one.get("comment", "")): [song["id"] for song in one.get("entry", [])] for one in full}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sync")
    music = make_music(folder / "music", n_artists=4)
    os.environ["no_proxy"] = "127.0.0.1"
    with supysonic(folder / "server", music, "ann", PASSWORD) as url:
        server = Server(url)
        songs = server.songs()
        for song in songs[:3]:
            server.ask("scrobble", id=song["id"], submission="true")
            server.ask("star", id=song["id"])
        server.ask("createPlaylist", name="Mine", songId=[songs[0]["id"]])
        server.ask("createPlaylist", name="For you", songId=[songs[1]["id"]])  # the same name, but the user's own
        yield server, music


def synced(server, library, *options, password=PASSWORD):
    done = run_nearsong(
        "sync",
        "subsonic",
        server.url,
        "--name",
        "ann",
        *options,
        library=library,
        NEARSONG_SUBSONIC_PASSWORD=password,
        no_proxy="127.0.0.1",
    )
    assert password not in done.stdout + done.stderr
    return done


def test_songs_are_streamed_once_and_kept_as_vectors_only(served, tmp_path, monkeypatch):
    server, music = served
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    n_songs = len(server.songs())
    plays = {song["id"]: song.get("playCount", 0) for song in server.songs()}
    library = tmp_path / "library.sqlite"
    first = synced(server, library, "--stream")
    assert first.returncode == 0, first.stderr
    assert f"{n_songs} songs, {n_songs} of them in the library, {n_songs} newly streamed" in first.stdout
    assert not [path for path in (tmp_path / "temporary").rglob("*") if path.is_file() and path.stat().st_size > 1000]
    assert {song["id"]: song.get("playCount", 0) for song in server.songs()} == plays  # fetching is not playing

    tags = [read_tags(path) for path in music.rglob("*.*")]
    with Library.open(library) as streamed:
        songs = streamed.snapshot().space.songs
        assert {(song.artist, song.title, song.album, song.year) for song in songs} == {
            (one.artist, one.title, one.album, one.year) for one in tags
        }
        assert all(song.path.startswith(f"subsonic://{server.url.removeprefix('http://')}/") for song in songs)
        assert len(streamed.similar(songs[0].id, n=3)) == 3
        folders = {song.path.rpartition("/")[0] for song in songs}
        assert len(folders) == len({(song.artist, song.album) for song in songs})
        with pytest.raises(NoSuchSongError, match=r"is on the server 127\.0\.0\.1:\d+; play it there"):
            open_song_file(streamed._store, songs[0])
        assert playlist_text(songs[:1], "m3u8").splitlines()[-1] == songs[0].path

    listed = server.playlists()
    starred = {song["id"] for song in server.songs() if "starred" in song}
    assert set(listed["For you", COMMENT]) == set(plays) - starred  # of so few songs all that are new to the listener
    again = synced(server, library, "--stream")
    assert f"{n_songs} of them in the library, 0 newly streamed" in again.stdout
    assert "0 new rows" in again.stdout
    assert "0 written, 0 removed, 1 unchanged" in again.stdout
    assert server.playlists() == listed


def test_playlists_and_for_you_are_written_and_no_other_playlist_is_touched(served, tmp_path):
    server, music = served
    library = tmp_path / "library.sqlite"
    before = server.playlists()
    done = synced(server, library, "--folder", str(music), "--for-you", "0")
    assert done.returncode == 0, done.stderr
    n_songs = len(server.songs())
    assert f"{n_songs} songs, {n_songs} of them in the library." in done.stdout
    with Library.open(library) as lib:
        songs = lib.snapshot().space.songs
        assert all(os.path.isfile(song.path) for song in songs)
        saved = lib.playlists.add("Evening", [song.id for song in songs[::-1]])
        titles = [song.title for song in songs[::-1]]
    assert "1 written" in synced(server, library, "--for-you", "0").stdout
    written = server.playlists()["Evening", COMMENT]
    names = {song["id"]: song["title"] for song in server.songs()}
    assert [names[song] for song in written] == titles
    assert "0 written, 0 removed, 1 unchanged" in synced(server, library, "--for-you", "0").stdout

    with Library.open(library) as lib:
        lib.playlists.replace(saved.id, "Late evening", saved.songs[:2])
    assert "1 written" in synced(server, library, "--for-you", "0").stdout
    assert server.playlists()["Late evening", COMMENT] == written[:2]
    assert ("Evening", COMMENT) not in server.playlists()
    with Library.open(library) as lib:
        lib.playlists.remove(saved.id)
    assert "1 removed" in synced(server, library, "--for-you", "0").stdout
    assert server.playlists() == before  # "Mine" and "For you" of the user among them


def test_files_of_a_shared_folder_are_found_by_path_whatever_their_names(tmp_path, served):
    server, music = served
    elsewhere = tmp_path / "other-mount"
    shutil.copytree(music, elsewhere)
    for number, file in enumerate(sorted(elsewhere.rglob("*.*"))):
        write_tags(file, Tags("Nobody", f"Untitled {number}"))
    library = tmp_path / "library.sqlite"
    done = synced(server, library, "--folder", f"{music}={elsewhere}", "--for-you", "0")
    n_songs = len(server.songs())
    assert f"{n_songs} songs, {n_songs} of them in the library." in done.stdout


def test_wrong_passwords_and_unreachable_servers_are_one_line(served, tmp_path, monkeypatch):
    server, _ = served
    monkeypatch.setattr("nearsong.library.listeners.pull.http_json.FIRST_BACK_OFF_SECONDS", 0.001)
    wrong = synced(server, tmp_path / "library.sqlite", password="wrong-secret")
    assert wrong.returncode == 2
    assert "Wrong username or password" in wrong.stderr
    assert "check --name" in wrong.stderr
    gone = synced(Server("http://127.0.0.1:9"), tmp_path / "library.sqlite")
    assert gone.returncode == 2
    assert [line for line in gone.stderr.splitlines() if "cannot be reached" in line]


def test_a_password_can_come_from_a_file(served, tmp_path):
    server, _ = served
    file = Path(tmp_path / "password.txt")
    file.write_text(f"{PASSWORD}\n")
    done = run_nearsong(
        *("sync", "subsonic", server.url, "--name", "ann", "--password-file", file, "--for-you", "0"),
        library=tmp_path / "library.sqlite",
        no_proxy="127.0.0.1",
    )
    assert done.returncode == 0, done.stderr
    assert "songs are not in the library: --stream" in done.stdout
