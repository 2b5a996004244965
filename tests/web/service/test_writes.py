"""Writes wait in one place, for a while; whoever reads never waits for them."""

import importlib
import pkgutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import anyio
import httpx
import pytest

import nearsong.web.api
from nearsong.library import Library
from nearsong.web.http.problems import ApiError
from nearsong.web.service.service import Service
from nearsong.web.service.writes import MAX_CONCURRENT, WriteQueue, queued
from nearsong.web.subsonic import METHODS, WRITING_METHODS
from waiting import wait_for

WAIT = 60  # seconds until a test that hangs fails
N_WRITES = 60  # more than the 40 threads that requests share
PLAYER = {"u": "me", "f": "json"}

READS = [
    "/api/v1/songs",
    "/api/v1/similar?seed=1",
    "/api/v1/status",
    "/api/v1/playlists",
    "/api/v1/listens",
    "/api/v1/model",
    "/api/v1/songs/1/audio",
    "/api/v1/songs/1/cover?placeholder=true",
    "/rest/getAlbumList2?u=me&f=json&type=newest",
    "/rest/getPlaylists?u=me&f=json",
    "/rest/getScanStatus?u=me&f=json",
    "/static/js/app.js",
    "/",
]

API_WRITES: dict[str, tuple[str, str, Any]] = {
    "POST /api/v1/plays": ("POST", "/api/v1/plays", {"song_id": 1}),
    "PUT /api/v1/songs/{song_id}/heart": ("PUT", "/api/v1/songs/1/heart", None),
    "DELETE /api/v1/songs/{song_id}/heart": ("DELETE", "/api/v1/songs/1/heart", None),
    "PUT /api/v1/songs/{song_id}/rating": ("PUT", "/api/v1/songs/1/rating", {"stars": 4}),
    "DELETE /api/v1/songs/{song_id}/rating": ("DELETE", "/api/v1/songs/1/rating", None),
    "POST /api/v1/skips": ("POST", "/api/v1/skips", {"song_id": 1}),
    "POST /api/v1/playlists": ("POST", "/api/v1/playlists", {"name": "new", "songs": [1, 2]}),
    "PUT /api/v1/playlists/{playlist_id}": ("PUT", "/api/v1/playlists/1", {"name": "other", "songs": [2]}),
    "POST /api/v1/playlists/{playlist_id}/songs": ("POST", "/api/v1/playlists/1/songs", {"songs": [2]}),
    "DELETE /api/v1/playlists/{playlist_id}": ("DELETE", "/api/v1/playlists/1", None),
    "PUT /api/v1/model": ("PUT", "/api/v1/model", {"id": 1}),
    "DELETE /api/v1/listens/{history}": ("DELETE", "/api/v1/listens/1", None),
    "DELETE /api/v1/model/{model_id}": ("DELETE", "/api/v1/model/1", None),
    "DELETE /api/v1/folders": ("DELETE", "/api/v1/folders?path=FOLDER", None),
    "PUT /api/v1/automation": ("PUT", "/api/v1/automation", {"watch": False}),
}

ACCOUNT_WRITES: dict[str, tuple[str, str, Any]] = {
    "POST /api/v1/listeners": ("POST", "/api/v1/listeners", {"name": "eve"}),
    "PUT /api/v1/listeners/{name}": ("PUT", "/api/v1/listeners/ben", {"is_admin": True}),
    "POST /api/v1/listeners/{name}/token": ("POST", "/api/v1/listeners/ben/token", None),
    "POST /api/v1/listeners/{name}/app-password": ("POST", "/api/v1/listeners/ben/app-password", None),
    "DELETE /api/v1/listeners/{name}/app-password": ("DELETE", "/api/v1/listeners/ben/app-password", None),
    "DELETE /api/v1/listeners/{name}": ("DELETE", "/api/v1/listeners/ben", None),
}

PLAYER_WRITES: dict[str, dict[str, Any]] = {
    "scrobble": {"id": 1},
    "createPlaylist": {"name": "from a player", "songId": [1, 2]},
    "updatePlaylist": {"playlistId": "pl-1", "name": "renamed", "songIdToAdd": 3},
    "deletePlaylist": {"id": "pl-1"},
    "star": {"id": 1},
    "unstar": {"id": 1},
    "setRating": {"id": 1, "rating": 4},
    "savePlayQueue": {"id": [1, 2], "current": 2},
    "savePlayQueueByIndex": {"id": [1, 2], "currentIndex": 1},
    "createBookmark": {"id": 2, "position": 1_000},
    "deleteBookmark": {"id": 2},
    "reportPlayback": {"mediaId": 1, "mediaType": "song", "positionMs": 2_000, "state": "playing"},
}

WITHOUT_THE_LIBRARY = {
    "POST /api/v1/playlists/draft": "makes a playlist and stores nothing",
    "POST /api/v1/playlists/export": "makes a file and stores nothing",
    "POST /api/v1/radio": "chooses songs and stores nothing",
    "POST /api/v1/navidrome/similar": "chooses songs and stores nothing",
    "POST /api/v1/navidrome/path": "chooses songs and stores nothing",
    "POST /api/v1/query": "analyses a file and may start a job",
    "POST /api/v1/listens": "starts a job",
    "POST /api/v1/jobs": "starts a job",
    "DELETE /api/v1/jobs/{job_id}": "stops a job",
}
"""Routes that are no GET and do not write to the library."""


@contextmanager
def locked(library: Library) -> Iterator[None]:
    """Hold the write lock of a library, as another program does."""
    with closing(sqlite3.connect(library.address, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def set_timeouts(service: Service, seconds: float) -> None:
    service.writes = WriteQueue(timeout=seconds)
    service.library.set_lock_timeout(seconds)


def api_write(client: httpx.Client, name: str) -> httpx.Response:
    method, path, body = {**API_WRITES, **ACCOUNT_WRITES}[name]
    if "FOLDER" in path:
        path = path.replace("FOLDER", client.service.library.folders[0])
    return client.request(method, path, json=body)


def player_write(client: httpx.Client, name: str) -> httpx.Response:
    return client.get(f"/rest/{name}", params={**PLAYER, **PLAYER_WRITES[name]})


def many_writes(client: httpx.Client, people: ThreadPoolExecutor) -> list["Future[httpx.Response]"]:
    """Begin more writes than there are threads, of the API and of players."""
    asked: list[Future[httpx.Response]] = []
    for number in range(N_WRITES // 4):
        asked.append(people.submit(client.post, "/api/v1/plays", json={"song_id": number + 1}))
        asked.append(people.submit(api_write, client, "POST /api/v1/playlists"))
        asked.append(people.submit(player_write, client, "createPlaylist"))
        asked.append(people.submit(client.get, "/rest/scrobble", params={**PLAYER, "id": number + 30}))
    return asked


def test_who_reads_is_answered_while_more_writes_wait_than_there_are_threads(client, trained):
    set_timeouts(client.service, WAIT)
    with ThreadPoolExecutor(N_WRITES) as people, ThreadPoolExecutor(1) as reader:
        with locked(trained):
            asked = many_writes(client, people)
            wait_for(lambda: client.service.writes.waiting == N_WRITES - MAX_CONCURRENT)
            for path in READS:
                answer = reader.submit(client.get, path).result(WAIT)
                assert answer.status_code == 200, path
            with Library.open(trained.address, create=False) as another:  # nor does a program that starts now
                assert another.status().songs == trained.status().songs
            assert not any(write.done() for write in asked)
        assert {write.result(WAIT).status_code for write in asked} == {200, 201, 204}


def test_many_who_read_at_once_do_not_wait_for_writers_either(client, trained):
    set_timeouts(client.service, WAIT)
    with ThreadPoolExecutor(N_WRITES) as people, ThreadPoolExecutor(30) as readers, locked(trained):
        asked = many_writes(client, people)
        wait_for(lambda: client.service.writes.waiting == N_WRITES - MAX_CONCURRENT)
        read = [readers.submit(client.get, "/api/v1/playlists") for _ in range(90)]
        assert {answer.result(WAIT).status_code for answer in read} == {200}
        assert not any(write.done() for write in asked)


def test_writes_that_waited_too_long_are_busy_and_work_once_the_lock_is_free(client, trained):
    set_timeouts(client.service, 0.3)
    with ThreadPoolExecutor(N_WRITES) as people:
        with locked(trained):
            refused = [write.result(WAIT) for write in many_writes(client, people)]
        for answer in refused:
            assert answer.status_code == 503
            assert int(answer.headers["Retry-After"]) > 0
        kinds = {answer.json()["type"] for answer in refused if "type" in answer.json()}
        assert kinds == {"urn:nearsong:busy"}
        set_timeouts(client.service, WAIT)
        assert {write.result(WAIT).status_code for write in many_writes(client, people)} == {200, 201, 204}


@pytest.mark.parametrize("name", [*API_WRITES, *ACCOUNT_WRITES, *PLAYER_WRITES])
def test_every_write_is_busy_while_another_program_writes_and_works_afterwards(client, trained, name):
    trained.playlists.add("mine", [1, 2])
    if name in ACCOUNT_WRITES:
        trained.accounts.add("ben")
        client.headers["Authorization"] = f"Bearer {trained.accounts.add('ada', is_admin=True)}"
        client.service.accounts.refresh()
    set_timeouts(client.service, 0.05)
    write = player_write if name in PLAYER_WRITES else api_write
    with locked(trained):
        answer = write(client, name)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    words = "the library is in use by another program; try again later."
    if name not in PLAYER_WRITES:
        assert (answer.json()["type"], answer.json()["detail"]) == ("urn:nearsong:busy", words)
    else:
        assert answer.json()["subsonic-response"]["error"] == {"code": 0, "message": words}
    set_timeouts(client.service, WAIT)
    assert write(client, name).is_success


def test_a_write_of_this_service_waits_for_seconds_and_a_command_for_a_minute(trained):
    assert trained._store._database.lock_timeout_seconds == 60
    Service(trained).close()
    assert trained._store._database.lock_timeout_seconds == 5


# ---- no route can forget the queue


def is_queued(endpoint: Any) -> bool:
    return getattr(endpoint, "__code__", None) is queued(lambda: None).__code__


def api_routes() -> Iterator[tuple[str, Any]]:
    """Every operation of the API that is no GET, and its function."""
    for module in pkgutil.walk_packages(nearsong.web.api.__path__, "nearsong.web.api."):
        router = getattr(importlib.import_module(module.name), "router", None)
        for route in () if module.ispkg or router is None else router.routes:
            for method in route.methods - {"GET", "HEAD"}:
                yield f"{method} /api/v1{route.path}", route.endpoint


def test_every_route_that_is_no_get_goes_through_the_queue_or_does_not_write(client):
    found = {name: is_queued(endpoint) for name, endpoint in api_routes()}
    paths = client.get("/openapi.json").json()["paths"]
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert set(found) == {name for name in described if not name.startswith("GET ")}
    assert {name for name, goes_through in found.items() if goes_through} == {*API_WRITES, *ACCOUNT_WRITES}
    assert set(found) - {*API_WRITES, *ACCOUNT_WRITES} == set(WITHOUT_THE_LIBRARY)


def test_every_method_of_players_that_changes_something_goes_through_the_queue():
    assert set(WRITING_METHODS) == set(PLAYER_WRITES)
    reading = ("get", "search", "ping", "tokenInfo", "stream", "download")
    others = {name for name in METHODS if not name.startswith(reading) and name not in WRITING_METHODS}
    assert others == {"startScan", "findSonicPath"}, (
        "does it write to the library? then it belongs to WRITING_METHODS"
    )


# ---- the queue itself


def test_a_queue_that_is_full_refuses_at_once():
    begun, go_on = threading.Event(), threading.Event()

    def write() -> str:
        begun.set()
        assert go_on.wait(WAIT)
        return "written"

    async def run() -> None:
        queue, written = WriteQueue(slots=1, queue=1, timeout=WAIT), []

        async def ask() -> None:
            written.append(await queue.run(write))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            assert await anyio.to_thread.run_sync(begun.wait, WAIT)
            group.start_soon(ask)
            with anyio.fail_after(WAIT):
                while not queue.waiting:
                    await anyio.sleep(0.01)
            with pytest.raises(ApiError, match="too many changes are waiting") as caught:
                await queue.run(write)
            assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "5"})
            go_on.set()
        assert written == ["written", "written"]

    anyio.run(run)


def test_an_error_of_a_write_frees_its_place():
    def fail() -> None:
        raise ValueError("no")

    async def run() -> None:
        queue = WriteQueue(slots=1, queue=1, timeout=WAIT)
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await queue.run(fail)
        assert await queue.run(lambda: "written") == "written"

    anyio.run(run)
