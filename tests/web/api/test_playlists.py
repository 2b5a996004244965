"""Playlists: as the library makes them, saved and changed, and as files that players read."""

import base64
import json
import os
import shutil
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.library import Filters, Library, PlaylistRules
from nearsong.web.media.files import attachment


def ids(songs):
    return [song["id"] for song in songs]


@pytest.mark.parametrize("dials", [{}, {"diversity": 0.6, "shuffle": 3}, {"drift": 1.0, "artist_gap": 0}])
def test_a_draft_is_what_the_library_makes(client, trained, dials):
    answer = client.post("/api/v1/playlists/draft", json={"seeds": [1, 30], "length": 12, **dials}).json()
    rules = PlaylistRules(
        length=12, **{("seed" if name == "shuffle" else name): value for name, value in dials.items()}
    )
    songs, notes = trained.playlist(1, 30, rules=rules)
    assert ids(answer["songs"]) == [song.id for song in songs]
    assert answer["notes"] == notes


def test_filters_of_a_draft_are_those_of_the_library(client, trained):
    filters = {"genres": ["hum"], "year_to": 2000, "exclude_artists": ["Band A3"]}
    answer = client.post("/api/v1/playlists/draft", json={"seeds": [1], "length": 8, "filters": filters}).json()
    wanted = Filters(genres=("hum",), year_to=2000, exclude_artists=("Band A3",))
    songs, _ = trained.playlist(1, rules=PlaylistRules(length=8), filters=wanted)
    assert ids(answer["songs"]) == [song.id for song in songs]


def test_a_walk_goes_from_here_to_there(client):
    answer = client.post("/api/v1/playlists/draft", json={"seeds": [1], "to": 40, "length": 6}).json()
    assert (answer["songs"][0]["id"], answer["songs"][-1]["id"]) == (1, 40)
    for seeds in ([], [1, 2]):
        answer = client.post("/api/v1/playlists/draft", json={"seeds": seeds, "to": 40})
        assert answer.status_code == 400
        assert "takes exactly one seed" in answer.json()["detail"]


def analysed(snapshot, embedding=None, model=None):
    embedding = snapshot.space.embeddings[0] if embedding is None else embedding
    text = base64.b64encode(np.asarray(embedding, "<f4").tobytes()).decode()
    return {"model": snapshot.model.id if model is None else model, "embedding": text}


def test_a_file_that_was_analysed_can_be_a_seed(client):
    snapshot = client.service.snapshot
    answer = client.post("/api/v1/playlists/draft", json={"upload_seeds": [analysed(snapshot)], "length": 5})
    assert answer.status_code == 200
    assert len(answer.json()["songs"]) == 5
    walk = client.post("/api/v1/playlists/draft", json={"upload_seeds": [analysed(snapshot)], "to": 40, "length": 5})
    assert walk.json()["songs"][-1]["id"] == 40


def test_a_seed_of_another_model_or_of_nonsense_is_a_problem(client):
    snapshot = client.service.snapshot
    wrong = {
        (409, "the file was analysed for another model; upload it again."): [analysed(snapshot, model=999)],
        (400, "; send it as the query returned it."): [
            analysed(snapshot, embedding=np.zeros(snapshot.space.embeddings.shape[1] + 1)),
            analysed(snapshot, embedding=np.full_like(snapshot.space.embeddings[0], np.nan)),
            {"model": snapshot.model.id, "embedding": "no base64!"},
            {"model": snapshot.model.id, "embedding": "AAA="},
        ],
    }
    for (status, words), seeds in wrong.items():
        for seed in seeds:
            answer = client.post("/api/v1/playlists/draft", json={"upload_seeds": [seed]})
            assert answer.status_code == status, answer.text
            assert answer.json()["detail"].endswith(words)


def test_no_seed_is_a_problem(client):
    answer = client.post("/api/v1/playlists/draft", json={})
    assert answer.status_code == 400
    assert "No seed given" in answer.json()["detail"]


# ---- saved


def test_a_playlist_is_saved_changed_and_forgotten(client):
    made = client.post("/api/v1/playlists", json={"name": "Evening", "songs": [3, 1, 3]})
    assert made.status_code == 201
    number = made.json()["id"]
    assert made.headers["location"] == f"/api/v1/playlists/{number}"
    found = client.get(f"/api/v1/playlists/{number}").json()
    assert (found["name"], ids(found["items"]), found["songs"], found["missing"]) == ("Evening", [3, 1, 3], 3, 0)
    assert found["seconds"] == pytest.approx(6.0, abs=0.1)
    changed = client.put(f"/api/v1/playlists/{number}", json={"name": "Night", "songs": [2]}).json()
    assert (changed["name"], ids(changed["items"])) == ("Night", [2])
    assert [one["name"] for one in client.get("/api/v1/playlists").json()] == ["Night"]
    assert client.delete(f"/api/v1/playlists/{number}").status_code == 204
    for method in ("GET", "DELETE"):
        assert client.request(method, f"/api/v1/playlists/{number}").status_code == 404
    assert client.put(f"/api/v1/playlists/{number}", json={"name": "x", "songs": []}).status_code == 404


def test_songs_are_added_once_unless_asked_again(client):
    number = client.post("/api/v1/playlists", json={"name": "Evening", "songs": [3, 1]}).json()["id"]

    def add(*songs, **options):
        answer = client.post(f"/api/v1/playlists/{number}/songs", json={"songs": songs, **options})
        return (answer.json()["added"], ids(answer.json()["items"])) if answer.is_success else answer.status_code

    assert add(1, 5, 2, 5) == (2, [3, 1, 5, 2])
    assert add(3) == (0, [3, 1, 5, 2])
    assert add(3, again=True) == (1, [3, 1, 5, 2, 3])
    assert (add(), add(9999), add(*[7] * 10_001)) == (422, 404, 422)
    client.put(f"/api/v1/playlists/{number}", json={"name": "Full", "songs": [1] * 10_000})
    assert add(2) == 400
    assert client.get(f"/api/v1/playlists/{number}").json()["songs"] == 10_000
    client.delete(f"/api/v1/playlists/{number}")
    assert add(2) == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "", "songs": []}, 422),
        ({"name": "   ", "songs": []}, 400),
        ({"name": "x" * 201, "songs": []}, 422),
        ({"name": "x", "songs": [9999]}, 404),
        ({"name": "x", "songs": [0]}, 422),
        ({"name": "x", "songs": [1] * 10_001}, 422),
        ({"name": "x", "songs": "1"}, 422),
    ],
)
def test_what_cannot_be_saved_is_a_problem_and_nothing_is_saved(client, body, status):
    assert client.post("/api/v1/playlists", json=body).status_code == status
    assert client.get("/api/v1/playlists").json() == []


def test_songs_whose_files_are_gone_are_counted(client, monkeypatch):
    number = client.post("/api/v1/playlists", json={"name": "x", "songs": [1, 2]}).json()["id"]
    monkeypatch.delitem(client.service.snapshot.space.row_of, 2)
    found = client.get(f"/api/v1/playlists/{number}").json()
    assert (ids(found["items"]), found["songs"], found["missing"]) == ([1], 1, 1)


def test_songs_whose_files_are_gone_keep_their_positions_when_a_playlist_is_changed(client, trained, monkeypatch):
    number = client.post("/api/v1/playlists", json={"name": "x", "songs": [1, 2, 3]}).json()["id"]
    monkeypatch.delitem(client.service.snapshot.space.row_of, 2)
    changed = client.put(f"/api/v1/playlists/{number}", json={"name": "y", "songs": [3, 1]}).json()
    assert (ids(changed["items"]), changed["missing"]) == ([3, 1], 1)
    assert trained.playlists.get(number).songs == (3, 1, 2)


def test_an_empty_library_has_no_playlists_and_can_save_an_empty_one(empty_client):
    assert empty_client.get("/api/v1/playlists").json() == []
    assert empty_client.post("/api/v1/playlists", json={"name": "x", "songs": []}).status_code == 201
    assert empty_client.post("/api/v1/playlists/draft", json={"seeds": [1]}).status_code == 409


# ---- files


def test_an_exported_playlist_names_the_files(client):
    paths = [client.service.snapshot.song(song).path for song in (5, 2)]
    wanted = {"name": "Evening", "songs": [5, 2]}
    answer = client.post("/api/v1/playlists/export", json=wanted)
    lines = answer.text.splitlines()
    assert lines[0] == "#EXTM3U"
    relative = [line for line in lines if not line.startswith("#")]
    (folder,) = client.service.library.folders
    assert [os.path.join(folder, line) for line in relative] == paths  # a copy of the folder may be anywhere
    assert not any(os.path.isabs(line) for line in relative)
    absolute = client.post("/api/v1/playlists/export", json=wanted | {"paths": "absolute"}).text.splitlines()
    assert [line for line in absolute if not line.startswith("#")] == paths
    assert all(os.path.isfile(path) for path in paths)
    assert answer.headers["content-type"] == "audio/x-mpegurl; charset=utf-8"
    jspf = client.post("/api/v1/playlists/export", json={"name": "Evening", "songs": [5, 2], "format": "jspf"})
    tracks = jspf.json()["playlist"]["track"]
    assert [unquote(track["location"][0].removeprefix("file://")) for track in tracks] == paths
    assert client.post("/api/v1/playlists/export", json={"songs": [9999]}).status_code == 404


def test_the_api_describes_a_playlist_file_in_json_as_an_object_and_others_as_text(client):
    paths = client.get("/openapi.json").json()["paths"]
    of_songs, saved = paths["/api/v1/playlists/export"], paths["/api/v1/playlists/{playlist_id}/export"]
    for operation in (of_songs["post"], saved["get"]):
        kinds = {name: found["schema"]["type"] for name, found in operation["responses"]["200"]["content"].items()}
        assert kinds.pop("application/json") == "object"
        assert set(kinds.values()) == {"string"}


def test_a_draft_without_settings_is_the_librarys_own_playlist(client):
    """So the page, which sends only what was changed, and the command line make the same list."""
    service = client.service
    defaults = client.get("/api/v1/status").json()["playlist_defaults"]
    assert PlaylistRules(**{name: type(getattr(PlaylistRules, name))(n) for name, n in defaults.items()}) == (
        PlaylistRules()
    )
    made = client.post("/api/v1/playlists/draft", json={"seeds": [5]}).json()["songs"]
    assert [song["id"] for song in made] == [song.id for song in service.library.playlist(5)[0]]


def test_a_saved_playlist_is_exported_under_its_name(client):
    number = client.post("/api/v1/playlists", json={"name": "Ä/b\\c", "songs": [1]}).json()["id"]
    answer = client.get(f"/api/v1/playlists/{number}/export")
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"-b-c.m3u8\"; filename*=UTF-8''%C3%84-b-c.m3u8"
    )
    assert (
        json.loads(client.get(f"/api/v1/playlists/{number}/export?format=jspf").text)["playlist"]["title"] == "Ä/b\\c"
    )
    assert client.get(f"/api/v1/playlists/{number}/export?format=exe").status_code == 422
    assert client.get("/api/v1/playlists/999/export").status_code == 404


def test_a_hostile_name_cannot_add_a_header_or_leave_the_folder(client):
    for name in (
        'x"\r\nSet-Cookie: a=b',
        "../../etc/passwd",
        "a\x00b",
        '"; filename="evil.exe',
        "<script>",
        "\u202egpj",
    ):
        answer = client.post("/api/v1/playlists/export", json={"name": name, "songs": [1]})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
        header = answer.headers["content-disposition"]
        plain = header.split('"')[1]
        assert plain.endswith(".m3u8")
        assert not set(plain) & set('/\\"<>:;%')
        assert not plain.startswith(".")


@given(st.text(max_size=120))
def test_any_name_gives_a_header_of_plain_letters(name):
    header = attachment(name, "m3u8")
    assert header.isascii()
    assert header.isprintable()
    first, _, second = header.partition("; filename*=UTF-8''")
    assert first.startswith('attachment; filename="')
    assert first.endswith('.m3u8"')
    assert first.count('"') == 2
    real = unquote(second, errors="strict")
    assert "/" not in real
    assert "\\" not in real
    assert real.endswith(".m3u8")


def test_nothing_is_reported_as_saved_while_the_library_file_is_gone(make_client, trained_file, tmp_path):
    library_file = shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(library_file) as library:
        client = make_client(library)
        wanted = {"name": "mine", "songs": [1, 2]}
        assert client.post("/api/v1/playlists", json=wanted).status_code == 201
        os.rename(library_file, tmp_path / "moved")
        answer = client.post("/api/v1/playlists", json=wanted)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.json()["detail"].endswith("is missing; restore it.")
        os.rename(tmp_path / "moved", library_file)
        assert client.post("/api/v1/playlists", json=wanted).status_code == 201
        client.close()
