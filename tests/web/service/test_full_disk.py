"""A full disk is named as such, to clients, players and people who follow a job; afterwards everything goes on."""

import errno
import sys

import pytest

import full_disk
import music_library
from nearsong.errors import DatabaseError, DiskFullError, LibraryError
from nearsong.library.snapshot import Snapshot
from nearsong.web.jobs.process import error_words

WORDS = "the library cannot be written: the disk is full. Free some space and try again; nothing is lost."
LONG = {"name": "long", "songs": [1, 2, 3, 4] * 1000}
PLAYER = {"u": "me", "f": "json"}


def test_a_library_that_cannot_grow_is_507_and_works_once_there_is_space(client, trained):
    with full_disk.every_connection(trained, full_disk.NO_SPACE):
        answer = client.post("/api/v1/playlists", json=LONG)
        assert (answer.status_code, answer.json()["type"]) == (507, "urn:nearsong:no-room")
        assert answer.json()["detail"] == WORDS
        assert client.get("/api/v1/playlists").json() == []
        assert client.get("/api/v1/similar?seed=1").status_code == 200
    assert client.post("/api/v1/playlists", json=LONG).status_code == 201


def test_players_hear_of_a_full_disk_as_the_protocol_has_it(client, trained):
    wanted = {**PLAYER, "name": "long", "songId": LONG["songs"]}
    with full_disk.every_connection(trained, full_disk.NO_SPACE):
        answer = client.post("/rest/createPlaylist", data=wanted)
        assert answer.status_code == 200
        assert answer.json()["subsonic-response"]["error"] == {"code": 0, "message": WORDS}
    assert client.post("/rest/createPlaylist", data=wanted).json()["subsonic-response"]["status"] == "ok"


def test_a_library_that_is_read_only_can_be_read_and_says_why_it_cannot_be_changed(client, trained):
    with full_disk.every_connection(trained, full_disk.READ_ONLY):
        answer = client.post("/api/v1/playlists", json={"name": "new", "songs": [1]})
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:nearsong:library")
        words = "the library is read-only and cannot be changed; check its permissions and those of its folder."
        assert answer.json()["detail"] == words
        assert client.get("/api/v1/playlists").status_code == 200


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret"), "the disk is full (No space left on device)"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/secret"), "the disk is full (Disk quota exceeded)"),
        (OSError(errno.EROFS, "Read-only file system", "/secret"), "the disk is read-only (Read-only file system)"),
        (DiskFullError("the library /secret cannot be written: the disk is full.", "/secret"), WORDS[:46]),
    ],
)
def test_whatever_file_has_no_space_it_is_507_and_an_error_of_the_protocol(client, monkeypatch, error, words):
    def fail(*_arguments, **_more):
        raise error

    monkeypatch.setattr(Snapshot, "similar", fail)
    answer = client.get("/api/v1/similar?seed=1&seed=2")
    assert (answer.status_code, answer.json()["type"]) == (507, "urn:nearsong:no-room")
    assert answer.json()["detail"].startswith(words)
    monkeypatch.setattr("nearsong.library.listeners.recorded.plays.PlayLog.record_all", fail)
    told = client.get("/rest/scrobble", params={**PLAYER, "id": 1})
    assert (told.status_code, told.json()["subsonic-response"]["error"]["code"]) == (200, 0)
    assert told.json()["subsonic-response"]["error"]["message"].startswith(words)
    assert "secret" not in answer.text + told.text


def test_an_error_that_a_full_disk_caused_is_507_too(client, monkeypatch):
    def fail(*_arguments, **_more):
        raise LibraryError("the map cannot be cached.") from OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Snapshot, "similar", fail)
    assert client.get("/api/v1/similar?seed=1&seed=2").status_code == 507


# ---- jobs


def imported(client, content: bytes):
    job = client.post("/api/v1/listens", files={"file": ("plays.csv", content)}).json()
    return client.service.jobs.wait(job["id"], 300)


def test_a_job_on_a_full_disk_says_so_and_the_next_one_goes_on(client, monkeypatch, tmp_path):
    content = music_library.write_listens(tmp_path / "more.csv", n_users=300, seed=7).read_bytes()
    whole = client.service.jobs.command
    monkeypatch.setattr(client.service.jobs, "command", (sys.executable, "-c", full_disk.JOB_WITHOUT_SPACE))
    failed = imported(client, content)
    assert (failed.state, failed.error) == ("failed", WORDS)
    assert len(client.get("/api/v1/listens").json()) == 1
    monkeypatch.setattr(client.service.jobs, "command", whole)
    done = imported(client, content)
    assert (done.state, done.error) == ("done", None)
    assert done.result["rows"] == content.count(b"\n") - 1
    assert len(client.get("/api/v1/listens").json()) == 2


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/secret"),
            "the disk is full (No space left on device); free",
        ),
        (
            DatabaseError("the library secret@host/x cannot be used (why); do it.", "secret@host/x"),
            "the library cannot be",
        ),
        (MemoryError(), "not enough memory"),
        (ValueError("odd"), "unexpected error (ValueError: odd)"),
    ],
)
def test_a_job_names_the_cause_and_not_where_the_library_is(error, words, capsys):
    found = error_words(error)
    assert found.startswith(words)
    assert "secret" not in found
