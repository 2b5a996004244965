"""The plugin of beets, run by the real beets: `beet nearsong` and `beet similar`."""

import os
import subprocess
import sys

import pytest

from music_library import make_music
from nearsong.library import Library

pytest.importorskip("beets", reason="beets is not installed; pip install beets")

CONFIG = """
directory: {music}
library: {folder}/beets.db
plugins: nearsong
import: {{copy: no, move: no, write: no, autotag: no, quiet: yes, log: {folder}/import.log}}
nearsong: {{library: songs.sqlite, number: 4}}
"""


@pytest.fixture(scope="module")
def beet(tmp_path_factory):
    """Music that beets has imported; call it with the words of a command."""
    folder = tmp_path_factory.mktemp("beets")
    make_music(folder / "files", n_artists=4)
    (folder / "music").symlink_to(folder / "files")  # beets keeps the link, nearsong resolves it
    (folder / "config.yaml").write_text(CONFIG.format(folder=folder, music=folder / "music"))

    def run(*words, check=True):
        environment = {**os.environ, "BEETSDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "beets", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert not check or done.returncode == 0, done.stderr
        return done

    run("import", str(folder / "music"))
    run.folder = folder
    return run


def test_beet_lists_similar_items_once_they_are_scanned(beet):
    early = beet("similar", "title:Song 10", check=False)
    assert early.returncode != 0
    assert "beet nearsong" in early.stderr + early.stdout or "nearsong scan" in early.stderr + early.stdout

    scanned = beet("nearsong")
    assert "8 new or changed" in scanned.stdout
    assert "0 new or changed" in beet("nearsong", "artist:Band A1").stdout

    listed = beet("similar", "title:Song 10", "-f", "$artist - $title").stdout.splitlines()
    with Library.open(beet.folder / "songs.sqlite", create=False) as library:
        nearest = library.similar("Band A1 - Song 10", n=4)
    assert listed == [f"{one.song.artist} - {one.song.title}" for one in nearest]
    assert beet("similar", "title:Song 10", "-n", "1", "-p").stdout.startswith(f"{beet.folder}/music/")


def test_the_items_of_a_query_are_not_similar_to_themselves(beet):
    beet("nearsong")
    listed = beet("similar", "artist:Band A0", "-n", "50", "-f", "$artist").stdout.splitlines()
    assert listed
    assert "Band A0" not in listed
    artists = beet("similar", "artist:Band A0", "-d", "-f", "$artist").stdout.splitlines()
    assert len(artists) == len(set(artists)) == 3


def test_a_query_that_matches_nothing_is_one_line(beet):
    for words in (["similar"], ["similar", "title:nothing like it"], ["nearsong", "title:nothing like it"]):
        done = beet(*words, check=False)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
