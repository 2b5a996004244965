"""What the service does by itself -> sentences for the page and the command line."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from nearsong.library.automation.records import AutomationSettings, AutomationState
from nearsong.library.automation.rules import LibraryFacts, PlannedTask
from nearsong.names import count

TASK_NAMES = {"scan": "Scan", "pull": "Pull", "train": "Training"}

NEXT_WORDS = {"scan": "scan for new music", "pull": "pull of listens", "train": "training"}

_DAY_SECONDS = 86_400
_MORNING_HOUR = 7


@dataclass(frozen=True, kw_only=True)
class AutomationReport:
    """What the service may do, has done and will do by itself.

    Attributes
    ----------
    settings : AutomationSettings
    state : AutomationState
    facts : LibraryFacts
    planned : tuple of PlannedTask
        What will run, the next first.
    sentence : str
        All of it in a sentence.
    """

    settings: AutomationSettings
    state: AutomationState
    facts: LibraryFacts
    planned: tuple[PlannedTask, ...]
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **asdict(self.settings),
            "words": self.sentence,
            "running": self.state.running or None,
            "trained": None if self.facts.last is None else self.facts.last.time,
            "listens_since": self.facts.growth.listens,
            "songs_since": self.facts.growth.songs,
            "next": [{"task": each.task, "at": each.at} for each in self.planned],
            "runs": [asdict(run) for run in self.state.runs],
        }


def automation_sentence(
    settings: AutomationSettings,
    state: AutomationState,
    facts: LibraryFacts,
    planned: Sequence[PlannedTask],
    time: float,
    *,
    is_running: bool,
) -> str:
    """Return what happened last and what is next, in a sentence or two."""
    past = _past(facts, time)
    if not is_running:
        return f"{past} This service was started with --no-automatic, so nothing runs by itself."
    if not settings.is_on:
        return f"{past} Off: it neither scans nor trains by itself."
    if state.running:
        return f"{past} {TASK_NAMES[state.running]} is running now."
    if not planned:
        return f"{past} Nothing to do until there is more music or there are more plays."
    first = planned[0]
    return f"{past} Next: {NEXT_WORDS[first.task]} {moment(first.at, time)}."


def _past(facts: LibraryFacts, time: float) -> str:
    new = facts.growth
    if facts.last is None:
        return f"Not trained yet; {count(new.all_listens, 'play')} so far."
    since = [count(new.listens, "new play")] if new.listens else []
    since += [count(new.songs, "new song")] if new.songs else []
    return f"Last trained {ago(time - facts.last.time)}; {' and '.join(since) or 'nothing new'} since."


def ago(seconds: float) -> str:
    """Return how long ago something was.

    >>> [ago(seconds) for seconds in (20, 600, 7200, 200_000)]
    ['just now', '10 minutes ago', '2 hours ago', '2 days ago']
    """
    for size, name in ((_DAY_SECONDS, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now"


def moment(at: float, time: float) -> str:
    """Return when something will be, as seen from a time.

    >>> from datetime import datetime
    >>> noon = datetime(2026, 3, 1, 12).timestamp()
    >>> [moment(noon + hours * 3600, noon) for hours in (0, 1, 14, 16.5, 80)]
    ['now', 'today at 13:00', 'tonight at 02:00', 'tonight at 04:30', 'on 4 March at 20:00']
    >>> moment(noon + 15 * 3600, noon - 9 * 3600)
    'tomorrow at 03:00'
    """
    if at <= time:
        return "now"
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(time)
    clock = then.strftime("%H:%M")
    days = (then.date() - today.date()).days
    if days == 0:
        return f"today at {clock}"
    if days == 1 and then.hour < _MORNING_HOUR <= today.hour:
        return f"tonight at {clock}"
    return f"tomorrow at {clock}" if days == 1 else f"on {then.day} {then.strftime('%B')} at {clock}"
