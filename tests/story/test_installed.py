"""The installed program from a folder of music to a song over HTTP; `make matrix` repeats it on every interpreter.

Each step is a process of `nearsong`, as a user starts it, so that the entry point, the workers and what is compiled
and stored between processes are those of the installation.
"""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

import music_library
import nearsong
from audio.conftest import FORMATS, write_sound
from nearsong.audio.tags import Tags, write_tags

PROGRAM = Path(sysconfig.get_path("scripts")) / "nearsong"
NOT_OF_BROWSERS = ("song.wma", "song.aiff", "alac.m4a")
N_ARTISTS = 30
"""A training needs 25."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("installed")


@pytest.fixture(scope="module")
def run(folder) -> Callable[..., str]:
    """Return a function that runs a command to its end and gives what it prints."""

    def run(*arguments: object) -> str:
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def library(folder, run) -> dict[str, str]:
    """Scan music, import listens and train; give what was printed. The library is the default one of the user."""
    music = music_library.make_music(folder / "music", N_ARTISTS)
    listens = music_library.write_listens(folder / "listens.csv", n_users=90, n_artists=N_ARTISTS)
    formats = music / "Every Format" / "All"
    formats.mkdir(parents=True)
    for number, (kind, (rate, _)) in enumerate(FORMATS.items()):
        mono = music_library.sound(number % 3, 9_000 + number, 3.0)
        at = np.arange(round(3.0 * rate)) / rate
        stereo = np.repeat(np.interp(at, np.arange(len(mono)) / music_library.RATE, mono)[:, None], 2, axis=1)
        path = write_sound(formats / kind, stereo.astype(np.float32), rate)
        if path.suffix != ".aac":  # which has no tags
            write_tags(path, Tags("Every Format", kind, "All", "mixed", 2000))
    return {
        "scan": run("scan", music),
        "import": run("listens", "import", listens),
        "train": run("train", "--splits", 2),
    }


def environment(folder: Path) -> dict[str, str]:
    """Return an environment whose user has nothing yet."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NEARSONG", "XDG"))}
    return clean | {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("DATA", "CACHE", "CONFIG")}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    command = [PROGRAM, "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.fullmatch(r"nearsong runs at (http://127\.0\.0\.1:\d+)/\n", process.stdout.readline())[1]
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 0
        finally:
            process.kill()


def test_the_program_has_the_version_of_the_package(run):
    assert run("--version").strip() == f"nearsong {nearsong.__version__}"


def test_the_man_page_is_where_man_looks_beside_the_program():
    page = Path(sys.prefix) / "share" / "man" / "man1" / "nearsong.1"
    assert page.read_text().startswith(".TH NEARSONG 1")


def test_songs_of_every_format_are_scanned_and_listeners_learned_from(library, run):
    status = json.loads(run("status", "--json"))
    assert status["songs"] == N_ARTISTS * music_library.SONGS_EACH + len(FORMATS), library
    assert status["unreadable"] == 0, library


def test_similar_songs_are_of_the_style_by_the_learned_model(library, run):
    found = json.loads(run("similar", f"{music_library.artist_name(0)} - Song 0", "--json"))
    assert found["metric"] == "learned", library["train"]
    genres = [
        song["genre"] for song in found["songs"] if song["genre"] != "mixed"
    ]  # that of the songs in every format
    assert genres[:3] == [music_library.STYLES[0]] * 3


def test_a_real_socket_gives_similar_songs_and_every_format_as_browsers_play_it(library, folder):
    with serving(folder) as address, httpx.Client(base_url=address, timeout=120) as client:
        assert client.get("/api/v1/health").json()["status"] == "ok"
        page = client.get("/api/v1/songs", params={"album": "All"}).json()
        titles = {song["id"]: song["title"] for song in page["items"]}
        assert len(titles) == len(FORMATS)
        found = client.get("/api/v1/similar", params={"seed": next(iter(titles)), "n": 5}).json()
        assert (len(found["songs"]), found["model"]["kind"]) == (5, "learned")
        for song, title in titles.items():
            sound = client.get(f"/api/v1/songs/{song}/audio")
            assert sound.status_code == 200, sound.text
            expected = "audio/flac" if title in NOT_OF_BROWSERS else "audio/"
            assert sound.headers["content-type"].startswith(expected), title
            assert len(sound.content) > 10_000
