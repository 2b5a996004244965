"""A small data-set folder to break in many ways, and where the real ones are."""

import os
from pathlib import Path

import numpy as np
import pytest

SONGS = "song_id,artist,title\na,Cream,One\nb,The Beatles,Two\nc,cream,Three\n"
LISTENS = "user,artist,plays\nann,beatles,12\nbob,cream,3\nann,Cream,20\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three songs by two artists as vectors, two users."""
    path = tmp_path / "small"
    path.mkdir()
    (path / "songs.csv").write_text(SONGS)
    (path / "listens.csv").write_text(LISTENS)
    np.save(path / "vectors.npy", np.arange(6.0).reshape(3, 2))
    return path


@pytest.fixture
def frames_folder(folder) -> Path:
    """The same songs as files of frames."""
    (folder / "vectors.npy").unlink()
    (folder / "frames").mkdir()
    random = np.random.default_rng(0)
    for name in "abc":
        np.save(folder / "frames" / f"{name}.npy", random.normal(size=(20, 13)).astype(np.float16))
    rows = [line + "," + f"frames/{line[0]}.npy" for line in SONGS.splitlines()[1:]]
    (folder / "songs.csv").write_text("\n".join(["song_id,artist,title,frames", *rows]) + "\n")
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Where the real data sets are: NEARSONG_DATA, or next to the repository."""
    named = os.environ.get("NEARSONG_DATA")
    path = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no real data in {path}; set NEARSONG_DATA to a folder of data sets")
    return path
