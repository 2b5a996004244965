"""A run folder -> the rows of its finished tasks, validated and deduplicated, and the song embeddings it stored.

A run may have been interrupted or still be running: rows of tasks without a "done" row are ignored, incomplete lines
are skipped and counted, and of a row written twice (by a task that was interrupted and repeated) the later counts.
"""

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError

Row = dict[str, Any]

# The fields that identify a measurement.
_KEYS = {
    "split": ("split",),
    "cell": ("split", "method", "codebook", "tau", "loss", "C"),
    "pick": ("split", "method", "codebook", "tau"),
    "curve": ("split", "method", "codebook", "tau", "artists"),
}
_REQUIRED: dict[str, dict[str, type]] = {
    "split": {"split": int, "parts": dict},
    "cell": {"split": int, "method": str},
    "pick": {"split": int, "method": str, "test": dict},
    "curve": {"split": int, "method": str, "artists": int, "test": dict},
}
_SHOWCASE_ARRAYS = ("song_id", "title", "artist", "genre", "is_test", "native", "learned", "queries", "relevant")


@dataclass(frozen=True)
class Run:
    """The header of a run and the rows of its finished tasks by kind."""

    header: Row
    splits: list[Row]
    cells: list[Row]
    picks: list[Row]
    curve: list[Row]
    unreadable_lines: int
    unfinished_tasks: int

    def section(self, name: str) -> Row:
        """Return a part of the header (dataset, settings, statistics), empty if it is missing."""
        part = self.header.get(name)
        return part if isinstance(part, dict) else {}


@dataclass(frozen=True)
class Showcase:
    """The songs of one split in the native and the learned space; rows are songs."""

    title: list[str]
    artist: list[str]
    genre: list[str]
    is_test: npt.NDArray[np.bool_]
    native: npt.NDArray[np.float64]  # n x d
    learned: npt.NDArray[np.float64]  # n x r
    queries: npt.NDArray[np.int64]  # rows of test songs
    relevant: npt.NDArray[np.bool_]  # queries x n

    def label(self, song: int) -> str:
        """Return "artist – title" of a song."""
        return " – ".join(part for part in (self.artist[song], self.title[song]) if part) or f"song {song}"


def read_run(folder: str | Path) -> Run:
    """Read the header and the finished rows of a run folder.

    Parameters
    ----------
    folder : path-like
        A folder with ``run.json`` and ``results.jsonl``.

    Raises
    ------
    InvalidInputError
        If the folder is not a run folder, or has no finished task.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidInputError(f"Folder not found: {folder}")
    for name in ("run.json", "results.jsonl"):
        if not (folder / name).is_file():
            raise InvalidInputError(f"{folder} has no {name}; give the folder of a run.")
    header = _read_header(folder / "run.json")
    rows, unreadable = _read_lines(folder / "results.jsonl")
    finished = {row["task"] for row in rows if row["kind"] == "done"}
    kinds: dict[str, dict[Any, Row]] = {kind: {} for kind in _KEYS}
    for row in rows:
        if row["kind"] in _KEYS and row["task"] in finished:
            kinds[row["kind"]][tuple(row.get(key) for key in _KEYS[row["kind"]])] = row
    if not kinds["pick"]:
        raise InvalidInputError(
            f"{folder / 'results.jsonl'} has no results of a method yet; let the run finish at least one task."
        )
    unfinished = {row["task"] for row in rows} - finished
    ordered = {kind: sorted(by_key.values(), key=lambda row: int(row["split"])) for kind, by_key in kinds.items()}
    return Run(
        header=header,
        splits=ordered["split"],
        cells=ordered["cell"],
        picks=ordered["pick"],
        curve=ordered["curve"],
        unreadable_lines=unreadable,
        unfinished_tasks=len(unfinished),
    )


def _read_header(path: Path) -> Row:
    """Return ``run.json`` as a dictionary."""
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} cannot be read as JSON ({error}); give the folder of a run.") from error
    if not isinstance(header, dict) or not isinstance(header.get("settings"), dict):
        raise InvalidInputError(f'{path} has no "settings"; give the folder of a run.')
    return header


def _read_lines(path: Path) -> tuple[list[Row], int]:
    """Return the rows of ``results.jsonl`` in order, and the number of unreadable lines."""
    rows, unreadable = [], 0
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            unreadable += 1
            continue
        if not isinstance(row, dict) or not isinstance(row.get("kind"), str) or not isinstance(row.get("task"), str):
            raise InvalidInputError(f'{path}, line {number} has no "kind" and "task"; nearsong did not write it.')
        for key, kind in _REQUIRED.get(row["kind"], {}).items():
            if not isinstance(row.get(key), kind):
                raise InvalidInputError(
                    f'{path}, line {number} is a {row["kind"]} row without a valid "{key}"; run the experiment again.'
                )
        rows.append(row)
    return rows, unreadable


def score_of(row: Row, part: str, database: str, score: str = "auc") -> float:
    """Return a score of a row, e.g. "auc" of part "test" for database "known"; NaN if it is missing.

    Examples
    --------
    >>> row = {"test": {"known": {"auc": 0.75}, "unknown": None}}
    >>> score_of(row, "test", "known"), score_of(row, "test", "unknown")
    (0.75, nan)
    """
    scores = ((row.get(part) or {}).get(database)) or {}
    return number_or_nan(scores.get(score))


def number_or_nan(value: Any) -> float:
    """Return a finite number as a float, anything else as NaN.

    Examples
    --------
    >>> number_or_nan(3), number_or_nan(None), number_or_nan("3")
    (3.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return math.nan
    return float(value)


def printable(text: str) -> str:
    """Return text without control characters, lone surrogates and other unprintable characters.

    Examples
    --------
    >>> printable("Kid" + chr(0) + "A ")
    'Kid A'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in str(text)).split())


def read_showcase(folder: str | Path) -> tuple[Showcase | None, str]:
    """Return the songs that a run stored for the report, and a warning if they cannot be used (otherwise empty).

    Parameters
    ----------
    folder : path-like
        The run folder; ``showcase.npz`` in it is optional.

    Examples
    --------
    >>> read_showcase("no-such-run")
    (None, '')
    """
    path = Path(folder) / "showcase.npz"
    if not path.is_file():
        return None, ""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in _SHOWCASE_ARRAYS}
        return _check_showcase(arrays), ""
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        return None, f"showcase.npz cannot be read ({printable(str(error))}); map and playlists are omitted."


def _check_showcase(arrays: dict[str, npt.NDArray[Any]]) -> Showcase:
    """Return the arrays as a showcase; ValueError if their shapes do not match."""
    n = arrays["title"].shape[0]
    queries = arrays["queries"].astype(np.int64)
    for name in ("artist", "genre", "is_test"):
        if arrays[name].shape != (n,):
            raise ValueError(f"{name} has shape {arrays[name].shape} for {n} songs")
    for name in ("native", "learned"):
        if arrays[name].ndim != 2 or len(arrays[name]) != n or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} does not hold a finite vector for each of {n} songs")
    if arrays["relevant"].shape != (queries.size, n) or (
        queries.size and not 0 <= queries.min() <= queries.max() < n
    ):
        raise ValueError(f"relevant has shape {arrays['relevant'].shape} for {queries.size} queries and {n} songs")
    texts = {name: [printable(text) for text in arrays[name].tolist()] for name in ("title", "artist", "genre")}
    return Showcase(
        **texts,
        is_test=arrays["is_test"].astype(bool),
        native=arrays["native"].astype(np.float64),
        learned=arrays["learned"].astype(np.float64),
        queries=queries,
        relevant=arrays["relevant"].astype(bool),
    )
