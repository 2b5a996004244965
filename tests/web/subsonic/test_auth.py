"""Who may ask: token and salt, password, API key; and how often one may be wrong."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from nearsong.web.http.callers import ANYBODY, Callers
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.subsonic.auth import check_credentials, is_right
from nearsong.web.subsonic.envelope import ProtocolError
from nearsong.web.subsonic.parameters import Parameters

TOKEN = "correct-horse-battery-staple-4242"
WRONG_TOKENS_PER_MINUTE = 3


def request(client: str = "192.0.2.1", **headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    headers = [(b"host", b"127.0.0.1:8337"), *pairs]
    return Request({"type": "http", "scheme": "http", "client": (client, 1), "headers": headers})


def salted(token: str, salt: str) -> dict[str, str]:
    return {"t": hashlib.md5((token + salt).encode()).hexdigest(), "s": salt}


def check(
    parameters: dict[str, str], token: str | None = TOKEN, failures: RateLimit | None = None, **options: str
) -> str:
    limit = RateLimit(WRONG_TOKENS_PER_MINUTE, per=60) if failures is None else failures
    callers = Callers(token, [], can_be_open=token is None)
    user, caller = check_credentials(callers, limit, request(**options), Parameters(parameters.items()))
    assert caller == ANYBODY
    return user


@pytest.mark.parametrize(
    "parameters",
    [
        salted(TOKEN, "c19b2d"),
        {"t": salted(TOKEN, "c19b2d")["t"].upper(), "s": "c19b2d"},
        {"p": TOKEN},
        {"p": "enc:" + TOKEN.encode().hex()},
        {"p": "enc:" + TOKEN.encode().hex().upper()},
    ],
)
def test_any_user_with_the_token_as_password_is_let_in(parameters):
    assert check({"u": "anyone", **parameters}) == "anyone"


def test_the_token_is_the_api_key_too():
    assert check({"apiKey": TOKEN}) == "nearsong"


@pytest.mark.parametrize(
    ("parameters", "code", "words"),
    [
        ({}, 10, "parameter u is missing"),
        ({"u": "me"}, 10, "send t and s, or p"),
        ({"u": "me", "t": "0" * 32}, 10, "send t and s, or p"),
        ({"u": "me", "p": "wrong"}, 40, "wrong user name or password"),
        ({"u": "me", "p": ""}, 40, "wrong user name or password"),
        ({"u": "me", "p": "enc:zz"}, 40, "wrong user name or password"),
        ({"u": "me", "p": "enc:ff"}, 40, "wrong user name or password"),
        ({"u": "me", **salted("wrong", "salt")}, 40, "wrong user name or password"),
        ({"u": "me", "t": "", "s": ""}, 40, "wrong user name or password"),
        ({"u": "me", "p": TOKEN, **salted(TOKEN, "salt")}, 43, "send one of them"),
        ({"u": "me", "apiKey": TOKEN}, 43, "send one of them"),
        ({"apiKey": TOKEN, "p": TOKEN}, 43, "send one of them"),
        ({"apiKey": "wrong"}, 44, "API key"),
    ],
)
def test_other_credentials_fail_with_the_code_of_the_protocol(parameters, code, words):
    with pytest.raises(ProtocolError, match=words) as caught:
        check(parameters)
    assert (caught.value.code, caught.value.status) == (code, 200)


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_other_password_is_known_in_any_form(password, salt):
    expected = password == TOKEN
    hashed = hashlib.md5((password + salt).encode()).hexdigest()
    assert is_right(TOKEN, Parameters([("t", hashed), ("s", salt)])) == expected
    assert is_right(TOKEN, Parameters([("p", "enc:" + password.encode().hex())])) == expected
    assert is_right(TOKEN, Parameters([("apiKey", password)])) == expected


@pytest.mark.parametrize("wrong", [{"p": "wrong"}, salted("wrong", "salt"), {"p": "enc:zz"}])
def test_who_is_wrong_too_often_waits_with_wrong_passwords_alone(wrong):
    failures = RateLimit(WRONG_TOKENS_PER_MINUTE, per=60)
    for _ in range(WRONG_TOKENS_PER_MINUTE):
        with pytest.raises(ProtocolError, match="wrong user name"):
            check({"u": "me", **wrong}, failures=failures)
    for _ in range(2):
        with pytest.raises(ProtocolError, match=r"too many wrong passwords; try again in \d+ s") as caught:
            check({"u": "me", **wrong}, failures=failures)
        assert caught.value.status == 429
        assert int(caught.value.headers["Retry-After"]) >= 1
        with pytest.raises(ProtocolError, match="too many wrong passwords"):
            check({"apiKey": "wrong"}, failures=failures)
        for right in ({"p": TOKEN}, {"p": "enc:" + TOKEN.encode().hex()}, salted(TOKEN, "c19b2d")):
            assert check({"u": "me", **right}, failures=failures) == "me"
        assert check({"apiKey": TOKEN}, failures=failures) == "nearsong"
    with pytest.raises(ProtocolError, match="wrong user name"):
        check({"u": "me", **wrong}, failures=failures, client="192.0.2.2")


def test_right_passwords_are_never_too_many():
    failures = RateLimit(WRONG_TOKENS_PER_MINUTE, per=60)
    for _ in range(3 * WRONG_TOKENS_PER_MINUTE):
        assert check({"u": "me", "p": TOKEN}, failures=failures) == "me"


def test_without_a_token_any_password_is_right_but_a_name_is_needed():
    assert check({"u": "me", "p": "anything"}, None) == "me"
    assert check({"u": "me"}, None) == "me"
    assert check({"apiKey": "anything"}, None) == "nearsong"
    with pytest.raises(ProtocolError, match="parameter u is missing"):
        check({}, None)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_without_a_token_a_page_of_another_site_is_refused(headers):
    with pytest.raises(ProtocolError, match="pages of other sites") as caught:
        check({"u": "me"}, None, **headers)
    assert caught.value.code == 50
    assert check({"u": "me", "p": TOKEN}, **headers) == "me"  # who has the token may ask from anywhere


def test_without_a_token_our_own_page_and_programs_may_ask():
    for headers in (
        {},
        {"sec_fetch_site": "same-origin", "origin": "http://127.0.0.1:8337"},
        {"sec_fetch_site": "none"},
    ):
        assert check({"u": "me"}, None, **headers) == "me"
