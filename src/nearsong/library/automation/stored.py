"""A library -> what the service may do, has done and will do by itself."""

from typing import Any

from nearsong import clock
from nearsong.library.automation.records import (
    AutomationSettings,
    AutomationState,
    change_settings,
    read_settings,
    read_state,
    write_state,
)
from nearsong.library.automation.rules import PlannedTask, facts_of, plan
from nearsong.library.automation.wording import AutomationReport, automation_sentence
from nearsong.library.store import Store


class StoredAutomation:
    """What is stored in a library about automatic tasks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def settings(self) -> AutomationSettings:
        """Return what the service may do by itself."""
        return read_settings(self._store)

    def change(self, **changes: Any) -> AutomationSettings:
        """Change some of what the service may do by itself; return all of it."""
        return change_settings(self._store, **changes)

    def state(self) -> AutomationState:
        """Return what the service has done by itself."""
        return read_state(self._store)

    def write(self, state: AutomationState) -> AutomationState:
        """Store what the service has done by itself; return it."""
        write_state(self._store, state)
        return state

    def plan(self, now: float, files_at: float | None = None) -> list[PlannedTask]:
        """Return what the service will do, the next first; new files may be scanned from ``files_at`` on."""
        return plan(self.settings(), self.state(), facts_of(self._store, files_at), now)

    def report(self, *, is_running: bool = True, now: float | None = None) -> AutomationReport:
        """Return all of it, with a sentence.

        Parameters
        ----------
        is_running : bool
            Whether the service was started without ``--no-automatic``.
        now : float, optional
            The time; by default that of the clock.
        """
        time = clock.now() if now is None else now
        settings, state, facts = self.settings(), self.state(), facts_of(self._store)
        planned = plan(settings, state, facts, time)
        return AutomationReport(
            settings=settings,
            state=state,
            facts=facts,
            planned=tuple(planned),
            sentence=automation_sentence(settings, state, facts, planned, time, is_running=is_running),
        )
