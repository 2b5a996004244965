"""The import job: an uploaded listening history -> stored listens, and how many of them match songs."""

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar, Literal

from nearsong.library import Library, match_sentences, share_words
from nearsong.names import count
from nearsong.web.jobs.job_spec import JobSpec, Reporter

MAX_UNPACKED_BYTES = 4 << 30


class ImportListens(JobSpec):
    """Import an uploaded listening history; messages give the name that the user knows, never the temporary path."""

    kind: Literal["listens"] = "listens"
    path: str
    name: str
    user: str | None = None
    title: ClassVar[str] = "Import of listens"
    first_stage: ClassVar[str] = "reading listens"
    stage_words: ClassVar[dict[str, str]] = {
        "reading listens": "Reading listening histories",
        "matching track names": "Matching tracks with songs",
    }
    view: ClassVar[str] = ""
    stopped_words: ClassVar[str] = "The import was stopped."
    by_request: ClassVar[bool] = False
    is_private: ClassVar[bool] = True
    max_memory_bytes: ClassVar[int | None] = 6 << 30

    @property
    def owner(self) -> str:
        """The listener whose listens these are."""
        return self.user or ""

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Import the file; return what it holds, and how much of it the library knows."""
        histories = library.import_listens(
            self.path,
            user=self.user,
            name=self.name,
            progress=reporter.progress,
            note=reporter.note,
            max_bytes=MAX_UNPACKED_BYTES,
            reads_songs=False,  # an uploaded playlist may name any file of this machine
        )
        imported = histories[0]
        reporter.progress("matching track names", 0, 0)
        sources = [history.source for history in histories if history.source is not None]
        matches = library.match_report(sources or None, top=5)
        for failed in (history for history in histories if history.state == "failed"):
            reporter.note(failed.reason)
        if imported.state == "replaced":
            reporter.note(f"replaced the earlier {imported.name}; for another person's file, name the user.")
        return {
            "state": imported.state,
            "name": imported.name,
            "format": imported.format,
            "kind": imported.kind,
            "kinds": [history.kind for history in histories if history.state != "failed"],
            "rows": sum(history.rows for history in histories),
            "bad_rows": sum(history.bad_rows for history in histories),
            "left_out": dict(sum((Counter(history.left_out) for history in histories), Counter())),
            "source": imported.source,
            "plays": matches.plays,
            "explanation": match_sentences(matches),
            "share_found": matches.share,
            "names_found": matches.names_matched,
            "names_not_found": matches.names_unmatched,
            "most_played_not_found": [name for name, _ in matches.most_played_unmatched],
        }

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return how much was imported, and how much of it the library knows; if nothing, why and what to do."""
        lines = f"{count(result['rows'], 'line')} imported." if result["rows"] else "Listening history imported."
        if result["plays"] and not result["names_found"]:
            return " ".join([lines, *result["explanation"]])
        if not result["rows"]:
            return lines
        return f"{lines} {share_words(result['share_found'])} of the plays match songs in the library."

    def shown(self, text: str) -> str:
        """Return a text with the name of the file that the user knows, instead of its temporary path."""
        return text.replace(self.path, self.name).replace(Path(self.path).name, self.name)
