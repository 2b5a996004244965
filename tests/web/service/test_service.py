"""What requests share: there as soon as the songs are read, and anew when a job has brought some."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearsong.errors import LibraryError
from nearsong.library.snapshot import Snapshot
from nearsong.web.service.service import MAX_LOGGED_ERRORS, Service
from waiting import wait_for

WAIT = 30  # seconds until a test that hangs fails


@pytest.fixture
def held(monkeypatch):
    """Holds up making ready until it is set; its own ``begun`` tells that someone waits."""
    event, warm = threading.Event(), Snapshot.warm
    event.begun = threading.Event()

    def waiting(self):
        event.begun.set()
        assert event.wait(WAIT)
        warm(self)

    monkeypatch.setattr(Snapshot, "warm", waiting)
    yield event
    event.set()


def test_the_first_answers_do_not_wait_until_everything_is_ready(held, client):
    assert held.begun.wait(WAIT)
    assert len(client.get("/api/v1/similar?seed=1&n=5").json()["songs"]) == 5
    assert client.get("/api/v1/songs/1").status_code == 200
    assert client.service.snapshot.warming == 0
    held.set()


def test_a_change_is_seen_only_when_it_is_ready(client, trained, held):
    held.set()
    first = client.service.snapshot
    held.clear()
    held.begun.clear()
    native = next(row.id for row in trained.models() if row.kind == "native")
    trained.use_model(native)
    assert held.begun.wait(WAIT)
    assert client.service.snapshot is first
    held.set()
    client.service.refresh()
    assert client.service.snapshot.model.id == native


def test_songs_are_looked_for_at_once_when_a_job_has_ended(trained, monkeypatch):
    monkeypatch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.01)
    service = Service(trained)
    jobs, looked, enough = [SimpleNamespace(id="1", ended=None)], [], threading.Event()

    def look(*, now=False):
        looked.append(now)
        if len(looked) == 3:
            jobs[0].ended = 5.0
        if len(looked) == 8:
            enough.set()

    monkeypatch.setattr(service.jobs, "all", lambda: jobs)
    monkeypatch.setattr(service, "refresh", look)
    service.start()
    assert enough.wait(WAIT)
    service.close()
    assert looked[:8] == [False, False, False, True, False, False, False, False]


def test_a_library_that_is_gone_is_reported_once_and_once_that_it_is_back(trained, monkeypatch, caplog):
    monkeypatch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.01)
    service, file = Service(trained), Path(trained.address)
    looks, look = [], service._check

    def counted(ended):
        looks.append(1)
        return look(ended)

    def wait_for_looks() -> None:
        enough = len(looks) + 5
        wait_for(lambda: len(looks) >= enough)

    monkeypatch.setattr(service, "_check", counted)
    service.start()
    try:
        wait_for_looks()
        for _ in range(2):  # the second time it is reported again
            moved = file.rename(file.with_name("elsewhere.sqlite"))
            wait_for_looks()
            moved.rename(file)
            wait_for_looks()
    finally:
        service.close()
    gone = f"the library could not be read: the library file {file} is missing; restore it."
    assert [record.getMessage() for record in caplog.records] == [gone, "the library can be read again."] * 2


def test_the_log_reports_few_troubles_however_many_there_are(trained, monkeypatch, caplog):
    monkeypatch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.01)
    service, looks, enough = Service(trained), [], threading.Event()

    def fail(_ended):
        looks.append(1)
        if len(looks) > 3 * MAX_LOGGED_ERRORS:
            enough.set()
        raise LibraryError(f"trouble {len(looks)}")

    monkeypatch.setattr(service, "_check", fail)
    service.start()
    assert enough.wait(WAIT)
    service.close()
    assert len(caplog.records) == MAX_LOGGED_ERRORS


def test_a_look_that_hangs_does_not_keep_the_service_from_ending(trained, monkeypatch):
    monkeypatch.setattr("nearsong.web.service.service.CLOSE_SECONDS", 0.01)
    service, begun, over = Service(trained), threading.Event(), threading.Event()

    def hang(ended):
        begun.set()
        assert over.wait(WAIT)
        return ended

    monkeypatch.setattr(service, "_check", hang)
    others = set(threading.enumerate())  # other services of the tests may run
    service.start()
    (looking,) = [one for one in set(threading.enumerate()) - others if one.name == "nearsong-refresh"]
    assert begun.wait(WAIT)
    service.close()
    assert looking.is_alive()
    over.set()
    looking.join(WAIT)
    assert not looking.is_alive()


@pytest.fixture
def needs_a_graph(monkeypatch):
    """The songs of the tests are as many as those that need a graph."""
    monkeypatch.setattr("nearsong.library.neighbours.space.APPROXIMATE_ABOVE", 50)


def test_a_service_builds_the_graphs_that_its_cache_has_not_also_after_another_model_is_used(
    needs_a_graph, client, trained
):
    def has_graph(model):
        snapshot = client.service.loaded
        return snapshot is not None and snapshot.model.id == model and not snapshot.space.index.is_exact

    learned, native = sorted(trained.models(), key=lambda row: row.kind)
    for model in (learned, native):
        trained.use_model(model.id)
        assert len(client.get("/api/v1/similar?seed=1&n=5").json()["songs"]) == 5
        wait_for(lambda model=model: has_graph(model.id))
        assert len(client.get("/api/v1/similar?seed=1&n=5").json()["songs"]) == 5
