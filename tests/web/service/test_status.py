"""Health and status: what there is, what is missing most, and what a person at the page should do."""

import dataclasses

import numpy as np
import pytest
import soundfile

from nearsong import __version__
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.web.api.status import advice, step_of


def test_health_answers_whatever_the_library_does(client, monkeypatch):
    monkeypatch.setattr(client.service.library, "status", None)
    assert client.get("/api/v1/health").json() == {"status": "ok", "version": __version__}
    assert client.head("/api/v1/health").status_code == 200


def test_status_counts_what_the_library_holds(client, trained):
    found, status = client.get("/api/v1/status").json(), trained.status()
    for name in ("songs", "artists", "missing", "unreadable", "not_analysed", "histories", "listens", "users"):
        assert found[name] == getattr(status, name)
    assert found["folders"] == list(status.folders)
    assert found["model"] == {"id": trained.active_model, "kind": "learned"}
    assert found["step"] == "ready"
    assert (found["can_add_folders"], found["can_save_uploads"], found["upload_megabytes"]) == (True, False, 200)
    assert not found["has_login"]
    assert list(found["playlist_formats"]) == list(PLAYLIST_FORMATS)  # the page's menu


def test_settings_are_shown(make_client, tmp_path):
    client = make_client(
        token="correct-horse-battery-staple-4242", host="0.0.0.0", save_uploads=tmp_path, upload_megabytes=7
    )
    found = client.get("/api/v1/status", headers={"Authorization": "Bearer correct-horse-battery-staple-4242"}).json()
    assert (found["can_add_folders"], found["can_save_uploads"], found["upload_megabytes"]) == (False, True, 7)


def test_a_library_at_an_address_of_its_own_is_shown_to_this_machine_only(client, make_client, monkeypatch):
    address = client.service.library.address
    assert client.get("/api/v1/status").json()["library"] == address
    monkeypatch.setenv("NEARSONG_LIBRARY", address)
    assert client.get("/api/v1/status").json()["library"] is None
    monkeypatch.delenv("NEARSONG_LIBRARY")
    remote = make_client(token="correct-horse-battery-staple-4242", host="0.0.0.0")
    assert (
        remote.get("/api/v1/status", headers={"Authorization": "Bearer correct-horse-battery-staple-4242"}).json()[
            "library"
        ]
        is None
    )


def test_an_empty_library_says_what_to_do(empty_client):
    found = empty_client.get("/api/v1/status").json()
    assert (found["songs"], found["model"], found["step"]) == (0, None, "scan")
    assert found["next"] == ["Choose your music folder here, or run: nearsong scan FOLDER"]


@pytest.fixture
def state(trained):
    return trained.status()


def test_what_is_missing_most_comes_first(state):
    native = {"id": 1, "kind": "native", "created": 0.0}
    assert step_of(state) == "ready"
    assert step_of(dataclasses.replace(state, model=native)) == "train"
    assert step_of(dataclasses.replace(state, model=native, rejected=True)) == "ready"
    assert step_of(dataclasses.replace(state, model=native, histories=0)) == "listens"
    assert step_of(dataclasses.replace(state, model=None, histories=0, songs=0)) == "scan"
    imported = {"id": 3, "kind": "imported", "created": 0.0}
    assert step_of(dataclasses.replace(state, model=imported)) == "ready"


def test_advice_is_for_a_person_at_the_page(state):
    assert advice(state, "ready", True) == ["All is ready: search for a song, drop a file, or explore the map."]
    assert "nearsong train" in advice(state, "train", True)[0]
    assert "nearsong listens import" in advice(state, "listens", True)[-1]
    rejected = dataclasses.replace(state, model={"id": 1, "kind": "native", "created": 0.0}, rejected=True)
    assert advice(rejected, "ready", True) == [
        "Learning from these listens did not improve on sound alone. More listens may help."
    ]
    troubled = dataclasses.replace(state, not_analysed=1200, missing=3)
    words = advice(troubled, "ready", True)
    assert words[0].startswith("1,200 songs are not analysed yet.")
    assert words[1].startswith("The files of 3 songs are missing.")
    words = advice(dataclasses.replace(state, not_analysed=1, missing=1), "ready", True)
    assert words[0].startswith("1 song is not analysed yet.")
    assert words[1].startswith("The files of 1 song are missing.")
    assert "On the machine that runs nearsong" in advice(dataclasses.replace(state, songs=0), "scan", False)[0]


def test_a_library_that_is_kept_busy_is_503(client, monkeypatch):
    from nearsong.errors import DatabaseError

    def busy():
        raise DatabaseError("the library x is locked by another program; try again.", "x", transient=True)

    monkeypatch.setattr(client.service.library, "status", busy)
    answer = client.get("/api/v1/status")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"


def test_files_that_are_no_songs_are_listed_with_the_reason(client, trained, tmp_path):
    assert client.get("/api/v1/files").json()["n_set_aside"] == 0
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "broken.mp3").write_bytes(b"no music")
    soundfile.write(tmp_path / "more" / "silence.wav", np.zeros(44_100), 22_050)
    report = trained.scan(tmp_path / "more", workers=1)
    assert (len(report.unreadable), len(report.set_aside)) == (1, 1)
    files = client.get("/api/v1/files").json()
    assert files["set_aside"] == [{"path": str(tmp_path / "more" / "silence.wav"), "reason": "is silent."}]
    (unreadable,) = files["unreadable"]
    assert unreadable["path"] == str(tmp_path / "more" / "broken.mp3")
    status = client.get("/api/v1/status").json()
    assert (status["unreadable"], status["set_aside"]) == (1, 1)
