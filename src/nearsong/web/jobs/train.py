"""The training job: stored vectors and listens -> a learned model, if it is better than the one in use."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from nearsong.library import PLAIN, Library, advice, sentences
from nearsong.web.jobs.job_spec import JobSpec, Reporter


class Train(JobSpec):
    """Learn from listeners."""

    kind: Literal["train"] = "train"
    anyway: bool = Field(default=False, description="Whether to train even if nothing has changed.")
    title: ClassVar[str] = "Training"
    first_stage: ClassVar[str] = "reading listens"
    stage_words: ClassVar[dict[str, str]] = {
        "reading listens": "Reading listening histories",
        "matching track names": "Matching tracks with songs",
        "learning": "Learning from listeners",
        "embedding songs": "Applying the model to all songs",
        "index": "Building the search index",
    }
    view: ClassVar[str] = "quality"
    stopped_words: ClassVar[str] = "Training stopped. Nothing has changed."

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Train; return the decision and its reasons in words."""
        report = library.train(even_if_unchanged=self.anyway, progress=reporter.progress)
        return {
            "decision": report.decision,
            "reason": report.reason,
            "sentences": sentences(report, PLAIN),
            "advice": advice(report, PLAIN),
            "model": library.active_model,
            "seconds": round(report.seconds.get("total", 0.0), 1),
        }

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return the decision."""
        return str(result["sentences"][0])
