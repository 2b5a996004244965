"""The import job: an uploaded listening history -> stored listens, and how many of them match songs."""

from pathlib import Path
from typing import Any, ClassVar, Literal

from nearsong.errors import ListensError
from nearsong.library import Library
from nearsong.listens.sources import SourceFile, zip_members
from nearsong.names import count
from nearsong.web.jobs.job_spec import JobSpec, Reporter

MAX_UNPACKED_BYTES = 4 << 30
MAX_MEMORY_BYTES = 6 << 30

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"


class ImportListens(JobSpec):
    """Import an uploaded listening history; messages give the name that the user knows, never the temporary path."""

    kind: Literal["listens"] = "listens"
    path: str
    name: str
    user: str
    title: ClassVar[str] = "Import of listens"
    first_stage: ClassVar[str] = "reading listens"
    stage_words: ClassVar[dict[str, str]] = {
        "reading listens": "Reading listening histories",
        "matching track names": "Matching tracks with songs",
    }
    view: ClassVar[str] = ""
    stopped_words: ClassVar[str] = "The import was stopped."
    by_request: ClassVar[bool] = False

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Import the file; return what it holds, and how much of it the library knows."""
        limit_memory(MAX_MEMORY_BYTES)
        check_unpacked(Path(self.path))
        (imported,) = library.import_listens(
            self.path, user=self.user, name=self.name, progress=reporter.progress, note=reporter.note
        )
        reporter.progress("matching track names", 0, 0)
        matches = library.match_report(None if imported.source is None else [imported.source], top=5)
        if imported.state == "replaced":
            reporter.note(f"replaced the earlier {imported.name}; for another person's file, name the user.")
        plays = matches.plays_matched + matches.plays_unmatched
        return {
            "state": imported.state,
            "name": imported.name,
            "format": imported.format,
            "kind": imported.kind,
            "rows": imported.rows,
            "bad_rows": imported.bad_rows,
            "source": imported.source,
            "plays": plays,
            "share_found": matches.plays_matched / plays if plays else 0.0,
            "names_found": matches.names_matched,
            "names_not_found": matches.names_unmatched,
            "most_played_not_found": [name for name, _ in matches.most_played_unmatched],
        }

    @classmethod
    def result_words(cls, result: dict[str, Any]) -> str:
        """Return how much was imported, and how much of it the library knows."""
        share = f"{result['share_found']:.0%} of the plays match songs in the library."
        return (
            f"{count(result['rows'], 'line')} imported. {share}" if result["rows"] else "Listening history imported."
        )

    def shown(self, text: str) -> str:
        """Return a text with the name of the file that the user knows, instead of its temporary path."""
        return text.replace(self.path, self.name).replace(Path(self.path).name, self.name)


def check_unpacked(path: Path, max_bytes: int = MAX_UNPACKED_BYTES) -> None:
    """Refuse an archive that unpacks to too much; it is unpacked to count, since the sizes it states may be wrong."""
    with open(path, "rb") as file:
        magic = file.read(4)
    source = SourceFile(path)
    if magic.startswith(_GZIP):
        parts = [source]
    elif magic == _ZIP:
        parts = [source.with_member(member) for member in zip_members(source)]
    else:
        return
    size = 0
    for part in parts:
        for chunk in part.chunks():
            size += len(chunk)
            if size > max_bytes:
                raise ListensError(
                    f"{path} unpacks to more than {max_bytes / 1e9:.0f} GB; unpack it and use "
                    "`nearsong listens import`."
                )


def limit_memory(max_bytes: int) -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource  # Unix only
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > max_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, hard))
