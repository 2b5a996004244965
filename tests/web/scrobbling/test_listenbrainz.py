"""What clients of ListenBrainz may send and get, beyond what the ones in other tests do."""

import json
import time

import httpx
import pytest

from nearsong.library import Library
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.settings import ServeSettings
from running_service import running

NOON = 1_700_000_000


def listen(title="One", artist="Ann", at=NOON, **info):
    metadata = {"artist_name": artist, "track_name": title, "additional_info": info}
    return {"track_metadata": metadata, **({} if at is None else {"listened_at": at})}


def submit(http, token, listens, listen_type="import"):
    head = {"Authorization": f"Token {token}"}
    return http.post("/1/submit-listens", json={"listen_type": listen_type, "payload": listens}, headers=head)


def refusal(response, status):
    """Return the words of an error, which has the form of ListenBrainz."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert (set(body), body["code"]) == ({"code", "error"}, status)
    assert "\n" not in body["error"]
    return body["error"]


def test_a_token_is_checked_in_both_ways(http, served):
    for asked in ({"headers": {"Authorization": f"Token {served.ben}"}}, {"params": {"token": served.ben}}):
        answer = http.get("/1/validate-token", **asked)
        valid = {"code": 200, "message": "Token valid.", "valid": True, "user_name": "Ben"}
        assert (answer.status_code, answer.json()) == (200, valid)
    assert http.get("/1/validate-token", params={"token": served.token}).json()["user_name"] == "me"
    wrong = http.get("/1/validate-token", params={"token": "wrong"})
    assert (wrong.status_code, wrong.json()) == (200, {"code": 200, "message": "Token invalid.", "valid": False})
    assert "no token was sent" in refusal(http.get("/1/validate-token"), 400)


def test_one_invalid_listen_and_nothing_of_the_request_is_stored(http, served):
    good = listen("Good")
    for bad in (listen(""), listen(artist=" "), {"listened_at": NOON}, listen(at=5), listen(at=None), 7, None, []):
        assert refusal(submit(http, served.ben, [good, bad]), 400).startswith("payload[1]: ")
    assert served.played("Ben") == []
    assert submit(http, served.ben, [good]).json() == {"status": "ok"}


def test_types_and_numbers_of_listens(http, served):
    assert "send one, or the type import" in refusal(submit(http, served.ben, [listen()] * 2, "single"), 400)
    assert "not one of single, playing_now, import" in refusal(submit(http, served.ben, [listen()], "x"), 400)
    assert "is empty" in refusal(submit(http, served.ben, []), 400)
    assert "send at most 1,000" in refusal(submit(http, served.ben, [listen()] * 1_001), 400)
    assert "more than 10,240 bytes" in refusal(submit(http, served.ben, [listen(x="y" * 20_000)]), 413)
    assert submit(http, served.ben, [listen(at=str(NOON))], "single").json() == {"status": "ok"}
    assert served.played("Ben") == [("Ann", "One", NOON)]


def test_a_body_that_is_too_large_is_refused_in_the_same_form(http, served):
    head = {"Authorization": f"Token {served.ben}"}
    large = b'{"listen_type": "import", "payload": [' + b" " * (4 << 20) + b"]}"
    assert "larger than 4 MB" in refusal(http.post("/1/submit-listens", content=large, headers=head), 413)
    chunks = (large[start : start + 65_536] for start in range(0, len(large), 65_536))
    assert "larger than 4 MB" in refusal(http.post("/1/submit-listens", content=chunks, headers=head), 413)


def test_the_token_of_the_service_is_the_listener_without_an_account(http, served):
    assert submit(http, served.token, [listen()]).json() == {"status": "ok"}
    assert served.played("me") == [("Ann", "One", NOON)]
    head = {"Authorization": f"Bearer {served.token}"}
    assert http.get("/1/user/Ben/listen-count", headers=head).json() == {"payload": {"count": 0}}


def test_without_a_right_token_nothing_is_read_or_written_and_guesses_are_limited(http, served):
    for path in ("/1/user/Ben/listens", "/1/user/Ben/listen-count", "/1/user/Ben/playing-now"):
        assert "no token was sent" in refusal(http.get(path), 401)
    assert "no token was sent" in refusal(http.post("/1/submit-listens", content=b"{}"), 401)
    statuses = [submit(http, f"wrong {n}", [listen()]).status_code for n in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    answer = http.get("/1/validate-token", params={"token": "wrong"})
    assert "too many wrong tokens" in refusal(answer, 429)
    assert answer.headers["X-RateLimit-Reset-In"] == answer.headers["Retry-After"]
    assert submit(http, served.ben, [listen()]).status_code == 200
    assert http.get("/api/v1/songs", headers={"Authorization": "Bearer wrong"}).status_code == 429


def test_plays_of_an_address_are_limited(http, served):
    served.service.play_limit = RateLimit(3, per=3600)
    assert submit(http, served.ben, [listen(at=NOON + 100 * n) for n in range(3)]).status_code == 200
    assert "too many plays; try again" in refusal(submit(http, served.ben, [listen(at=NOON + 999)]), 429)


def test_a_service_that_records_no_plays_says_so(tmp_path):
    settings = ServeSettings(port=0, plays=False)
    with (
        Library.open(tmp_path / "library.sqlite") as library,
        running(library, settings) as address,
        httpx.Client(base_url=address) as http,
    ):
        words = "this service does not record plays; start it without --no-plays."
        assert refusal(submit(http, "x", [listen()]), 403) == words
        assert refusal(submit(http, "x", [listen(at=None)], "playing_now"), 403) == words
        assert http.get("/1/user/me/playing-now").json()["payload"]["listens"] == []


def test_pages_of_other_sites_cannot_write_to_an_open_service(open_service):
    body = json.dumps({"listen_type": "single", "payload": [listen()]})
    for head in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        for path in ("/1/submit-listens", "/2.0/", "/2.0"):
            assert httpx.post(open_service.address + path, content=body, headers=head).status_code == 403
    assert open_service.played("me") == []


@pytest.mark.parametrize("count", ["x", "-1", "1e3", "9" * 40, "٣"])
def test_what_is_no_number_is_refused(http, served, count):
    head = {"Authorization": f"Token {served.ben}"}
    for name in ("count", "min_ts", "max_ts"):
        answer = http.get("/1/user/Ben/listens", params={name: count}, headers=head)
        assert f"{name}=" in refusal(answer, 400)


def test_what_is_not_supported_is_not_found(http, served):
    head = {"Authorization": f"Token {served.ben}"}
    assert "not supported here" in refusal(http.get("/1/stats/user/Ben/artists", headers=head), 404)
    assert "not supported here" in refusal(http.get("/1/submit-listens", headers=head), 404)
    assert "not supported here" in refusal(http.post("/1/delete-listen", headers=head), 404)


def test_an_import_of_a_thousand_listens_is_quick(http, served):
    now = int(time.time())
    listens = [listen(f"Song {n}", "Ann", now - 240 * n) for n in range(1_000)]
    assert submit(http, served.ben, listens).json() == {"status": "ok"}
    assert len(served.played("Ben")) == 1_000
