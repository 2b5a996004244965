"""A service for players that nobody here wrote, and where those are installed."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from library_store import recorded_plays
from nearsong.library import Library
from nearsong.web import subsonic
from rest_server import serving

collect_ignore_glob = ["programs/*"]  # for the Python of the clients

CLIENTS = Path(os.environ.get("NEARSONG_CLIENTS", Path(__file__).parents[2] / ".venv" / "clients"))
PROGRAMS = Path(__file__).parent / "programs"
SYSTEM_PYTHON = Path("/usr/bin/python3")
TOKEN = "correct-horse-battery-staple-4242"
WAIT_SECONDS = 120  # until a client that hangs fails


class Served:
    """A service on a library of its own, and the calls that it got."""

    def __init__(self, library: Library, service: Any, port: int, calls: set[str]) -> None:
        self.calls = calls
        self.library, self.service, self.port, self.snapshot = library, service, port, service.snapshot
        self.n_songs = len(self.snapshot.space.songs)
        self.n_albums, self.n_artists = len(self.snapshot.albums.albums), len(self.snapshot.albums.artists)

    def plays(self) -> list[tuple[str, str]]:
        """Who has played which title."""
        self.library.play_log.update_history()
        return [(play.listener, play.track.title) for play in recorded_plays(self.library)]


@pytest.fixture
def served(trained_file, tmp_path, monkeypatch) -> Iterator[Served]:
    calls, answer = set(), subsonic._call

    def noted(service: Any, request: Any, name: str, parameters: Any) -> Any:
        calls.add(name)
        return answer(service, request, name, parameters)

    monkeypatch.setattr(subsonic, "_call", noted)
    address = shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(address) as library, serving(library, TOKEN) as (service, port):
        yield Served(library, service, port, calls)


@pytest.fixture
def run(served, tmp_path) -> Callable[..., Any]:
    """Run a program that uses a client in Python; return what it prints."""

    def program(name: str, needed: str) -> Any:
        if not SYSTEM_PYTHON.exists() or not list(CLIENTS.glob(f"{needed}-*.dist-info")):
            pytest.skip(f"{needed} is not installed; `make clients` does it")
        command = [SYSTEM_PYTHON, PROGRAMS / f"{name}.py", "http://127.0.0.1", str(served.port), TOKEN]
        return printed(command, {"PYTHONPATH": str(CLIENTS)}, tmp_path)

    return program


def printed(command: list[Any], environment: dict[str, str], home: Path) -> Any:
    """Run a program with a home of its own; return the JSON that it prints last."""
    names = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **environment}
    done = subprocess.run(command, env=names, capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
