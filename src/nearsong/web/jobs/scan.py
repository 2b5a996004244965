"""The scan job: folders -> their new and changed files analysed and stored."""

import os
from typing import Any, ClassVar, Literal

from pydantic import Field

from nearsong.library import Library
from nearsong.names import count
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs.job_spec import JobSpec, Reporter
from nearsong.web.settings import ServeSettings

COUNTS = ("found", "added", "changed", "moved", "copied", "reanalysed", "unchanged", "missing", "removed")


class Scan(JobSpec):
    """Analyse new and changed files."""

    kind: Literal["scan"] = "scan"
    folders: list[str] = Field(
        default_factory=list, max_length=20, description="Folders to add; empty for all known folders."
    )
    title: ClassVar[str] = "Scan"
    first_stage: ClassVar[str] = "looking for music"
    stage_words: ClassVar[dict[str, str]] = {
        "fitting the encoder": "Learning typical sounds",
        "embedding songs": "Adding songs to the model",
        "index": "Building the search index",
    }
    stopped_words: ClassVar[str] = "Scan stopped. Songs analysed so far are in the library."

    def checked(self, settings: ServeSettings) -> "Scan":
        """Return the scan with real paths; only a user of this machine may add folders."""
        if self.folders and not settings.is_for_this_machine:
            detail = "folders can only be added on the machine itself: `nearsong scan FOLDER`."
            raise ApiError(403, detail, "no-folders-from-here")
        return Scan(folders=[_real_path(folder) for folder in self.folders])

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Scan; return what was found, by its outcome."""
        report = library.scan(*self.folders, progress=reporter.progress, note=reporter.note)
        return {name: getattr(report, name) for name in COUNTS} | {
            "unreadable": len(report.unreadable) + report.known_unreadable,
            "damaged": len(report.damaged),
            "songs": library.status().songs,
            "seconds": round(report.seconds, 1),
        }

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return how many songs are new, and how many files could not be read."""
        words = f"{count(result['added'], 'new song')} added." if result["added"] else "No new songs."
        if result["unreadable"]:
            words += f" {count(result['unreadable'], 'file')} could not be read."
        return words


def _real_path(folder: str) -> str:
    path = os.path.expanduser(folder)  # ~/Music is what people type
    if "\0" in path or not os.path.isabs(path):
        raise ApiError(400, f"{folder!r} is not an absolute path; give one such as /home/me/Music.", "no-such-folder")
    if not os.path.isdir(path):
        raise ApiError(400, f"folder not found: {folder}", "no-such-folder")
    return os.path.realpath(path)
