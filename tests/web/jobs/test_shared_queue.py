"""Two queues on one PostgreSQL, as of two services: what runs on one is known, followed and stopped on the other."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from pydantic import Field

from nearsong.errors import DatabaseError
from nearsong.library import Library
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs import shared_queue
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.queue import MAX_ENDED_JOBS, MAX_PENDING_JOBS
from nearsong.web.jobs.registry import JOBS
from nearsong.web.jobs.shared_queue import ORPHANED, SharedJobQueue
from waiting import wait_for

# says where it is until a file appears, then what came of it
STAND_IN = """
import json, os, sys, time
spec = json.loads(sys.stdin.readline())
print(json.dumps({"progress": ["waiting", 3, 7]}), flush=True)
while spec["file"] and not os.path.exists(spec["file"]):
    time.sleep(0.01)
print(json.dumps({"note": "a note"}))
print(json.dumps({"words": "All done."}))
print(json.dumps({"result": {"n": spec["n"]}}), flush=True)
"""


class Errand(JobSpec):
    """A job that ends when its file appears."""

    kind: str = "errand"
    file: str = Field(default="")
    n: int = 0
    who: str = ""
    title: ClassVar[str] = "Errand"
    first_stage: ClassVar[str] = "waiting"
    stopped_words: ClassVar[str] = "The errand was stopped."

    @property
    def owner(self) -> str:
        return self.who

    def run(self, library: Library, reporter: Any) -> dict[str, Any]:
        raise NotImplementedError  # another program stands in


class Service:
    """What of a service is about jobs: a queue, and a connection of its own."""

    def __init__(self, address: str, script: str) -> None:
        self.library = Library.open(address)
        shared = self.library.shared_state()
        assert shared is not None
        self.shared = shared
        self.jobs = SharedJobQueue(address, shared, command=(sys.executable, script))
        self.jobs.start()

    def close(self) -> None:
        self.jobs.close()
        self.shared.leave()
        self.library.close()


@pytest.fixture
def address(postgres) -> str:
    return str(postgres.new_schema())


@pytest.fixture
def services(address, tmp_path, monkeypatch) -> Iterator[list[Service]]:
    """Two services on one library."""
    monkeypatch.setitem(JOBS, "errand", Errand)
    monkeypatch.setattr(shared_queue, "ACTIVE_POLL_SECONDS", 0.02)
    monkeypatch.setattr(shared_queue, "IDLE_POLL_SECONDS", 0.05)
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    with contextlib.ExitStack() as open_ones:
        made = [Service(address, str(script)) for _ in range(2)]
        for service in made:
            open_ones.callback(service.close)
        yield made


@pytest.fixture
def file(tmp_path):
    return tmp_path / "go"


def test_a_job_is_known_at_once_followed_and_its_result_told_elsewhere(services, file):
    here, there = (service.jobs for service in services)
    job, is_new = here.add(Errand(file=str(file), n=5))
    assert is_new
    assert there.get(job.id).title == "Errand"
    assert [one.id for one in there.all()] == [job.id]
    wait_for(lambda: there.get(job.id).done == 3)
    running, version = there.get_versioned(job.id)
    assert (running.state, running.stage, running.total) == ("running", "Waiting", 7)
    assert there.is_busy
    file.touch()
    ended = there.wait(job.id, 300)
    assert (ended.state, ended.result, ended.notes, ended.words) == ("done", {"n": 5}, ["a note"], "All done.")
    assert there.get_versioned(job.id)[1] > version
    assert ended == here.get(job.id)


def test_the_same_job_is_started_once_and_two_never_run_at_the_same_time(services, file):
    here, there = (service.jobs for service in services)
    first, _ = here.add(Errand(file=str(file)))
    again, is_new = there.add(Errand(file=str(file)))
    assert (again.id, is_new) == (first.id, False)
    others = [(there, here)[n % 2].add(Errand(n=n + 1))[0] for n in range(4)]
    wait_for(lambda: there.get(first.id).state == "running")
    assert [there.get(job.id).state for job in others] == ["pending"] * 4
    file.touch()
    ended = [there.wait(job.id, 300) for job in (first, *others)]
    assert [job.state for job in ended] == ["done"] * 5
    for one, following in pairwise(ended):  # in the order in which they were started
        assert one.ended <= following.started
    assert [job.id for job in here.all()] == [job.id for job in reversed(ended)]


def test_equal_jobs_that_are_started_everywhere_at_once_are_one(services, file):
    started: list[tuple[str, bool]] = []

    def start(service: Service) -> None:
        job, is_new = service.jobs.add(Errand(file=str(file)))
        started.append((job.id, is_new))

    threads = [threading.Thread(target=start, args=(service,)) for service in services * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({job_id for job_id, _ in started}) == 1
    assert sum(is_new for _, is_new in started) == 1
    file.touch()


def test_a_job_is_stopped_from_elsewhere_running_or_pending_while_another_program_writes(services, address, file):
    here, there = (service.jobs for service in services)
    released = threading.Event()
    running, _ = here.add(Errand(file=str(file)), on_end=released.set)
    pending, _ = here.add(Errand(n=1))
    wait_for(lambda: there.get(running.id).state == "running")
    with Library.open(address) as other, other._store.writing():  # as a training that stores its model
        for job in (pending, running):
            there.cancel(job.id)
            ended = there.wait(job.id, 300)
            assert (ended.state, ended.words) == ("cancelled", "The errand was stopped.")
    assert released.wait(300)
    assert here.get(running.id).state == "cancelled"


def test_an_automatic_job_gives_way_to_one_that_a_person_starts_elsewhere(services, file):
    here, there = (service.jobs for service in services)
    automatic, _ = here.add(Errand(file=str(file)), is_automatic=True)
    wait_for(lambda: there.get(automatic.id).state == "running")
    job, _ = there.add(Errand(n=1))
    assert there.wait(job.id, 300).state == "done"
    assert here.wait(automatic.id, 300).state == "cancelled"
    assert here.gave_way(automatic.id)
    assert here.get(automatic.id).is_automatic


def test_no_more_than_ten_wait_over_all_services_and_the_last_fifty_are_remembered(services, file, monkeypatch):
    here, there = (service.jobs for service in services)
    job, _ = here.add(Errand(file=str(file)))
    wait_for(lambda: here.get(job.id).state == "running")
    for n in range(MAX_PENDING_JOBS):
        here.add(Errand(n=n + 1))
    there.all()
    assert there.is_full
    with pytest.raises(ApiError, match="10 jobs are waiting already") as caught:
        there.add(Errand(n=99))
    assert caught.value.status == 503
    monkeypatch.setattr(shared_queue, "MAX_ENDED_JOBS", 3)
    file.touch()
    wait_for(lambda: not there.is_busy)
    wait_for(lambda: [one.result for one in there.all()] == [{"n": n} for n in (10, 9, 8)])
    with pytest.raises(ApiError, match="job not found"):
        there.get(job.id)
    assert MAX_ENDED_JOBS == 50


def test_the_jobs_of_a_listener_who_leaves_are_stopped_and_forgotten_everywhere(services, file):
    here, there = (service.jobs for service in services)
    ended, _ = here.add(Errand(who="anna"))
    there.wait(there.get(ended.id).id, 300)
    running, _ = here.add(Errand(file=str(file), who="anna", n=1))
    bens, _ = there.add(Errand(file=str(file), who="ben", n=2))
    wait_for(lambda: there.get(running.id).state == "running")
    there.forget("anna")
    wait_for(lambda: [job.id for job in here.all()] == [bens.id])
    wait_for(lambda: [job.id for job in there.all()] == [bens.id])
    file.touch()
    assert here.wait(bens.id, 300).state == "done"


def test_jobs_of_a_killed_service_end_in_words_and_the_others_go_on(services, file, monkeypatch):
    here, there = services
    running, _ = here.jobs.add(Errand(file=str(file)))
    pending, _ = here.jobs.add(Errand(file=str(file), n=1))
    waits, _ = there.jobs.add(Errand(n=2))
    wait_for(lambda: there.jobs.get(running.id).state == "running")
    monkeypatch.setattr(shared_queue, "ALIVE_SECONDS", 0.0)
    here.jobs._has_left = True  # as if killed: it shows no more that it is alive
    here.jobs._follower.join()
    here.shared.leave()  # ten seconds later
    for job in (running, pending):
        ended = there.jobs.wait(job.id, 300)
        assert (ended.state, ended.words, ended.error) == ("failed", ORPHANED, ORPHANED)
        assert ended.ended is not None
    assert there.jobs.wait(waits.id, 300).state == "done"
    here.jobs.share()  # it was not dead after all: it stops what is taken as ended, and changes nothing about it
    assert here.jobs.wait(running.id, 300).state == "cancelled"
    here.jobs.share()
    assert there.jobs.get(running.id).words == ORPHANED


def test_while_the_database_cannot_be_reached_known_jobs_are_shown_and_none_is_taken_as_ended(services, file, caplog):
    here, there = (service.jobs for service in services)
    job, _ = here.add(Errand(file=str(file)))
    wait_for(lambda: there.get(job.id).state == "running")
    lost = DatabaseError("the library cannot be reached", "it", True)

    def fail(*_arguments: Any) -> Any:
        raise lost

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(there._table, "versions", fail)
        patch.setattr(here._table, "write", fail)
        wait_for(lambda: "jobs cannot be shared with other services" in caplog.text)
        assert [one.id for one in there.all()] == [job.id]
        assert there._alive_since is None or time.monotonic() - there._alive_since < shared_queue.ALIVE_SECONDS
        file.touch()
        assert here.wait(job.id, 300).state == "done"
        assert there.get(job.id).state == "running"
    assert there.wait(job.id, 300).state == "done"
    assert len([record for record in caplog.records if "shared with other" in record.getMessage()]) <= 4
