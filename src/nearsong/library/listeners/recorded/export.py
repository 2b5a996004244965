"""What listeners did with nearsong -> a JSONL file that an import reads back."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nearsong.atomic_write import atomic_write
from nearsong.errors import LibraryError
from nearsong.library.store import Reaction
from nearsong.listens.records import Action
from nearsong.names import readable


@dataclass
class ExportCounts:
    """What became of the rows of an export.

    Attributes
    ----------
    written : Counter of Action
        Rows in the file.
    nameless : int
        Rows that are left out, as their songs name no artist by whom an import could find them.
    """

    written: Counter[Action] = field(default_factory=Counter)
    nameless: int = 0


def write_recorded(path: str | os.PathLike[str], rows: Iterable[Reaction]) -> ExportCounts:
    """Write plays, hearts, ratings and skips to a file, one JSON record per line.

    Parameters
    ----------
    path : path-like
    rows : iterable of Reaction
        As :meth:`PlayLog.recorded` yields them.

    Raises
    ------
    LibraryError
        If the file cannot be written.
    """
    counts = ExportCounts()
    try:
        with atomic_write(path) as file:
            for row in rows:
                if not row.track.artist:
                    counts.nameless += 1
                    continue
                file.write(line_of(record_of(row)))
                counts.written[row.action] += 1
    except OSError as error:
        raise LibraryError(
            f"{readable(os.fspath(path))} cannot be written ({error.strerror}); choose another file or folder."
        ) from error
    return counts


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a line of the file."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def record_of(row: Reaction) -> dict[str, str | int]:
    """Return a row as an import reads it."""
    record: dict[str, str | int] = {
        "user": row.listener,
        "artist": row.track.artist,
        "title": row.track.title,
        "recording_mbid": row.track.recording_mbid,
        "artist_mbid": row.track.artist_mbid,
        "time": row.time,
        "action": row.action.name.lower(),
    }
    return {**record, "stars": row.stars} if row.action == Action.RATING else record
