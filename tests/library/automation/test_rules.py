"""When each task may start, from plain records."""

from dataclasses import replace
from datetime import datetime

import pytest

from nearsong.errors import InvalidInputError
from nearsong.library.automation.records import AutomationSettings, AutomationState, PullSource
from nearsong.library.automation.rules import PATIENCE_SECONDS, LibraryFacts, next_quiet, plan
from nearsong.library.training.retraining.last_training import Growth, LastTraining

HOUR = 3600.0
NOON = datetime(2026, 3, 10, 12).timestamp()
NIGHT = datetime(2026, 3, 11, 2).timestamp()
TRAINED = LastTraining(NOON - 100 * HOUR, "", 1000, 50, "learned", "gain", 1)
QUIET = LibraryFacts(scanned=NOON - HOUR, last=TRAINED, growth=Growth(0, 0, 1000))


def planned(facts=QUIET, settings=None, state=None, now=NOON):
    found = plan(settings or AutomationSettings(), state or AutomationState(), facts, now)
    return {each.task: each.at for each in found}


def test_a_training_waits_for_enough_new_listens_or_songs_and_for_the_night():
    assert "train" not in planned()
    few, listens, songs = (replace(QUIET, growth=Growth(*new, 2000)) for new in ((299, 99), (300, 0), (0, 100)))
    assert "train" not in planned(few)
    assert planned(listens)["train"] == planned(songs)["train"] == NIGHT
    assert planned(listens, now=NIGHT + HOUR)["train"] == NIGHT + HOUR
    assert planned(listens, AutomationSettings(quiet_from="00:00", quiet_to="00:00"))["train"] == NOON


def test_a_training_waits_until_the_last_one_is_long_enough_ago():
    fresh = replace(QUIET, last=replace(TRAINED, time=NOON - HOUR), growth=Growth(5000, 0, 9000))
    assert planned(fresh)["train"] == next_quiet(AutomationSettings(), NOON + 71 * HOUR)
    assert "train" not in planned(fresh, AutomationSettings(train_hours=0))


def test_the_first_training_needs_a_hundred_plays_and_no_threshold():
    never = replace(QUIET, last=None)
    assert "train" not in planned(replace(never, growth=Growth(99, 50, 99)))
    assert planned(replace(never, growth=Growth(100, 50, 100)))["train"] == NIGHT


def test_a_machine_that_is_off_at_night_trains_by_day_after_two_days():
    enough = replace(QUIET, growth=Growth(300, 0, 2000))
    waited = AutomationState(waiting={"train": NOON - PATIENCE_SECONDS})
    assert planned(enough, state=waited)["train"] <= NOON
    assert planned(enough, state=replace(waited, waiting={"train": NOON - HOUR}))["train"] == NIGHT


def test_new_files_are_scanned_at_once_and_the_regular_scan_is_at_night():
    assert planned()["scan"] == next_quiet(AutomationSettings(), NOON + 23 * HOUR)
    assert planned(replace(QUIET, files_at=NOON + 90))["scan"] == NOON + 90
    assert planned(replace(QUIET, scanned=None, files_at=NOON)) == {}


def test_pulls_come_at_their_interval_by_day_too():
    settings = AutomationSettings(pulls=(PullSource(service="listenbrainz", name="anna"),))
    state = AutomationState(done={"pull": NOON - 5 * HOUR})
    assert planned(settings=settings, state=state)["pull"] == NOON + HOUR
    assert "pull" not in planned(settings=replace(settings, pull_hours=0), state=state)


def test_what_failed_waits_and_what_is_off_is_not_planned():
    enough = replace(QUIET, growth=Growth(300, 0, 2000))
    late = AutomationState(retry_at={"train": NIGHT + 50 * HOUR})
    assert planned(enough, state=late)["train"] == NIGHT + 50 * HOUR
    assert planned(enough, AutomationSettings(is_on=False)) == {}


@pytest.mark.parametrize(
    ("hours", "at", "expected"),
    [
        (("02:00", "06:00"), (10, 1, 59), (10, 2, 0)),
        (("02:00", "06:00"), (10, 5, 59), (10, 5, 59)),
        (("02:00", "06:00"), (10, 6, 0), (11, 2, 0)),
        (("22:30", "01:00"), (10, 0, 30), (10, 0, 30)),
        (("22:30", "01:00"), (10, 1, 0), (10, 22, 30)),
    ],
)
def test_quiet_hours_may_go_past_midnight(hours, at, expected):
    settings = AutomationSettings(quiet_from=hours[0], quiet_to=hours[1])
    moment, wanted = (datetime(2026, 3, *when).timestamp() for when in (at, expected))
    assert next_quiet(settings, moment) == wanted


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scan_hours": -1}, "scan_hours=-1 is no interval"),
        ({"train_hours": float("nan")}, "train_hours=nan is no interval"),
        ({"new_listens": 0}, "give 1 or more"),
        ({"quiet_from": "25:00"}, "give one such as 02:00"),
    ],
)
def test_settings_that_cannot_work_say_so(wrong, words):
    with pytest.raises(InvalidInputError, match=words):
        AutomationSettings(**wrong)
