"""The scan job: folders -> their new and changed files analysed and stored."""

import os
from typing import Any, ClassVar, Literal

from pydantic import Field

from nearsong.errors import InvalidInputError
from nearsong.library import Library
from nearsong.names import count
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs.job_spec import JobSpec, Reporter
from nearsong.web.service.allowed_folders import check_folder
from nearsong.web.settings import ServeSettings

COUNTS = ("found", "added", "changed", "moved", "copied", "reanalysed", "unchanged", "missing", "removed")


class Scan(JobSpec):
    """Analyse new and changed files."""

    kind: Literal["scan"] = "scan"
    folders: list[str] = Field(
        default_factory=list, max_length=20, description="Folders to add; empty for all known folders."
    )
    retry: bool = Field(default=False, description="Whether to try files again that could not be read.")
    title: ClassVar[str] = "Scan"
    first_stage: ClassVar[str] = "looking for music"
    stage_words: ClassVar[dict[str, str]] = {
        "reading samples": "Learning typical sounds",
        "fitting encoders": "Learning typical sounds",
        "embedding songs": "Adding songs to the model",
        "index": "Building the search index",
    }
    stopped_words: ClassVar[str] = "Scan stopped. Songs analysed so far are in the library."

    def checked(self, settings: ServeSettings) -> "Scan":
        """Return the scan with real paths; folders are added only where the operator allows it."""
        if settings.may_scan_anywhere:
            return Scan(folders=[_real_path(folder) for folder in self.folders], retry=self.retry)
        if self.folders and not settings.folder_roots:
            detail = (
                "folders can only be added on the machine itself: `nearsong scan FOLDER`; or let admins choose "
                "within one: `nearsong serve --allow-folder FOLDER`."
            )
            raise ApiError(403, detail, "no-folders-from-here")
        return Scan(
            folders=[check_folder(settings.folder_roots, folder) for folder in self.folders], retry=self.retry
        )

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Scan; return what was found, by its outcome."""
        for folder in self.folders:
            if os.path.realpath(folder) != folder:  # it was a folder when it was allowed
                raise InvalidInputError(f"{folder} has become a link; choose the folder again.")
        report = library.scan(*self.folders, retry=self.retry, progress=reporter.progress, note=reporter.note)
        return {name: getattr(report, name) for name in COUNTS} | {
            "unreadable": len(report.unreadable) + report.known_unreadable,
            "set_aside": len(report.set_aside) + report.known_set_aside,
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
        if result["set_aside"]:
            words += f" {count(result['set_aside'], 'file')} without music set aside."
        return words


def _real_path(folder: str) -> str:
    path = os.path.expanduser(folder)  # ~/Music is what people type
    if "\0" in path or not os.path.isabs(path):
        raise ApiError(400, f"{folder!r} is not an absolute path; give one such as /home/me/Music.", "no-such-folder")
    if not os.path.isdir(path):
        raise ApiError(400, f"folder not found: {folder}", "no-such-folder")
    return os.path.realpath(path)
