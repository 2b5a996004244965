"""The service by itself: a clock that tests move, a real library, and a program that stands in for jobs."""

import json
import os
import sys
import time
from datetime import datetime

import pytest

from nearsong.library import AutomationState, PullSource
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.jobs.scan import Scan
from nearsong.web.service.automation import folder_watch
from nearsong.web.service.automation.automation import FIRST_LOOK_SECONDS, LOOK_SECONDS, RETRY_SECONDS, Automation
from nearsong.web.service.automation.folder_watch import FolderWatch
from waiting import wait_for

HOUR = 3600.0

# waits for a file, then does what the file says
STAND_IN = """
import json, os, sys, time
request = json.loads(sys.stdin.readline())
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
print(open(sys.argv[1]).read() if request["kind"] == "train" else '{"result": {}}', flush=True)
"""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = datetime.fromtimestamp(time.time() + 86_400).replace(hour=12, minute=0).timestamp()

    def __call__(self) -> float:
        return self.time


class Evening:
    """A service's automation with a moved clock; `look` waits until a job that was started has begun."""

    def __init__(self, library, folder) -> None:
        self.library, self.clock, self.outcome = library, Clock(), folder / "outcome"
        self.say(words="Better.", result={})
        script = folder / "stand_in.py"
        script.write_text(STAND_IN)
        self.jobs = JobQueue(library.address, command=(sys.executable, str(script), str(self.outcome)))
        self.counted: list[tuple[str, str]] = []
        self.restart()
        self.clock.time += FIRST_LOOK_SECONDS

    def say(self, **events) -> None:
        lines = "\n".join(json.dumps({name: value}) for name, value in events.items())
        self.outcome.write_text(lines)

    def restart(self) -> None:
        self.automation = Automation(
            self.library, self.jobs, now=self.clock, on_run=lambda *run: self.counted.append(run)
        )
        self.look(0.0)

    def look(self, seconds: float = LOOK_SECONDS) -> AutomationState:
        """Move the clock, look, and return the state once what was started has ended."""
        self.clock.time += seconds
        self.automation.look()
        if self.outcome.exists():
            wait_for(lambda: not self.jobs.is_busy)
        self.automation.look()
        return self.library.automation.state()


@pytest.fixture
def evening(trained, tmp_path):
    trained.automation.change(scan_hours=0, watch=False)
    made = Evening(trained, tmp_path)
    yield made
    made.jobs.close()


def play(library, n: int) -> None:
    """Record plays a minute apart, by ten listeners."""
    songs = [song.id for song in library.snapshot().space.songs][:10]
    begin = time.time() - 86_400
    for listener in range(10):
        plays = [(songs[i % 10], begin + 60 * i) for i in range(n // 10)]
        library.play_log.record_all(plays, f"listener {listener}")


def test_it_trains_at_night_after_enough_plays_and_says_what_came_of_it(evening):
    evening.clock.time += 80 * HOUR  # 20:00
    assert evening.look().runs == ()
    play(evening.library, 290)
    assert evening.look().runs == ()
    play(evening.library, 400)
    state = evening.look()
    assert (state.runs, list(state.waiting)) == ((), ["train"])  # by day it waits
    report = evening.library.automation.report(now=evening.clock())
    words, days = report.sentence, int((evening.clock() - report.facts.last.time) / (24 * HOUR))
    assert days in (3, 4)  # in the evening of the day on which the tests run it is one day less
    assert words.startswith(f"Last trained {days} days ago; ")
    assert words.endswith("Next: training tonight at 02:00.")
    state = evening.look(6 * HOUR)
    assert [(run.task, run.state, run.words) for run in state.runs] == [("train", "done", "Better.")]
    assert evening.counted == [("train", "done")]
    assert (state.running, state.waiting, state.done["train"]) == ("", {}, evening.clock())


@pytest.fixture
def night(evening):
    """The same, with everything ready for a training."""
    evening.library.automation.change(quiet_from="00:00", quiet_to="00:00")
    play(evening.library, 600)
    evening.clock.time += 80 * HOUR
    return evening


def test_what_fails_is_tried_again_later_and_later(night):
    night.say(error="no memory")
    state = night.look()
    assert (state.failures, state.runs[0].state, state.runs[0].words) == ({"train": 1}, "failed", "no memory")
    assert len(night.look(RETRY_SECONDS - LOOK_SECONDS).runs) == 1
    assert len(night.look(2 * LOOK_SECONDS).runs) == 2
    assert len(night.look(RETRY_SECONDS + 2 * LOOK_SECONDS).runs) == 2
    night.say(words="Better.", result={})
    state = night.look(RETRY_SECONDS)
    assert (state.runs[0].state, state.failures, state.retry_at) == ("done", {}, {})


def test_a_persons_job_goes_first_and_the_training_comes_later(night):
    night.outcome.unlink()
    night.look()
    wait_for(lambda: night.jobs.all() and night.jobs.all()[0].state == "running")
    job = night.jobs.all()[0]
    assert (job.kind, job.is_automatic, night.library.automation.state().running) == ("train", True, "train")
    scan, _ = night.jobs.add(Scan())
    wait_for(lambda: night.jobs.get(job.id).ended is not None)
    night.say(words="Better.", result={})
    assert night.jobs.wait(scan.id, 30).state == "done"
    state = night.look()
    assert state.runs[0].state == "stopped"
    assert state.runs[0].words.startswith("Stopped for a job that somebody started")
    assert night.look(HOUR).runs[0].state == "done"


def test_a_training_that_a_person_stops_is_not_started_again_at_once(night):
    night.outcome.unlink()
    night.look()
    night.jobs.cancel(night.jobs.all()[0].id)
    wait_for(lambda: not night.jobs.is_busy)
    night.say(words="Better.", result={})
    assert night.look().runs[0].words == "Stopped by an admin."
    assert len(night.look(12 * HOUR).runs) == 1
    assert night.look(13 * HOUR).runs[0].state == "done"


def test_after_a_kill_it_says_so_and_trains_again(night):
    night.library.automation.write(AutomationState(running="train"))
    night.restart()
    (run,) = night.library.automation.state().runs
    assert (run.task, run.state) == ("train", "stopped")
    assert run.words == "The service ended during a training; it will start again."
    assert night.look(FIRST_LOOK_SECONDS).runs[0].state == "done"


def test_it_leaves_the_machine_alone_when_off_and_just_after_the_start(night):
    night.library.automation.change(is_on=False)
    assert night.look(HOUR).runs == ()
    night.library.automation.change(is_on=True)
    night.restart()
    assert night.look().runs == ()
    assert len(night.look(FIRST_LOOK_SECONDS).runs) == 1


def test_pulls_run_at_their_interval(evening):
    source = PullSource(service="listenbrainz", name="anna")
    evening.library.automation.change(pulls=(source,))
    assert [run.task for run in evening.look().runs] == ["pull"]
    assert len(evening.look(5 * HOUR).runs) == 1
    assert len(evening.look(HOUR).runs) == 2


# ---- folders


def test_new_files_are_scanned_when_no_more_are_coming(evening, tmp_path):
    evening.library.automation.change(watch=True)
    assert evening.look(2 * folder_watch.LOOK_SECONDS).folders
    new = tmp_path / "elsewhere"
    evening.automation._watch.digest = lambda folders: FolderWatch.digest(watch, [*folders, str(new)])
    watch = FolderWatch(evening.clock)
    new.mkdir()
    assert evening.look(2 * folder_watch.LOOK_SECONDS).runs == ()
    (new / "song.flac").touch()
    assert evening.look(folder_watch.LOOK_SECONDS).runs == ()
    assert [run.task for run in evening.look(2 * folder_watch.SETTLED_SECONDS).runs] == ["scan"]
    assert len(evening.look(HOUR).runs) == 1


def test_a_change_deep_inside_is_noticed_and_the_rest_is_not_listed_again(tmp_path, monkeypatch):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    watch = FolderWatch(lambda: 0.0)
    before = watch.digest([str(tmp_path)])
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    assert (watch.digest([str(tmp_path)]), listed) == (before, [])
    (deep / "song.mp3").touch()
    os.utime(deep, ns=(1, 1))
    assert watch.digest([str(tmp_path)]) != before
    assert listed == [str(deep)]
    assert watch.digest([str(tmp_path / "gone")]) == ""


def test_files_that_keep_coming_are_scanned_after_half_an_hour(tmp_path):
    clock = Clock()
    watch = FolderWatch(clock)
    before = watch.digest([str(tmp_path)])
    begun = clock.time
    for number in range(40):
        (tmp_path / f"{number}").mkdir()
        clock.time += folder_watch.LOOK_SECONDS
        at = watch.files_at([str(tmp_path)], before)
        if at <= clock():
            break
    assert clock() - begun == pytest.approx(folder_watch.MAX_UNSETTLED_SECONDS, abs=2 * folder_watch.LOOK_SECONDS)
