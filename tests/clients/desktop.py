"""A screen that nobody sees, on which a player runs that has windows, and a hand that clicks in them."""

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("Xvfb", "dbus-daemon", "xdotool")
PATIENCE_SECONDS = 240.0
BETWEEN_ACTS_SECONDS = 5.0
STARTING_SECONDS = 60.0
"""How long a player may take to show a window; one that has died or hangs is started again, as a person would."""

ATTEMPTS = 4


class Desktop:
    """A player on a screen of its own.

    Parameters
    ----------
    songs : Path
        The player's own database, which has what it shows.
    environment : dict
        Of the screen.
    start : callable
        Starts the player and returns its process.
    """

    def __init__(self, songs: Path, environment: dict[str, str], start: Callable[[], subprocess.Popen[str]]) -> None:
        self._songs, self._environment, self._start = songs, environment, start

    def open(self, name: str) -> None:
        """Start the player and wait for its window; start it again if none appears."""
        for _ in range(ATTEMPTS):
            player, deadline = self._start(), time.monotonic() + STARTING_SECONDS
            while player.poll() is None and time.monotonic() < deadline:
                if self.has_window(name):
                    return
                time.sleep(0.1)
            player.kill()
            player.wait()
        raise AssertionError(f"{name} showed no window in {ATTEMPTS} attempts; it ended with {player.returncode}")

    def until(self, is_so: Callable[[], Any], act: Callable[[], None] = lambda: None) -> None:
        """Act as a person does, again after a while, until something is so."""
        deadline, next_act = time.monotonic() + PATIENCE_SECONDS, 0.0
        while not is_so():
            assert time.monotonic() < deadline, "the player did not do it"
            if time.monotonic() >= next_act:
                act()
                next_act = time.monotonic() + BETWEEN_ACTS_SECONDS
            time.sleep(0.1)

    def has_window(self, name: str) -> bool:
        return self._xdotool("search", "--onlyvisible", "--name", name) == 0

    def click(self, place: tuple[int, int], times: int = 1) -> None:
        repeated = ["--repeat", str(times), "--delay", "60"] if times > 1 else []
        self._xdotool("mousemove", *map(str, place), "click", *repeated, "1")

    def songs(self) -> list[sqlite3.Row]:
        """The songs that it shows."""
        if not self._songs.exists():
            return []
        with closing(sqlite3.connect(self._songs)) as database:
            database.row_factory = sqlite3.Row
            try:
                return database.execute("SELECT * FROM subsonic_songs").fetchall()
            except sqlite3.OperationalError:  # it is writing
                return []

    def _xdotool(self, *words: str) -> int:
        return subprocess.run(["xdotool", *words], env=self._environment, capture_output=True).returncode


@contextmanager
def desktop(player: str, version: str, home: Path, settings: Path, text: str, songs: Path) -> Iterator[Desktop]:
    """Run a player whose settings are a text, if it is installed in a version whose windows are known."""
    missing = [name for name in (player, *NEEDED) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if version not in subprocess.run([player, "--version"], capture_output=True, text=True).stdout:
        pytest.skip(f"the places to click at are those of {version}, which Debian 12 has")
    (home / settings).parent.mkdir(parents=True)
    (home / settings).write_text(text)
    (home / "state").mkdir(mode=0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    environment["XDG_RUNTIME_DIR"] = str(home / "state")
    with ExitStack() as running:

        def start(*command: str, **options: Any) -> subprocess.Popen[str]:
            process = subprocess.Popen(command, env=environment, text=True, stderr=subprocess.DEVNULL, **options)
            running.callback(process.wait)
            running.callback(process.terminate)
            return process

        def first_line(*command: str) -> str:
            printed = start(*command, stdout=subprocess.PIPE).stdout
            assert printed is not None
            return running.enter_context(printed).readline().strip()

        environment["DISPLAY"] = ":" + first_line("Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24")
        bus = first_line("dbus-daemon", "--session", "--nofork", "--print-address=1")
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus
        yield Desktop(home / songs, environment, lambda: start(player, stdout=subprocess.DEVNULL))
