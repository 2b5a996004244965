"""The map of a library for its page: drawn by a job, kept in the cache folder, and told in columns.

::

    draw(library)            -> positions by t-SNE, written beside the library, one file for each model
    drawn(snapshot)          -> those of the model that answers, if they were drawn
    map_columns(snapshot, d) -> what the page needs to know of every song, in packed columns

Positions take minutes and stay; what songs are called, and how often they were played, is read anew each time.
"""

import os
import secrets
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library.map_layout import layout
from nearsong.library.song_map import STEPS, packed, song_columns
from nearsong.model.plain_arrays import read_array

if TYPE_CHECKING:
    from nearsong.library.library import Library
    from nearsong.library.snapshot import Snapshot
    from nearsong.library.store import ModelRow

Progress = Callable[[str, int, int], None]

KEPT = 8
"""Maps that are kept in a cache folder; those drawn longest ago go."""

_FORMAT = 1
_ENDING = ".map.npz"
_MOST_PLAYS = 2**31


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """Where songs are on the map of a model.

    Attributes
    ----------
    model_id : int
    ids : array of int64 and shape (n,)
        The songs, by id.
    points : array of float32 and shape (n, 2)
        x and y in [0, 1]; whole numbers of 65,535ths.
    """

    model_id: int
    ids: npt.NDArray[np.int64]
    points: npt.NDArray[np.float32]


def draw(library: "Library", seed: int = 0, progress: Progress | None = None) -> DrawnMap:
    """Draw the map of the model that answers, and keep it.

    Parameters
    ----------
    library : Library
    seed : int, default=0
        The same songs, model and seed give the same map.
    progress : callable, optional
        Told (stage, done, total).

    Raises
    ------
    EmptyLibraryError
        If there are no songs.
    LibraryError
        If the map cannot be written.
    """
    snapshot = library.snapshot(now=True)
    space = snapshot.space
    if not space.songs:
        raise EmptyLibraryError("there are no songs to draw; begin with `nearsong scan FOLDER`.")
    positions = layout(space.places, seed=seed, progress=progress)
    steps = np.round(positions.astype(np.float64) * STEPS).astype(np.uint16)
    _keep(_file_of(space.cache, snapshot.model), snapshot.model, space.ids, steps)
    return DrawnMap(space.model_id, space.ids, _points(steps))


def drawn(snapshot: "Snapshot") -> DrawnMap | None:
    """Return the map of the model that answers; None if there is none, or it is not as it was written."""
    model = snapshot.model
    try:
        with zipfile.ZipFile(_file_of(snapshot.space.cache, model)) as archive:
            facts, ids, steps = (read_array(archive, name) for name in ("facts", "ids", "steps"))
    except Exception:  # whatever a damaged file does to its reader, it is no map
        return None
    whole = (
        facts.tolist() == _facts(model)
        and (ids.dtype, ids.ndim, steps.dtype, steps.shape)
        == (np.dtype(np.int64), 1, np.dtype(np.uint16), (len(ids), 2))
        and bool((np.diff(ids) > 0).all())
    )
    return DrawnMap(model.id, ids, _points(steps)) if whole else None


def map_columns(snapshot: "Snapshot", found: DrawnMap) -> dict[str, Any]:
    """Return all songs of a map in columns, as `MapOut` of the API has them.

    Songs that are gone since it was drawn are left out; those that came since are counted as ``missing``.
    """
    space, model = snapshot.space, snapshot.model
    there = np.isin(found.ids, space.ids, assume_unique=True)
    rows = np.searchsorted(space.ids, found.ids[there])
    songs = [space.songs[row] for row in rows.tolist()]
    shared, artists, artist = song_columns(songs, found.points[there].astype(np.float64))
    plays = snapshot.plays
    return {
        "model": {"id": model.id, "kind": model.kind},
        "songs": len(songs),
        "missing": len(space.songs) - len(songs),
        **shared,
        "artists": artists,
        "artist": packed(artist),
        "plays": packed([min(round(plays.get(song.id, 0.0)), _MOST_PLAYS) for song in songs]),
    }


def _points(steps: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (steps / STEPS).astype(np.float32)


def _facts(model: "ModelRow") -> list[float]:
    """Return what a map must be of; models of different libraries in one cache were made at different times."""
    return [float(_FORMAT), float(model.id), model.created]


def _file_of(cache: Path, model: "ModelRow") -> Path:
    return cache / f"{model.id}-{round(1e6 * model.created):x}{_ENDING}"


def _keep(file: Path, model: "ModelRow", ids: npt.NDArray[np.int64], steps: npt.NDArray[np.uint16]) -> None:
    """Write a map, whole or not at all, and let the oldest ones go."""
    partial = file.with_name(f".{file.name}.{secrets.token_hex(6)}.part")
    try:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "wb") as stream:
                np.savez_compressed(stream, facts=np.array(_facts(model)), ids=ids, steps=steps)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise LibraryError(
            f"{file.parent}: the map cannot be kept there ({error.strerror}); check the folder and the disk."
        ) from error
    with suppress(OSError):
        for old in sorted(file.parent.glob(f"*{_ENDING}"), key=os.path.getmtime)[:-KEPT]:
            old.unlink(missing_ok=True)
