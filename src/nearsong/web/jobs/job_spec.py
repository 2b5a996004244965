"""What a kind of job offers: its parameters (checked JSON), its words, and the work itself.

A new kind is a subclass in a file of its own and a line in `nearsong.web.jobs.registry`. The API's schema, the child
process and the words that people see all follow from it.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, Self

from nearsong.library import Library
from nearsong.web.json.schemas import Strict
from nearsong.web.settings import ServeSettings


class Reporter(Protocol):
    """Where a running job reports to."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report how far a stage is; a total of 0 is unknown."""

    def note(self, text: str) -> None:
        """Report something the user should know."""


class JobSpec(Strict):
    """A job to run: its kind and its parameters, as JSON.

    Attributes
    ----------
    kind : str
        A literal; says which subclass it is.
    title : str
        The job for people: "Scan".
    first_stage : str
        Reported before the library is loaded, which takes a moment.
    stage_words : dict of str to str
        What stages are called for people, where it is not the stage's own name.
    view : str
        The view of the page that follows it, if it runs already; empty for none.
    stopped_words : str
        What is said after it was cancelled.
    by_request : bool
        Whether ``POST /jobs`` may start it; others are started by routes of their own.
    for_admins : bool
        Whether only an admin may start it by ``POST /jobs``.
    is_patient : bool
        Whether it waits for a running automatic job instead of stopping it.
    is_private : bool
        Whether it tells what somebody listens to, so that only admins see it in the list of jobs.
    max_memory_bytes : int or None
        Address space of its process, for a job that reads a stranger's file; by default as much as it needs.
    """

    kind: str
    title: ClassVar[str]
    first_stage: ClassVar[str]
    stage_words: ClassVar[dict[str, str]] = {}
    view: ClassVar[str] = "library"
    stopped_words: ClassVar[str] = "Stopped."
    by_request: ClassVar[bool] = True
    for_admins: ClassVar[bool] = True
    is_patient: ClassVar[bool] = False
    is_private: ClassVar[bool] = False
    max_memory_bytes: ClassVar[int | None] = None

    def checked(self, settings: ServeSettings) -> Self:
        """Return the job as it may run under these settings, or raise `ApiError`."""
        return self

    @property
    def owner(self) -> str:
        """The listener whose job it is; empty if it is nobody's in particular."""
        return ""

    @abstractmethod
    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Do the work, in the child process; return the result as JSON values."""

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return the result of `run` in words."""
        return f"{cls.title}: done."

    def shown(self, text: str) -> str:
        """Return a note or an error of `run` as people may see it."""
        return text

    @classmethod
    def words_of(cls, stage: str) -> str:
        """Return what a stage is called for people."""
        return cls.stage_words.get(stage, stage[:1].upper() + stage[1:])
