"""Whom the service answers: its own names, its own pages and programs, and no page of another origin."""

import pytest

from nearsong.web.http.origins import host_name

TOKEN = "correct-horse-battery-staple-4242"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(make_client):
    return make_client(token=TOKEN)


@pytest.fixture
def reader(shared_client):
    """A client of all tests here that change nothing."""
    return shared_client()


# ---- names


@pytest.mark.parametrize("host", ["127.0.0.1:8337", "localhost", "LocalHost:1", "[::1]:8337", "127.0.0.1"])
def test_we_answer_to_our_own_names(reader, host):
    assert reader.get("/api/v1/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8337", "", "192.0.2.9"]
)
def test_a_foreign_name_that_leads_here_is_refused(reader, host):
    answer = reader.get("/api/v1/songs", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["type"] == "urn:nearsong:unknown-host"


def test_two_hosts_at_once_are_none(reader):
    headers = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert reader.get("/api/v1/health", headers=headers).status_code == 421


def test_behind_a_proxy_its_name_counts_and_others_do_not(make_client):
    client = make_client(token=TOKEN, host_names=("Music.Example",))
    assert client.get("/api/v1/songs", headers={**BEARER, "Host": "music.example"}).status_code == 200
    assert client.get("/api/v1/songs", headers={**BEARER, "Host": "evil.example"}).status_code == 421


def test_on_all_addresses_numbers_will_do_and_foreign_names_will_not(make_client):
    client = make_client(token=TOKEN, host="0.0.0.0")
    for host in ("192.168.1.5:8337", "[2001:db8::1]:8337", "localhost"):
        assert client.get("/api/v1/songs", headers={**BEARER, "Host": host}).status_code == 200
    assert client.get("/api/v1/songs", headers={**BEARER, "Host": "evil.example"}).status_code == 421


def test_a_host_is_read_without_port_and_brackets():
    assert [host_name(host) for host in ("A:1", "[::1]:2", "::1", " b ")] == ["a", "::1", "::1", "b"]


# ---- origins


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "https://127.0.0.1:8337"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1:80"},
    {"Origin": "http://127.0.0.1:83370"},
    {"Origin": "http://user@127.0.0.1:8337"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://127.0.0.1:8337.evil.example"},
    {"Origin": "null"},
    {"Origin": "file://"},
    {"Origin": "x"},
    {"Origin": "http://[::1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/v1/playlists"), ("PUT", "/api/v1/model"), ("DELETE", "/api/v1/playlists/1")]
)
def test_a_page_of_another_site_cannot_write(reader, method, path, headers):
    answer = reader.request(method, path, headers=headers, json={"name": "x", "songs": [1]})
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:nearsong:foreign-origin"
    assert reader.get("/api/v1/playlists").json() == []


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://127.0.0.1:8337"}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8337"},
     {"Sec-Fetch-Site": "none"}, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}],
)  # fmt: skip
def test_our_own_page_and_programs_can(client, headers):
    answer = client.post("/api/v1/playlists", headers=headers, json={"name": "x", "songs": [1]})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("address", "origin", "is_own"),
    [
        ("http://localhost", "http://localhost", True),
        ("http://localhost", "http://localhost:80", True),
        ("http://localhost", "http://LOCALHOST", True),
        ("http://localhost", "http://localhost:443", False),
        ("http://localhost", "https://localhost", False),
        ("https://localhost", "https://localhost:443", True),
        ("https://localhost", "http://localhost", False),
        ("https://localhost:8443", "https://localhost:8443", True),
        ("https://localhost:8443", "https://localhost", False),
        ("http://[::1]:8337", "http://[::1]:8337", True),
        ("http://[::1]:8337", "http://[::1]", False),
    ],
)
def test_an_origin_is_our_own_if_scheme_host_and_port_are(make_client, address, origin, is_own):
    client = make_client(address=address)
    answer = client.post("/api/v1/playlists", headers={"Origin": origin}, json={"name": "x", "songs": [1]})
    assert answer.status_code == (201 if is_own else 403)


def test_a_page_by_https_of_a_service_that_sees_http_learns_what_the_proxy_has_to_send(reader):
    for origin, hint in (("https://127.0.0.1:8337", True), ("https://evil.example", False)):
        detail = reader.post("/api/v1/playlists", headers={"Origin": origin}).json()["detail"]
        assert ("X-Forwarded-Proto" in detail) == hint
        assert ("--trusted-proxy" in detail) == hint


def test_the_log_in_form_comes_from_a_page_that_sends_no_referrer(guarded):
    assert guarded.post("/login", data={"token": TOKEN}, headers={"Origin": "null"}).status_code == 303
    assert (
        guarded.post("/login", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}).status_code == 403
    )


def test_reading_from_elsewhere_where_the_browser_does_not_say_so_is_left_to_its_own_rules(reader):
    answer = reader.get("/api/v1/songs", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
