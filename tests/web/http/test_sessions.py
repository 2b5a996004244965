"""Log-ins: each is a session of its own, which ends at log-out, after a time, or with the token."""

import threading
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import pytest

from nearsong.library import Account, token_hash
from nearsong.web.http.authentication import COOKIE
from nearsong.web.http.callers import ANYBODY, Caller
from nearsong.web.http.sessions import IDLE_SECONDS, MAX_SESSION_SECONDS, MemorySessions
from token_authentication import token_authentication

TOKEN = "correct-horse-battery-staple-4242"
DAY = 24 * 3600


class Clock:
    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("nearsong.web.http.sessions.running_seconds", clock)
    return clock


@pytest.fixture
def guarded(make_client, clock):
    return make_client(token=TOKEN)


def log_in(client):
    """Return the cookie of a new session, as another browser would send it."""
    client.cookies.clear()
    value = client.post("/login", data={"token": TOKEN}).cookies[COOKIE]
    client.cookies.clear()
    return {"Cookie": f"{COOKIE}={value}"}


def status(client, cookie):
    return client.get("/api/v1/songs", headers=cookie).status_code


def test_a_cookie_that_was_kept_does_not_outlive_the_log_out(guarded):
    cookie = log_in(guarded)
    assert status(guarded, cookie) == 200
    answer = guarded.post("/logout", headers=cookie)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert status(guarded, cookie) == 401


def test_a_session_from_a_day_when_the_clock_was_years_ahead_ends_like_any_other(monkeypatch):
    day = Clock()
    slept = 0.0
    running = SimpleNamespace(time=day, monotonic=lambda: slept, clock_gettime=lambda _: slept, CLOCK_BOOTTIME=7)
    monkeypatch.setattr("nearsong.web.http.sessions.time", running)
    sessions = MemorySessions()
    day.now += 3652 * DAY
    sessions.add("a", "")
    assert sessions.use("a") is not None
    day.now += 40 * DAY - 3652 * DAY
    slept += 40 * DAY
    assert sessions.use("a") is None


def test_each_log_in_is_a_session_of_its_own(guarded):
    first, second = log_in(guarded), log_in(guarded)
    assert first != second
    guarded.post("/logout", headers=first)
    assert (status(guarded, first), status(guarded, second)) == (401, 200)


def test_a_log_in_ends_the_session_that_the_browser_had(guarded):
    first = log_in(guarded)
    answer = guarded.get(f"/?token={TOKEN}", headers=first)
    second = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
    guarded.cookies.clear()
    assert (status(guarded, first), status(guarded, second)) == (401, 200)


def test_the_cookie_is_256_random_bits_and_neither_the_token_nor_made_from_it(guarded):
    values = {log_in(guarded)["Cookie"] for _ in range(20)}
    assert len(values) == 20
    assert all(len(value.partition("=")[2]) >= 43 and TOKEN not in value for value in values)


def test_a_session_that_is_not_used_ends(guarded, clock):
    cookie = log_in(guarded)
    for _ in range(3):
        clock.now += IDLE_SECONDS - 1
        assert status(guarded, cookie) == 200
    clock.now += IDLE_SECONDS + 1
    assert status(guarded, cookie) == 401


def test_a_session_ends_after_a_time_though_it_is_used_every_day(guarded, clock):
    cookie = log_in(guarded)
    for _ in range(int(MAX_SESSION_SECONDS // DAY)):
        assert status(guarded, cookie) == 200
        clock.now += DAY
    clock.now += 1
    assert status(guarded, cookie) == 401


def test_the_browser_forgets_the_cookie_when_the_session_ends(guarded):
    header = guarded.post("/login", data={"token": TOKEN}).headers["set-cookie"]
    assert f"Max-Age={MAX_SESSION_SECONDS:.0f};" in header


def test_another_token_ends_all_sessions_wherever_they_are_stored():
    sessions = MemorySessions()

    def authentication(token):
        return token_authentication(token, sessions=sessions)

    session_id = authentication(TOKEN).start_session(TOKEN)
    assert authentication(TOKEN).caller_of_session(session_id) == ANYBODY  # another process with the same store
    assert authentication("another-token-another-token-another").caller_of_session(session_id) is None
    assert authentication(TOKEN).caller_of_session(session_id) == ANYBODY


def test_a_new_token_of_a_listener_ends_their_sessions_and_no_others():
    sessions = MemorySessions()
    anna, bert = (Account(name, False, token_hash(name), "", 0.0) for name in ("anna", "bert"))
    authentication = token_authentication(None, accounts=[anna, bert], sessions=sessions)
    session_ids = [authentication.start_session(name) for name in ("anna", "bert")]
    callers = [authentication.caller_of_session(session_id) for session_id in session_ids]
    assert callers == [Caller("anna", is_admin=False), Caller("bert", is_admin=False)]
    later = token_authentication(
        None, accounts=[replace(anna, token_hash=token_hash("new")), bert], sessions=sessions
    )
    assert [later.caller_of_session(session_id) for session_id in session_ids] == [None, callers[1]]
    gone = token_authentication(None, accounts=[anna], sessions=sessions)
    assert [gone.caller_of_session(session_id) for session_id in session_ids] == [callers[0], None]


def test_what_is_stored_lets_nobody_in():
    sessions = MemorySessions()
    authentication = token_authentication(TOKEN, sessions=sessions)
    session_id = authentication.start_session(TOKEN)
    ((key, session),) = sessions._active.items()
    assert session_id not in key
    assert TOKEN not in repr(session)
    request = mock.Mock()
    request.client.host = "192.0.2.1"
    for stored in (key, session.credential):
        assert authentication.caller_of_session(stored) is None
        assert authentication.check_token(request, stored) is None


def test_of_many_sessions_those_used_last_stay(monkeypatch):
    monkeypatch.setattr("nearsong.web.http.sessions.MAX_SESSIONS", 3)
    sessions = MemorySessions(Clock())
    for key in "abc":
        sessions.add(key, "")
    assert sessions.use("a") is not None
    sessions.add("d", "")
    assert [sessions.use(key) is not None for key in "abcd"] == [True, False, True, True]
    assert len(sessions) == 3


def test_sessions_that_ended_take_no_memory():
    clock = Clock()
    sessions = MemorySessions(clock)
    for number in range(50):
        sessions.add(str(number), "")
    clock.now += IDLE_SECONDS + 1
    sessions.add("new", "")
    assert len(sessions) == 1
    sessions.remove("new")
    sessions.remove("new")
    assert len(sessions) == 0


def test_many_threads_may_use_sessions_at_once():
    sessions, failed = MemorySessions(), []

    def work(name):
        try:
            for number in range(300):
                sessions.add(f"{name} {number}", name)
                assert sessions.use(f"{name} {number}") == name
                sessions.remove(f"{name} {number}")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(sessions) == 0
