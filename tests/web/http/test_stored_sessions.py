"""Sessions that several services on one PostgreSQL share: seen from two of them, by what a request carries."""

import contextlib
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from nearsong.errors import DatabaseError
from nearsong.library import Account, SharedState, token_hash
from nearsong.library.store import Store
from nearsong.library.store.shared import tables
from nearsong.web.http import stored_sessions
from nearsong.web.http.authentication import COOKIE, LOOK_UPS_PER_MINUTE, WRONG_TOKENS_PER_MINUTE, Authentication
from nearsong.web.http.callers import ANYBODY, Callers
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.http.sessions import MemorySessions
from nearsong.web.http.stored_sessions import StoredSessions, sessions_of

TOKEN = "correct-horse-battery-staple-4242"
DAY = 86_400.0


class Service:
    """What a service knows about who may send requests."""

    def __init__(self, shared: SharedState) -> None:
        self.sessions = sessions_of(shared)
        self.accounts: list[Account] = []
        self.read = 0
        self.callers = Callers(TOKEN, [], can_be_open=False)
        self.authentication = Authentication(lambda: self.callers, sessions=self.sessions, refresh=self.refresh)

    def refresh(self) -> None:
        self.read += 1
        self.callers = Callers(TOKEN, self.accounts, can_be_open=False)

    def answer(self, path: str = "/api/v1/songs", query: str = "", **headers: str) -> Response | None:
        """Return the refusal of a request; None if it may pass."""
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "scheme": "http",
            "headers": pairs,
            "client": ("192.0.2.7", 1),
        }
        return anyio.run(self.authentication.answer, Request(scope))

    def passes(self, session: str) -> bool:
        return self.answer(cookie=f"{COOKIE}={session}") is None


@pytest.fixture(scope="module")
def stores(postgres) -> Iterator[list[Store]]:
    address = postgres.new_schema()
    with contextlib.ExitStack() as open_ones:
        yield [open_ones.enter_context(contextlib.closing(Store(address))) for _ in range(2)]


@pytest.fixture
def services(stores) -> list[Service]:
    return [Service(state) for state in (store.shared_state() for store in stores) if state is not None]


def test_a_service_that_shares_nothing_has_its_sessions_in_memory():
    assert isinstance(sessions_of(None), MemorySessions)


def test_a_session_of_one_service_counts_on_the_other_and_who_reads_the_database_gets_into_none(services, stores):
    here, there = services
    session = here.authentication.start_session(TOKEN)
    assert [here.passes(session), there.passes(session)] == [True, True]
    assert there.authentication.caller_of_session(session) == ANYBODY
    with stores[0]._database.sharing() as connection:
        rows = connection.execute(sa.select(tables.sessions)).all()
    stored = {str(value) for row in rows for value in row}
    assert not {session, TOKEN} & stored
    assert not any(there.passes(value) for value in stored)


def test_a_link_with_the_token_starts_a_session_that_counts_on_the_other(services):
    here, there = services
    answer = here.answer("/", query=f"token={TOKEN}")
    assert answer.status_code == 303
    session = answer.headers["set-cookie"].split(";")[0].removeprefix(f"{COOKIE}=")
    assert there.passes(session)


def test_a_log_out_counts_on_the_other_as_soon_as_it_asks_again(services, monkeypatch):
    here, there = services
    session = here.authentication.start_session(TOKEN)
    assert there.passes(session)
    request = Request({"type": "http", "headers": [(b"cookie", f"{COOKIE}={session}".encode())], "scheme": "http"})
    here.authentication.log_out(Response(), request)
    assert not here.passes(session)
    monkeypatch.setattr(stored_sessions, "CHECK_SECONDS", 0.0)
    assert not there.passes(session)


def test_a_token_that_another_service_gave_a_moment_ago_counts_and_so_does_its_session(services):
    here, there = services
    anna = Account("Anna", False, token_hash("hers"), "", 0.0)
    for service in services:
        service.accounts.append(anna)
    here.refresh()
    session = here.authentication.start_session("hers")
    assert there.passes(session)  # there the account was not known
    assert (there.read, there.authentication.caller_of_session(session).listener) == (1, "Anna")
    ben = Account("Ben", False, token_hash("his"), "", 0.0)
    there.accounts.append(ben)
    assert there.answer(authorization="Bearer his") is None
    assert there.read == 2


def test_wrong_tokens_and_unknown_sessions_ask_the_database_only_so_often(services, monkeypatch):
    service = services[0]
    for name, permits in {"_look_ups": LOOK_UPS_PER_MINUTE, "failures": WRONG_TOKENS_PER_MINUTE}.items():
        setattr(service.authentication, name, RateLimit(permits, per=60, clock=lambda: 0.0))  # all in one moment
    own = service.authentication.start_session(TOKEN)
    looked_up: list[str] = []
    look_up = StoredSessions.look_up
    monkeypatch.setattr(StoredSessions, "look_up", lambda self, key: (looked_up.append(key), look_up(self, key))[1])
    for n in range(LOOK_UPS_PER_MINUTE + 20):
        assert not service.passes(f"guess {n}")
    assert len(looked_up) == LOOK_UPS_PER_MINUTE
    monkeypatch.setattr(stored_sessions, "CHECK_SECONDS", 0.0)
    assert service.passes(own)  # a known one is always looked up
    assert len(looked_up) == LOOK_UPS_PER_MINUTE + 1
    for n in range(WRONG_TOKENS_PER_MINUTE + 20):
        assert service.answer(authorization=f"Bearer guess-{n}").status_code in (401, 429)
    assert service.read == WRONG_TOKENS_PER_MINUTE


def test_a_service_remembers_a_session_while_the_database_cannot_be_reached(services, stores, monkeypatch):
    here, there = services
    session, unknown = (here.authentication.start_session(TOKEN) for _ in range(2))
    assert there.passes(session)
    monkeypatch.setattr(stored_sessions, "CHECK_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(stores[1]._database, "sharing", unreachable)
        assert [there.passes(session), there.passes(unknown)] == [True, False]
        answer = there.answer("/", query=f"token={TOKEN}")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert [there.passes(session), there.passes(unknown)] == [True, True]


@contextlib.contextmanager
def unreachable(**_how: Any) -> Iterator[None]:
    raise DatabaseError("the library cannot be reached", "it", True)
    yield
