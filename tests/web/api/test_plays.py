"""What is played through the API and through players is noted, becomes listens in time, and can be switched off."""

import dataclasses
import time

import pytest

from library_store import recorded_plays
from nearsong.library import Library
from nearsong.library.listeners.recorded.plays import MAX_PLAYS_PER_REQUEST
from nearsong.web.api.status import step_of
from nearsong.web.service import service as services
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings
from rest_server import playing
from waiting import wait_for

WAIT = 30  # seconds until a test that hangs fails


def noted(library: Library) -> list[tuple[str, str, int]]:
    """Who has played what when."""
    return [(play.listener, play.track.title, play.time) for play in recorded_plays(library)]


def test_a_play_is_noted_with_when_it_began(client, trained):
    begun = int(time.time())
    assert client.post("/api/v1/plays", json={"song_id": 3, "seconds": 100}).status_code == 204
    assert client.post("/api/v1/plays", json={"song_id": 3, "listener": "anna"}).status_code == 204
    assert client.post("/api/v1/plays", json={"song_id": 3, "seconds": 95}).status_code == 204  # reported twice
    first, second = noted(trained)
    title = trained.find(3).title
    assert first[:2] == ("me", title)
    assert begun - 101 <= first[2] <= int(time.time()) - 100
    assert second[:2] == ("anna", title)
    status = client.get("/api/v1/status").json()
    assert (status["played"], status["records_plays"], status["histories"]) == (2, True, 1)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"song_id": 9999}, 404, "song not found: 9999"),
        ({"song_id": 0}, 422, "song_id: "),
        ({}, 422, "song_id: "),
        ({"song_id": 1, "seconds": -1}, 422, "seconds: "),
        ({"song_id": 1, "seconds": 1e9}, 422, "seconds: "),
        ({"song_id": 1, "listener": " \n"}, 400, "a listener's name needs 1 to 200 characters; got 0."),
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


def test_pages_of_other_sites_cannot_report_plays(client, trained):
    headers = {"Origin": "https://elsewhere.example"}
    assert client.post("/api/v1/plays", json={"song_id": 1}, headers=headers).status_code == 403
    assert noted(trained) == []


def test_a_server_that_keeps_no_plays_says_so(make_client, trained):
    client = make_client(plays=False)
    answer = client.post("/api/v1/plays", json={"song_id": 1})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:nearsong:plays-not-recorded")
    assert answer.json()["detail"] == "this service does not record plays."
    assert client.get("/api/v1/status").json()["records_plays"] is False
    params = {"u": "me", "f": "json", "id": 3}
    assert client.get("/rest/scrobble", params=params).json()["subsonic-response"]["status"] == "ok"
    assert (
        client.get("/rest/getUser", params=params).json()["subsonic-response"]["user"]["scrobblingEnabled"] is False
    )
    assert noted(trained) == []


def test_who_reports_too_many_plays_has_to_wait(make_client, monkeypatch, trained):
    monkeypatch.setattr("nearsong.web.service.service.PLAYS_PER_MINUTE", 2)
    client = make_client()
    answers = [client.post("/api/v1/plays", json={"song_id": song}) for song in (1, 2, 3)]
    assert [answer.status_code for answer in answers] == [204, 204, 429]
    assert answers[2].json()["detail"].startswith("too many plays")
    assert "too many plays" in client.get("/rest/scrobble", params={"u": "me", "f": "json", "id": 4}).text
    assert len(noted(trained)) == 2


def test_many_plays_at_once_count_as_many(make_client, monkeypatch, trained):
    monkeypatch.setattr("nearsong.web.service.service.PLAYS_PER_MINUTE", 4)
    client = make_client()

    def played(*songs: int) -> str:
        return client.get("/rest/scrobble", params={"u": "me", "f": "json", "id": songs}).text

    assert '"ok"' in played(1, 2, 3)
    assert "too many plays" in played(4, 5)
    assert '"ok"' in played(6)
    assert len(noted(trained)) == 4
    assert f"send at most {MAX_PLAYS_PER_REQUEST:,}" in played(*range(1, MAX_PLAYS_PER_REQUEST + 2))


def test_a_player_may_report_as_many_at_once_as_are_taken_at_once():
    assert services.PLAYS_PER_MINUTE >= MAX_PLAYS_PER_REQUEST


# ---- when plays become listens


def test_plays_become_listens_from_time_to_time(make_client, trained, monkeypatch):
    monkeypatch.setattr("nearsong.web.service.service.GATHER_SECONDS", 0.1)
    client = make_client()
    before = client.service.snapshot.plays.get(3, 0)
    assert client.post("/api/v1/plays", json={"song_id": 3}).status_code == 204
    wait_for(lambda: client.get("/api/v1/songs/3").json()["plays"] == before + 1)
    history = client.get("/api/v1/listens").json()[-1]
    assert (history["name"], history["format"], history["rows"]) == ("played with nearsong", "played", 1)
    assert client.delete(f"/api/v1/listens/{history['id']}").status_code == 204
    assert noted(trained) == []


def test_the_last_plays_become_listens_when_the_service_ends(trained):
    service = Service(trained)
    service.start()
    trained.play_log.record(3)
    service.close()
    assert trained.play_log.pending() == 0
    assert [source.format for source in trained.listens()][-1] == "played"


def test_a_service_that_keeps_no_plays_makes_no_listens_of_them(trained):
    service = Service(trained, ServeSettings(plays=False))
    service.start()
    trained.play_log.record(3)
    service.close()
    assert trained.play_log.pending() == 1


def test_plays_that_cannot_become_listens_now_stay_plays(trained, monkeypatch, caplog):
    from nearsong.errors import LibraryError
    from nearsong.library.listeners.recorded.plays import PlayLog

    def full(_self):
        raise LibraryError("the library cannot grow: the disk is full")

    service = Service(trained)
    service.start()
    trained.play_log.record(3)
    with monkeypatch.context() as patch:
        patch.setattr(PlayLog, "update_history", full)
        service.close()
    assert "could not be stored as a listening history yet: the library cannot grow" in caplog.text
    assert trained.play_log.pending() == 1


# ---- players


@pytest.fixture
def player(trained_file, tmp_path):
    with playing(trained_file, tmp_path) as found:
        yield found


def test_players_report_what_was_played_when(player):
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


def test_that_a_song_plays_just_now_is_accepted_and_not_stored(player):
    player.ask("scrobble", id=1, submission="false")
    player.ask("scrobble", id=1, submission="False", time=5)
    assert player.fails("scrobble", id=99999, submission="false")[0] == 70
    assert noted(player.service.library) == []


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({}, 10, "the parameter id is missing"),
        ({"id": 99999}, 70, "song not found: 99999"),
        ({"id": [1, "x"]}, 70, "song not found: 'x'"),
        ({"id": 1, "time": "noon"}, 0, "time='noon' is not an integer"),
        ({"id": 1, "time": [1_700_000_000_000] * 2}, 0, "2 times for 1 songs"),
        ({"id": 1, "time": 1_700_000_000}, 0, "before the year 2000; check the clock"),
        ({"id": 1, "time": 9_999_999_999_999_999}, 0, "in the future; check the clock"),
    ],
)
def test_what_cannot_have_been_played_is_refused(player, asked, code, words):
    failed, message = player.fails("scrobble", **asked)
    assert failed == code
    assert words in message
    assert noted(player.service.library) == []


def test_what_an_offline_player_reports_is_stored_once_though_one_of_its_songs_is_gone(player):
    library, start = player.service.library, 1_700_000_000
    queue = {"id": [1, 99999, 2, 1], "time": [1000 * (start + 300 * n) for n in range(4)], "u": "anna"}
    for _ in range(3):
        assert player.fails("scrobble", **queue)[0] == 70
    assert [when - start for *_, when in noted(library)] == [0, 600, 900]
