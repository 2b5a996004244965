"""Questions that take a while: a few at a time, some wait, the rest is asked to come back."""

import threading

import pytest

from nearsong.web.http.problems import ApiError
from nearsong.web.service.concurrency import ConcurrencyLimit


def hold(limit: ConcurrencyLimit, n: int) -> tuple[list[threading.Thread], threading.Event, threading.Semaphore]:
    """Let threads have turns until they are asked to end; returns when all have theirs."""
    go, inside = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        with limit.slot():
            inside.release()
            assert go.wait(30)

    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    return threads, go, inside


def test_no_more_than_a_few_have_a_turn_and_the_others_have_theirs_later():
    limit = ConcurrencyLimit(slots=2, queue=3, timeout=30)
    threads, go, inside = hold(limit, 5)
    assert all(inside.acquire(timeout=30) for _ in range(2))
    assert not inside.acquire(timeout=0.1)
    go.set()
    assert all(inside.acquire(timeout=30) for _ in range(3))
    for thread in threads:
        thread.join(30)


def test_beyond_those_who_wait_the_answer_is_503_at_once():
    limit = ConcurrencyLimit(slots=1, queue=0, timeout=30)
    threads, go, inside = hold(limit, 1)
    assert inside.acquire(timeout=30)
    with pytest.raises(ApiError, match="too many playlists and similar requests") as caught, limit.slot():
        pass
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "5")
    go.set()
    threads[0].join(30)
    with limit.slot():
        pass


def test_nobody_waits_for_ever_and_an_error_gives_the_turn_back():
    limit = ConcurrencyLimit(slots=1, queue=1, timeout=0.05)
    with limit.slot(), pytest.raises(ApiError, match="try again in a few seconds"), limit.slot():
        pass
    for _ in range(3):
        with pytest.raises(KeyError), limit.slot():
            raise KeyError


def test_drafts_walks_paths_and_cold_start_take_turns(client):
    client.service.concurrency = ConcurrencyLimit(slots=1, queue=0)
    draft = {"seeds": [1], "length": 5}
    asked = [
        lambda: client.post("/api/v1/playlists/draft", json=draft),
        lambda: client.post("/api/v1/playlists/draft", json={**draft, "to": 9}),
        lambda: client.get("/api/v1/model/cold-start"),
    ]
    path = "/rest/findSonicPath?u=a&p=a&c=t&v=1.16.1&f=json&startSongId=1&endSongId=9"
    with client.service.concurrency.slot():
        for ask in asked:
            answer = ask()
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert "too many playlists" in client.get(path).text
    assert [ask().status_code for ask in asked] == [200, 200, 200]
    assert client.get(path).json()["subsonic-response"]["status"] == "ok"
