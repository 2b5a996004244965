"""Navidrome's plugin, run by Extism as Navidrome runs it, against a service that really runs."""

import json
import shutil
import zipfile
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from command_line import run_nearsong
from nearsong.library import Library
from nearsong.library.listeners.pull.subsonic_server import SubsonicServer
from nearsong.library.sync import navidrome_plugin
from nearsong.library.sync.server_songs import songs_of, streamed_path

TOKEN = "5f0c1d2e3b4a69788796a5b4c3d2e1f0"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The parts of the plugin that `nearsong sync navidrome` writes."""
    file = tmp_path_factory.mktemp("plugin") / "nearsong.ndp"
    assert run_nearsong("sync", "navidrome", file).returncode == 0
    with closing(zipfile.ZipFile(file)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.fixture(scope="module")
def library(scanned_file, tmp_path_factory):
    file = shutil.copy(scanned_file, tmp_path_factory.mktemp("navidrome") / "library.sqlite")
    with Library.open(file) as opened:
        yield opened


@pytest.fixture
def served(library, serving, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(library, token=TOKEN) as address:
        yield address


@pytest.fixture
def ask(served, package):
    """Call a function of the plugin with settings."""
    extism = pytest.importorskip("extism", reason="extism is not installed (dev extra)")

    def call(name, question, **settings):
        manifest = {
            "wasm": [{"data": package["plugin.wasm"]}],
            "allowed_hosts": [urlsplit(served).hostname],
            "config": {"url": served, "token": TOKEN, **settings},
        }
        return json.loads(extism.Plugin(manifest).call(name, json.dumps(question)))

    return call


def reference(song):
    """What Navidrome tells of a song, with an id of its own."""
    return {"id": "4Zk9", "name": song.title, "artists": [{"name": song.artist}], "durationMs": 1000 * song.seconds}


def test_the_plugin_answers_with_the_similar_songs_of_nearsong(ask, library):
    song = library.snapshot().space.songs[3]
    found = ask("nd_get_sonic_similar_tracks", {"song": {**reference(song), "durationMs": 2000}, "count": 5})
    nearest = library.similar(song.id, n=5)
    assert [(one["song"]["name"], one["song"]["artists"][0]["name"]) for one in found["matches"]] == [
        (near.song.title, near.song.artist) for near in nearest
    ]
    assert [one["similarity"] for one in found["matches"]] == pytest.approx([near.closeness for near in nearest])
    assert all(one["song"]["id"] == "" for one in found["matches"])  # Navidrome finds them by name


def test_the_plugin_answers_with_a_path(ask, library):
    first, *_, last = library.snapshot().space.songs
    start, end = {"name": first.title, "artist": first.artist}, {"name": last.title}
    question = {"startSong": start, "endSong": end, "count": 4}
    with pytest.raises(Exception, match="nearsong refuses"):  # a title alone is no song
        ask("nd_find_sonic_path", question)
    end["artist"] = last.artist
    found = ask("nd_find_sonic_path", question)["matches"]
    assert [found[0]["song"]["name"], found[-1]["song"]["name"]] == [first.title, last.title]
    assert found[0]["similarity"] == pytest.approx(1)


def test_wrong_settings_are_said(ask):
    question = {"song": {"name": "Song 10", "artist": "Band A1"}, "count": 1}
    with pytest.raises(Exception, match="the setting url is missing"):
        ask("nd_get_sonic_similar_tracks", question, url="")
    with pytest.raises(Exception, match="check the settings url and token"):
        ask("nd_get_sonic_similar_tracks", question, token='wrong"\\')


def test_the_plugin_is_what_its_source_says(package):
    wasmtime = pytest.importorskip("wasmtime", reason="wasmtime is not installed (dev extra)")
    source = navidrome_plugin.files("nearsong.library.sync").joinpath("navidrome", "plugin.wat").read_text()
    assert bytes(wasmtime.wat2wasm(source)) == package["plugin.wasm"]
    assert json.loads(package["manifest.json"])["permissions"]["http"]["requiredHosts"] == ["*"]


def test_a_key_of_the_server_is_enough_to_sync_with_nearsong_itself(served, library, tmp_path):
    own = tmp_path / "other.sqlite"
    command = ("sync", "subsonic", served, "--name", "ann", "--for-you", "0")
    done = run_nearsong(*command, library=own, NEARSONG_SUBSONIC_API_KEY="wrong-key", no_proxy="127.0.0.1")
    assert done.returncode == 2
    assert "wrong API key" in done.stderr
    assert "wrong-key" not in done.stderr.replace("wrong API key", "")
    right = run_nearsong(*command, library=own, NEARSONG_SUBSONIC_API_KEY=TOKEN, no_proxy="127.0.0.1")
    assert right.returncode == 0, right.stderr
    server = SubsonicServer(served, "ann", password=TOKEN)
    songs = [song for page in server.songs() for song in songs_of(page)]
    assert len(songs) == len(library.snapshot().space.songs)
    server.fetch(songs[0].id, str(tmp_path / "song"))
    assert (tmp_path / "song").stat().st_size == songs[0].size
    assert len({streamed_path(served, song) for song in songs}) == len(songs)
