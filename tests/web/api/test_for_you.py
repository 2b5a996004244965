"""Songs for a listener, radio and minus seeds through the API: the same as the library's, and only one's own."""

import time

import pytest

from nearsong.library import Filters, Heard

MINE, HERS = [1, 7], [3, 9]
"""Songs that were played: of two styles."""


@pytest.fixture
def played(trained):
    now = time.time()
    for song in MINE:
        trained.play_log.record(song, "me", now - 3600)
    for song in HERS:
        trained.play_log.record(song, "anna", now - 3600)
    return trained


@pytest.fixture
def asking(make_client, played):
    return make_client(played)


def ids(answer) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [one["song"]["id"] for one in answer.json()["songs"]]


def test_songs_for_a_listener_are_those_of_the_library_and_say_why(asking, played):
    answer = asking.get("/api/v1/for-you", params={"n": 7})
    found = played.snapshot(now=True).for_you("me", 7)
    assert ids(answer) == [one.song.id for one in found.songs]
    body = answer.json()
    assert (body["listener"], body["plays"], body["notes"]) == ("me", 2, [])
    assert {one["because"]["id"] for one in body["songs"]} <= set(MINE)
    assert not {*MINE} & {*ids(answer)}
    assert ids(asking.get("/api/v1/for-you?listener=anna&n=7")) != ids(answer)


def test_played_songs_and_filters_are_a_choice(asking, played):
    everything = ids(asking.get("/api/v1/for-you", params={"n": 100, "include_played": True}))
    assert {*MINE} <= {*everything}
    hum = ids(asking.get("/api/v1/for-you", params={"n": 100, "genre": "low hum", "one_per_artist": True}))
    found = played.snapshot(now=True).for_you("me", 100, Filters(genres=("low hum",), one_per_artist=True))
    assert hum == [one.song.id for one in found.songs]
    assert len(hum) == len({played.find(song).artist for song in hum})


def test_a_listener_who_has_played_nothing_gets_what_others_play_and_is_told(asking):
    body = asking.get("/api/v1/for-you", params={"listener": "zoe", "n": 3}).json()
    assert (body["plays"], len(body["songs"])) == (0, 3)
    assert [one["because"] for one in body["songs"]] == [None] * 3
    assert "Nothing that zoe played is known yet" in body["notes"][0]


def test_a_listener_sees_only_what_is_for_them_and_an_admin_all(make_client, played):
    tokens = {name: played.accounts.add(name, is_admin=name == "Anna") for name in ("Anna", "Ben")}
    client = make_client(played)

    def ask(who: str, method: str, path: str, **body):
        return client.request(method, f"/api/v1/{path}", headers={"Authorization": f"Bearer {tokens[who]}"}, **body)

    assert ask("Ben", "GET", "for-you").json()["listener"] == "Ben"
    for answer in (
        ask("Ben", "GET", "for-you?listener=Anna"),
        ask("Ben", "POST", "radio", json={"seeds": [1], "listener": "Anna"}),
    ):
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:nearsong:not-allowed"
    assert ask("Anna", "GET", "for-you?listener=ben").json()["listener"] == "Ben"
    assert ask("Anna", "POST", "radio", json={"seeds": [1], "listener": "Ben"}).status_code == 200


def test_a_radio_goes_on_from_what_was_heard(asking, played):
    heard = [{"song_id": 1}, {"song_id": 5, "reaction": "liked"}, {"song_id": 9, "reaction": "skipped"}]
    wanted = {"seeds": [1], "heard": heard, "n": 6, "shuffle": 4}
    answer = asking.post("/api/v1/radio", json=wanted)
    same = [Heard(song=one["song_id"], reaction=one.get("reaction", "played")) for one in heard]
    found = played.snapshot(now=True).radio([1], same, 6, listener="me", seed=4)
    assert ids(answer) == [one.song.id for one in found]
    assert not {1, 5, 9} & {*ids(answer)}
    assert ids(asking.post("/api/v1/radio", json=wanted)) == ids(answer)
    fewer = ids(asking.post("/api/v1/radio", json={**wanted, "filters": {"genres": ["low hum"]}}))
    assert {played.find(song).genre for song in fewer} == {"low hum"}


def test_a_radio_starts_from_an_artist_an_album_or_a_playlist(asking, played):
    snapshot = played.snapshot(now=True)
    album = next(album for album in snapshot.albums.albums if len(album.songs) >= 2)
    songs = [song.id for song in album.songs]
    saved = asking.post("/api/v1/playlists", json={"name": "Three", "songs": [2, 11, 2, 30]}).json()["id"]
    for start, seeds in (
        ({"album": album.id}, songs[:5]),
        ({"playlist": saved}, [2, 11, 30]),
        ({"seeds": [7], "playlist": saved}, [7, 2, 11, 30]),
    ):
        answer = asking.post("/api/v1/radio", json={**start, "n": 4})
        assert [song["id"] for song in answer.json()["seeds"]] == seeds
        expected = snapshot.radio(seeds, n=4, listener="me")
        assert ids(answer) == [one.song.id for one in expected]
    of_artist = asking.post("/api/v1/radio", json={"artist": album.artist_id}).json()["seeds"]
    assert {song["artist"] for song in of_artist} == {album.songs[0].artist}
    assert len(of_artist) <= 5


def test_a_radio_can_be_told_to_surprise(asking, played):
    answer = asking.post("/api/v1/radio", json={"seeds": [1], "n": 8, "surprise": 0.9})
    snapshot = played.snapshot(now=True)
    assert ids(answer) == [one.song.id for one in snapshot.radio([1], n=8, listener="me", surprise=0.9)]
    assert ids(answer) != ids(asking.post("/api/v1/radio", json={"seeds": [1], "n": 8}))


def test_a_song_that_was_removed_since_does_not_end_the_radio(asking):
    heard = [{"song_id": 99_999, "reaction": "liked"}, {"song_id": 2}]
    expected = ids(asking.post("/api/v1/radio", json={"seeds": [1], "heard": heard[1:]}))
    assert ids(asking.post("/api/v1/radio", json={"seeds": [1], "heard": heard})) == expected


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"seeds": []}, 400, "a radio starts from songs"),
        ({}, 400, "a radio starts from songs"),
        ({"seeds": [1] * 101}, 422, "seeds: "),
        ({"artist": "nobody"}, 404, "artist not found"),
        ({"album": "nothing"}, 404, "album not found"),
        ({"playlist": 99_999}, 404, "playlist not found"),
        ({"seeds": [1], "surprise": 1.1}, 422, "surprise: "),
        ({"seeds": [99_999]}, 404, "song not found: 99999"),
        ({"seeds": [1], "heard": [{"song_id": 1, "reaction": "danced"}]}, 422, "heard.0.reaction: "),
        ({"seeds": [1], "n": 0}, 422, "n: "),
        ({"seeds": [1], "shuffle": -1}, 422, "shuffle: "),
        ({"seeds": [1], "songs": 3}, 422, "songs: "),
    ],
)
def test_a_wrong_radio_says_what_is_wrong(shared_client, body, status, words):
    answer = shared_client().post("/api/v1/radio", json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]


def test_minus_seeds_push_their_neighbours_away(shared_client):
    client = shared_client()
    snapshot = client.service.snapshot
    asked = {"seed": [1, 3], "n": 20}
    plain = ids(client.get("/api/v1/similar", params=asked))
    last = plain[-1]
    minus = ids(client.get("/api/v1/similar", params={**asked, "without": [last]}))
    assert minus == [near.song.id for near in snapshot.similar([1, 3], 20, without=[last])]
    assert last not in minus
    assert minus[:-1] != plain[:-1]
    alone = ids(client.get("/api/v1/similar", params={"seed": 1, "without": [9, 3], "n": 5, "metric": "native"}))
    assert alone == [near.song.id for near in snapshot.similar([1], 5, None, "native", without=[9, 3])]
    missing = client.get("/api/v1/similar", params={"seed": 1, "without": 99_999})
    assert missing.status_code == 404


def test_recommendations_take_a_slot_of_expensive_requests(asking, monkeypatch):
    limit = asking.service.concurrency
    monkeypatch.setattr(limit, "_admitted", type(limit._admitted)(0))
    assert asking.get("/api/v1/for-you").status_code == 503
    assert asking.post("/api/v1/radio", json={"seeds": [1]}).status_code == 503
