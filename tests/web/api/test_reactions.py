"""Hearts, ratings and skips through the API."""

import time

import pytest

from library_store import store_of
from nearsong.listens.records import Action


def told(library) -> list[tuple[str, Action, int, str]]:
    """Who has told what about which song."""
    with store_of(library) as store:
        return [(row.listener, row.action, row.stars, row.track.title) for row in store.reactions.all()]


def test_hearts_are_given_listed_and_removed(client, trained):
    for song in (3, 7, 3):
        assert client.put(f"/api/v1/songs/{song}/heart").status_code == 204
    assert client.put("/api/v1/songs/5/heart", params={"listener": "anna"}).status_code == 204
    found = client.get("/api/v1/hearts").json()
    assert [heart["song_id"] for heart in found] == [7, 3]
    assert abs(found[0]["time"] - time.time()) < 60
    assert [heart["song_id"] for heart in client.get("/api/v1/hearts?listener=anna").json()] == [5]
    for _ in range(2):
        assert client.delete("/api/v1/songs/3/heart").status_code == 204
    assert [heart["song_id"] for heart in client.get("/api/v1/hearts").json()] == [7]
    assert client.get("/rest/getStarred2?u=me&f=json").json()["subsonic-response"]["starred2"]["song"][0]["id"] == "7"


def test_ratings_are_given_replaced_listed_and_removed(client, trained):
    for stars in (2, 5):
        assert client.put("/api/v1/songs/3/rating", json={"stars": stars}).status_code == 204
    (rating,) = client.get("/api/v1/ratings").json()
    assert (rating["song_id"], rating["stars"]) == (3, 5)
    assert told(trained) == [("me", Action.RATING, 5, trained.find(3).title)]
    assert client.delete("/api/v1/songs/3/rating").status_code == 204
    assert client.get("/api/v1/ratings").json() == []


def test_a_skip_is_recorded_with_when_the_song_began(client, trained):
    for song, seconds in ((3, 12.5), (3, 14), (5, 0)):
        assert client.post("/api/v1/skips", json={"song_id": song, "seconds": seconds}).status_code == 204
    assert client.post("/api/v1/skips", json={"song_id": 3, "listener": "anna"}).status_code == 204
    names = {song: trained.find(song).title for song in (3, 5)}
    assert told(trained) == [
        ("me", Action.SKIP, 0, names[3]),
        ("me", Action.SKIP, 0, names[5]),
        ("anna", Action.SKIP, 0, names[3]),
    ]
    with store_of(trained) as store:
        assert time.time() - 60 < next(store.reactions.all()).time <= time.time() - 12
    assert client.get("/api/v1/status").json()["played"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("PUT", "songs/9999/heart", None, 404, "song not found: 9999"),
        ("DELETE", "songs/9999/heart", None, 404, "song not found: 9999"),
        ("PUT", "songs/0/heart", None, 422, "song_id: "),
        ("PUT", "songs/1/heart?listener=", None, 422, "listener: "),
        ("PUT", "songs/1/heart?listener=%20", None, 400, "a listener's name needs 1 to 200 characters; got 0."),
        ("PUT", "songs/1/rating", {"stars": 6}, 422, "stars: "),
        ("PUT", "songs/1/rating", {"stars": 0}, 422, "stars: "),
        ("PUT", "songs/1/rating", {"stars": 2.5}, 422, "stars: "),
        ("PUT", "songs/1/rating", {}, 422, "stars: "),
        ("PUT", "songs/9999/rating", {"stars": 3}, 404, "song not found: 9999"),
        ("DELETE", "songs/9999/rating", None, 404, "song not found: 9999"),
        ("POST", "skips", {"song_id": 9999}, 404, "song not found: 9999"),
        ("POST", "skips", {"song_id": 1, "seconds": -1}, 422, "seconds: "),
        ("POST", "skips", {"song_id": 1, "loud": True}, 422, "loud: "),
    ],
)
def test_what_cannot_be_is_a_problem(client, trained, method, path, body, status, words):
    answer = client.request(method, f"/api/v1/{path}", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["detail"].startswith(words)
    assert told(trained) == []


WRITES = [
    ("PUT", "songs/1/heart", None, "hearts"),
    ("DELETE", "songs/1/heart", None, "hearts"),
    ("PUT", "songs/1/rating", {"stars": 3}, "ratings"),
    ("DELETE", "songs/1/rating", None, "ratings"),
    ("POST", "skips", {"song_id": 1}, "skips"),
]


def test_a_service_that_records_nothing_says_so(make_client, trained):
    client = make_client(plays=False)
    for method, path, body, what in WRITES:
        answer = client.request(method, f"/api/v1/{path}", json=body)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:nearsong:plays-not-recorded")
        assert answer.json()["detail"] == f"this service does not record {what}."
    assert client.get("/api/v1/hearts").json() == []
    assert told(trained) == []


def test_who_sends_too_many_has_to_wait_and_other_sites_may_not(make_client, monkeypatch, trained):
    monkeypatch.setattr("nearsong.web.service.service.PLAYS_PER_MINUTE", 2)
    client = make_client()
    headers = {"Origin": "https://elsewhere.example"}
    for method, path, body, _ in WRITES:
        assert client.request(method, f"/api/v1/{path}", json=body, headers=headers).status_code == 403
    answers = [client.put(f"/api/v1/songs/{song}/heart") for song in (1, 2, 3)]
    assert [answer.status_code for answer in answers] == [204, 204, 429]
    assert len(told(trained)) == 2
