"""Health and status: what there is, what is missing most, and what a person at the page should do."""

import dataclasses

import pytest

from nearsong import __version__
from nearsong.web.api.status import advice, step_of


def test_health_answers_whatever_the_library_does(client, monkeypatch):
    monkeypatch.setattr(client.service.library, "status", None)
    assert client.get("/api/v1/health").json() == {"status": "ok", "version": __version__}
    assert client.head("/api/v1/health").status_code == 200


def test_status_counts_what_the_library_holds(client, trained):
    found, status = client.get("/api/v1/status").json(), trained.status()
    for name in ("songs", "artists", "missing", "unreadable", "unheard", "histories", "listens", "users"):
        assert found[name] == getattr(status, name)
    assert found["folders"] == list(status.folders)
    assert found["model"] == {"id": trained.active_model, "kind": "learned"}
    assert found["step"] == "ask"
    assert (found["may_add_folders"], found["may_keep"], found["upload_megabytes"]) == (True, False, 200)


def test_settings_are_told(make_client, tmp_path):
    client = make_client(token="correct-horse-42", host="0.0.0.0", keep=tmp_path, upload_megabytes=7)
    found = client.get("/api/v1/status", headers={"Authorization": "Bearer correct-horse-42"}).json()
    assert (found["may_add_folders"], found["may_keep"], found["upload_megabytes"]) == (False, True, 7)


def test_a_library_in_a_place_of_its_own_is_told_to_this_machine_only(client, make_client, monkeypatch):
    place = client.service.library.place
    assert client.get("/api/v1/status").json()["library"] == place
    monkeypatch.setenv("NEARSONG_LIBRARY", place)
    assert client.get("/api/v1/status").json()["library"] is None
    monkeypatch.delenv("NEARSONG_LIBRARY")
    away = make_client(token="correct-horse-42", host="0.0.0.0")
    assert away.get("/api/v1/status", headers={"Authorization": "Bearer correct-horse-42"}).json()["library"] is None


def test_an_empty_library_teaches(empty_client):
    found = empty_client.get("/api/v1/status").json()
    assert (found["songs"], found["model"], found["step"]) == (0, None, "scan")
    assert found["next"] == ["Choose the folder that your music is in, here or with: nearsong scan FOLDER"]


@pytest.fixture
def whole(trained):
    return trained.status()


def test_what_is_missing_most_comes_first(whole):
    native = {"id": 1, "kind": "native", "created": 0.0}
    assert step_of(whole) == "ask"
    assert step_of(dataclasses.replace(whole, model=native)) == "train"
    assert step_of(dataclasses.replace(whole, model=native, refused=True)) == "ask"
    assert step_of(dataclasses.replace(whole, model=native, histories=0)) == "listens"
    assert step_of(dataclasses.replace(whole, model=None, histories=0, songs=0)) == "scan"
    imported = {"id": 3, "kind": "imported", "created": 0.0}
    assert step_of(dataclasses.replace(whole, model=imported)) == "ask"


def test_advice_is_for_a_person_at_the_page(whole):
    assert advice(whole, "ask", True) == ["All is ready: search for a song, drop a file, or look around on the map."]
    assert "nearsong train" in advice(whole, "train", True)[0]
    assert "nearsong listens import" in advice(whole, "listens", True)[-1]
    refused = dataclasses.replace(whole, model={"id": 1, "kind": "native", "created": 0.0}, refused=True)
    assert advice(refused, "ask", True) == [
        "These listens were too few to learn from, or did not help; more of them, or of other artists, might."
    ]
    troubled = dataclasses.replace(whole, unheard=1200, missing=3)
    said = advice(troubled, "ask", True)
    assert said[0].startswith("1,200 songs have not been heard yet.")
    assert said[1].startswith("The files of 3 songs are gone.")
    assert "On the machine that runs this" in advice(dataclasses.replace(whole, songs=0), "scan", False)[0]


def test_a_library_that_is_kept_busy_is_503(client, monkeypatch):
    from nearsong.errors import DatabaseError

    def busy():
        raise DatabaseError("the library x was kept busy by another program; try again.", "x", passing=True)

    monkeypatch.setattr(client.service.library, "status", busy)
    answer = client.get("/api/v1/status")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
