"""What tests of several packages share: a real Dask cluster, and a small music library that was trained."""

import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import music_library
import postgres_server
from shared_folder import made_by_one_worker

settings.register_profile("nearsong", deadline=None)  # no test asserts a time
settings.load_profile("nearsong")


def pytest_configure() -> None:
    """React to Ctrl-C also where tests run in the background, which makes them and their children deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW_FILES = (
    "torture/test_smoke.py",
    "story/test_month.py",
    "contracts/test_examples_and_docs.py",
    "web/browser/",
    "contracts/test_site.py",
    "experiment/run/test_grid.py",
    "cli/test_product.py",
    "cli/test_demo.py",
    "web/service/test_postgres_service.py",
    "web/service/test_several_services.py",
    "web/service/test_automation_process.py",
    "clients/",
    "contracts/test_release.py",
    "web/jobs/test_queue.py",
    "web/api/test_listens.py",
    "library/scanning/test_fit_kill.py",
    "library/scanning/test_scan_kill.py",
    "library/store/test_postgres.py",
    "library/test_library.py",
    "story/test_installed.py",
    "library/test_library_changes.py",
    "audio/test_newest_pyav.py",
)
"""Files that take longest, the longest first: they begin first, so that no worker has one left at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of slow files first."""

    def turn(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((at for at, name in enumerate(SLOW_FILES) if name in path), len(SLOW_FILES))

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def styled_music(tmp_path_factory) -> Path:
    """A folder of music in three styles; read only."""
    return made_by_one_worker(tmp_path_factory, "music", music_library.make_music)


@pytest.fixture(scope="session")
def trained_file(styled_music, tmp_path_factory) -> Path:
    """The library of that music after a scan, an import and a training; copy it before you change it."""

    def make(folder: Path) -> None:
        from nearsong.library import Library

        with Library.open(folder / "library.sqlite") as library:
            library.scan(styled_music, workers=1)  # songs have the same numbers each time
            library.import_listens(music_library.write_listens(folder / "listens.csv"))
            library.train()

    return made_by_one_worker(tmp_path_factory, "trained", make) / "library.sqlite"


@pytest.fixture
def trained(trained_file, tmp_path):
    """A library of one's own, trained."""
    from nearsong.library import Library

    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library:
        yield library


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A PostgreSQL server of our own, from Debian's packages."""
    if not postgres_server.PROGRAMS:
        pytest.skip("no PostgreSQL server is installed here (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed, as where the wheel alone is tested")
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def dask_cluster(tmp_path) -> Iterator[Callable[..., tuple[str, list[subprocess.Popen[bytes]]]]]:
    """Return a function that starts a cluster and returns its address and worker processes."""
    started: list[subprocess.Popen[bytes]] = []

    def start(extra_path: str = "") -> tuple[str, list[subprocess.Popen[bytes]]]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        environment = os.environ | {"PYTHONPATH": extra_path}
        scheduler = [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]

        def run(*command: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            started.append(process)
            return process

        run(*scheduler, "--no-dashboard")
        workers = [run(*worker, "--no-nanny", "--local-directory", str(tmp_path / f"worker-{i}")) for i in range(2)]
        _wait_for(address, len(workers))
        return address, workers

    yield start
    for process in reversed(started):
        process.kill()
        process.wait()


def _wait_for(address: str, n_workers: int) -> None:
    from distributed import Client

    deadline = time.monotonic() + 60
    while True:
        try:
            with Client(address, timeout=5) as client:
                client.wait_for_workers(n_workers, timeout=30)
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
