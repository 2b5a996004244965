"""Music to scan, an ear to hear it with, and libraries in SQLite and in a real PostgreSQL server."""

import contextlib
import glob
import multiprocessing
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
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
from nearsong.library.store import Store, schema
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


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server of our own."""

    port: int
    password: str
    free: list[str] = field(default_factory=list)

    def url(self, database: str, password: str | None = None) -> str:
        return f"postgresql://nearsong:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def new_schema(self) -> str:
        """Make a schema, which is quicker than a database and as good, and return its URL."""
        name = f"library_{secrets.token_hex(6)}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def run(self, command: str, place: str | None = None) -> None:
        """Run a command of SQL."""
        import psycopg

        with psycopg.connect(place or self.url("postgres"), autocommit=True) as connection:
            connection.execute(command)

    def take_back(self, place: str) -> None:
        """Empty a library, so that another test can have it: that is quicker than to make one."""
        tables = [table.name for table in reversed(schema.metadata.sorted_tables)]
        keep = f"INSERT INTO settings VALUES ('schema', '{schema.VERSION}')"
        self.run("; ".join([*(f"DELETE FROM {name}" for name in tables), keep]), place)
        self.free.append(place)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Start a server from Debian's packages in a folder of its own."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not programs:
        pytest.skip("no PostgreSQL server is installed here (Debian: apt-get install postgresql)")
    bin = os.path.dirname(programs[-1])
    folder = tempfile.mkdtemp(prefix="nearsong-postgres-", dir="/tmp")  # short: it holds a socket
    as_whom: dict[str, object] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if os.geteuid() == 0:  # which the server refuses to be
        as_whom |= {"user": "nobody", "group": "nogroup", "extra_groups": []}
        shutil.chown(folder, "nobody", "nogroup")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(port, secrets.token_hex(8))
    word = Path(folder, "password")
    word.write_text(server.password)
    word.chmod(0o644)
    data = os.path.join(folder, "data")
    setup = ["-D", data, "-U", "nearsong", "-A", "scram-sha-256", f"--pwfile={word}", "-E", "UTF8", "--locale=C"]
    subprocess.run([f"{bin}/initdb", "--no-sync", *setup], check=True, timeout=120, **as_whom)
    settings = ["fsync=off", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "max_connections=60"]
    command = [f"{bin}/postgres", "-D", data, "-p", str(port), *(part for text in settings for part in ("-c", text))]
    process = subprocess.Popen(command, **as_whom)
    try:
        _wait_for(server, process)
        yield server
    finally:
        process.send_signal(signal.SIGQUIT)  # at once, without keeping anything
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(server: Server, process: "subprocess.Popen[bytes]") -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(server.url("postgres"), connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


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
