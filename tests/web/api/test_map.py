"""The map: columns of all songs, made once, drawn first where there is none."""

import base64

import numpy as np
import pytest

from nearsong.library.maps.cached import draw
from nearsong.web.json import map as map_answer
from waiting import in_threads


def unpacked(column):
    raw = np.frombuffer(base64.b64decode(column["bytes"]), np.uint8).reshape(-1, column["width"])
    return (raw.astype(np.int64) << (8 * np.arange(column["width"]))).sum(axis=1)


@pytest.fixture
def drawn(client, trained):
    return draw(trained.snapshot(now=True))


def test_every_column_has_a_row_for_every_song(client, drawn):
    found = client.get("/api/v1/map").json()
    snapshot = client.service.snapshot
    ids = unpacked(found["ids"]).tolist()
    assert sorted(ids) == [song.id for song in snapshot.space.songs]
    assert found["songs"] == 72
    assert found["missing"] == 0
    for name in ("artist", "genre", "years", "seconds", "plays"):
        assert len(unpacked(found[name])) == 72
    positions = unpacked(found["positions"]).reshape(-1, 2)
    assert np.abs(positions / 65535 - drawn.points).max() < 1e-4
    for row, number in enumerate(ids):
        song = snapshot.song(number)
        assert found["titles"][row] == song.title
        assert found["artists"][unpacked(found["artist"])[row]] == song.artist
        assert found["genres"][unpacked(found["genre"])[row]] == song.genre
        assert unpacked(found["years"])[row] == song.year
    assert found["model"] == {"id": snapshot.model.id, "kind": "learned"}
    assert {label[0] for label in found["genre_labels"]} <= set(range(len(found["genres"])))


def test_compressed_or_not_it_is_the_same_and_it_is_made_once(client, drawn, monkeypatch):
    made = []
    original = map_answer.map_columns
    monkeypatch.setattr(map_answer, "map_columns", lambda *given: made.append(1) or original(*given))
    packed = client.get("/api/v1/map", headers={"Accept-Encoding": "gzip"})
    plain = client.get("/api/v1/map", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert packed.json() == plain.json()
    in_threads(client.get, ["/api/v1/map"] * 4)
    assert made == [1]


@pytest.mark.parametrize("accepted", ["gzip;q=0", "gzip; q=0.000, *", "identity, gzip;Q=0", "*;q=0", ""])
def test_who_does_not_want_it_compressed_gets_it_plain(client, drawn, accepted):
    answer = client.get("/api/v1/map", headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in answer.headers
    assert answer.json()["songs"] == 72


@pytest.mark.parametrize("accepted", ["gzip;q=0.5", "*", "br, GZIP"])
def test_who_takes_it_compressed_gets_it_so(client, drawn, accepted):
    answer = client.get("/api/v1/map", headers={"Accept-Encoding": accepted})
    assert answer.headers["content-encoding"] == "gzip"


def test_a_map_that_has_not_changed_is_not_sent_again(client, drawn, trained):
    tag = client.get("/api/v1/map").headers["etag"]
    assert client.get("/api/v1/map", headers={"If-None-Match": tag}).status_code == 304
    draw(trained.snapshot(now=True), seed=5)
    again = client.get("/api/v1/map", headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert again.headers["etag"] != tag


def test_without_a_map_one_is_drawn_and_those_who_ask_meanwhile_learn_of_the_same_work(make_client):
    client = make_client(jobs_per_hour=1)
    first = client.get("/api/v1/map")
    assert first.status_code == 202
    job = first.json()
    assert job["kind"] == "map"
    assert first.headers["location"] == f"/api/v1/jobs/{job['id']}"
    again = client.get("/api/v1/map")
    assert again.status_code in (200, 202)
    if again.status_code == 202:
        assert again.json()["id"] == job["id"]
    assert client.service.jobs.wait(job["id"], 300).state == "done"
    assert client.get("/api/v1/map").status_code == 200


def test_a_map_that_cannot_be_drawn_is_not_begun_again_and_again(make_client, monkeypatch):
    client = make_client(jobs_per_hour=2)
    monkeypatch.setattr(client.service.jobs, "command", ("/bin/false",))
    answers = []
    for _ in range(4):
        answer = client.get("/api/v1/map")
        answers.append(answer.status_code)
        if answer.status_code == 202:
            client.service.jobs.wait(answer.json()["id"], 30)
    assert answers == [202, 202, 429, 429]
