"""The progress of a command: the time left, and bars that stop when their stage is over."""

import io

import pytest
from rich.console import Console

from nearsong.cli import progress
from nearsong.cli.progress import StageProgress, progress_bars


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def bars_on(is_terminal: bool):
    return progress_bars(Console(file=io.StringIO(), force_terminal=is_terminal, width=120))


def test_without_a_terminal_each_tenth_is_a_line_with_the_time_left_at_the_pace_so_far(clock, capsys):
    told = StageProgress(bars_on(False))
    told("analysing", 20, 100)  # done by an earlier run: no part of the pace
    clock[0] = 10
    told("analysing", 40, 100)
    told("analysing", 45, 100)  # no tenth
    clock[0] = 40
    told("analysing", 100, 100)
    told("matching", 0, 0)
    told.finish()
    assert capsys.readouterr().err.splitlines() == [
        "analysing: 20 of 100",
        "analysing: 40 of 100, about 30 s left",
        "analysing: 100 of 100",
        "matching ...",
    ]
    assert told.reached == {"analysing": 100, "matching": 0}


def test_on_a_terminal_a_bar_says_the_time_left_and_stops_when_its_stage_is_over():
    bars = bars_on(True)
    now = [0.0]
    bars.get_time = lambda: now[0]
    told = StageProgress(bars, "songs")
    told("listing", 0, 0)
    (listing,) = bars.tasks
    assert (listing.total, listing.finished) == (None, False)  # it pulses
    told("analysing", 0, 100)
    assert (listing.total, listing.completed, listing.finished) == (1, 1, True)
    for second in range(1, 11):
        now[0] = float(second)
        told("analysing", 4 * second, 100)
    *_, time, _ = bars.columns
    _, analysing = bars.tasks
    assert time.render(analysing).plain == "10 s, about 15 s left"
    told.finish()
    assert analysing.finished
    assert time.render(analysing).plain == "done in 10 s"
