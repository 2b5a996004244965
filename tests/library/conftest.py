"""Music to scan, an ear to hear it with, and libraries in SQLite and in a real PostgreSQL server."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest
import soundfile

from nearsong.encoding import Codebook
from nearsong.errors import AudioError
from nearsong.library import codebook
from nearsong.library import scan as scanning
from nearsong.library.projection import Placer
from nearsong.library.scan import ScanReport, scan
from nearsong.library.store import Store
from nearsong.model import Ear, Encoder

RATE = 22_050


@pytest.fixture(scope="session")
def quick_workers():
    """Let worker processes start with everything imported; what they do is the same."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_forkserver_preload(["nearsong.library.scan", "sqlalchemy.dialects.sqlite"])
        forkserver.ensure_running()


# ---- music


def _sound(seed: int, seconds: float) -> np.ndarray:
    """Return noise of a colour of its own with a tone of its own in it."""
    random = np.random.default_rng([seed, 99])
    n = round(seconds * RATE)
    noise = np.convolve(random.standard_normal(n), random.standard_normal(8), mode="same")
    return 0.05 * noise + 0.1 * np.sin(2 * np.pi * random.uniform(100, 4000) * np.arange(n) / RATE)


@pytest.fixture(scope="session")
def make_song() -> Callable[..., Path]:
    """Return a function that writes a song; the same seed gives the same bytes."""

    def make(path: Path, seed: int = 0, seconds: float = 0.5) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, _sound(seed, seconds), RATE)
        return path

    return make


@pytest.fixture
def music(tmp_path, make_song) -> Path:
    """Return a folder with six songs by three artists."""
    folder = tmp_path / "music"
    for i in range(6):
        make_song(folder / f"Artist {i % 3}" / f"Song {i}.wav", seed=i)
    return folder


@pytest.fixture(scope="session")
def ear() -> Ear:
    """Return a small ear."""
    return _ear(0)


@pytest.fixture(scope="session")
def other_ear() -> Ear:
    """Return one that hears differently."""
    return _ear(1)


def _ear(seed: int) -> Ear:
    frames = np.random.default_rng(seed).normal(scale=3, size=(400, 39))
    return Ear([Encoder(Codebook(16, random_state=seed).fit(frames), tau=2)])


@dataclass
class HeardHere:
    """What was heard in this process."""

    paths: list[str] = field(default_factory=list)

    def take(self) -> list[str]:
        """Return the names of the files heard since the last call."""
        names = sorted(os.path.basename(path) for path in self.paths)
        self.paths.clear()
        return names


@pytest.fixture
def heard(monkeypatch) -> HeardHere:
    """Hear files in this process, which is quick, and write down which."""
    log = HeardHere()

    def map_here(function, paths, **options):
        for path in paths:
            log.paths.append(os.fspath(path))
            try:
                yield path, function(path)
            except AudioError as error:
                yield path, error

    monkeypatch.setattr(scanning, "map_audio_files", map_here)
    monkeypatch.setattr(codebook, "map_audio_files", map_here)
    return log


# ---- libraries


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(request, tmp_path) -> str:
    """Return where a library can be made, of both kinds in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "library" / "library.sqlite")
    return request.getfixturevalue("postgres").new_schema()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path) -> Iterator[str]:
    """Return where an empty library is, or can be made, of both kinds in turn."""
    if request.param == "sqlite":
        yield str(tmp_path / "library" / "library.sqlite")
        return
    server = request.getfixturevalue("postgres")
    found = server.free.pop() if server.free else server.new_schema()
    Store(found).close()
    yield found
    server.take_back(found)


@pytest.fixture
def store(place) -> Iterator[Store]:
    """Return a new library of each kind."""
    with contextlib.closing(Store(place)) as opened:
        yield opened


# ---- scans


def _check(store: Store, report: ScanReport, ear: Ear) -> None:
    """Check what holds after every scan: files add up, and each song has the sound and the place that are its own."""
    parts = ("unchanged", "added", "changed", "moved", "copied", "reheard", "known_unreadable")
    assert report.found == sum(getattr(report, part) for part in parts) + len(report.unreadable)
    ear_id = store.models.current_ear
    songs = {song.id: song for song in store.songs.all()}
    ids, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors(ear_id), strict=True))
    assert sorted(ids.tolist()) == sorted(songs)
    for song, vector in zip(ids.tolist(), vectors, strict=True):
        if not songs[song].missing:
            np.testing.assert_array_equal(vector, ear.encode_file(songs[song].path).vector.astype(np.float32))
    placed, places = store.songs.places(store.models.active)
    assert placed.tolist() == sorted(songs)
    model = Placer(store)  # the places are those of the active model
    with store.writing() as connection:
        model.place(connection, placed[0], ear_id, vectors[0])
    np.testing.assert_allclose(store.songs.places(store.models.active)[1], places, atol=1e-6)


@pytest.fixture
def check() -> Callable[[Store, ScanReport, Ear], None]:
    """Return what checks all that holds after every scan."""
    return _check


@pytest.fixture
def scanned(store, music, ear, heard):
    """Return a library that has scanned six songs, and a function that scans it again."""
    assert scan(store, [music], ear=ear).added == 6
    heard.take()

    def again(options=None, **changes) -> ScanReport:
        report = scan(store, [music], options)
        _check(store, report, ear)
        expected = ScanReport(**{"found": report.found, "seconds": report.seconds} | changes)
        assert report == expected
        return report

    return again
