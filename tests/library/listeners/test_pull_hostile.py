"""A service that is broken or hostile ends a pull with one line: no traceback, no endless loop, no key in it."""

import socket
import threading
import time
from contextlib import closing

import pytest

from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull import from_lastfm, from_listenbrainz, http_json, subsonic_server, walk
from nearsong.library.listeners.pull.http_json import HttpJson, checked_url, is_private
from nearsong.library.listeners.pull.pulling import pull_listens
from nearsong.library.store import Store
from pull_servers import FakeLastfm, FakeListenBrainz, Scripted, serving, some_listens

TOKEN = "secret-token-0f3a"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(from_lastfm.KEY_VARIABLE, FakeLastfm.key)
    monkeypatch.setenv(from_listenbrainz.TOKEN_VARIABLE, TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "library.sqlite")) as opened:
        yield opened


def error_of(store, url, service="listenbrainz", name="ann") -> str:
    """Return the one line that a pull ends with."""
    with pytest.raises(ListensError) as caught:
        pull_listens(store, service, name, url=url, pause=lambda seconds: None)
    text = str(caught.value)
    assert text
    assert "\n" not in text
    assert len(text) < 300
    assert TOKEN not in text
    assert FakeLastfm.key not in text
    assert caught.value.__cause__ is None
    return text


def listens_page(*times, **more):
    listens = [{"listened_at": t, "track_metadata": {"artist_name": "A", "track_name": "S"}, **more} for t in times]
    return {"payload": {"listens": listens}}


ANSWERS = {
    "html": b"<!doctype html>",
    "nothing": b"",
    "text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "deep payload": b'{"payload": {"listens": ' + b'{"a":' * 100_000,
    "number": b"1" * 100_000,
    "null": None,
    "list": [],
    "text payload": {"payload": "x"},
    "no listens": {"payload": {"listens": {"a": 1}}},
    "listens of nothing": {"payload": {"listens": [None, 3, "x", [], {}]}},
    "no metadata": {"payload": {"listens": [{"listened_at": 1_600_000_000, "track_metadata": 7}]}},
    "times": listens_page("x", None, [], {}, True, -5, 1e300, 10**400, "9" * 5000),
    "infinite": b'{"payload": {"listens": [{"listened_at": Infinity, "track_metadata": {"artist_name": "A"}}]}}',
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("service", ["listenbrainz", "lastfm"])
def test_an_answer_that_makes_no_sense_is_one_line(store, answer, service):
    with serving(Scripted(lambda number, path, asked: (200, answer))) as url:
        assert "127.0.0.1" in error_of(store, url, service)
    assert store.listens.histories() == []


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_subsonic_server_that_makes_no_sense_is_one_line(store, answer, monkeypatch):
    monkeypatch.setenv(subsonic_server.PASSWORD_VARIABLE, "sesame")

    def say(number, path, asked):
        if number == 1:
            return 200, {"subsonic-response": {"status": "ok"}}
        return 200, answer

    with serving(Scripted(say)) as url:
        error_of(store, url, "subsonic")
    with serving(Scripted(lambda number, path, asked: (200, answer))) as url:
        error_of(store, url, "subsonic")


WRONG_LASTFM = {
    "track of text": {"recenttracks": {"track": "x"}},
    "tracks of numbers": {"recenttracks": {"track": [1, 2, 3]}},
    "no date": {"recenttracks": {"track": [{"artist": {"#text": "A"}, "name": "S"}]}},
    "date of text": {"recenttracks": {"track": [{"artist": {"#text": "A"}, "name": "S", "date": "x"}]}},
    "error of text": {"error": "x", "message": ["y"]},
    "error without words": {"error": 99},
}


@pytest.mark.parametrize("answer", WRONG_LASTFM.values(), ids=WRONG_LASTFM.keys())
def test_a_wrong_page_of_last_fm_is_one_line(store, answer):
    with serving(Scripted(lambda number, path, asked: (200, answer))) as url:
        error_of(store, url, "lastfm")


def test_songs_of_a_subsonic_server_with_wrong_types_are_skipped_or_one_line(store, monkeypatch):
    monkeypatch.setenv(subsonic_server.PASSWORD_VARIABLE, "sesame")
    songs = [
        {"id": 1, "artist": "A", "title": "T", "playCount": "many", "userRating": 10**400, "starred": 7},
        {"id": {"a": []}, "artist": ["B"], "title": None, "playCount": 1e300, "userRating": True},
        {"playCount": 3},
        "x",
        None,
    ]
    found = {"status": "ok", "searchResult3": {"song": songs}, "starred2": {"song": "x"}}
    with serving(Scripted(lambda number, path, asked: (200, {"subsonic-response": found}))) as url:
        report = pull_listens(store, "subsonic", "ann", url=url)
    assert (report.rows, report.hearts) == (1, 1)
    assert report.bad_rows == 1


def test_a_server_that_lists_the_same_songs_for_ever_is_left(store, monkeypatch):
    monkeypatch.setenv(subsonic_server.PASSWORD_VARIABLE, "sesame")
    songs = [{"id": str(i), "artist": "A", "title": "T", "playCount": 1} for i in range(500)]
    found = {"subsonic-response": {"status": "ok", "searchResult3": {"song": songs}}}
    with serving(Scripted(lambda number, path, asked: (200, found))) as url:
        assert "again and again" in error_of(store, url, "subsonic")


def test_pages_that_never_get_older_end(store):
    page = listens_page(*(1_600_000_000 - i for i in range(100)))
    service = Scripted(lambda number, path, asked: (200, page))
    with serving(service) as url:
        assert "time that was asked for" in error_of(store, url)
    assert len(service.requests) < 10
    (history,) = store.listens.histories()
    assert history.rows == 100


def test_pages_that_only_get_newer_end(store):
    service = Scripted(lambda number, path, asked: (200, listens_page(1_600_000_000 + 1_000 * number)))
    with serving(service) as url:
        error_of(store, url)
    assert len(service.requests) < 10


def test_small_pages_without_an_end_are_left(store, monkeypatch):
    monkeypatch.setattr(walk, "MAX_SPARSE_PAGES", 20)
    service = Scripted(lambda number, path, asked: (200, listens_page(int(asked.get("max_ts", 1_600_000_000)) - 2)))
    with serving(service) as url:
        assert "has no end" in error_of(store, url)
    assert len(service.requests) < 70


def test_pages_without_an_end_are_left(store, monkeypatch):
    monkeypatch.setattr(walk, "MAX_PAGES", 20)

    def say(number, path, asked):
        start = int(asked.get("max_ts", 1_600_000_000)) - 2
        return 200, listens_page(*(start - i for i in range(10)))

    with serving(Scripted(say)) as url:
        assert "has no end" in error_of(store, url)


def test_hearts_without_an_end_are_left(store, monkeypatch):
    monkeypatch.setattr(from_listenbrainz, "MAX_HEART_PAGES", 20)

    def say(number, path, asked):
        if "feedback" not in path:
            return 200, listens_page()
        return 200, {"feedback": [{"track_metadata": {"artist_name": "A", "track_name": str(number)}}]}

    with serving(Scripted(say)) as url:
        assert pull_listens(store, "listenbrainz", "ann", url=url, pause=lambda seconds: None).hearts == 20


def test_a_page_with_more_rows_than_asked_for_is_stored(store):
    page = listens_page(*(1_600_000_000 - i for i in range(5_000)))
    service = Scripted(lambda number, path, asked: (200, page if "max_ts" not in asked else listens_page()))
    with serving(service) as url:
        assert pull_listens(store, "listenbrainz", "ann", url=url, pause=lambda seconds: None).rows == 5_000


def test_an_answer_without_an_end_is_left(store, monkeypatch):
    monkeypatch.setattr(http_json, "MAX_ANSWER_BYTES", 1 << 20)

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 65_536)

    with serving(Scripted(lambda number, path, asked: (200, endless))) as url:
        assert "more than 1 MB" in error_of(store, url)


def test_a_server_that_sends_a_byte_at_a_time_is_left(store, monkeypatch):
    monkeypatch.setattr(http_json, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(http_json, "MAX_ATTEMPTS", 2)

    def slow(handler):
        for letter in "HTTP/1.0 200 OK\r\nX-Slow: " + "y" * 100:
            handler.wfile.write(letter.encode())
            time.sleep(0.05)

    started = time.monotonic()
    with serving(Scripted(lambda number, path, asked: (200, slow))) as url:
        assert "within 0 s" in error_of(store, url)
    assert time.monotonic() - started < 10


def test_something_that_does_not_speak_http_is_one_line(store, monkeypatch):
    monkeypatch.setattr(http_json, "MAX_ATTEMPTS", 2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(b"SSH-2.0-x\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert "does not speak HTTP" in error_of(store, f"http://127.0.0.1:{server.getsockname()[1]}")
        thread.join(5)


def test_nobody_at_the_address_is_one_line(store):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "Connection refused" in error_of(store, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_server_is_refused_and_the_token_not_sent(store, status):
    other = FakeListenBrainz(some_listens(3))
    with serving(other) as there:
        service = Scripted(lambda number, path, asked: (status, None))
        for address in (
            there,
            there.replace("127.0.0.1", "localhost"),
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            "//x",
        ):
            service.headers = {"Location": address + "/1/user/ann/listens"}
            with serving(service) as url:
                assert "another server" in error_of(store, url)
    assert other.requests == []


def test_a_redirect_on_the_same_server_is_followed_but_not_for_ever(store):
    service = FakeListenBrainz(some_listens(3))
    with serving(service) as url:
        service.faults = [{"status": 302, "headers": {"Location": "/1/user/ann/listens?count=100"}, "body": {}}]
        assert pull_listens(store, "listenbrainz", "ann", url=url, pause=lambda seconds: None).rows == 3
    loop = Scripted(lambda number, path, asked: (302, None))
    loop.headers = {"Location": "/1/user/ann/listens"}
    with serving(loop) as url:
        assert "redirects more than" in error_of(store, url)


def test_a_server_that_echoes_the_key_does_not_get_it_printed(store):
    def say(number, path, asked):
        return 403, {"error": 10, "message": f"no such key: {asked['api_key']}\x1b[2J\n" + "x" * 10_000}

    with serving(Scripted(say)) as url:
        assert "no such key: [secret]" in error_of(store, url, "lastfm")
    with serving(Scripted(lambda number, path, asked: (401, {"error": f"no {TOKEN}"}))) as url:
        text = error_of(store, url)
    assert text.endswith(f"refuses: no [secret]; check {from_listenbrainz.TOKEN_VARIABLE}.")


def test_who_is_unknown_or_hidden_is_said(store):
    with serving(FakeLastfm([])) as url:
        assert "User not found; check the user name." in error_of(store, f"{url}/2.0", "lastfm", "ben")
    with serving(Scripted(lambda n, path, asked: (403, {"error": 17, "message": "Login required"}))) as url:
        assert "privacy settings" in error_of(store, url, "lastfm")
    service = FakeListenBrainz([])
    service.token = TOKEN
    with serving(service) as url:
        assert "Cannot find user: x&y z; check the user name 'x&y z'" in error_of(store, url, name="x&y z")
        assert service.requests[-1]["headers"]["Authorization"] == f"Token {TOKEN}"


def test_too_long_a_pause_is_said_instead_of_made(store):
    service = FakeListenBrainz([])
    with serving(service) as url:
        service.faults = [{"status": 429, "headers": {"Retry-After": "86400"}, "body": {}}]
        assert "come back in 86,400 s" in error_of(store, url)
        service.faults = [{"status": 429, "headers": {"Retry-After": "9" * 400}, "body": {}}] * 7
        assert "HTTP 429" in error_of(store, url)


def test_attempts_are_bounded_and_back_off_grows(store):
    service = FakeListenBrainz([])
    pauses = []
    with serving(service) as url:
        service.faults = [500] * 50
        with pytest.raises(ListensError, match="HTTP 500"):
            pull_listens(store, "listenbrainz", "ann", url=url, pause=pauses.append)
    assert len(service.requests) == http_json.MAX_ATTEMPTS
    assert pauses[-1] > 8 > 4 * pauses[0] > 0


NO_ADDRESSES = """ftp://x file:///etc/passwd x http:// http://x:y http://x:0 http://[:: //x http://ann:pw@x http://ann@x
    http://x/?a=1 http://x/#a http://ü.example"""


@pytest.mark.parametrize("url", [*NO_ADDRESSES.split(), "", "http://a b", "http://x\n"])
def test_only_plain_http_addresses_are_accepted(url):
    with pytest.raises(InvalidInputError, match="the URL"):
        checked_url(url)


def test_who_can_read_what_is_sent():
    assert is_private("https://x.example")
    assert is_private("http://127.0.0.1:4040")
    assert is_private("http://[::1]:4040")
    assert not is_private("http://192.168.1.2")
    assert not is_private("http://x.example")


def test_without_a_key_one_line_says_where_to_get_one(store, monkeypatch):
    monkeypatch.delenv(from_lastfm.KEY_VARIABLE)
    with pytest.raises(InvalidInputError, match=r"https://www.last.fm/api/account/create .* NEARSONG_LASTFM_KEY"):
        pull_listens(store, "lastfm", "ann")
    monkeypatch.delenv(subsonic_server.PASSWORD_VARIABLE, raising=False)
    with pytest.raises(InvalidInputError, match="NEARSONG_SUBSONIC_PASSWORD"):
        pull_listens(store, "subsonic", "ann", url="http://127.0.0.1")
    monkeypatch.setenv(from_listenbrainz.TOKEN_VARIABLE, "two words\nX-Other: 1")
    with pytest.raises(InvalidInputError, match="does not hold a key"):
        pull_listens(store, "listenbrainz", "ann")
    with pytest.raises(InvalidInputError, match="the user name needs"):
        pull_listens(store, "listenbrainz", " ")
    with pytest.raises(InvalidInputError, match="'x' is not a service"):
        pull_listens(store, "x", "ann")


def test_a_certificate_that_is_not_valid_is_not_accepted(store):
    server = HttpJson("https://127.0.0.1")
    https = next(handler for handler in server._opener.handlers if type(handler).__name__ == "HTTPSHandler")
    assert https._context.verify_mode.name == "CERT_REQUIRED"
    assert https._context.check_hostname
