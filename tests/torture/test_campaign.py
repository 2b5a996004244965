"""A run of attacks writes each trial at once, continues where it was stopped, and fails if anything broke."""

import json

import pytest

from torture.attack import Attack, BrokenError, Trial, Workshop, check
from torture.campaign import run_attacks
from torture.report import write_report


class Counting(Attack):
    """Five trials, one of which may find something broken; remembers which were run."""

    name, title = "counting", "counts"
    ran: list[str]
    breaks: str
    stops_at: str

    def trials(self):
        return [Trial(key=f"{i}") for i in range(5)]

    def run(self, trial, random):
        if trial.key == type(self).stops_at:
            raise KeyboardInterrupt
        self.ran.append(trial.key)
        check(trial.key != type(self).breaks, "the fourth is broken")
        return {"number": int(random.integers(1_000_000))}

    def verdict(self, rows):
        if len(rows) < 4:
            raise BrokenError("too few held")
        return {"sum": sum(row["number"] for row in rows)}


@pytest.fixture
def counting():
    """Return a fresh attack that holds."""
    return type("Counting", (Counting,), {"ran": [], "breaks": "", "stops_at": ""})


@pytest.fixture
def workshop(tmp_path):
    return Workshop(folder=tmp_path / "run", profile="smoke", seed=7)


def rows_in(workshop):
    return [json.loads(line) for line in (workshop.folder / "results.jsonl").read_text().splitlines()]


def test_each_trial_is_a_line_with_its_seed(counting, workshop):
    assert run_attacks([counting], workshop) == 0
    assert [(row["trial"], row["seed"], row["profile"]) for row in rows_in(workshop)] == [
        (f"{i}", 7, "smoke") for i in range(5)
    ]


def test_a_run_that_was_stopped_continues_with_the_same_choices(counting, workshop, tmp_path):
    run_attacks([counting], Workshop(folder=tmp_path / "whole", profile="smoke", seed=7))
    whole = [
        row["figures"] for row in map(json.loads, (tmp_path / "whole" / "results.jsonl").read_text().splitlines())
    ]
    counting.ran, counting.stops_at = [], "3"
    with pytest.raises(KeyboardInterrupt):
        run_attacks([counting], workshop)
    with (workshop.folder / "results.jsonl").open("a") as file:
        file.write('{"attack": "counting", "tri')  # as a kill leaves it
        file.write("\n")
    counting.stops_at = ""
    assert run_attacks([counting], workshop) == 0
    assert [counting.ran.count(key) for key in ("0", "1", "2")] == [1, 1, 1]
    written = (workshop.folder / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["figures"] for line in written if line.endswith("}")] == whole


def test_what_is_broken_is_told_and_counted(counting, workshop, capsys):
    counting.breaks = "3"
    assert run_attacks([counting], workshop) == 1
    assert "BROKEN 3: the fourth is broken" in capsys.readouterr().out
    assert run_attacks([counting], workshop) == 1  # and stays broken when the run continues


def test_a_verdict_over_all_trials_may_be_broken_too(counting, workshop, monkeypatch, capsys):
    monkeypatch.setattr(counting, "trials", lambda self: [Trial(key="0")])
    assert run_attacks([counting], workshop) == 1
    assert "BROKEN counting: too few held" in capsys.readouterr().out


def test_an_error_of_any_kind_is_a_trial_that_broke(counting, workshop, monkeypatch):
    monkeypatch.setattr(counting, "run", lambda self, trial, random: [][0])
    assert run_attacks([counting], workshop) == 6  # each trial, and the verdict
    assert all(row["broken"].startswith("IndexError") for row in rows_in(workshop))


def test_no_trial_starts_after_the_time(counting, workshop, capsys):
    assert run_attacks([counting], workshop, minutes=-1) == 0
    assert counting.ran == []
    assert "0 of 5 trials; run again to continue." in capsys.readouterr().out


def test_the_report_has_a_row_for_each_attack(counting, workshop, monkeypatch):
    run_attacks([counting], workshop)
    monkeypatch.setattr("torture.registry.ATTACKS", {"counting": counting})
    report = write_report(workshop.folder)
    assert "Profile smoke, seed 7" in report
    assert "| counting | 5 | 0 |" in report
