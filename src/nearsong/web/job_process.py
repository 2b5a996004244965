"""Long work in a process of its own: ``python -m nearsong.web.job_process``, started by `nearsong.web.jobs`.

In comes one line of JSON on standard input: the kind of work, where the library is, and what else it needs; the
library may be a URL with a password, which no list of processes shall show. Out come lines of JSON on standard
output: ``{"progress": [stage, done, total]}``, ``{"note": text}``, and at the end ``{"result": {...}}`` or
``{"error": text}``. When standard input ends, whoever wanted the work is gone, and it ends too.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from nearsong.errors import ListensError, NearsongError

NICE = 5
"""How far work stands back, so that answers stay quick."""

QUIET_SECONDS = 0.1
"""Progress is told no more often than this, but for a stage's beginning and end."""

MOST_NOTES = 100

MOST_UNPACKED = 4 << 30
"""Bytes that a packed listening history may unpack to."""

MEMORY = 6 << 30
"""Bytes that reading a listening history may take."""

GRACE_SECONDS = 5.0

Spec = dict[str, Any]


class Teller:
    """Writes lines that the service reads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._stage = ""
        self._last = 0.0
        self._notes = 0

    def say(self, what: str, value: Any) -> None:
        """Write a line."""
        with self._lock:
            self._stream.write(json.dumps({what: value}) + "\n")
            self._stream.flush()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage is."""
        now = time.monotonic()
        if stage != self._stage or now - self._last >= QUIET_SECONDS or (total and done >= total):
            self._stage, self._last = stage, now
            self.say("progress", [stage, int(done), int(total)])

    def note(self, text: str) -> None:
        """Tell what the user should know."""
        self._notes += 1
        if self._notes <= MOST_NOTES:
            self.say("note", one_line(text))


def one_line(text: str) -> str:
    """Return a text as one line that is not too long."""
    return " ".join(text.split())[:2000]


# ---- kinds of work


def scan(spec: Spec, tell: Teller) -> dict[str, Any]:
    """Hear what is new or changed."""
    from nearsong.library import Library

    with Library.open(spec["place"], create=False) as library:
        report = library.scan(*spec.get("folders", ()), progress=tell.progress, note=tell.note)
        songs = library.status().songs
    names = ("found", "added", "changed", "moved", "copied", "reheard", "unchanged", "missing", "removed")
    counts: dict[str, Any] = {name: getattr(report, name) for name in names}
    unreadable = len(report.unreadable) + report.known_unreadable
    return counts | {
        "unreadable": unreadable,
        "damaged": len(report.damaged),
        "songs": songs,
        "seconds": round(report.seconds, 1),
    }


def train(spec: Spec, tell: Teller) -> dict[str, Any]:
    """Learn from listeners."""
    from nearsong.library import Library
    from nearsong.library.training_words import PLAIN, advice, sentences

    with Library.open(spec["place"], create=False) as library:
        report = library.train(progress=tell.progress)
        model = library.active_model
    return {
        "decision": report.decision,
        "reason": report.reason,
        "sentences": sentences(report, PLAIN),
        "advice": advice(report, PLAIN),
        "model": model,
        "seconds": round(report.seconds.get("total", 0.0), 1),
    }


def draw_map(spec: Spec, tell: Teller) -> dict[str, Any]:
    """Draw the map of all songs."""
    from nearsong.library import Library
    from nearsong.library.drawn_map import draw

    with Library.open(spec["place"], create=False) as library:
        drawn = draw(library, progress=tell.progress)
    return {"songs": len(drawn.ids), "model": drawn.model_id}


def import_history(spec: Spec, tell: Teller) -> dict[str, Any]:
    """Read a listening history that was sent; its path must not be seen, only its name."""
    from nearsong.library.importing import import_listens
    from nearsong.library.learning import Histories
    from nearsong.library.store import Store

    path, name = Path(spec["path"]), str(spec["name"])

    def named(text: str) -> str:
        return text.replace(str(path), name).replace(path.name, name)

    store = Store(spec["place"], create=False)
    try:
        limit_memory(MEMORY)
        check_unpacked(path)
        (done,) = import_listens(
            store,
            [path],
            user=spec["user"],
            name=name,
            progress=tell.progress,
            note=lambda text: tell.note(named(text)),
        )
        tell.progress("looking them up", 0, 0)
        report = Histories(store).report(None if done.source is None else [done.source], top=5)
    except NearsongError as error:
        raise type(error)(named(str(error))) from error
    finally:
        store.close()
    if done.state == "replaced":
        tell.note(f"it took the place of an earlier {done.name}; if that was another person's, give both a name.")
    plays = report.plays_matched + report.plays_unmatched
    return {
        "state": done.state,
        "name": done.name,
        "format": done.format,
        "kind": done.kind,
        "rows": done.rows,
        "bad_rows": done.bad_rows,
        "source": done.source,
        "plays": plays,
        "share_found": report.plays_matched / plays if plays else 0.0,
        "names_found": report.names_matched,
        "names_not_found": report.names_unmatched,
        "most_played_not_found": [name for name, _ in report.most_played_unmatched],
    }


WORK: dict[str, Callable[[Spec, Teller], dict[str, Any]]] = {
    "scan": scan,
    "train": train,
    "map": draw_map,
    "listens": import_history,
}

FIRST_STAGES = {
    "scan": "looking for music",
    "train": "reading listens",
    "map": "reading songs",
    "listens": "reading listens",
}
"""What each begins with; told at once, since what it takes is loaded only then."""


def check_unpacked(path: Path, most: int = MOST_UNPACKED) -> None:
    """Refuse a packed file that unpacks to more than anybody has listened to.

    It is unpacked once to count, whatever the file says of itself: a bomb lies.
    """
    from nearsong.library.listens.sources import Source, zip_members

    with open(path, "rb") as file:
        mark = file.read(4)
    whole = Source(path)
    if mark[:2] == b"\x1f\x8b":
        parts = [whole]
    elif mark == b"PK\x03\x04":
        parts = [whole.with_member(member) for member in zip_members(whole)]
    else:
        return
    size = 0
    for part in parts:
        for chunk in part.chunks():
            size += len(chunk)
            if size > most:
                raise ListensError(
                    f"{path} unpacks to more than {most / 1e9:.0f} GB; if that is what it should be, unpack it and "
                    "use `nearsong listens import`."
                )


def limit_memory(most: int) -> None:
    """Let this process take no more memory than so many bytes, where the system knows such a limit."""
    try:
        import resource  # not everywhere
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


# ---- the process


def main() -> int:
    """Do the work that standard input asks for."""
    # whoever this process starts must not hold the service's pipe, or speak into it
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    spec = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(os, "nice"):
        os.nice(NICE)
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    tell = Teller(stream)
    try:
        tell.progress(FIRST_STAGES[spec["kind"]], 0, 0)
        tell.say("result", WORK[spec["kind"]](spec, tell))
    except NearsongError as error:
        tell.say("error", one_line(str(error)))
        return 1
    except MemoryError:
        tell.say("error", "it takes more memory than there is; try it with less at a time.")
        return 1
    except BrokenPipeError:  # the service is gone
        return 1
    except Exception as error:
        traceback.print_exc()
        tell.say("error", one_line(f"something unforeseen went wrong ({type(error).__name__}: {error})"))
        return 1
    return 0


def _stop(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)  # what was begun is taken back on the way out


def _end_with_the_service() -> None:
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
