"""A library -> an HTML page with the map of all its songs."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nearsong.errors import EmptyLibraryError
from nearsong.library.maps.layout import layout
from nearsong.library.maps.page import check_page, write_map
from nearsong.library.snapshot import Snapshot
from nearsong.types import Progress, no_progress


def export_map(
    path: str | os.PathLike[str], load: Callable[[], Snapshot], *, seed: int = 0, progress: Progress = no_progress
) -> Path:
    """Write the page and return its path; the snapshot is loaded once the path is known to be usable."""
    check_page(path)
    snapshot = load()
    space = snapshot.space
    if not space.songs:
        raise EmptyLibraryError("the library has no songs yet; start with `nearsong scan FOLDER`.")
    positions = layout(space.embeddings, seed=seed, progress=progress)
    progress("finding neighbours", 0, 0)
    near, distances = space.index.nearest(space.embeddings, min(13, len(space.songs)))
    artists = len(set(space.artists.tolist()) - {-1})
    write_map(
        path,
        space.songs,
        positions,
        np.searchsorted(space.ids, near),
        space.calibration.closeness(space.calibration.similarity(distances)),
        title="Map of the library",
        facts={"Songs": f"{len(space.songs):,}", "Artists": f"{artists:,}", "Model": snapshot.model.kind},
        plays=snapshot.plays,
    )
    return Path(path)
