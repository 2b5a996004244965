"""The pull job: listening services that the library pulls from by itself -> what is new there."""

from typing import Any, ClassVar, Literal

from nearsong.errors import ListensError, NearsongError
from nearsong.library import Library
from nearsong.names import count
from nearsong.web.jobs.job_spec import JobSpec, Reporter


class Pull(JobSpec):
    """Fetch listens from services."""

    kind: Literal["pull"] = "pull"
    title: ClassVar[str] = "Pull"
    first_stage: ClassVar[str] = "reading listens"
    stage_words: ClassVar[dict[str, str]] = {"reading listens": "Fetching listens"}
    view: ClassVar[str] = ""
    by_request: ClassVar[bool] = False
    is_private: ClassVar[bool] = True
    stopped_words: ClassVar[str] = "The pull was stopped; what was fetched is stored."

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Pull from every service; fail only if none can be reached."""
        pulls = library.automation.settings().pulls
        n_new, errors = 0, []
        for number, source in enumerate(pulls):
            reporter.progress("reading listens", number, len(pulls))
            try:
                report = library.pull_listens(
                    source.service,
                    source.name or None,
                    url=source.url or None,
                    user=source.user or None,
                    note=reporter.note,
                )
                n_new += report.new_rows
            except NearsongError as error:
                errors.append(str(error))
                reporter.note(str(error))
        if errors and len(errors) == len(pulls):
            raise ListensError(errors[0])
        return {"new_rows": n_new, "services": len(pulls) - len(errors), "failed": len(errors)}

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return how much is new."""
        words = f"{count(result['new_rows'], 'new listen')} from {count(result['services'], 'service')}."
        return f"{words} {count(result['failed'], 'service')} could not be reached." if result["failed"] else words
