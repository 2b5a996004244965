"""Work in processes of its own: real scans and trainings, ended in every way there is."""

import contextlib
import json
import os
import re
import signal
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

import music_library
import nearsong.library
from nearsong.library import Library
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs import queue
from nearsong.web.jobs.draw_map import DrawMap
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.queue import MAX_ENDED_JOBS, MAX_PENDING_JOBS, JobQueue
from nearsong.web.jobs.registry import JOBS
from nearsong.web.jobs.scan import Scan
from nearsong.web.jobs.train import Train
from waiting import wait_for

# A process that does the steps it is given, instead of the real one, for what is about jobs and not about libraries.
TRICKS = """
import json, os, subprocess, sys, time
spec = json.loads(sys.stdin.readline())
def say(**what):
    print(json.dumps(what), flush=True)
for step in spec["steps"]:
    if step == "wait":
        time.sleep(600)
    elif step == "until":
        while not os.path.exists(spec["file"]):
            time.sleep(0.01)
    elif step == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        say(note=str(child.pid))
    elif step == "spec":
        say(result={"spec": spec, "arguments": sys.argv, "session": os.getsid(0) == os.getpid()})
    elif step == "die":
        os.kill(os.getpid(), 9)
    elif step == "leave":
        sys.exit(7)
    elif step == "deaf":
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif step == "chatter":
        print("this is no JSON", flush=True)
        sys.stderr.write("opinion\\n" * 100_000)
    else:
        say(**step)
"""


class Trick(JobSpec):
    """A job that does the steps it is given."""

    kind: str = "trick"
    steps: list[Any] = Field(default_factory=list)
    file: str = ""
    n: int = 0
    title: ClassVar[str] = "Trick"
    first_stage: ClassVar[str] = "thinking"
    stage_words: ClassVar[dict[str, str]] = {"fitting the encoder": "Learning typical sounds"}

    def run(self, library, reporter):
        """Never called: another program stands in for the process."""


@pytest.fixture
def tricks(tmp_path):
    """Jobs whose processes do the steps that they are given."""
    script = tmp_path / "tricks.py"
    script.write_text(TRICKS)
    made = JobQueue("postgresql://me:secret@nowhere/library", command=(sys.executable, str(script)))
    yield made
    made.close()


@pytest.fixture
def jobs(trained):
    made = JobQueue(trained.address)
    yield made
    made.close()


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def run(jobs: JobQueue, *steps, **spec):
    job, _ = jobs.add(Trick(steps=list(steps), **spec))
    return jobs.wait(job.id, 300)


def test_a_job_reports_how_far_it_is_and_what_came_of_it(tricks):
    going = {"progress": ["analysing songs", 3, 10]}
    job = run(tricks, going, {"note": "a thing to know"}, {"words": "10 songs."}, {"result": {"songs": 10}})
    assert (job.state, job.done, job.total, job.notes) == ("done", 3, 10, ["a thing to know"])
    assert (job.result, job.words) == ({"songs": 10}, "10 songs.")
    assert job.error is None
    assert job.started is not None
    assert job.ended is not None
    assert job.ended >= job.started


def test_stages_are_reported_in_words_for_people(tricks, tmp_path):
    job, _ = tricks.add(
        Trick(steps=[{"progress": ["fitting the encoder", 1, 2]}, "until"], file=str(tmp_path / "go"))
    )
    wait_for(lambda: tricks.get(job.id).stage == "Learning typical sounds")
    (tmp_path / "go").touch()
    assert tricks.wait(job.id, 300).state == "failed"  # it has reported no result
    assert run(tricks, {"progress": ["thinking", 0, 0]}, {"result": {}}).state == "done"


def reported_stages() -> set[str]:
    """Return the stages that the library reports."""
    sources = [file.read_text("utf-8") for file in Path(nearsong.library.__file__).parent.rglob("*.py")]
    return {stage for text in sources for stage in re.findall(r'progress\("([^"]+)",', text)}


@pytest.mark.parametrize("kind", JOBS)
def test_every_kind_of_job_has_a_title_and_words_only_for_stages_that_are_reported(kind):
    job = JOBS[kind]
    assert job.title
    assert job.first_stage in reported_stages()
    assert set(job.stage_words) <= reported_stages()
    assert job.model_fields["kind"].default == kind


def test_every_stage_that_the_library_reports_is_an_activity_or_has_words_for_one():
    named = {stage for job in JOBS.values() for stage in job.stage_words}
    assert {stage for stage in reported_stages() if not stage.split()[0].endswith("ing")} <= named


def test_the_address_of_the_library_is_no_argument_that_others_can_see(tricks):
    result = run(tricks, "spec").result
    assert result["spec"]["address"] == "postgresql://me:secret@nowhere/library"
    assert not any("secret" in argument for argument in result["arguments"])
    assert result["session"]


def test_one_runs_at_a_time_and_the_others_wait_in_order(tricks, tmp_path):
    first, _ = tricks.add(Trick(steps=["until", {"result": {}}], file=str(tmp_path / "go")))
    others = [tricks.add(Trick(steps=[{"result": {"n": n}}]))[0] for n in range(3)]
    wait_for(lambda: tricks.get(first.id).state == "running")
    assert [tricks.get(job.id).state for job in others] == ["pending"] * 3
    assert [job.id for job in tricks.all()] == [job.id for job in reversed([first, *others])]
    (tmp_path / "go").touch()
    ended = [tricks.wait(job.id, 300) for job in (first, *others)]
    assert [job.state for job in ended] == ["done"] * 4
    assert [job.started for job in ended] == sorted(job.started for job in ended)
    assert all(one.ended <= other.started for one, other in pairwise(ended))


def test_the_same_work_twice_is_one_job_unless_it_must_begin_anew(tricks):
    job, is_new = tricks.add(Trick(steps=["wait"]))
    again, again_is_new = tricks.add(Trick(steps=["wait"]))
    assert (is_new, again_is_new, again.id) == (True, False, job.id)
    wait_for(lambda: tricks.get(job.id).state == "running")
    assert tricks.add(Trick(steps=["wait"]))[0].id == job.id
    anew, is_new = tricks.add(Trick(steps=["wait"]), reuse_running=False)
    assert is_new
    assert tricks.add(Trick(steps=["wait"]), reuse_running=False)[0].id == anew.id  # it has not begun
    other, is_new = tricks.add(Trick(kind="other", steps=["wait"]))
    assert is_new
    tricks.cancel(job.id)
    tricks.cancel(anew.id)
    tricks.cancel(other.id)
    assert tricks.add(Trick(steps=["wait"]))[0].id not in (job.id, anew.id)


def test_no_more_than_ten_wait(tricks):
    job, _ = tricks.add(Trick(steps=["wait"]))
    wait_for(lambda: tricks.get(job.id).state == "running")
    for n in range(MAX_PENDING_JOBS):
        tricks.add(Trick(n=n + 1))
    assert tricks.is_full
    with pytest.raises(ApiError, match="10 jobs are waiting already; try again when some are done") as caught:
        tricks.add(Trick(n=99))
    assert caught.value.status == 503
    assert caught.value.headers["Retry-After"] == "60"


def test_the_last_fifty_that_ended_are_remembered(tmp_path):
    jobs = JobQueue("nowhere", command=(str(tmp_path / "no such program"),))
    ids = [jobs.add(Trick())[0].id]
    failed = jobs.wait(ids[0], 300)
    assert failed.state == "failed"
    assert failed.error.startswith("the job could not be started (")
    for n in range(MAX_ENDED_JOBS):
        ids.append(jobs.add(Trick(n=n))[0].id)
        jobs.wait(ids[-1], 300)
    assert [job.id for job in jobs.all()] == ids[:0:-1]
    with pytest.raises(ApiError, match="job not found"):
        jobs.get(ids[0])
    jobs.close()


def test_a_process_that_dies_without_a_word_is_a_failure_that_says_so(tricks):
    job = run(tricks, {"progress": ["map", 1, 2]}, "die")
    assert job.state == "failed"
    assert job.error == (
        "the process was killed (SIGKILL) before it was done, perhaps for lack of memory; start it again and it "
        "continues."
    )
    assert "ended with code 7" in run(tricks, "leave").error
    assert run(tricks, {"error": "no songs; scan first."}).error == "no songs; scan first."


def test_what_else_a_process_says_stops_nothing(tricks):
    assert run(tricks, "chatter", {"result": {}}).state == "done"


def test_cancelling_ends_the_process_and_all_that_it_started(tricks):
    job, _ = tricks.add(Trick(steps=["child", "wait"]))
    child = int(wait_for(lambda: tricks.get(job.id).notes)[0])
    assert is_there(child)
    tricks.cancel(job.id)
    assert tricks.wait(job.id, 300).state == "cancelled"
    wait_for(lambda: not is_there(child))
    tricks.cancel(job.id)  # twice is once
    assert tricks.get(job.id).state == "cancelled"


def test_a_process_that_does_not_listen_is_killed(tricks, monkeypatch):
    monkeypatch.setattr(queue, "GRACE_SECONDS", 0.3)
    job, _ = tricks.add(Trick(steps=["deaf", {"note": "ready"}, "wait"]))
    wait_for(lambda: tricks.get(job.id).notes)
    tricks.cancel(job.id)
    assert tricks.get(job.id).stage == "Stopping"
    stopped = tricks.wait(job.id, 300)
    assert (stopped.state, stopped.words) == ("cancelled", "Stopped.")


def test_everything_is_tidied_up_once_however_a_job_ends(tricks):
    reports = []
    others = set(threading.enumerate())  # of other services that the tests run
    ends = {"done": [{"result": {}}], "failed": ["die"], "cancelled": ["wait"], "closed": ["wait"], "pending": []}
    ids = {
        name: tricks.add(Trick(kind=name, steps=steps), on_end=lambda n=name: reports.append(n))[0].id
        for name, steps in ends.items()
    }
    wait_for(lambda: tricks.get(ids["cancelled"]).state == "running")
    tricks.cancel(ids["cancelled"])
    wait_for(lambda: tricks.get(ids["closed"]).state == "running")
    tricks.close()
    assert [tricks.get(job).state for job in ids.values()] == [
        "done",
        "failed",
        "cancelled",
        "cancelled",
        "cancelled",
    ]
    assert sorted(reports) == sorted(ends)
    with pytest.raises(ApiError, match="the service is shutting down"):
        tricks.add(Trick())
    assert not [one for one in set(threading.enumerate()) - others if one.name == "nearsong-jobs"]


# ---- real work


def test_a_training_runs_and_says_what_it_does_and_what_it_found(jobs, trained, monkeypatch):
    before = next(row.id for row in trained.models() if row.kind == "native")
    trained.use_model(before)
    reports, read = [], jobs._read_event
    monkeypatch.setattr(jobs, "_read_event", lambda job, line: reports.append(json.loads(line)) or read(job, line))
    job = jobs.wait(jobs.add(Train())[0].id, 300)
    assert job.state == "done", job.error
    assert job.result["decision"] == "learned"
    assert job.result["model"] == trained.active_model != before
    assert job.words == job.result["sentences"][0]
    assert job.words.startswith("Better: ")
    assert job.result["advice"].startswith("More than 36 artists would give better results")
    assert job.total > 0
    stages = list(dict.fromkeys(one["progress"][0] for one in reports if "progress" in one))
    assert stages[:4] == ["reading listens", "matching track names", "reading songs", "learning"]


def test_a_map_is_drawn(jobs, trained):
    from nearsong.library.maps.cached import drawn

    job = jobs.wait(jobs.add(DrawMap())[0].id, 300)
    assert job.state == "done", job.error
    assert job.result["songs"] == 72
    assert drawn(trained.snapshot()) is not None


def test_a_scan_analyses_what_is_new_and_counts(jobs, trained, tmp_path):
    music_library.make_music(tmp_path / "more", n_artists=2)
    (tmp_path / "more" / "broken.mp3").write_bytes(b"this is no music")
    job = jobs.wait(jobs.add(Scan(folders=[str(tmp_path / "more")]))[0].id, 300)
    assert job.state == "done", job.error
    assert (job.result["found"], job.result["unreadable"]) == (5, 1)
    assert job.result["added"] + job.result["copied"] == 4
    assert job.result["songs"] == 76


def test_what_cannot_be_done_is_reported_in_one_line(tmp_path):
    with Library.open(tmp_path / "empty.sqlite") as library:
        jobs = JobQueue(library.address)
        job = jobs.wait(jobs.add(Train())[0].id, 300)
        assert job.state == "failed"
        assert "scan" in job.error
        assert "\n" not in job.error
        jobs.close()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_scan_that_is_killed_leaves_the_library_intact_and_the_next_goes_on(tmp_path):
    music_library.make_music(tmp_path / "music", n_artists=8)
    with Library.open(tmp_path / "library.sqlite") as library:
        jobs = JobQueue(library.address)
        with contextlib.closing(jobs):
            job, _ = jobs.add(Scan(folders=[str(tmp_path / "music")]))
            waiting, _ = jobs.add(Scan(folders=[]))
            wait_for(lambda: jobs.get(job.id).stage == "Analysing songs" and jobs.get(job.id).done >= 1)
            os.kill(jobs._running[1].pid, signal.SIGKILL)
            killed = jobs.wait(job.id, 300)
            assert killed.state == "failed"
            assert "SIGKILL" in killed.error
            ended = jobs.wait(waiting.id, 300)
            assert ended.state == "done", ended.error
            assert ended.result["unchanged"] >= killed.done
            assert ended.result["unchanged"] + ended.result["added"] == ended.result["songs"] == 16
        assert len(library.songs()) == 16


def test_a_process_whose_service_is_gone_ends(trained, tmp_path):
    import subprocess

    music_library.make_music(tmp_path / "more", n_artists=8)
    command = (sys.executable, "-P", "-m", "nearsong.web.jobs.process")
    spec = f'{{"kind": "scan", "address": "{trained.address}", "folders": ["{tmp_path / "more"}"]}}\n'
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        process.stdin.write(spec.encode())
        process.stdin.flush()
        assert b"progress" in process.stdout.readline()
        process.stdin.close()
        process.wait(60)
        rest = process.stdout.read()
    assert b"result" not in rest
    assert process.returncode != 0
