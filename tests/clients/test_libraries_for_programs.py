"""Clients that nobody here wrote, unmodified, on a real server: lists, sound, similar songs, what was played."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearsong.library.snapshot import Snapshot
from players_guide import calls_run

from .conftest import CLIENTS, PROGRAMS, SYSTEM_PYTHON, TOKEN, printed

JPEG = "ffd8ff"


def nearest(snapshot: Snapshot, song_id: str, n: int) -> list[str]:
    return [str(one.song.id) for one in snapshot.similar([snapshot.seed(int(song_id))], n=n)]


def test_py_sonic(served, run):
    found = run("use_py_sonic", "py_sonic")
    assert served.calls == calls_run("py-sonic")
    song = served.snapshot.song(int(found["song"]["id"]))
    assert (found["artists"], found["albums"]) == (served.n_artists, served.n_albums)
    assert found["directories"] > 0
    assert found["song"]["size"] == found["sound"] == os.path.getsize(song.path)
    assert found["song"]["bitRate"] > 0
    assert found["small"][0] < found["sound"]
    assert found["small"][1] in ("494433", "fffb50")  # an ID3 tag, or a frame of MP3
    assert found["similar"] == nearest(served.snapshot, str(song.id), 5)
    assert len(found["radio"]) == 5
    assert found["artist info"] > 0
    assert str(song.id) in found["found"]
    assert (found["cover"], found["avatar"]) == (JPEG, JPEG)
    assert (found["starred"], found["queue"], found["bookmarks"]) == ([str(song.id)], 1500, [2500])
    assert "From py-sonic" in found["playlists"]
    assert (found["lyrics"], found["now playing"]) == ("", [])
    assert served.plays() == [("anyone", song.title)]


def test_the_adapter_of_sublime_music(served, run):
    if subprocess.run(
        [SYSTEM_PYTHON, "-c", "import gi; gi.require_version('Gtk', '3.0')"], capture_output=True
    ).returncode:
        pytest.skip("Debian's python3-gi and gir1.2-gtk-3.0 are not installed")
    found = run("use_sublime_music", "sublime_music")
    assert served.calls == calls_run("Sublime Music")
    album = next(album for album in served.snapshot.albums.albums if album.songs[0].title == found["songs"][0])
    song = album.songs[0]
    assert found["can"] == [True, True, True]
    assert (found["artists"], found["albums"]) == (served.n_artists, served.n_albums)
    assert found["songs"] == [one.title for one in album.songs]
    assert found["sound"] == 2 * [found["size"]] == 2 * [os.path.getsize(song.path)]
    assert found["duration"] == round(song.seconds)
    assert found["cover"] == JPEG
    assert found["similar artists"] > 0
    assert found["genres"] > 0
    assert found["queue"] == [1, 3.0, len(album.songs)]
    assert found["playlist"] == [str(one.id) for one in (*album.songs[:2], song)]
    assert "From Sublime Music" in found["playlists"]
    assert found["children"]
    assert str(song.id) in found["found"]
    assert found["articles"] == ["The"]
    assert served.plays() == [("anyone", song.title)]
    assert served.library.reactions.of("anyone").ratings[song.id][0] == 5


def test_mopidy_subidy(served, run):
    found = run("use_mopidy_subidy", "Mopidy_Subidy")
    assert served.calls == calls_run("Mopidy-Subidy")
    song = next(song for song in served.snapshot.space.songs if song.title == found["track"][0])
    assert found["root"] == ["Albums", "Artists", "Directories"]
    assert (found["artists"], found["albums"]) == (served.n_artists, served.n_albums)
    assert found["track"][1:] == [1000 * round(song.seconds), song.bit_rate, 1, 1]
    assert found["album"] == len(found["songs"]) == len(served.snapshot.albums.album_of(song).songs)
    assert found["folder"]
    assert found["sound"] == os.path.getsize(song.path)
    assert song.title in found["found"]
    assert "From Mopidy" in found["playlists"]
    assert found["saved"]


def test_subsonic_api_of_npm(served, tmp_path):
    node, package = shutil.which("node"), CLIENTS / "node_modules" / "subsonic-api" / "lib" / "index.js"
    if node is None or not package.exists():
        pytest.skip("node or subsonic-api is not installed; `make clients` does it")
    address = f"http://127.0.0.1:{served.port}"
    found = printed(
        [node, PROGRAMS / "use_subsonic_api.mjs", package.resolve().as_uri(), address, TOKEN], {}, tmp_path
    )
    assert served.calls == calls_run("subsonic-api")
    song = served.snapshot.song(int(found["song"]["id"]))
    assert {"songLyrics", "transcodeOffset", "indexBasedQueue", "playbackReport"} <= set(found["extensions"])
    assert (found["artists"], found["albums"]) == (served.n_artists, served.n_albums)
    assert found["sound"] == found["song"]["size"] == Path(song.path).stat().st_size
    assert found["later"][0] == "audio/mpeg"
    assert found["later"][1] > 1000
    assert found["cover"] > 500
    assert found["similar"] == nearest(served.snapshot, str(song.id), 5)
    assert len(found["radio"]) == 5
    assert (found["starred"], found["playlist"]) == ([str(song.id)], [str(song.id)])
    assert (found["queue"], found["bookmarks"]) == (1500, [2500])
    assert (found["lyrics"], found["nowPlaying"]) == ([], [])
    assert served.plays() == [("anyone", song.title)]
