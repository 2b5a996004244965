"""What scrobblers of Last.fm may send and get, in XML and JSON, and what their sessions survive."""

import hashlib
import time
import xml.etree.ElementTree as ET

import httpx
import pytest

from nearsong.library import Library
from nearsong.web.settings import ServeSettings
from running_service import running

NOON = 1_700_000_000


def call(http, method, **asked):
    return http.post("/2.0/", data={"method": method, "format": "json", "api_key": "k", "api_sig": "s", **asked})


def error_of(response):
    body = response.json()
    assert set(body) == {"error", "message"}, body
    assert "\n" not in body["message"]
    return response.status_code, body["error"]


def log_in(http, user, password):
    session = call(http, "auth.getMobileSession", username=user, password=password).json()["session"]
    return session["name"], session["key"]


def md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def test_every_way_to_log_in_gives_the_same_session(http, served):
    name, key = log_in(http, "ben", served.password)
    assert (name, len(key)) == ("Ben", 64)
    for user, signed in (("Ben", "Ben"), ("BEN", "ben")):
        token = md5(signed + md5(served.password))
        answer = call(http, "auth.getMobileSession", username=user, authToken=token)
        assert answer.json()["session"] == {"name": "Ben", "key": key, "subscriber": 0}
    xml = http.post("/2.0", data={"method": "auth.getmobilesession", "username": "Ben", "password": served.password})
    root = ET.fromstring(xml.text)
    assert (root.tag, root.get("status"), root.findtext("session/key")) == ("lfm", "ok", key)


def test_wrong_passwords_and_sessions_are_refused_and_limited(http, served):
    assert error_of(call(http, "auth.getMobileSession", username="Ben", password="wrong")) == (403, 4)
    assert error_of(call(http, "auth.getMobileSession", username="Ben", password=served.ben)) == (403, 4)
    assert error_of(call(http, "auth.getMobileSession", username="Anna", password=served.password)) == (403, 4)
    assert error_of(call(http, "auth.getMobileSession", username="Ben")) == (400, 6)
    assert error_of(call(http, "auth.getMobileSession", password="x")) == (400, 6)
    for key in ("", "wrong", "open-42656e", "0" * 64, "0" * 64 + "-42656e"):
        assert error_of(call(http, "user.getInfo", sk=key)) == (403, 9)
    found = [error_of(call(http, "user.getInfo", sk=f"{n}")) for n in range(4)]
    assert found == [(403, 9)] * 2 + [(429, 29)] * 2
    assert log_in(http, "Ben", served.password)[0] == "Ben"


def test_a_session_survives_a_restart_and_ends_with_its_password(tmp_path):
    settings = ServeSettings(port=0, token="correct-horse-battery-staple-4242")
    with Library.open(tmp_path / "library.sqlite") as library:
        library.accounts.add("Ben")
        password = library.accounts.renew_app_password("Ben")
        with running(library, settings) as address, httpx.Client(base_url=address) as http:
            _, own = log_in(http, "Ben", password)
            _, shared = log_in(http, "The Kitchen", settings.token)
        server = running(library, settings)
        with server as address, httpx.Client(base_url=address) as http:
            assert call(http, "user.getInfo", sk=own).json()["user"]["name"] == "Ben"
            assert call(http, "user.getInfo", sk=shared).json()["user"]["name"] == "The Kitchen"
            library.accounts.renew_app_password("Ben")
            server.service.accounts.refresh()
            assert error_of(call(http, "user.getInfo", sk=own)) == (403, 9)
            assert call(http, "user.getInfo", sk=shared).status_code == 200


def test_in_an_open_service_the_listener_is_the_user_name(open_service):
    with httpx.Client(base_url=open_service.address) as http:
        name, key = log_in(http, "Zoë", "anything")
        assert name == "Zoë"
        answer = call(http, "track.scrobble", sk=key, artist="Ann", track="One", timestamp=NOON)
        assert answer.json()["scrobbles"]["@attr"] == {"accepted": 1, "ignored": 0}
        assert open_service.played("Zoë") == [("Ann", "One", NOON)]
        assert error_of(call(http, "user.getInfo", sk="wrong")) == (403, 9)


def test_a_single_scrobble_in_json_and_in_xml(http, served):
    _, key = log_in(http, "Ben", served.password)
    asked = {"sk": key, "artist": "Björk & <x>", "track": "Jóga", "timestamp": NOON, "album": "Homogenic"}
    body = call(http, "track.scrobble", **asked).json()["scrobbles"]
    assert body["@attr"] == {"accepted": 1, "ignored": 0}
    assert body["scrobble"]["track"] == {"corrected": "0", "#text": "Jóga"}
    assert body["scrobble"]["ignoredMessage"] == {"code": "0", "#text": ""}
    assert body["scrobble"]["timestamp"] == str(NOON)
    root = ET.fromstring(call(http, "track.scrobble", **{**asked, "format": "xml", "timestamp": NOON + 500}).text)
    assert root.find("scrobbles").attrib == {"accepted": "1", "ignored": "0"}
    assert root.findtext("scrobbles/scrobble/artist") == "Björk & <x>"
    assert root.find("scrobbles/scrobble/ignoredMessage").get("code") == "0"
    assert [time for *_, time in served.played("Ben")] == [NOON + 500, NOON]


def test_of_a_batch_what_cannot_be_right_is_ignored_with_the_reason(http, served):
    _, key = log_in(http, "Ben", served.password)
    future = int(time.time()) + 90_000
    plays = [("Ann", "One", NOON), ("", "x", NOON), ("Ann", "\x00", NOON), ("Ann", "x", 5), ("Ann", "x", future)]
    plays += [("Ann", "x", "soon"), ("Ann", "x", "9" * 400), ("Ann", "One", NOON + 3)]
    asked = {}
    for n, (artist, track, at) in enumerate(plays):
        asked |= {f"artist[{n}]": artist, f"track[{n}]": track, f"timestamp[{n}]": at}
    body = call(http, "track.scrobble", sk=key, **asked).json()["scrobbles"]
    assert body["@attr"] == {"accepted": 2, "ignored": 6}
    assert [one["ignoredMessage"]["code"] for one in body["scrobble"]] == list("01234330")
    assert served.played("Ben") == [("Ann", "One", NOON)]


@pytest.mark.parametrize(
    ("method", "asked", "error"),
    [
        ("track.scrobble", {"artist": "a", "track": "b"}, (400, 6)),
        ("track.scrobble", {"artist[0]": "a", "track[0]": "b"}, (400, 6)),
        ("track.scrobble", {}, (400, 6)),
        ("track.scrobble", {f"artist[{n}]": "a" for n in range(51)}, (400, 6)),
        ("track.love", {"artist": "", "track": "b"}, (400, 6)),
        ("track.getInfo", {}, (400, 3)),
        ("", {}, (400, 3)),
        ("user.getInfo", {"user": "Anna"}, (400, 6)),
    ],
)
def test_what_cannot_work_has_a_code(http, served, method, asked, error):
    _, key = log_in(http, "Ben", served.password)
    assert error_of(call(http, method, sk=key, **asked)) == error


def test_nothing_is_written_by_a_link(http, served):
    _, key = log_in(http, "Ben", served.password)
    asked = {"sk": key, "artist": "a", "track": "b", "timestamp": NOON, "format": "json"}
    for method in ("track.scrobble", "track.updateNowPlaying", "track.love", "auth.getMobileSession"):
        assert error_of(http.get("/2.0/", params={"method": method, **asked})) == (400, 6)
    assert http.get("/2.0/", params={"method": "user.getinfo", **asked}).json()["user"]["playcount"] == 0


def test_what_plays_now_is_not_recorded(http, served):
    _, key = log_in(http, "Ben", served.password)
    asked = {"sk": key, "artist": "Ann", "track": "One", "duration": 200}
    body = call(http, "track.updateNowPlaying", **asked).json()["nowplaying"]
    assert (body["artist"]["#text"], body["ignoredMessage"]["code"]) == ("Ann", "0")
    assert served.service.now_playing.of("Ben").track.title == "One"
    assert served.played("Ben") == []


def test_a_heart_for_a_track_that_the_library_does_not_have_is_ignored(http, served):
    _, key = log_in(http, "Ben", served.password)
    assert call(http, "track.love", sk=key, artist="Ann", track="One").json() == {}
    assert served.library.play_log.counts()[0] == 0


def test_a_service_that_records_no_plays_says_so(tmp_path):
    settings = ServeSettings(port=0, plays=False)
    with (
        Library.open(tmp_path / "library.sqlite") as library,
        running(library, settings) as address,
        httpx.Client(base_url=address) as http,
    ):
        _, key = log_in(http, "Ben", "x")
        asked = {"sk": key, "artist": "a", "track": "b", "timestamp": NOON}
        for method in ("track.scrobble", "track.updateNowPlaying", "track.love"):
            assert error_of(call(http, method, **asked)) == (403, 26)
