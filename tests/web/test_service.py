"""What requests share: there as soon as the songs are read, and anew when a job has brought some."""

import threading
from types import SimpleNamespace

import pytest

from nearsong.library.snapshot import Snapshot
from nearsong.web.service import Service

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
    monkeypatch.setattr("nearsong.web.service.LOOK_SECONDS", 0.01)
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
