"""The page with the answers to what it would ask first: whose they are, and when it comes without."""

import json
import re
import time

import pytest

from nearsong.web import pages
from nearsong.web.api.browsing import first_answers

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
DATA = re.compile(r'<script type="application/json" id="first-answers">(.*?)</script>', re.DOTALL)
ENDLESS = 300.0


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """The page waits for its answers, however busy the machine is."""
    monkeypatch.setattr(pages, "PATIENCE_SECONDS", ENDLESS)


def first(answer):
    """Return the answers within a page; None without any."""
    found = DATA.search(answer.text)
    return json.loads(found[1]) if found else None


def test_a_browser_gets_the_page_with_the_answers_of_the_api(client):
    answer = client.get("/", headers=BROWSER)
    asked = {path: client.get(f"/api/v1{path}").json() for path in ("/status", "/home")}
    assert first(answer) == asked
    assert asked["/status"]["songs"] == 72
    assert answer.headers["cache-control"] == "no-store"  # they are one listener's
    assert "etag" not in answer.headers
    assert DATA.sub("", answer.text).split() == client.get("/").text.split()


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"Accept": "*/*"}),
        ("HEAD", BROWSER),
        ("GET", BROWSER | {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}),
        ("GET", BROWSER | {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}),
    ],
)
def test_programs_and_pages_of_other_sites_get_the_page_alone(client, method, headers):
    answer = client.request(method, "/", headers=headers)
    assert (answer.status_code, first(answer)) == (200, None)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["etag"]


def test_no_text_ends_the_data(client):
    name = "</script><script>alert(1)</script><!--"
    library = client.service.library
    library.play_queues.save([library.snapshot().space.songs[0].id], 0, 0, "me", name)
    answer = client.get("/", headers=BROWSER)
    assert "<script>alert" not in answer.text
    assert first(answer)["/home"]["queue"]["changed_by"] == name


def test_what_cannot_be_answered_is_left_out(client, monkeypatch):
    def busy(*_):
        raise first_answers.ApiError(503, "too many requests are in progress.", "busy")

    monkeypatch.setitem(first_answers._ASKED, "/home", busy)
    assert list(first(client.get("/", headers=BROWSER))) == ["/status"]


def test_a_fault_costs_the_answers_and_not_the_page(client, monkeypatch):
    monkeypatch.setitem(first_answers._ASKED, "/home", lambda *_: 1 / 0)
    answer = client.get("/", headers=BROWSER)
    assert (answer.status_code, first(answer)) == (200, None)
    assert answer.text.rstrip().endswith("</html>")


def test_the_page_does_not_wait_for_a_slow_library(client, monkeypatch):
    monkeypatch.setattr(pages, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setitem(first_answers._ASKED, "/home", lambda *_: time.sleep(1.0) or b"{}")
    answer = client.get("/", headers=BROWSER)
    assert first(answer) is None
    assert answer.text.rstrip().endswith("</html>")


def test_each_listener_gets_their_own(client):
    accounts = client.service.library.accounts
    tokens = {name: accounts.add(name, is_admin=name == "ada") for name in ("ada", "ben")}
    client.service.accounts.refresh()
    for name, token in tokens.items():
        found = first(client.get("/", headers=BROWSER | {"Authorization": f"Bearer {token}"}))
        assert (found["/status"]["listener"], found["/home"]["listener"]) == (name, name)
    assert client.get("/", headers=BROWSER).headers["location"] == "/login"
