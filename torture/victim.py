"""``python -m torture.victim TASK``: one task on a library, that says which stage it is in, to be killed.

TASK is JSON: ``{"do": "scan", "library": ..., ...}``. Lines of JSON on standard output say ``{"stage": ..., "done":
...}``, and at the end ``{"result": ...}``.
"""

import json
import sys
from typing import Any


def tell(**event: Any) -> None:
    """Write a line at once: the next moment this process may be gone."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def tell_stage(stage: str, done: int, total: int) -> None:
    """Take the progress of a task."""
    tell(stage=stage, done=int(done))


def main() -> None:
    """Run the task of the command line."""
    task = json.loads(sys.argv[1])
    from nearsong.errors import NearsongError

    try:
        tell(result=run(task))
    except NearsongError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(3)


def run(task: dict[str, Any]) -> Any:
    """Run a task and return its result."""
    from nearsong.library import Library, TrainingSettings

    kind = task["do"]
    tell_stage("opening", 0, 0)
    with Library.open(task["library"]) as library:
        tell_stage(kind, 0, 0)
        if kind == "scan":
            options = {"workers": task.get("workers", 1), "encoders": task.get("encoders")}
            return library.scan(task["music"], **options, progress=tell_stage).found
        if kind == "import":
            return sum(file.rows for file in library.import_listens(task["listens"], progress=tell_stage))
        if kind == "train":
            library.train(TrainingSettings(**task.get("settings", {})), progress=tell_stage)
            return library.active_model
        if kind == "use":
            return library.use_model(task["model"], progress=tell_stage)
        if kind == "import model":
            return library.import_model(task["file"], progress=tell_stage)[0]
        if kind == "export model":
            return library.export_model(task["file"], task["model"])
    raise ValueError(kind)


if __name__ == "__main__":
    main()
