"""How good it is: the report of the training, the models that are stored, and never-played songs that come up."""

import pytest

import music_library
from nearsong.library import TrainingSettings
from nearsong.library.training.report import TrainingReport
from nearsong.library.training.wording import LABELS, PLAIN, advice, sentences
from nearsong.web.json.schemas import ColdStartOut


def test_the_report_is_that_of_the_training(client, trained):
    found = client.get("/api/v1/model").json()
    row = next(row for row in trained.models() if row.id == trained.active_model)
    report = TrainingReport.from_json(row.facts["report"])
    assert found["report"]["sentences"] == sentences(report, PLAIN)
    assert found["report"]["advice"] == advice(report, PLAIN) != ""
    assert found["report"]["decision"] == "learned"
    assert found["report"]["listeners"] == report.listeners
    for row, known in zip(found["report"]["rows"], report.rows, strict=True):
        assert row["label"] == LABELS[known.name].removeprefix("native: ")
        assert row["known"]["mean"] == pytest.approx(known.known.mean)
    assert found["active"]["score"] == pytest.approx(report.score("learned", "known"))


def test_all_models_are_listed_and_one_answers(client, trained):
    found = client.get("/api/v1/model").json()
    assert [(one["id"], one["kind"]) for one in found["models"]] == [(row.id, row.kind) for row in trained.models()]
    assert [one["id"] for one in found["models"] if one["active"]] == [trained.active_model]


def test_a_report_that_has_not_changed_is_not_sent_again(client):
    first = client.get("/api/v1/model")
    again = client.get("/api/v1/model", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_another_model_answers_at_once_and_the_last_report_stays(client, trained):
    native = next(row.id for row in trained.models() if row.kind == "native")
    tag = client.get("/api/v1/model").headers["etag"]
    assert client.put("/api/v1/model", json={"id": native}).json() == {"active": native, "not_analysed": 0}
    assert client.get("/api/v1/similar?seed=1").json()["model"] == {"id": native, "kind": "native"}
    found = client.get("/api/v1/model", headers={"If-None-Match": tag})
    assert found.status_code == 200
    assert found.json()["active"]["id"] == native
    assert found.json()["report"]["decision"] == "learned"


def test_a_training_that_was_refused_says_so_until_one_is_not(client, trained, tmp_path):
    answers = trained.active_model
    (history,) = trained.listens()
    trained.remove_listens(history.id)
    trained.import_listens(music_library.write_listens(tmp_path / "few.csv", n_artists=21))
    trained_report = trained.train()
    assert (trained_report.decision, trained_report.reason) == ("native", "few_artists")
    found = client.get("/api/v1/model").json()
    assert found["active"]["id"] == answers
    assert found["report"]["decision"] == "native"
    assert found["report"]["sentences"][0].startswith("Too little data: 21 artists of the library have")
    assert found["report"]["advice"].startswith("Import listening histories of more people")
    trained.use_model(
        next(row.id for row in trained.models() if row.kind == "native")
    )  # which a new one surely beats
    trained.import_listens(music_library.write_listens(tmp_path / "many.csv", n_users=300))
    assert trained.train(TrainingSettings(n_splits=2)).decision == "learned"
    found = client.get("/api/v1/model").json()
    assert found["report"]["decision"] == "learned"
    assert found["active"]["id"] != answers


@pytest.mark.parametrize(("body", "status"), [({"id": 999}, 404), ({"id": 0}, 422), ({"id": 2**63}, 422), ({}, 422)])
def test_a_model_that_is_not_there_is_a_problem(client, body, status):
    assert client.put("/api/v1/model", json=body).status_code == status


def test_an_empty_library_has_no_model(empty_client):
    assert empty_client.get("/api/v1/model").json() == {"active": None, "report": None, "models": []}
    assert empty_client.get("/api/v1/model/cold-start").status_code == 409


def test_a_report_of_a_later_version_is_left_out(client, trained, monkeypatch):
    rows = trained.models()
    for row in rows:
        if "report" in row.facts:
            row.facts["report"]["version"] = 99
    monkeypatch.setattr(trained, "models", lambda: rows)
    assert client.get("/api/v1/model").json()["report"] is None


def test_never_played_songs_that_come_up_are_counted(client):
    found, snapshot = client.get("/api/v1/model/cold-start?n=5").json(), client.service.snapshot
    never = {song.id for song in snapshot.space.songs} - {song for song, plays in snapshot.plays.items() if plays > 0}
    assert (found["songs"], found["never_played"], found["n"]) == (72, len(never), 5)
    assert found["seeds"] == 72 - len(never)
    assert set(found) == set(ColdStartOut.model_fields)
    near = {
        one["song"]["id"]
        for song in sorted({song.id for song in snapshot.space.songs} - never)
        for one in client.get(f"/api/v1/similar?seed={song}&n=5").json()["songs"]
    }
    assert found["recommended"] == len(near & never)
    assert {song["id"] for song in found["examples"]} <= never


@pytest.mark.parametrize("n", [0, 51])
def test_an_odd_number_of_nearest_songs_is_a_problem(client, n):
    assert client.get(f"/api/v1/model/cold-start?n={n}").status_code == 422
