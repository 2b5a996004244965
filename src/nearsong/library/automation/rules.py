"""Settings, what was done, and what is new -> which task may start when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from nearsong.library.automation.records import AutomationSettings, AutomationState
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.store import Store
from nearsong.library.training.coverage.minimum_data import MIN_PLAYS_TO_TRAIN
from nearsong.library.training.retraining.last_training import Growth, LastTraining, growth, last_training

HOUR_SECONDS = 3600.0

PATIENCE_SECONDS = 48 * HOUR_SECONDS
"""A task that has waited so long for the quiet hours runs at any time: the machine may be off at night."""


@dataclass(frozen=True, kw_only=True)
class LibraryFacts:
    """What the rules need to know about a library.

    Attributes
    ----------
    scanned : float or None
        When the folder whose last scan is longest ago was scanned; None without folders.
    last : LastTraining or None
    growth : Growth
        What is new since.
    files_at : float or None
        When new files in the folders may be scanned; None if there are none.
    """

    scanned: float | None
    last: LastTraining | None
    growth: Growth
    files_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedTask:
    """A task and when it may start; ``ready`` is when it could, but for the quiet hours."""

    task: str
    at: float
    ready: float


def facts_of(store: Store, files_at: float | None = None) -> LibraryFacts:
    """Return what the rules need to know; cheap, as it is asked several times a minute."""
    last = last_training(store)
    return LibraryFacts(
        scanned=store.songs.scanned(),
        last=last,
        growth=growth(store, last, PlayLog(store).pending()),
        files_at=files_at,
    )


def plan(settings: AutomationSettings, state: AutomationState, facts: LibraryFacts, now: float) -> list[PlannedTask]:
    """Return the tasks that will start without anything more happening, the next one first.

    Scans of new files and pulls are short and run at any time; trainings and regular scans in the quiet hours.
    """
    if not settings.is_on:
        return []
    found = []
    scan = _scan_ready(settings, state, facts)
    if facts.files_at is not None and facts.scanned is not None:
        found.append(_planned("scan", facts.files_at, facts.files_at, state))
    elif scan is not None:
        found.append(_planned("scan", _when_quiet(settings, state, "scan", scan, now), scan, state))
    if settings.pulls and settings.pull_hours:
        pull = state.done.get("pull", 0.0) + settings.pull_hours * HOUR_SECONDS
        found.append(_planned("pull", pull, pull, state))
    train = _train_ready(settings, facts)
    if train is not None:
        found.append(_planned("train", _when_quiet(settings, state, "train", train, now), train, state))
    return sorted(found, key=lambda planned: planned.at)


def _planned(task: str, at: float, ready: float, state: AutomationState) -> PlannedTask:
    return PlannedTask(task=task, at=max(at, state.retry_at.get(task, 0.0)), ready=ready)


def _scan_ready(settings: AutomationSettings, state: AutomationState, facts: LibraryFacts) -> float | None:
    if facts.scanned is None or not settings.scan_hours:
        return None
    return max(facts.scanned, state.done.get("scan", 0.0)) + settings.scan_hours * HOUR_SECONDS


def _train_ready(settings: AutomationSettings, facts: LibraryFacts) -> float | None:
    """Return when there may be a training; None if too little is new."""
    new, last = facts.growth, facts.last
    if not settings.train_hours or new.all_listens < MIN_PLAYS_TO_TRAIN:
        return None
    if last is None:
        return 0.0
    if new.listens < settings.new_listens and new.songs < settings.new_songs:
        return None
    return last.time + settings.train_hours * HOUR_SECONDS


def _when_quiet(settings: AutomationSettings, state: AutomationState, task: str, ready: float, now: float) -> float:
    """Return the next time in the quiet hours from when a task is ready, or when it has waited too long for them."""
    quiet = next_quiet(settings, max(ready, now))
    waiting = state.waiting.get(task)
    return quiet if waiting is None else min(quiet, max(ready, waiting + PATIENCE_SECONDS))


def next_quiet(settings: AutomationSettings, time: float) -> float:
    """Return the first moment from a time on that is in the quiet hours, by local time.

    >>> from datetime import datetime
    >>> noon = datetime(2026, 3, 1, 12).timestamp()
    >>> datetime.fromtimestamp(next_quiet(AutomationSettings(), noon)).isoformat()
    '2026-03-02T02:00:00'
    """
    begin, end = settings.quiet_minutes
    local = datetime.fromtimestamp(time)
    minute = local.hour * 60 + local.minute
    is_quiet = begin <= minute < end if begin < end else minute >= begin or minute < end
    if is_quiet or begin == end:
        return time
    start = local.replace(hour=begin // 60, minute=begin % 60, second=0, microsecond=0)
    return (start if start > local else start + timedelta(days=1)).timestamp()
