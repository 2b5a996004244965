"""The complete application: the page, its files, /docs, compression, numbers, and a library that changes."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import httpx
import pytest

import music_library
from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library import Library
from nearsong.web.server import address_of, listen
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import in_threads, wait_for

# ---- the page


@pytest.mark.parametrize(
    "address", ["/", "/static/index.html", "/static/js/app.js", "/static/css/tokens.css", "/docs"]
)
def test_what_a_browser_keeps_it_asks_about_each_time(shared_client, address):
    client = shared_client()
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(address, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(address).content == b""


def test_scripts_are_sent_as_scripts(client):
    assert client.get("/static/js/app.js").headers["content-type"].startswith("text/javascript")


def test_a_file_that_is_not_there_is_a_problem_and_no_page(client):
    for address in ("/static/none.js", "/static", "/static/", "/nothing", "/docs/none"):
        answer = client.get(address)
        assert answer.status_code in (404, 307), address
        assert "html" not in answer.headers.get("content-type", "")


def test_the_docs_need_nothing_from_elsewhere(client):
    page = client.get("/docs").text
    assert "<script>" not in page
    assert not re.findall(r'(?:src|href)="(?!/)', page)
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert client.get(address).status_code == 200, address


def test_the_description_names_every_operation_and_its_problems(client):
    found = client.get("/openapi.json").json()
    assert found["info"]["title"] == "nearsong"
    tags = {tag["name"] for tag in found["tags"]}
    for path, operations in found["paths"].items():
        assert path.startswith("/api/v1/")
        for operation in operations.values():
            assert set(operation["tags"]) <= tags
            assert operation["summary"]
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"], (path, status)


# ---- compression


def test_json_is_compressed_where_that_is_understood(client):
    address = "/api/v1/songs?limit=72"
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 3


# ---- numbers


def test_requests_are_counted_by_route_and_not_by_address(client):
    for song in (1, 2, 3):
        client.get(f"/api/v1/songs/{song}")
    client.get("/api/v1/songs/x")
    client.get("/static/js/app.js")
    client.get("/nowhere/at/all")
    for path in ("user/ann/secret", "a", "user/bob/x/y"):
        client.get(f"/1/{path}")
    text = client.get("/api/v1/metrics").text
    assert 'nearsong_requests_total{method="GET",route="/api/v1/songs/{song_id}",status="200"} 3.0' in text
    assert 'nearsong_requests_total{method="GET",route="/api/v1/songs/{song_id}",status="422"} 1.0' in text
    assert 'nearsong_requests_total{method="GET",route="/static",status="200"} 1.0' in text
    assert 'nearsong_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'nearsong_request_seconds_count{route="/api/v1/songs/{song_id}"} 4.0' in text
    assert "nearsong_songs 72.0" in text
    assert 'nearsong_jobs{state="running"} 0.0' in text
    assert "/songs/1" not in text
    assert 'nearsong_requests_total{method="GET",route="/1/{path}",status="404"} 3.0' in text


def test_prometheus_finds_the_numbers_where_it_looks_by_itself(client):
    client.get("/api/v1/songs/1")  # waits until the songs are read
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "nearsong_songs 72.0" in answer.text
    assert "/metrics" not in client.get("/openapi.json").json()["paths"]


def test_two_services_count_apart(make_client):
    first, second = make_client(), make_client()
    first.get("/api/v1/health")
    assert "/api/v1/health" not in second.get("/api/v1/metrics").text


# ---- a library that changes


def test_a_change_by_another_process_is_seen_without_a_request_that_waits(client, trained):
    before = client.get("/api/v1/songs/1").json()["title"]
    with closing(sqlite3.connect(trained.address)) as connection, connection:
        connection.execute("UPDATE songs SET title = 'Another Name' WHERE id = 1")
        connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'changes'")
    assert before != "Another Name"
    wait_for(lambda: client.get("/api/v1/songs/1").json()["title"] == "Another Name")


def test_an_error_of_the_database_does_not_end_the_looking(trained, monkeypatch, caplog):
    monkeypatch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.01)
    before = set(threading.enumerate())
    service = Service(trained)
    asked = []

    def failing():
        asked.append(1)
        if len(asked) == 2:
            raise LibraryError("the library is in use by another program; try again later.")
        if len(asked) == 3:
            raise RuntimeError("something nobody thought of")
        return ("changed", len(asked))

    monkeypatch.setattr(trained, "version_stamp", failing)
    service.start()
    wait_for(lambda: len(asked) > 5)
    service.close()
    assert "is in use by" in caplog.text
    assert service.snapshot.song(1).id == 1
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("nearsong-")]


def test_the_first_who_asks_waits_and_an_empty_library_says_what_to_do(trained, tmp_path):
    assert Service(trained).loaded is None
    assert len(Service(trained).snapshot.space.songs) == 72
    with (
        Library.open(tmp_path / "none.sqlite") as library,
        pytest.raises(EmptyLibraryError, match=r"the library has no songs yet; scan a folder of music first\."),
    ):
        _ = Service(library).snapshot


def test_songs_that_come_into_an_empty_library_are_there(empty_client, styled_music, tmp_path):
    assert empty_client.get("/api/v1/songs").status_code == 409
    music = shutil.copytree(styled_music / "Band A0", tmp_path / "music")
    with Library.open(empty_client.service.library.address) as library:
        library.scan(music, workers=1)
    wait_for(lambda: empty_client.get("/api/v1/songs").status_code == 200)
    assert empty_client.get("/api/v1/songs").json()["total"] == 2


def test_a_scan_in_another_process_and_a_page_that_saves_do_not_disturb_each_other(client, trained, tmp_path):
    music = music_library.make_music(tmp_path / "more", n_artists=5)
    command = [sys.executable, "-m", "nearsong", "--library", trained.address, "scan", str(music), "--workers", "1"]
    scan = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    saved = 0
    while scan.poll() is None or saved < 20:
        made = client.post("/api/v1/playlists", json={"name": f"List {saved}", "songs": [1, 2, 3]})
        assert made.status_code == 201, made.text
        number = made.json()["id"]
        assert client.put(f"/api/v1/playlists/{number}", json={"name": "Again", "songs": [3]}).status_code == 200
        assert client.get("/api/v1/similar?seed=1").status_code == 200
        if saved % 2:
            assert client.delete(f"/api/v1/playlists/{number}").status_code == 204
        saved += 1
    _, errors = scan.communicate()
    assert scan.returncode == 0, errors
    assert len(client.get("/api/v1/playlists").json()) == (saved + 1) // 2
    wait_for(lambda: client.get("/api/v1/songs").json()["total"] == 82)


# ---- a server that really runs


def test_a_server_answers_on_a_real_socket(served):
    with httpx.Client(base_url=served) as client:
        answer = client.get("/api/v1/health")
        assert answer.json()["status"] == "ok"
        assert "server" not in answer.headers
        part = client.get("/api/v1/songs/1/audio", headers={"Range": "bytes=0-3"})
        assert part.status_code == 206
        assert len(part.content) == 4


def test_many_at_once_are_all_answered(served):
    def ask(song):
        with httpx.Client(base_url=served, timeout=60) as client:
            answers = [client.get("/api/v1/similar", params={"seed": song, "n": 5}) for _ in range(5)]
        return [(answer.status_code, [one["song"]["id"] for one in answer.json()["songs"]]) for answer in answers]

    found = in_threads(ask, (1 + song % 3 for song in range(30)))
    assert {status for answers in found for status, _ in answers} == {200}
    assert len({json.dumps(ids) for answers in found for _, ids in answers}) == 3


def test_an_address_that_is_taken_is_reported_in_one_line(trained):
    settings = ServeSettings(port=0)
    with closing(listen(settings)) as first:
        taken = ServeSettings(port=first.getsockname()[1])
        with pytest.raises(ValueError, match=r"port \d+ is in use; choose another with --port"):
            listen(taken)
    with pytest.raises(ValueError, match="is not an address of this machine"):
        listen(ServeSettings(host="no.such.host.invalid", token="0123456789abcdef" * 2))


def test_the_address_is_one_that_a_browser_can_open():
    token = "0123456789abcdef" * 2
    assert address_of(ServeSettings(host="::1"), 1) == "http://[::1]:1/"
    assert address_of(ServeSettings(host="192.0.2.1", token=token), 1) == "http://192.0.2.1:1/"
    assert address_of(ServeSettings(host="0.0.0.0", token=token), 1) == "http://localhost:1/"


def test_a_server_that_ends_closes_what_it_opened(trained):
    before = set(threading.enumerate())
    with running(trained, ServeSettings(port=0)) as address:
        assert httpx.get(f"{address}/api/v1/health").status_code == 200
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("nearsong-")]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/api/v1/health")
