"""Settings through the API: folders, histories, models, and the address for phones."""

import shlex
import shutil

import pytest

from nearsong.library import Library
from nearsong.web.media.qr_code import qr_svg

TOKEN = "correct-horse-battery-staple-4242"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


# ---- folders


def test_a_removed_folder_is_back_with_all_about_its_songs_after_a_scan(
    make_client, jobs_here, scanned_file, tmp_path
):
    with Library.open(shutil.copy(scanned_file, tmp_path / "library.sqlite")) as library:
        client = make_client(library)
        (folder,) = client.get("/api/v1/folders").json()["folders"]
        assert (folder["songs"], folder["exists"], folder["scanned"] > 0) == (12, True, True)
        song = client.get("/api/v1/songs").json()["items"][0]["id"]
        client.put(f"/api/v1/songs/{song}/heart")
        made = client.post("/api/v1/playlists", json={"name": "evening", "songs": [song]}).json()["id"]
        words = client.delete("/api/v1/folders", params={"path": folder["path"]}).json()["words"]
        assert "12 songs hidden" in words
        assert client.get("/api/v1/folders").json()["folders"] == []
        status = client.get("/api/v1/status").json()
        assert (status["songs"], status["missing"], status["step"]) == (0, 0, "scan")
        assert client.get("/api/v1/songs").status_code == 409
        job = client.post("/api/v1/jobs", json={"kind": "scan", "folders": [folder["path"]]}).json()
        ended = client.service.jobs.wait(job["id"], 300)
        assert (ended.state, ended.result["unchanged"]) == ("done", 12), ended.error
        client.service.refresh(now=True)
        assert client.get("/api/v1/status").json()["songs"] == 12
        assert [heart["song_id"] for heart in client.get("/api/v1/hearts").json()] == [song]
        assert [one["id"] for one in client.get(f"/api/v1/playlists/{made}").json()["items"]] == [song]
        client.close()


def test_a_folder_that_is_not_scanned_cannot_be_removed_and_none_during_a_scan(client, monkeypatch):
    answer = client.delete("/api/v1/folders", params={"path": "/nowhere"})
    assert answer.status_code == 400
    assert "is not a scanned folder" in answer.json()["detail"]
    monkeypatch.setattr(client.service.jobs, "command", ("sleep", "600"))
    job = client.post("/api/v1/jobs", json={"kind": "scan"}).json()
    path = client.get("/api/v1/folders").json()["folders"][0]["path"]
    assert client.delete("/api/v1/folders", params={"path": path}).json()["type"] == "urn:nearsong:scanning"
    client.delete(f"/api/v1/jobs/{job['id']}")


def test_files_with_problems_are_listed_with_their_reasons(client, monkeypatch):
    monkeypatch.setattr(
        client.service.library, "unreadable", lambda: [("/m/a.mp3", "is empty."), ("/m/b", "is odd.")]
    )
    monkeypatch.setattr(client.service.library, "damaged", lambda: [("/m/\udcff.mp3", "ends early.")])
    found = client.get("/api/v1/files", params={"limit": 1}).json()
    assert found == {
        "unreadable": [{"path": "/m/a.mp3", "reason": "is empty."}],
        "n_unreadable": 2,
        "damaged": [{"path": "/m/\ufffd.mp3", "reason": "ends early."}],
        "n_damaged": 1,
        "set_aside": [],
        "n_set_aside": 0,
    }


# ---- histories


def test_a_listener_sees_and_removes_their_own_history_and_an_admin_all(client, trained, tmp_path):
    for user in ("ben", "eve"):
        file = tmp_path / f"{user}.csv"
        file.write_text("artist,title,timestamp\nNobody,Nothing,2020-01-01T10:00:00Z\n")
        trained.import_listens(file, user=user)
    tokens = {name: trained.accounts.add(name, is_admin=name == "ada") for name in ("ada", "ben")}
    client.service.accounts.refresh()
    ada, ben = ({"Authorization": f"Bearer {tokens[name]}"} for name in ("ada", "ben"))
    of_all = client.get("/api/v1/listens", headers=ada).json()
    assert [one["whose"] for one in of_all][1:] == ["ben", "eve"]
    assert of_all[0]["n_users"] > 3
    (own,) = client.get("/api/v1/listens", headers=ben).json()
    assert own["users"] == ["ben"]
    (match,) = client.get("/api/v1/listens/matches", headers=ben).json()
    assert (match["id"], match["plays"], match["share"], match["names_not_found"]) == (own["id"], 1.0, 0.0, 1)
    assert match["words"][0] == "The only track name is not in the library (1 play)."
    assert len(client.get("/api/v1/listens/matches", headers=ada).json()) == 3
    assert client.delete(f"/api/v1/listens/{of_all[2]['id']}", headers=ben).status_code == 404
    assert client.delete(f"/api/v1/listens/{own['id']}", headers=ben).status_code == 204
    assert client.delete(f"/api/v1/listens/{of_all[2]['id']}", headers=ada).status_code == 204


# ---- models


def test_two_models_are_compared_with_the_scores_of_one_training(client, trained):
    found = client.get("/api/v1/model/compare", params={"first": 2, "second": 1}).json()
    learned, native = found["models"]
    assert (learned["active"], native["active"], native["learned_from"]) == (True, False, "")
    assert learned["known"]["mean"] == pytest.approx(client.get("/api/v1/model").json()["active"]["score"])
    assert native["known"]["mean"] != learned["known"]["mean"]
    assert found["shared"] == pytest.approx(trained.compare_models(1, 2))
    assert f"{100 * learned['known']['mean']:.1f} of 100 pairs in the right order" in found["words"][0]
    assert client.get("/api/v1/model/compare", params={"first": 1, "second": 99}).status_code == 404


def test_a_model_in_use_cannot_be_removed_and_another_can(client, trained):
    refused = client.delete("/api/v1/model/2")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:nearsong:model-in-use")
    assert client.delete("/api/v1/model/99").status_code == 404
    assert client.delete("/api/v1/model/1").status_code == 204
    assert [row.id for row in trained.models()] == [2]


# ---- the address for phones


def test_this_computer_alone_has_no_address_for_phones_but_a_command(client, make_client, trained):
    here = f" --library {shlex.quote(trained.address)}"
    add, serve = f"nearsong listeners add NAME --admin{here}", "nearsong serve --host 0.0.0.0"
    found = client.get("/api/v1/connection").json()
    assert (found["address"], found["command"]) == (None, f"{add} && {serve}{here}")
    elsewhere = make_client(port=9000).get("/api/v1/connection").json()
    assert elsewhere["command"] == f"{add} && {serve} --port 9000{here}"
    assert client.get("/api/v1/connection/qr.svg").status_code == 404
    token = trained.accounts.add("ada", is_admin=True)
    client.service.accounts.refresh()
    found = client.get("/api/v1/connection", headers={"Authorization": f"Bearer {token}"}).json()
    assert found["command"] == f"{serve}{here}"


def test_in_a_network_the_code_holds_the_address_and_no_secret(make_client, monkeypatch):
    monkeypatch.setattr("nearsong.web.api.settings.connection._network_address", lambda: "192.0.2.7")
    client = make_client(host="0.0.0.0", token=TOKEN)
    assert client.get("/api/v1/connection", headers=BEARER).json()["address"] == "http://192.0.2.7:8337/"
    answer = client.get("/api/v1/connection/qr.svg", headers=BEARER)
    assert (answer.headers["content-type"], answer.content) == ("image/svg+xml", qr_svg("http://192.0.2.7:8337/"))
    assert client.get("/api/v1/connection/qr.svg").status_code == 401
    for host, wanted in (
        ("198.51.100.3:9000", "http://198.51.100.3:9000/"),
        ("[2001:db8::1]", "http://[2001:db8::1]/"),
    ):
        found = client.get("/api/v1/connection", headers={**BEARER, "Host": host}).json()
        assert found["address"] == wanted  # what the reader's own browser uses
    named = make_client(token=TOKEN, host_names=("music.example.org",), secure_cookie=True)
    assert named.get("/api/v1/connection", headers=BEARER).json()["address"] == "https://music.example.org/"
