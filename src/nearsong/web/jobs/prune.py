"""The prune job: known folders -> scanned, and songs whose files are missing removed."""

from typing import Any, ClassVar, Literal

from nearsong.library import Library
from nearsong.names import count
from nearsong.web.jobs.job_spec import JobSpec, Reporter


class Prune(JobSpec):
    """Scan the known folders and remove songs whose files are missing."""

    kind: Literal["prune"] = "prune"
    title: ClassVar[str] = "Removal of missing songs"
    first_stage: ClassVar[str] = "looking for music"

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Remove the songs; return how many, and how many remain missing because their folder is not available."""
        report = library.scan(prune=True, progress=reporter.progress, note=reporter.note)
        return {"removed": report.removed, "missing": report.missing, "songs": library.status().songs}

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return how many songs were removed."""
        return f"{count(result['removed'], 'missing song')} removed."
