"""What is played through the API and through players is noted, becomes listens in time, and can be switched off."""

import dataclasses
import time

import pytest

from nearsong.library import Library
from nearsong.library.played import MOST_AT_ONCE
from nearsong.web import service as services
from nearsong.web.api.status import step_of
from nearsong.web.service import Service
from nearsong.web.settings import ServeSettings
from rest_server import playing

WAIT = 30  # seconds until a test that hangs fails


def noted(library: Library) -> list[tuple[str, str, int]]:
    """Who has played what when."""
    return [(play.listener, play.heard.title, play.time) for play in library._store.plays.all()]


def test_a_play_is_noted_with_when_it_began(client, trained):
    begun = int(time.time())
    assert client.post("/api/v1/plays", json={"song_id": 3, "seconds": 100}).status_code == 204
    assert client.post("/api/v1/plays", json={"song_id": 3, "listener": "anna"}).status_code == 204
    assert client.post("/api/v1/plays", json={"song_id": 3, "seconds": 95}).status_code == 204  # told twice
    first, second = noted(trained)
    title = trained.find(3).title
    assert first[:2] == ("me", title)
    assert begun - 101 <= first[2] <= int(time.time()) - 100
    assert second[:2] == ("anna", title)
    status = client.get("/api/v1/status").json()
    assert (status["played"], status["keeps_plays"], status["histories"]) == (2, True, 1)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"song_id": 9999}, 404, "there is no song 9999 in the library"),
        ({"song_id": 0}, 422, "song_id: "),
        ({}, 422, "song_id: "),
        ({"song_id": 1, "seconds": -1}, 422, "seconds: "),
        ({"song_id": 1, "seconds": 1e9}, 422, "seconds: "),
        ({"song_id": 1, "listener": " \n"}, 400, "a listener of 0 letters"),
        ({"song_id": 1, "loud": True}, 422, "loud: "),
    ],
)
def test_a_play_that_cannot_be_is_a_problem(client, trained, body, status, words):
    answer = client.post("/api/v1/plays", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["detail"].startswith(words)
    assert noted(trained) == []


def test_some_plays_alone_do_not_call_for_a_training(trained):
    native = {"id": 1, "kind": "native", "created": 0.0}
    few = dataclasses.replace(trained.status(), model=native, too_few=True)
    assert step_of(few) == "listens"
    assert step_of(dataclasses.replace(few, too_few=False)) == "train"


def test_pages_of_other_sites_cannot_tell_of_plays(client, trained):
    headers = {"Origin": "https://elsewhere.example"}
    assert client.post("/api/v1/plays", json={"song_id": 1}, headers=headers).status_code == 403
    assert noted(trained) == []


def test_a_server_that_keeps_no_plays_says_so(make_client, trained):
    client = make_client(plays=False)
    answer = client.post("/api/v1/plays", json={"song_id": 1})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:nearsong:plays-not-kept")
    assert answer.json()["detail"] == "this server does not keep what is played."
    assert client.get("/api/v1/status").json()["keeps_plays"] is False
    params = {"u": "me", "f": "json", "id": 3}
    assert client.get("/rest/scrobble", params=params).json()["subsonic-response"]["status"] == "ok"
    assert (
        client.get("/rest/getUser", params=params).json()["subsonic-response"]["user"]["scrobblingEnabled"] is False
    )
    assert noted(trained) == []


def test_who_tells_of_too_many_plays_has_to_wait(make_client, monkeypatch, trained):
    monkeypatch.setattr("nearsong.web.service.PLAYS_PER_MINUTE", 2)
    client = make_client()
    answers = [client.post("/api/v1/plays", json={"song_id": song}) for song in (1, 2, 3)]
    assert [answer.status_code for answer in answers] == [204, 204, 429]
    assert answers[2].json()["detail"].startswith("too many plays in a short time")
    assert "too many plays" in client.get("/rest/scrobble", params={"u": "me", "f": "json", "id": 4}).text
    assert len(noted(trained)) == 2


def test_many_plays_at_once_count_as_many(make_client, monkeypatch, trained):
    monkeypatch.setattr("nearsong.web.service.PLAYS_PER_MINUTE", 4)
    client = make_client()

    def told(*songs: int) -> str:
        return client.get("/rest/scrobble", params={"u": "me", "f": "json", "id": songs}).text

    assert '"ok"' in told(1, 2, 3)
    assert "too many plays in a short time" in told(4, 5)
    assert '"ok"' in told(6)
    assert len(noted(trained)) == 4
    assert f"send no more than {MOST_AT_ONCE:,}" in told(*range(1, MOST_AT_ONCE + 2))


def test_a_player_may_tell_as_many_at_once_as_are_taken_at_once():
    assert services.PLAYS_PER_MINUTE >= MOST_AT_ONCE


# ---- when plays become listens


def test_plays_become_listens_from_time_to_time(make_client, trained, monkeypatch):
    monkeypatch.setattr("nearsong.web.service.GATHER_SECONDS", 0.1)
    client = make_client()
    before = client.service.snapshot.plays.get(3, 0)
    assert client.post("/api/v1/plays", json={"song_id": 3}).status_code == 204
    deadline = time.monotonic() + WAIT
    while client.get("/api/v1/songs/3").json()["plays"] != before + 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    history = client.get("/api/v1/listens").json()[-1]
    assert (history["name"], history["format"], history["rows"]) == ("played with nearsong", "played", 1)
    assert client.delete(f"/api/v1/listens/{history['id']}").status_code == 204
    assert noted(trained) == []


def test_the_last_plays_become_listens_when_the_service_ends(trained):
    service = Service(trained)
    service.start()
    trained.played.note(3)
    service.close()
    assert trained.played.waiting() == 0
    assert [source.format for source in trained.listens()][-1] == "played"


def test_a_service_that_keeps_no_plays_makes_no_listens_of_them(trained):
    service = Service(trained, ServeSettings(plays=False))
    service.start()
    trained.played.note(3)
    service.close()
    assert trained.played.waiting() == 1


def test_plays_that_cannot_become_listens_now_stay_plays(trained, monkeypatch, caplog):
    from nearsong.errors import LibraryError
    from nearsong.library.played import Played

    def full(_self):
        raise LibraryError("the library cannot grow: the disk is full")

    service = Service(trained)
    service.start()
    trained.played.note(3)
    with monkeypatch.context() as patch:
        patch.setattr(Played, "gather", full)
        service.close()
    assert "could not be made a listening history yet: the library cannot grow" in caplog.text
    assert trained.played.waiting() == 1


# ---- players


@pytest.fixture
def player(trained_file, tmp_path):
    with playing(trained_file, tmp_path) as found:
        yield found


def test_players_tell_what_was_played_when(player):
    library, now = player.service.library, int(time.time())
    titles = {song.id: song.title for song in library.songs()}
    player.ask("scrobble", id=[1, 2], time=[1_700_000_000_999, 1_700_000_500_000], u="anna")
    assert noted(library) == [("anna", titles[1], 1_700_000_000), ("anna", titles[2], 1_700_000_500)]
    player.ask("scrobble", id=[1, 5], time=1_700_000_020_000, submission="true", u="anna")  # the first again
    assert [play[:2] for play in noted(library)[2:]] == [("anna", titles[5])]
    assert now <= noted(library)[2][2] <= time.time()
    player.client.get("scrobble", params={"apiKey": "any", "id": 7})
    assert noted(library)[3][:2] == ("me", titles[7])
    assert player.ask("getUser")["user"]["scrobblingEnabled"] is True


def test_that_a_song_plays_just_now_is_heard_and_not_kept(player):
    player.ask("scrobble", id=1, submission="false")
    player.ask("scrobble", id=1, submission="False", time=5)
    assert player.fails("scrobble", id=99999, submission="false")[0] == 70
    assert noted(player.service.library) == []


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({}, 10, "the parameter id is missing"),
        ({"id": 99999}, 70, "there is no song 99999"),
        ({"id": [1, "x"]}, 70, "there is no song 'x'"),
        ({"id": 1, "time": "noon"}, 0, "time='noon' is no whole number"),
        ({"id": 1, "time": [1_700_000_000_000] * 2}, 0, "2 times came for 1 songs"),
        ({"id": 1, "time": 1_700_000_000}, 0, "before the year 2000; check the clock"),
        ({"id": 1, "time": 9_999_999_999_999_999}, 0, "in the future; check the clock"),
    ],
)
def test_what_cannot_have_been_played_is_refused(player, asked, code, words):
    failed, message = player.fails("scrobble", **asked)
    assert failed == code
    assert words in message
    assert noted(player.service.library) == []


def test_what_an_offline_player_tells_is_kept_once_though_one_of_its_songs_is_gone(player):
    library, start = player.service.library, 1_700_000_000
    queue = {"id": [1, 99999, 2, 1], "time": [1000 * (start + 300 * n) for n in range(4)], "u": "anna"}
    for _ in range(3):
        assert player.fails("scrobble", **queue)[0] == 70
    assert [when - start for *_, when in noted(library)] == [0, 600, 900]
