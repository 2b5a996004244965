"""One story: a scan, a month of plays, skips and hearts by real clients, an automatic training, then songs "for you".

The service is a real process; only its clock is moved. The truth of the listeners is known: `simulated_month`.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import liblistenbrainz
import numpy as np
import pytest

from nearsong.library import Library
from rest_server import connected
from story.simulated_month import DAY_SECONDS, DAYS, Month, simulate

SEEDS = (16_001, 16_002, 16_003, 16_004, 16_005)
"""Fixed before anything was measured with them. `make story` runs all, `make test` the first ones."""

N_FIRST = 2

T_QUANTILE = 2.776
"""Student's t for a 95 % interval of five values."""

N_SONGS = 10
AGO_SECONDS = 40 * DAY_SECONDS
"""The story begins so long before the day of the test, so that its plays are in nobody's future."""


@dataclass
class Household:
    """A running service with accounts, and a clock that is moved."""

    address: str
    clock: Path
    began: float
    tokens: dict[str, str]
    passwords: dict[str, str]
    admin: str

    def set_day(self, moment: float) -> None:
        """Move the clock of the service to a moment, in seconds since 1970."""
        self.clock.write_text(str(moment - time.time()), encoding="ascii")

    def get(self, path: str, token: str, **asked: object) -> dict:
        response = httpx.get(f"{self.address}/api/v1/{path}", params=asked, headers=_bearer(token), timeout=60)
        assert response.status_code == 200, response.text
        return response.json()


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def household(library_file: Path, folder: Path, listeners: list[str]) -> Iterator[Household]:
    """Start a service of its own for these listeners."""
    address = shutil.copy(library_file, folder / "library.sqlite")
    with Library.open(address) as library:
        admin = library.accounts.add("admin", is_admin=True)
        tokens = {name: library.accounts.add(name) for name in listeners}
        passwords = {name: library.accounts.renew_app_password(name) for name in listeners}
        library.automation.change(is_on=False)
    clock = folder / "clock"
    began = time.time() - AGO_SECONDS
    clock.write_text(str(-AGO_SECONDS), encoding="ascii")
    command = [sys.executable, "-m", "nearsong", "--library", str(address), "serve", "--port", "0"]
    environment = os.environ | {"NEARSONG_CLOCK_FILE": str(clock)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            found = re.fullmatch(r"nearsong runs at (http://127\.0\.0\.1:\d+)/\n", process.stdout.readline())
            yield Household(found[1], clock, began, tokens, passwords, admin)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
        finally:
            process.kill()


def report_plays(home: Household, month: Month, songs: list[tuple[str, str, int]], until: float) -> None:
    """Let each listener's scrobbler hand in the plays up to a moment of the month, by artist and title."""
    for name, token in home.tokens.items():
        listens = [
            liblistenbrainz.Listen(songs[play.song][1], songs[play.song][0], listened_at=int(home.began) + play.time)
            for play in month.plays
            if play.listener == name and until - 10 * DAY_SECONDS < play.time <= until
        ]
        if listens:
            client = liblistenbrainz.ListenBrainz(api_base_url=home.address)
            client.set_auth_token(token, check_validity=False)
            assert client.submit_multiple_listens(listens) == {"status": "ok"}


def react(home: Household, month: Month, songs: list[tuple[str, str, int]]) -> None:
    """Let each listener's player leave songs at once and star others."""
    port = int(home.address.rpartition(":")[2])
    for name, password in home.passwords.items():
        known = next((play.song for play in month.plays if play.listener == name), None)
        left = [skip.song for skip in month.skips if skip.listener == name and known is not None]
        hearted = [str(songs[heart.song][2]) for heart in month.hearts if heart.listener == name]

        async def session(player, left=left, known=known, hearted=hearted) -> None:
            for song in left:
                for playing in (song, known):  # the player goes on with a song that its listener likes
                    await player.scrobble(str(songs[playing][2]), submission=False)
            if hearted:
                await player.star(sids=hearted)

        connected(port, session, username=name, password=password)


def train_at_night(home: Household) -> None:
    """Switch on what the service does by itself, move the clock to the next night, and wait for its training.

    Whether the model becomes active is for the training to say; here sound alone is nearly as good.
    """
    changed = httpx.put(
        f"{home.address}/api/v1/automation",
        json={"is_on": True, "watch": False},
        headers=_bearer(home.admin),
        timeout=60,
    )
    assert changed.status_code == 200, changed.text
    evening = datetime.fromtimestamp(home.began + DAYS * DAY_SECONDS)
    night = (evening + timedelta(days=1)).replace(hour=2, minute=30)
    home.set_day(night.timestamp())
    deadline = time.monotonic() + 1_800
    while True:
        told = home.get("automation", home.admin)
        runs = [run for run in told["runs"] if run["task"] == "train"]
        if runs:
            assert (runs[0]["state"], runs[0]["words"] != "") == ("done", True), runs
            return
        assert time.monotonic() < deadline, told
        time.sleep(0.3)


def recalls(home: Household, month: Month, songs: list[tuple[str, str, int]]) -> tuple[float, float]:
    """Return the mean share of each listener's discoveries among ten songs: for them, and the most popular ones."""
    listeners_of = np.zeros(len(songs))
    for _, song in {(play.listener, play.song) for play in month.plays}:
        listeners_of[song] += 1
    row_of = {song_id: row for row, (_, _, song_id) in enumerate(songs)}
    by_popularity = np.argsort(-listeners_of, kind="stable").tolist()
    shares = []
    for name, discovered in month.discovered.items():
        if not discovered:
            continue
        answer = home.get("for-you", home.tokens[name], n=N_SONGS)
        recommended = {row_of[one["song"]["id"]] for one in answer["songs"]}
        known = month.played_by(name)
        assert not recommended & {play.song for play in month.plays if play.listener == name}
        popular = [song for song in by_popularity if song not in known][:N_SONGS]
        shares.append([len(discovered & found) / len(discovered) for found in (recommended, set(popular))])
    for_you, popularity = np.mean(shares, axis=0).tolist()
    return for_you, popularity


def tell(library_file: Path, folder: Path, seed: int) -> tuple[float, float]:
    """Return the recall of "for you" and of popularity after a month with the listeners of a seed."""
    with closing(sqlite3.connect(library_file)) as connection:
        songs = connection.execute("SELECT artist, title, id FROM songs ORDER BY title").fetchall()
    artists = sorted({artist for artist, _, _ in songs})
    song_artist = np.array([artists.index(artist) for artist, _, _ in songs])
    month = simulate(song_artist % 3, song_artist, seed)
    with household(library_file, folder, list(month.discovered)) as home:
        for day in (10, 20, DAYS):
            home.set_day(home.began + day * DAY_SECONDS)
            report_plays(home, month, songs, day * DAY_SECONDS)
        react(home, month, songs)
        train_at_night(home)
        home.set_day(home.began + (DAYS + 1) * DAY_SECONDS + 43_200)
        return recalls(home, month, songs)


@pytest.fixture(scope="module")
def scanned_file(styled_music, tmp_path_factory) -> Path:
    """A library that was empty before a scan; nobody has played anything."""
    path = tmp_path_factory.mktemp("story") / "library.sqlite"
    with Library.open(path) as library:
        library.scan(styled_music, workers=2)
    return path


def test_after_a_month_for_you_beats_popularity_on_the_next_week(scanned_file, tmp_path):
    is_whole = os.environ.get("NEARSONG_STORY") == "whole"
    found = []
    for seed in SEEDS if is_whole else SEEDS[:N_FIRST]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(tell(scanned_file, folder, seed))
    gains = np.array([for_you - popularity for for_you, popularity in found])
    half_width = T_QUANTILE * gains.std(ddof=1) / np.sqrt(len(gains)) if is_whole else 0.0
    assert gains.mean() - half_width > 0, found
