"""Who may come in, and what a browser is sent: every line of the design, one claim each."""

import hmac
from unittest import mock

import pytest

from nearsong.errors import InvalidInputError
from nearsong.library import token_hash
from nearsong.web.http.authentication import COOKIE, OPEN_PREFIXES, WRONG_TOKENS_PER_MINUTE
from nearsong.web.http.security import HEADERS
from nearsong.web.settings import ServeSettings
from token_authentication import token_authentication

TOKEN = "correct-horse-battery-staple-4242"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(make_client):
    return make_client(token=TOKEN)


@pytest.fixture
def closed(shared_client):
    """The same for all tests here that give no wrong token, since those are counted."""
    return shared_client(token=TOKEN)


# ---- where a token is needed


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST"])
def test_loopback_needs_no_token(host):
    assert ServeSettings(host=host).is_for_this_machine


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "music.example"])
def test_any_other_address_refuses_to_start_without_one(host):
    with pytest.raises(InvalidInputError, match="can be reached by others, so a token is needed"):
        ServeSettings(host=host)
    assert not ServeSettings(host=host, token=TOKEN).is_for_this_machine


def test_another_name_needs_a_token_too():
    with pytest.raises(InvalidInputError, match="--host-name lets others connect, so a token is needed"):
        ServeSettings(host_names=("music.example",))
    assert not ServeSettings(host_names=("music.example",), token=TOKEN).is_for_this_machine


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("12345", "the token has 5 characters"),
        ("correct-horse-42", "the token has 16 characters"),
        ("0123456789abcdef" * 2, None),
        (("0123456789abcdef" * 2)[1:], "the token has 31 characters"),
        ("0123456789" * 4, None),
        (("0123456789" * 4)[2:], "the token has 38 digits"),
        ("abcab" * 10, "the token repeats 3 characters"),
    ],
)
def test_a_token_of_less_than_128_bits_is_refused_in_a_line_that_says_what_to_do(token, words):
    if words is None:
        assert ServeSettings(token=token).token == token
        return
    with pytest.raises(InvalidInputError, match=f"{words} and could be guessed; .*`openssl rand -hex 32`") as caught:
        ServeSettings(token=token)
    assert token not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_token_that_a_header_cannot_hold_is_refused():
    for token in ("ümlaut-" * 6, "line\nbreak-" * 4, " padded-" * 6):
        with pytest.raises(InvalidInputError, match="not allowed in a header"):
            ServeSettings(token=token)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(InvalidInputError, match="port"):
        ServeSettings(port=port)


# ---- the token


PRIVATE = [
    "/api/v1/status",
    "/api/v1/songs",
    "/api/v1/songs/1/audio",
    "/api/v1/files",
    "/api/v1/metrics",
    "/metrics",
    "/openapi.json",
    "/docs",
]


@pytest.mark.parametrize(
    "path", [*PRIVATE, "/static/index.html", "/static/js/app.js", "/static/login.html", "/api/v1/x"]
)
def test_everything_private_demands_the_token(closed, path):
    answer = closed.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="nearsong"'
    assert answer.headers["content-type"] == "application/problem+json"
    assert closed.get(path, headers=BEARER).status_code in (200, 404)


OPEN = ["/api/v1/health", "/login", "/static/css/tokens.css", "/static/fonts/OFL.txt", "/static/icon.svg"]


@pytest.mark.parametrize("path", OPEN)
def test_what_a_monitor_and_the_log_in_page_need_is_open(closed, path):
    assert closed.get(path).status_code == 200


def test_the_log_in_page_needs_nothing_that_is_not_open(closed):
    import re

    for address in re.findall(r'(?:src|href)="([^"]+)"', closed.get("/login").text):
        assert closed.get(address).status_code == 200, address


def test_rest_has_its_own_password_and_open_paths_do_not_lead_elsewhere(guarded):
    assert guarded.get("/rest/ping.view").status_code != 401
    assert "/rest/" in OPEN_PREFIXES
    for path in ("/rest/../api/v1/songs", "/static/css/../js/app.js", "/static/css/%2e%2e/js/app.js"):
        assert guarded.get(path).status_code in (401, 404), path


@pytest.mark.parametrize(
    "given", ["Bearer wrong-wrong-wrong", "bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_a_wrong_token_is_401_and_says_so(guarded, given):
    answer = guarded.get("/api/v1/songs", headers={"Authorization": given})
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize("given", [f"Basic {TOKEN}", "Bearer", "Bearer ", TOKEN, b"Bearer \xff\xfe"])
def test_what_is_no_token_at_all_does_not_let_in(guarded, given):
    assert guarded.get("/api/v1/songs", headers={"Authorization": given}).status_code == 401


def test_tokens_are_looked_up_by_their_hashes_and_passwords_compared_in_constant_time(guarded):
    with mock.patch("nearsong.web.http.callers.token_hash", wraps=token_hash) as hashed:
        assert guarded.get("/api/v1/songs", headers=BEARER).status_code == 200
    assert mock.call(TOKEN) in hashed.call_args_list
    with mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compared:
        guarded.get("/rest/ping", params={"u": "me", "p": TOKEN})
    assert [call.args for call in compared.call_args_list] == [(TOKEN.encode(), TOKEN.encode())]


# ---- log-in


def test_logging_in_sets_a_cookie_that_is_not_the_token(guarded):
    answer = guarded.post("/login", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert TOKEN not in cookie
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="):
        assert attribute in cookie
    assert "Secure" not in cookie
    assert guarded.get("/api/v1/songs").status_code == 200
    assert guarded.get("/login").headers["location"] == "/"


def test_the_cookie_of_another_token_does_not_let_in(guarded, make_client):
    other = make_client(token="another-token-another-token-another").post(
        "/login", data={"token": "another-token-another-token-another"}
    )
    value = other.cookies[COOKIE]
    for odd in (value, "", "x", TOKEN, '"', "a=b;c"):
        assert guarded.get("/api/v1/songs", headers={"Cookie": f"{COOKIE}={odd}"}).status_code == 401


def test_behind_https_the_cookie_is_for_https_alone(make_client):
    secure = make_client(token=TOKEN, secure_cookie=True).post("/login", data={"token": TOKEN})
    assert "Secure" in secure.headers["set-cookie"]
    seen = make_client(token=TOKEN, address="https://127.0.0.1").post("/login", data={"token": TOKEN})
    assert "Secure" in seen.headers["set-cookie"]


def test_a_wrong_log_in_leads_back_to_the_log_in(guarded):
    answer = guarded.post("/login", data={"token": "wrong"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?wrong=1#wrong")
    assert "set-cookie" not in answer.headers


def test_a_link_with_the_token_becomes_a_cookie_and_an_address_without_it(guarded):
    answer = guarded.get(f"/?token={TOKEN}&x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?x=1")
    assert answer.headers["cache-control"] == "no-store"
    assert guarded.get("/").status_code == 200
    wrong = guarded.get("/?token=wrong")
    assert wrong.headers["location"] == "/login?wrong=1"


def test_a_person_without_the_cookie_is_led_to_the_log_in(guarded):
    answer = guarded.get("/", headers={"Accept": "text/html,*/*"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert guarded.get("/api/v1/songs", headers={"Accept": "text/html"}).status_code == 401


def test_without_a_token_there_is_nothing_to_log_in_to(client):
    assert client.get("/login").headers["location"] == "/"
    assert client.post("/login", data={"token": "x"}).headers["location"] == "/"


def test_wrong_tokens_are_slowed_down_and_the_right_one_always_works(make_client):
    client = make_client(token=TOKEN, caller="192.0.2.7")
    wrong = {"Authorization": "Bearer wrong-wrong-wrong"}
    answers = [client.get("/api/v1/songs", headers=wrong) for _ in range(WRONG_TOKENS_PER_MINUTE + 2)]
    assert [answer.status_code for answer in answers] == WRONG_TOKENS_PER_MINUTE * [401] + 2 * [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 6
    for _ in range(3):
        assert client.get("/api/v1/songs", headers=BEARER).status_code == 200
        assert client.post("/login", data={"token": TOKEN}).status_code == 303
        assert client.get(f"/?token={TOKEN}").headers["location"] == "/"
        assert client.get(f"/rest/ping?u=me&p={TOKEN}&f=json").status_code == 200
        client.cookies.clear()
        assert client.get("/api/v1/songs", headers=wrong).status_code == 429
        assert client.get("/?token=wrong").status_code == 429


def test_who_is_logged_in_is_not_locked_out_by_one_who_guesses(guarded):
    guarded.post("/login", data={"token": TOKEN})
    cookie = dict(guarded.cookies)
    guarded.cookies.clear()
    for _ in range(11):
        last = guarded.post("/login", data={"token": "wrong"})
    assert last.status_code == 429
    assert last.headers["content-type"] == "application/problem+json"
    assert guarded.get("/api/v1/songs", headers={"Cookie": f"{COOKIE}={cookie[COOKIE]}"}).status_code == 200


def test_wrong_tokens_count_together_wherever_they_are_given(guarded):
    guarded.cookies.clear()
    for number in range(WRONG_TOKENS_PER_MINUTE):
        if number % 2:
            guarded.get("/api/v1/songs", headers={"Authorization": "Bearer wrong"})
        else:
            guarded.get("/rest/ping?u=me&p=wrong&f=json")
    for answer in (
        guarded.get("/api/v1/songs", headers={"Authorization": "Bearer wrong"}),
        guarded.get("/rest/ping?u=me&p=wrong&f=json"),
        guarded.get("/?token=wrong"),
        guarded.post("/login", data={"token": "wrong"}),
    ):
        assert answer.status_code == 429
        assert int(answer.headers["Retry-After"]) >= 1


FROM_A_PLAYER = {"Origin": "app://player", "Sec-Fetch-Site": "cross-site"}


def test_a_player_in_a_browser_may_post_below_rest_with_the_token_and_nowhere_else(guarded, client):
    guarded.cookies.clear()
    asked = {"u": "me", "p": TOKEN, "f": "json"}
    answer = guarded.post("/rest/ping", data=asked, headers=FROM_A_PLAYER)
    assert answer.json()["subsonic-response"]["status"] == "ok"
    wrong = guarded.post("/rest/ping", data={**asked, "p": "wrong"}, headers=FROM_A_PLAYER)
    assert wrong.json()["subsonic-response"]["error"]["code"] == 40
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for path in ("/api/v1/jobs", "/login", "/rest/../api/v1/jobs"):
        assert guarded.post(path, headers={**FROM_A_PLAYER, **bearer}).status_code == 403
    assert client.post("/rest/ping", data=asked, headers=FROM_A_PLAYER).status_code == 403  # nobody needs a token


def test_one_who_guesses_does_not_slow_others_down():
    authentication = token_authentication(TOKEN, wrong_tokens=1)

    def asks(address):
        request = mock.Mock()
        request.client.host = address
        return authentication.check_token(request, "wrong")

    assert asks("192.0.2.1") is None
    assert asks("192.0.2.2") is None
    with pytest.raises(Exception, match="too many wrong tokens"):
        asks("192.0.2.1")


# ---- headers


EVERYTHING = [
    ("GET", "/", 200),
    ("GET", "/api/v1/songs", 200),
    ("GET", "/api/v1/songs/1/audio", 200),
    ("GET", "/static/css/tokens.css", 200),
    ("GET", "/nothing", 404),
    ("DELETE", "/api/v1/health", 405),
    ("GET", "/api/v1/songs/x", 422),
    ("GET", "/openapi.json", 200),
    ("HEAD", "/api/v1/songs/1/audio", 200),
    ("GET", "/login", 303),
]


@pytest.mark.parametrize(("method", "path", "status"), EVERYTHING)
def test_every_kind_of_answer_has_all_headers(client, method, path, status):
    answer = client.request(method, path)
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers.get_list(name) == [value], name


def test_answers_304_206_416_401_421_and_413_have_them_too(client, make_client):
    tag = client.get("/").headers["etag"]
    audio = "/api/v1/songs/1/audio"
    guarded = make_client(token=TOKEN)
    answers = {
        304: client.get("/", headers={"If-None-Match": tag}),
        206: client.get(audio, headers={"Range": "bytes=0-1"}),
        416: client.get(audio, headers={"Range": "bytes=999999999-"}),
        401: guarded.get("/api/v1/songs"),
        421: client.get("/", headers={"Host": "evil.example"}),
        413: client.post("/api/v1/playlists", headers={"Content-Length": "99999999"}),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        for name, value in HEADERS.items():
            assert answer.headers.get_list(name) == [value], (status, name)


def test_the_policy_lets_nothing_run_that_is_not_ours():
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_the_docs_have_the_policy_of_the_page(client):
    assert client.get("/docs").headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
