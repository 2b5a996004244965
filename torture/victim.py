"""``python -m torture.victim TASK``: one task on a library, that says which stage it is in, to be killed.

TASK is JSON: ``{"do": "scan", "library": ..., ...}``. Lines of JSON on standard output say ``{"stage": ...}``, and at
the end ``{"result": ...}``.
"""

import json
import sys
from typing import Any


def tell(event: str, value: Any) -> None:
    """Write a line at once: the next moment this process may be gone."""
    sys.stdout.write(json.dumps({event: value}) + "\n")
    sys.stdout.flush()


class Stages:
    """Says when a new stage begins."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take the progress of a task."""
        if stage != self._stage:
            self._stage = stage
            tell("stage", stage)


def main() -> None:
    """Run the task of the command line."""
    task = json.loads(sys.argv[1])
    from nearsong.errors import NearsongError

    try:
        tell("result", run(task))
    except NearsongError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(3)


def run(task: dict[str, Any]) -> Any:
    """Run a task and return its result."""
    from nearsong.library import Library, TrainingSettings

    stages = Stages()
    kind = task["do"]
    stages("opening", 0, 0)
    with Library.open(task["library"]) as library:
        stages(kind, 0, 0)
        if kind == "scan":
            return library.scan(task["music"], workers=task.get("workers", 1), progress=stages).found
        if kind == "import":
            return sum(file.rows for file in library.import_listens(task["listens"], progress=stages))
        if kind == "train":
            library.train(TrainingSettings(**task.get("settings", {})), progress=stages)
            return library.active_model
        if kind == "use":
            return library.use_model(task["model"], progress=stages)
        if kind == "import model":
            return library.import_model(task["file"], progress=stages)[0]
        if kind == "export model":
            return library.export_model(task["file"], task["model"])
    raise ValueError(kind)


if __name__ == "__main__":
    main()
