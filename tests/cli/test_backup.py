"""``nearsong backup`` beside a real service that records plays and a scan that writes, and ``nearsong restore``."""

import contextlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

import music_library
from nearsong.library import Library, restore
from waiting import wait_for

PROGRAM = [sys.executable, "-m", "nearsong", "--library"]


class Listening(threading.Thread):
    """A listener who plays one song after the other until it is stopped."""

    def __init__(self, address: str, songs: list[int]) -> None:
        super().__init__()
        self._address, self._songs, self._stop_it = address, songs, threading.Event()
        self.recorded = 0

    def run(self) -> None:
        with httpx.Client(base_url=self._address, timeout=60) as client:
            while not self._stop_it.wait(0.05):
                song = self._songs[self.recorded % len(self._songs)]
                answer = client.post("/api/v1/plays", json={"song_id": song, "listener": f"anna {self.recorded}"})
                self.recorded += answer.status_code == 204

    def stop(self) -> None:
        self._stop_it.set()
        self.join(60)


def listeners_in(file: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [name for (name,) in connection.execute("SELECT listener FROM plays ORDER BY id")]


@pytest.fixture(params=["sqlite", "postgresql"])
def trained_library(request, trained_file, tmp_path):
    """Return the address of a trained library in each kind of database, and why nothing is restored into it."""
    file = shutil.copy(trained_file, tmp_path / "library.sqlite")
    if request.param == "sqlite":
        return file, "is in use; stop what serves, scans or trains first."
    address = request.getfixturevalue("postgres").new_schema()
    with Library.open(file, create=False) as library:
        restore(library.backup(tmp_path / "trained.sqlite"), address)
    return address, "is not empty; restore into a new database"


def test_a_backup_beside_a_service_and_a_scan_restores_to_the_same_answers(nearsong, trained_library, tmp_path):
    library, refusal = trained_library
    similar = json.loads(nearsong("similar", 1, "--json", library=library).stdout)
    music = music_library.make_music(tmp_path / "more", n_artists=3)
    with contextlib.ExitStack() as running:
        serve = [*PROGRAM, str(library), "serve", "--port", "0", "--no-automatic"]
        service = running.enter_context(subprocess.Popen(serve, stdout=subprocess.PIPE, text=True))
        running.callback(service.kill)
        address = re.search(r"http://\S+:\d+", service.stdout.readline())[0]
        listening = Listening(address, list(range(1, 60)))
        listening.start()
        running.callback(listening.stop)
        wait_for(lambda: listening.recorded > 3)
        scan = running.enter_context(subprocess.Popen([*PROGRAM, str(library), "scan", str(music), "--workers", "1"]))
        running.callback(scan.kill)
        counts = []
        while scan.poll() is None or len(counts) < 2:
            before = listening.recorded
            done = nearsong("backup", tmp_path / "backup.sqlite", "--replace", library=library)
            assert done.returncode == 0, done.stderr
            names = listeners_in(tmp_path / "backup.sqlite")
            assert names == [f"anna {number}" for number in range(len(names))]  # none is missing in between
            assert len(names) >= before  # whatever was recorded when it began
            counts.append(len(names))
        assert scan.returncode == 0
        assert counts[-1] > counts[0]  # the service went on meanwhile
        refused = nearsong("restore", tmp_path / "backup.sqlite", "--replace", library=library)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert refusal in refused.stderr
        listening.stop()
        done = nearsong("backup", tmp_path / "backup.sqlite", "--replace", library=library)
    restored = tmp_path / "elsewhere" / "library.sqlite"
    done = nearsong("restore", tmp_path / "backup.sqlite", library=restored)
    assert done.stdout == f"Restored {restored} from {tmp_path / 'backup.sqlite'}: 78 songs.\n"
    assert len(listeners_in(restored)) == listening.recorded
    answers = [json.loads(nearsong("similar", 1, "--json", library=one).stdout) for one in (library, restored)]
    assert answers[0] == answers[1]
    assert {song["id"] for song in answers[0]["songs"]} & {song["id"] for song in similar["songs"]}


def test_an_existing_library_is_replaced_after_a_question_only(nearsong, tmp_path):
    for name in ("library.sqlite", "other.sqlite"):
        Library.open(tmp_path / name).close()
    result = nearsong("restore", tmp_path / "backup.sqlite", library=tmp_path / "library.sqlite")
    assert "backup.sqlite does not exist; give the file that `nearsong backup` wrote." in result.stderr.replace(
        "\n", " "
    )
    assert nearsong("backup", tmp_path / "backup.sqlite", library=tmp_path / "other.sqlite").returncode == 0
    result = nearsong("restore", tmp_path / "backup.sqlite", library=tmp_path / "library.sqlite")
    assert result.returncode == 2
    assert "there is no terminal to ask on" in result.stderr
    assert f"nearsong restore {tmp_path / 'backup.sqlite'} --replace" in result.stderr.replace("\n", "")
    result = nearsong("restore", tmp_path / "backup.sqlite", "--replace", library=tmp_path / "library.sqlite")
    assert result.returncode == 0
