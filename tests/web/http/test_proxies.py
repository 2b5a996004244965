"""What a proxy says about its client counts if the proxy is trusted, and never otherwise; on a running server."""

from contextlib import ExitStack
from ipaddress import ip_network

import httpx
import pytest

from nearsong.errors import InvalidInputError
from nearsong.web.http.authentication import WRONG_TOKENS_PER_MINUTE
from nearsong.web.settings import ServeSettings

TOKEN = "correct-horse-battery-staple-4242"
NAME = "music.example"
WRONG = {"Authorization": "Bearer wrong", "Host": NAME}


@pytest.fixture
def behind(trained, serving):
    """A function that serves with these trusted proxies; the test itself is a proxy at 127.0.0.1."""
    with ExitStack() as open_ones:

        def serve(*trusted: str) -> httpx.Client:
            settings = {"token": TOKEN, "host_names": (NAME,), "trusted_proxies": trusted}
            address = open_ones.enter_context(serving(trained, **settings))
            return open_ones.enter_context(httpx.Client(base_url=address, timeout=30))

        yield serve


def wrong_from(client: httpx.Client, address: str) -> int:
    return client.get("/api/v1/songs", headers={**WRONG, "X-Forwarded-For": address}).status_code


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1",), ("127.0.0.0/8", "10.0.0.0/8")])
def test_wrong_tokens_count_for_each_client_of_a_trusted_proxy(behind, trusted):
    client = behind(*trusted)
    statuses = [wrong_from(client, "203.0.113.1") for _ in range(WRONG_TOKENS_PER_MINUTE + 1)]
    assert statuses == WRONG_TOKENS_PER_MINUTE * [401] + [429]
    assert wrong_from(client, "203.0.113.2") == 401
    assert wrong_from(client, "203.0.113.9, 203.0.113.1") == 429  # what the client itself claims does not count


def test_of_a_proxy_that_is_not_trusted_only_its_own_address_counts(behind, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    client = behind("192.0.2.1")
    statuses = [wrong_from(client, f"203.0.113.{number}") for number in range(WRONG_TOKENS_PER_MINUTE + 1)]
    assert statuses == WRONG_TOKENS_PER_MINUTE * [401] + [429]


@pytest.mark.parametrize(
    ("trusted", "scheme", "origin", "is_own"),
    [
        ("127.0.0.1", "https", f"https://{NAME}", True),
        ("127.0.0.1", "https", f"http://{NAME}", False),
        ("127.0.0.1", "http", f"https://{NAME}", False),
        ("192.0.2.1", "https", f"https://{NAME}", False),
        ("192.0.2.1", "https", f"http://{NAME}", True),
    ],
)
def test_the_scheme_that_a_proxy_states_counts_if_it_is_trusted(behind, trusted, scheme, origin, is_own):
    headers = {"Host": NAME, "X-Forwarded-Proto": scheme, "Origin": origin}
    answer = behind(trusted).post("/login", data={"token": TOKEN}, headers=headers)
    assert answer.status_code == (303 if is_own else 403)
    assert ("Secure" in answer.headers.get("set-cookie", "")) == (is_own and origin.startswith("https"))


def test_a_trusted_proxy_that_speaks_ipv4_is_known_where_the_service_listens_on_ipv6_too():
    settings = ServeSettings(token=TOKEN, trusted_proxies=("10.0.0.2", "10.1.0.0/16", "2001:db8::7"))
    assert [ip_network(proxy) for proxy in settings.proxies] == [
        ip_network(expected)
        for expected in ("10.0.0.2", "::ffff:a00:2", "10.1.0.0/16", "::ffff:a01:0/112", "2001:db8::7")
    ]


@pytest.mark.parametrize("proxy", ["proxy.example", "", "*", "10.0.0.1/8", "10.0.0.300"])
def test_a_proxy_without_an_address_is_refused(proxy):
    with pytest.raises(InvalidInputError, match=r"is not an address or a network; .* such as 10\.0\.0\.2"):
        ServeSettings(token=TOKEN, trusted_proxies=(proxy,))


def test_a_trusted_proxy_needs_a_token():
    with pytest.raises(InvalidInputError, match="--trusted-proxy lets others connect, so a token is needed"):
        ServeSettings(trusted_proxies=("10.0.0.2",))
    assert not ServeSettings(trusted_proxies=("10.0.0.2",), token=TOKEN).is_for_this_machine
    assert ServeSettings().proxies == ()
