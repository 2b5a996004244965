"""A job in the queue and its progress."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.json.schemas import JobOut

State = Literal["pending", "running", "done", "failed", "cancelled"]


def do_nothing() -> None:
    """Do nothing: the default of ``on_end``."""


@dataclass
class Job:
    """A job and its progress.

    Attributes
    ----------
    version : int
        Increases with every change.
    is_automatic : bool
        Whether the service started it by itself.
    gave_way : bool
        Whether it was stopped for a job that a person started.
    on_end : callable
        Called once when the job has ended, whatever its state.
    is_elsewhere : bool
        Whether another service runs it.
    number : int
        Increases from job to job over all services; 0 where there is one.
    """

    id: str
    spec: JobSpec
    state: State = "pending"
    stage: str = "Waiting for its turn"
    done: int = 0
    total: int = 0
    started: float | None = None
    ended: float | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    result: dict[str, Any] | None = None
    words: str = ""
    version: int = 0
    is_stopping: bool = False
    is_forgotten: bool = False
    is_automatic: bool = False
    gave_way: bool = False
    on_end: Callable[[], None] = do_nothing
    is_elsewhere: bool = False
    number: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will change."""
        return self.state in ("done", "failed", "cancelled")

    def record(self) -> JobOut:
        """Return the job as the API shows it."""
        spec = self.spec
        return JobOut.model_validate({**vars(self), "kind": spec.kind, "title": spec.title, "view": spec.view})
