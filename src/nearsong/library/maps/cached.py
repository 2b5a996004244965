"""The map of a library for the service: computed by a job, cached in a file, returned in columns.

::

    draw(snapshot)           -> positions by t-SNE, written to the library's cache folder, one file for each model
    drawn(snapshot)          -> those of the active model, if they were computed
    map_columns(snapshot, d) -> all songs of the map in packed columns
    map_thumbnail(snapshot, d) -> some of them, for a small picture

Positions take minutes and are cached; names and plays are read anew each time.
"""

import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library.maps.columns import STEPS, packed, song_columns
from nearsong.library.maps.layout import layout
from nearsong.model.plain_arrays import read_array
from nearsong.types import Progress, no_progress

if TYPE_CHECKING:
    from nearsong.library.snapshot import Snapshot
    from nearsong.library.store import ModelRow


MAX_CACHED_MAPS = 8
"""Maps in a cache folder; the oldest are removed."""

_FORMAT = 1
_SUFFIX = ".map.npz"


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """Positions of songs on the map of a model.

    Attributes
    ----------
    model_id : int
    ids : array of int64 and shape (n,)
        Ids of the songs, ascending.
    points : array of float32 and shape (n, 2)
        x and y in [0, 1], multiples of 1 / 65,535.
    """

    model_id: int
    ids: npt.NDArray[np.int64]
    points: npt.NDArray[np.float32]


def draw(snapshot: "Snapshot", seed: int = 0, progress: Progress = no_progress) -> DrawnMap:
    """Compute the map of the active model and cache it.

    Parameters
    ----------
    snapshot : Snapshot
    seed : int, default=0
        The same songs, model and seed give the same map.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    EmptyLibraryError
        If there are no songs.
    LibraryError
        If the map cannot be written.
    """
    space = snapshot.space
    if not space.songs:
        raise EmptyLibraryError("the library has no songs yet; start with `nearsong scan FOLDER`.")
    positions = layout(space.embeddings, seed=seed, progress=progress)
    steps = np.round(positions.astype(np.float64) * STEPS).astype(np.uint16)
    _store(_file_of(space.cache, snapshot.model), snapshot.model, space.ids, steps)
    return DrawnMap(space.model_id, space.ids, _points(steps))


def drawn(snapshot: "Snapshot") -> DrawnMap | None:
    """Return the cached map of the active model, or None if there is none or its file is damaged."""
    model = snapshot.model
    try:
        with zipfile.ZipFile(_file_of(snapshot.space.cache, model)) as archive:
            facts, ids, steps = (read_array(archive, name) for name in ("facts", "ids", "steps"))
    except Exception:  # a damaged file may raise anything; it counts as missing
        return None
    is_complete = (
        facts.tolist() == _facts(model)
        and (ids.dtype, ids.ndim, steps.dtype, steps.shape)
        == (np.dtype(np.int64), 1, np.dtype(np.uint16), (len(ids), 2))
        and bool((np.diff(ids) > 0).all())
    )
    return DrawnMap(model.id, ids, _points(steps)) if is_complete else None


def map_columns(snapshot: "Snapshot", found: DrawnMap) -> dict[str, Any]:
    """Return all songs of a map in columns, as `MapOut` of the API defines them.

    Songs that were removed since the map was drawn are left out; new ones are counted as ``missing``.
    """
    space, model = snapshot.space, snapshot.model
    existing = np.isin(found.ids, space.ids, assume_unique=True)
    rows = np.searchsorted(space.ids, found.ids[existing])
    songs = [space.songs[row] for row in rows.tolist()]
    return {
        "model": {"id": model.id, "kind": model.kind},
        "missing": len(space.songs) - len(songs),
        **song_columns(songs, found.points[existing].astype(np.float64), snapshot.plays),
    }


def map_thumbnail(snapshot: "Snapshot", found: DrawnMap, n_points: int = 2_000, n_genres: int = 12) -> dict[str, Any]:
    """Return some songs of a map, evenly chosen: how many songs it has, positions, and genres.

    Genres are numbered from 1, the most frequent first; 0 is none, or none of the first ``n_genres``.
    """
    space = snapshot.space
    existing = np.flatnonzero(np.isin(found.ids, space.ids, assume_unique=True))
    chosen = existing[np.linspace(0, len(existing) - 1, min(n_points, len(existing))).round().astype(np.int64)]
    numbers = {name.casefold(): number for number, (name, _) in enumerate(snapshot.browser.genres()[:n_genres], 1)}
    rows = np.searchsorted(space.ids, found.ids[chosen])
    genres = [numbers.get(space.songs[row].genre.strip().casefold(), 0) for row in rows.tolist()]
    steps = np.round(found.points[chosen].astype(np.float64) * STEPS).ravel()
    return {"songs": len(existing), "positions": packed(steps), "genre": packed(genres)}


def _points(steps: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (steps / STEPS).astype(np.float32)


def _facts(model: "ModelRow") -> list[float]:
    """Return what identifies the model of a map, across libraries that share a cache folder."""
    return [float(_FORMAT), float(model.id), model.created]


def _file_of(cache: Path, model: "ModelRow") -> Path:
    return cache / f"{model.id}-{round(1e6 * model.created):x}{_SUFFIX}"


def _store(file: Path, model: "ModelRow", ids: npt.NDArray[np.int64], steps: npt.NDArray[np.uint16]) -> None:
    """Write a map atomically and remove the oldest ones."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as stream:
            np.savez_compressed(stream, facts=np.array(_facts(model)), ids=ids, steps=steps)
    except OSError as error:
        raise LibraryError(
            f"{file.parent}: the map cannot be cached ({error.strerror}); check the folder and the disk."
        ) from error
    with suppress(OSError):
        for old in sorted(file.parent.glob(f"*{_SUFFIX}"), key=os.path.getmtime)[:-MAX_CACHED_MAPS]:
            old.unlink(missing_ok=True)
