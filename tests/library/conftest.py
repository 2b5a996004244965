"""Music to scan, an encoder for it, and libraries in SQLite and in a real PostgreSQL server."""

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

from codewords_of import codewords_of
from nearsong.encoding import Codebook
from nearsong.errors import AudioError
from nearsong.library.models import fit_encoder
from nearsong.library.models.embedding import Embedder
from nearsong.library.scanning import file_tags
from nearsong.library.scanning import scan as scanning
from nearsong.library.scanning.scan import ScanReport, scan
from nearsong.library.store import Store
from nearsong.model import CodewordEncoder, Quantizer
from nearsong.model.encoders import encode_file

RATE = 22_050


@pytest.fixture(scope="session")
def quick_workers():
    """Let worker processes start with everything imported and compiled; what they do is the same."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        modules = ["nearsong.library.scanning.scan", "sqlalchemy.dialects.sqlite", "torture.warm.preload"]
        multiprocessing.set_forkserver_preload(modules)
        forkserver.ensure_running()


# ---- music


def _sound(seed: int, seconds: float) -> np.ndarray:
    """Return noise of a colour of its own with a tone of its own in it, both slowly swelling."""
    random = np.random.default_rng([seed, 99])
    n = round(seconds * RATE)
    noise = np.convolve(random.standard_normal(n), random.standard_normal(8), mode="same")
    time = np.arange(n) / RATE
    return (1 + 0.5 * np.sin(time)) * (0.05 * noise + 0.1 * np.sin(2 * np.pi * random.uniform(100, 4000) * time))


@pytest.fixture(scope="session")
def make_song() -> Callable[..., Path]:
    """Return a function that writes a song; the same seed gives the same bytes."""

    def make(path: Path, seed: int = 0, seconds: float = 1.6) -> Path:
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
def encoder() -> CodewordEncoder:
    """Return a small encoder."""
    return _encoder(0)


@pytest.fixture(scope="session")
def other_encoder() -> CodewordEncoder:
    """Return one that encodes differently."""
    return _encoder(1)


def _encoder(seed: int) -> CodewordEncoder:
    frames = np.random.default_rng(seed).normal(scale=3, size=(400, 39))
    return CodewordEncoder(Quantizer(Codebook(16, random_state=seed).fit(frames), tau=2))


@dataclass
class AnalysedHere:
    """What was analysed in this process."""

    paths: list[str] = field(default_factory=list)

    def take(self) -> list[str]:
        """Return the names of the files analysed since the last call."""
        names = sorted(os.path.basename(path) for path in self.paths)
        self.paths.clear()
        return names


@pytest.fixture
def analysed(monkeypatch) -> AnalysedHere:
    """Analyse files in this process, which is quick, and write down which."""
    log = AnalysedHere()

    def map_here(function, paths, **options):
        for path in paths:
            try:
                yield path, function(path)
            except AudioError as error:
                yield path, error

    def analyse_here(function, paths, **options):
        for path, result in map_here(function, paths):
            log.paths.append(os.fspath(path))
            yield path, result

    monkeypatch.setattr(scanning, "map_audio_files", analyse_here)
    monkeypatch.setattr(fit_encoder, "map_audio_files", analyse_here)
    monkeypatch.setattr(file_tags, "map_audio_files", map_here)
    return log


# ---- libraries


@pytest.fixture(params=["sqlite", "postgresql"])
def new_address(request, tmp_path) -> str:
    """Return where a library can be made, of both kinds in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "library" / "library.sqlite")
    return request.getfixturevalue("postgres").new_schema()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path) -> Iterator[str]:
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
def store(address) -> Iterator[Store]:
    """Return a new library of each kind."""
    with contextlib.closing(Store(address)) as opened:
        yield opened


# ---- scans


def _check(store: Store, report: ScanReport, encoder: CodewordEncoder) -> None:
    """Check what holds after every scan: files add up, and each song has its own vector and embedding."""
    parts = ("unchanged", "added", "changed", "moved", "copied", "reanalysed", "known_unreadable", "known_set_aside")
    n_others = len(report.unreadable) + len(report.set_aside)
    assert report.found == sum(getattr(report, part) for part in parts) + n_others
    encoder_id = codewords_of(store)
    songs = {song.id: song for song in store.songs.all()}
    ids, vectors = (np.concatenate(part) for part in zip(*store.songs.vectors([encoder_id]), strict=True))
    assert sorted(ids.tolist()) == sorted(songs)
    for song, vector in zip(ids.tolist(), vectors, strict=True):
        if not songs[song].missing:
            np.testing.assert_array_equal(vector, encode_file([encoder], songs[song].path).vector.astype(np.float32))
    embedded, embeddings = store.songs.embeddings(store.models.active)
    assert embedded.tolist() == sorted(songs)
    model = Embedder(store)  # the embeddings are those of the active model
    with store.writing() as connection:
        model.embed(connection, embedded[0], {encoder_id: vectors[0]})
    np.testing.assert_allclose(store.songs.embeddings(store.models.active)[1], embeddings, atol=1e-6)


@pytest.fixture
def check() -> Callable[[Store, ScanReport, CodewordEncoder], None]:
    """Return what checks all that holds after every scan."""
    return _check


@pytest.fixture
def scanned(store, music, encoder, analysed):
    """Return a library that has scanned six songs, and a function that scans it again."""
    assert scan(store, [music], encoder=encoder).added == 6
    analysed.take()

    def again(options=None, **changes) -> ScanReport:
        report = scan(store, [music], options)
        _check(store, report, encoder)
        expected = ScanReport(**{"found": report.found, "seconds": report.seconds} | changes)
        assert report == expected
        return report

    return again
