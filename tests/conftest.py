"""What tests of several packages share: a real Dask cluster, and a small music library that was trained."""

import contextlib
import gc
import shutil
import signal
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import dask_cluster as dask_clusters
import music_library
import postgres_server
from required import require
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
    "library/scanning/test_scan_on_cluster.py",
    "library/training/test_training_on_cluster.py",
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
    has_server, has_extra = bool(postgres_server.PROGRAMS), find_spec("psycopg") is not None
    require("postgres", has_server, "no PostgreSQL server is installed here (Debian: apt-get install postgresql)")
    require("postgres", has_extra, "the extra `postgres` is not installed, as where the wheel alone is tested")
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def dask_cluster() -> Iterator[Callable[..., tuple[str, list[dask_clusters.Process]]]]:
    """Return a function that starts a cluster and returns its address and worker processes."""
    with contextlib.ExitStack() as started:

        def start(extra_path: str = "") -> tuple[str, list[dask_clusters.Process]]:
            cluster = started.enter_context(dask_clusters.dask_cluster(2, path=extra_path))
            return cluster.address, cluster.workers

        yield start
