"""The map job: embeddings -> all songs in two dimensions, cached."""

from typing import Any, ClassVar, Literal

from nearsong.library import Library, draw
from nearsong.web.jobs.job_spec import JobSpec, Reporter


class DrawMap(JobSpec):
    """Draw the map of all songs."""

    kind: Literal["map"] = "map"
    title: ClassVar[str] = "Map"
    first_stage: ClassVar[str] = "reading songs"
    stage_words: ClassVar[dict[str, str]] = {"map": "Drawing the map"}
    view: ClassVar[str] = "map"
    stopped_words: ClassVar[str] = "Drawing was stopped."
    for_admins: ClassVar[bool] = False
    is_patient: ClassVar[bool] = True

    def run(self, library: Library, reporter: Reporter) -> dict[str, Any]:
        """Draw the map; return its size and its model."""
        drawn = draw(library.snapshot(now=True), progress=reporter.progress)
        return {"songs": len(drawn.ids), "model": drawn.model_id}
