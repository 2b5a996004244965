"""While the service is loaded: pages are answered, other requests wait, and nobody gets in who would not later."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from nearsong.errors import LibraryError
from nearsong.web import opening
from nearsong.web.http.authentication import WRONG_TOKENS_PER_MINUTE, Authentication
from nearsong.web.opening import OpeningApp
from nearsong.web.server import Server, configuration, listen
from nearsong.web.service.account_watch import AccountWatch
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import wait_for

TOKEN = "correct-horse-battery-staple-4242"
CHANGING = {"date", "set-cookie"}
"""Headers that differ from one answer to the next."""


class Opening:
    """A service that is loaded when a test says so."""

    def __init__(self, library, **settings) -> None:
        self._until = threading.Event()
        self.server = running(library, ServeSettings(port=0, **settings), until=self._until)
        self._threads = ThreadPoolExecutor(len(WAITING))

    def __enter__(self):
        self._client = httpx.Client(base_url=self.server.__enter__(), timeout=300)
        return self

    def __exit__(self, *error) -> None:
        self._until.set()
        self.server.__exit__(*error)
        self._threads.shutdown()
        self._client.close()

    def send(self, method, path, **more) -> httpx.Response:
        return self._client.request(method, path, **more)

    def begin(self, method, path, **more):
        """Send a request in a thread, and return when the service has it."""
        before = self.server.n_requests
        answer = self._threads.submit(self.send, method, path, **more)
        wait_for(lambda: answer.done() or self.server.n_requests > before)
        return answer

    def finish(self) -> None:
        self._until.set()
        wait_for(lambda: self.server.opening.app is not None)


@pytest.fixture
def open_service(trained):
    with Opening(trained) as service:
        yield service


@pytest.fixture
def closed_service(trained):
    with Opening(trained, token=TOKEN) as service:
        yield service


def told(answer):
    """Return what a client sees of an answer, but for what changes each time."""
    headers = [(name, value) for name, value in answer.headers.multi_items() if name not in CHANGING]
    return answer.status_code, sorted(headers), answer.content


PAGES = ["/", "/docs", "/login", "/favicon.ico", "/static/js/app.js", "/static/css/page.css", "/static/icon-180.png"]


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_pages_are_answered_before_and_after_with_the_same_headers(open_service, accepted):
    def answers():
        return [
            told(open_service.send(method, page, headers={"Accept-Encoding": accepted}))
            for page in PAGES
            for method in ("GET", "HEAD")
        ]

    before = answers()
    assert open_service.server.opening.app is None
    assert [status for status, *_ in before] == 4 * [200] + 2 * [303] + 8 * [200]
    open_service.finish()
    assert answers() == before


def test_a_page_that_a_browser_has_is_not_sent_again(open_service):
    etag = open_service.send("GET", "/").headers["etag"]
    assert open_service.send("GET", "/", headers={"If-None-Match": etag}).status_code == 304


WAITING = [
    ("GET", "/api/v1/songs/1", {}),
    ("POST", "/api/v1/playlists", {"json": {"name": "Waited", "songs": [1, 2]}}),
    ("GET", "/rest/ping?u=me&p=x&v=1.16.1&c=test&f=json", {}),
    ("POST", "/login", {"data": {"token": "x"}}),
    ("GET", "/openapi.json", {}),
    ("GET", "/static/none.js", {}),
    ("GET", "/static", {}),
    ("PUT", "/", {}),
    ("GET", "/nothing", {}),
]


def test_all_other_requests_wait_and_get_the_answer_that_they_get_later(open_service):
    early = [open_service.begin(method, path, **more) for method, path, more in WAITING]
    assert open_service.send("GET", "/").status_code == 200
    assert not any(answer.done() for answer in early)
    open_service.finish()
    found = [answer.result() for answer in early]
    assert [answer.status_code for answer in found] == [200, 201, 200, 303, 200, 404, 307, 405, 404]
    for (method, path, more), answer in zip(WAITING, found, strict=True):
        later = open_service.send(method, path, **more)
        assert told(answer)[:2] == told(later)[:2] or path.endswith("playlists"), path
    assert found[0].json()["id"] == 1


REFUSED = [
    ("GET", "/", {"headers": {"Host": "evil.example"}}),
    ("GET", "/api/v1/songs", {"headers": {"Host": "evil.example"}}),
    ("POST", "/api/v1/playlists", {"headers": {"Origin": "https://evil.example"}}),
    ("GET", "/api/v1/songs", {"headers": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}}),
]


@pytest.mark.parametrize(("method", "path", "more"), REFUSED)
def test_what_is_refused_later_is_refused_at_once(open_service, method, path, more):
    before = told(open_service.send(method, path, **more))
    assert before[0] in (403, 421)
    assert "content-security-policy" in dict(before[1])
    open_service.finish()
    assert told(open_service.send(method, path, **more)) == before


UNKNOWN = [
    ("GET", "/", {"headers": {"Accept": "text/html"}}),
    ("GET", "/", {}),
    ("GET", "/login", {}),
    ("GET", "/docs", {}),
    ("GET", "/static/js/app.js", {}),
    ("GET", "/static/css/tokens.css", {}),
    ("GET", "/static/css/../js/app.js", {}),
    ("GET", "/api/v1/songs", {}),
    ("GET", "/api/v1/songs", {"headers": {"Authorization": "Bearer wrong"}}),
    ("GET", "/?token=wrong", {}),
]


def test_a_closed_service_asks_for_the_login_from_the_beginning(closed_service):
    before = [told(closed_service.send(method, path, **more)) for method, path, more in UNKNOWN]
    assert [status for status, *_ in before] == [303, 401, 200, 401, 401, 200, 401, 401, 401, 303]
    closed_service.finish()
    assert [told(closed_service.send(method, path, **more)) for method, path, more in UNKNOWN] == before


def test_who_logs_in_during_the_opening_stays_logged_in(closed_service):
    answer = closed_service.send("GET", f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert closed_service.send("GET", "/").status_code == 200
    closed_service.finish()
    assert closed_service.send("GET", "/api/v1/songs").status_code == 200


def test_a_token_is_checked_and_then_waits(closed_service):
    known = closed_service.begin("GET", "/api/v1/songs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert not known.done()
    closed_service.finish()
    assert known.result().status_code == 200


def test_wrong_tokens_of_the_opening_count_later(closed_service):
    wrong = {"headers": {"Authorization": "Bearer wrong"}}
    for _ in range(WRONG_TOKENS_PER_MINUTE):
        assert closed_service.send("GET", "/", **wrong).status_code == 401
    closed_service.finish()
    assert closed_service.send("GET", "/api/v1/songs", **wrong).status_code == 429


def test_an_account_that_is_added_during_the_opening_closes_the_service(open_service):
    waits = open_service.begin("GET", "/api/v1/songs")
    service = open_service.server.service
    service.library.accounts.add("Anna")
    service.accounts.refresh()
    assert open_service.send("GET", "/").status_code == 401
    open_service.finish()
    assert waits.result().status_code == 401


def test_a_server_that_is_stopped_answers_those_who_wait_and_closes_what_was_loaded(open_service, monkeypatch):
    closed = []
    service = open_service.server.service
    monkeypatch.setattr(service, "close", lambda: closed.append("closed"))
    waits = open_service.begin("GET", "/api/v1/songs")
    open_service.server.stop()
    answer = waits.result()
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:nearsong:stopping")
    assert "content-security-policy" in answer.headers
    assert not closed
    open_service._until.set()
    wait_for(lambda: closed)


def test_a_server_ends_although_loading_does_not(trained, monkeypatch):
    monkeypatch.setattr(opening, "CLOSE_SECONDS", 0.05)
    never = threading.Event()
    with running(trained, ServeSettings(port=0), until=never) as address:
        assert httpx.get(address).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    never.set()


@pytest.mark.parametrize("error", [LibraryError("the library is gone."), ImportError("no such module")])
def test_an_error_while_loading_ends_the_server_and_is_kept(trained, error):
    settings = ServeSettings(port=0)
    accounts = AccountWatch(trained, settings)
    asked = threading.Event()

    def load():
        asked.wait()
        raise error

    app = OpeningApp(settings, Authentication(lambda: accounts.current), load)
    listener = listen(settings)
    started = threading.Event()
    server = Server(configuration(app, settings), app, on_started=started.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(300)
    with ThreadPoolExecutor(1) as threads:
        port = listener.getsockname()[1]
        waits = threads.submit(httpx.get, f"http://127.0.0.1:{port}/api/v1/songs", timeout=300)
        wait_for(lambda: server.server_state.tasks)
        asked.set()
        assert waits.result().status_code == 503
    thread.join(300)
    assert not thread.is_alive()
    assert app.error is error


def test_a_slow_opening_is_not_the_fault_of_who_sends_a_body(trained, monkeypatch):
    monkeypatch.setattr("nearsong.web.http.security.MAX_BODY_SECONDS", 0.05)
    with Opening(trained) as service:
        waits = service.begin("POST", "/api/v1/playlists", json={"name": "Late", "songs": [1]})
        time.sleep(0.1)
        service.finish()
        assert waits.result().status_code == 201
