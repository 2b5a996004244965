"""What the service may do by itself and what it has done: plain records, as JSON in the library's settings."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from nearsong.errors import InvalidInputError
from nearsong.library.store import Connection, Store

SETTINGS = "automation_settings"
"""Setting: what the service may do by itself, as JSON."""

STATE = "automation_state"
"""Setting: what it has done by itself, as JSON."""

TASKS = ("scan", "pull", "train")
"""What the service does by itself."""

SERVICES = ("listenbrainz", "lastfm", "subsonic")
"""Services that it can pull from."""

MAX_RUNS = 30
"""Automatic runs that are listed."""

MAX_PULLS = 20
MAX_HOURS = 24 * 366
MAX_THRESHOLD = 10**9
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, kw_only=True)
class PullSource:
    """A user of a listening service to pull from; keys and passwords are in the environment of the service."""

    service: str
    name: str = ""
    url: str = ""
    user: str = ""

    def __post_init__(self) -> None:
        if self.service not in SERVICES:
            raise InvalidInputError(f"{self.service!r} is not a service; use {', '.join(SERVICES)}.")


@dataclass(frozen=True, kw_only=True)
class AutomationSettings:
    """What the service may do by itself.

    Attributes
    ----------
    is_on : bool
        Whether it does anything by itself.
    watch : bool
        Whether to look for new files in the scanned folders all the time, and scan them soon.
    scan_hours, pull_hours : float
        Hours between two scans, and between two pulls; 0 for never.
    train_hours : float
        Least hours between two trainings; 0 for no training.
    new_listens, new_songs : int
        Train when there are so many new listens, or so many new songs, since the last training.
    quiet_from, quiet_to : str
        Local times between which trainings and regular scans may run, such as 02:00 and 06:00; any time if both are
        the same.
    pulls : tuple of PullSource
        Where to pull from.
    """

    is_on: bool = True
    watch: bool = True
    scan_hours: float = 24.0
    pull_hours: float = 6.0
    train_hours: float = 72.0
    new_listens: int = 300
    new_songs: int = 100
    quiet_from: str = "02:00"
    quiet_to: str = "06:00"
    pulls: tuple[PullSource, ...] = ()

    def __post_init__(self) -> None:
        for name in ("scan_hours", "pull_hours", "train_hours"):
            hours = getattr(self, name)
            if not (math.isfinite(hours) and 0 <= hours <= MAX_HOURS):
                raise InvalidInputError(
                    f"{name}={hours:g} is no interval; give hours from 0 (never) to {MAX_HOURS:,}."
                )
        for name in ("new_listens", "new_songs"):
            if not 1 <= getattr(self, name) <= MAX_THRESHOLD:
                raise InvalidInputError(f"{name}={getattr(self, name)} is no number to wait for; give 1 or more.")
        for name in ("quiet_from", "quiet_to"):
            if not _TIME.fullmatch(getattr(self, name)):
                raise InvalidInputError(f"{name}={getattr(self, name)!r} is no time; give one such as 02:00.")
        if len(self.pulls) > MAX_PULLS:
            raise InvalidInputError(f"{len(self.pulls)} pulls; there may be {MAX_PULLS} at most.")

    @property
    def quiet_minutes(self) -> tuple[int, int]:
        """The quiet hours, in minutes since midnight."""
        begin, end = (int(text[:2]) * 60 + int(text[3:]) for text in (self.quiet_from, self.quiet_to))
        return begin, end


@dataclass(frozen=True, kw_only=True)
class AutomaticRun:
    """Something that the service did by itself.

    Attributes
    ----------
    time : float
        When it ended, in seconds since 1970.
    task : str
        One of `TASKS`.
    state : {"done", "failed", "stopped"}
    words : str
        What came of it.
    """

    time: float
    task: str
    state: str
    words: str


@dataclass(frozen=True, kw_only=True)
class AutomationState:
    """What the service has done by itself; it goes on from here after a restart.

    Attributes
    ----------
    done : mapping of str to float
        Task -> when it last succeeded.
    failures : mapping of str to int
        Task -> how often it has failed in a row.
    retry_at : mapping of str to float
        Task -> not before this time.
    waiting : mapping of str to float
        Task -> since when it has been waiting for the quiet hours.
    running : str
        The task that runs now; if the service has just started, that it was killed during.
    folders : str
        Digest of the folders before the last scan.
    runs : tuple of AutomaticRun
        The last runs, newest first.
    """

    done: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    retry_at: Mapping[str, float] = field(default_factory=dict)
    waiting: Mapping[str, float] = field(default_factory=dict)
    running: str = ""
    folders: str = ""
    runs: tuple[AutomaticRun, ...] = ()

    def with_run(self, run: AutomaticRun) -> Self:
        """Return the state with one more run."""
        return replace(self, runs=(run, *self.runs)[:MAX_RUNS])


def read_settings(store: Store) -> AutomationSettings:
    """Return what the service may do by itself."""
    return _settings_of(store.models.setting(SETTINGS))


def change_settings(store: Store, **changes: Any) -> AutomationSettings:
    """Change some settings, check and store all; return them."""
    with store.writing() as connection:
        changed = replace(_settings_of(store.models.setting_in(connection, SETTINGS)), **changes)
        store.models.set(connection, SETTINGS, json.dumps(asdict(changed)))
    return changed


def read_state(store: Store) -> AutomationState:
    """Return what the service has done by itself."""
    return _state_of(store.models.setting(STATE))


def write_state(store: Store, state: AutomationState, connection: Connection | None = None) -> None:
    """Store what the service has done by itself."""
    if connection is None:
        with store.writing() as own:
            return write_state(store, state, own)
    return store.models.set(connection, STATE, json.dumps(asdict(state)))


def _settings_of(text: str | None) -> AutomationSettings:
    facts = _known_fields(AutomationSettings, text)
    facts["pulls"] = tuple(PullSource(**pull) for pull in facts.get("pulls", ()))
    return AutomationSettings(**facts)


def _state_of(text: str | None) -> AutomationState:
    facts = _known_fields(AutomationState, text)
    facts["runs"] = tuple(AutomaticRun(**run) for run in facts.get("runs", ()))
    return AutomationState(**facts)


def _known_fields(record: type[Any], text: str | None) -> dict[str, Any]:
    """Return the fields of a stored record; those of another version are left out."""
    names = {item.name for item in fields(record)}
    return {name: value for name, value in json.loads(text or "{}").items() if name in names}
