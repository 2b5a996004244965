"""Scans, a training, an import and a service with clients, all at once on one library."""

import contextlib
import csv
import http.client
import shutil
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import music_library
import postgres_server
from torture.attack import Attack, BrokenError, Defect, Figures, Trial, check
from torture.contents import Contents, contents_of, difference
from torture.warm.bench import MANY_ARTISTS, Bench
from torture.warm.client import Client, WarmService
from torture.warm.start import Ended

TRIAL_SECONDS = 50.0
BUSY_ATTEMPTS = 20
BUSY_WORDS = ("is in use by another program", "try again", "removed as unfinished")
N_NEW_ARTISTS = 3
TRAIN = ("train", "--methods", "listener_space", "--splits", "3")
SAME_ANYWAY = ("tags", "problems", "roots", "encoders", "histories", "listens")
"""Parts of a library that must not depend on the order of the tasks; vectors are added to them."""


@dataclass
class Acknowledged:
    """What the service said it has stored."""

    plays: list[str] = field(default_factory=list)
    playlists: list[str] = field(default_factory=list)
    answers: int = 0
    busy: int = 0
    wrong: list[str] = field(default_factory=list)


class Together(Attack):
    """Everything at once, again and again; then what is stored is compared with one task after the other."""

    name = "together"
    title = "two scans, a training, an import and a service with clients at once on one library"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="writers take the lock only when they write",
            file="nearsong/library/store/database.py",
            old='"BEGIN IMMEDIATE" if wait else "BEGIN"',
            new='"BEGIN"',
        ),
        Defect(
            name="a play is acknowledged but not stored",
            file="nearsong/web/api/plays.py",
            old="    service.library.play_log.record(play.song_id, caller.acts_as(play.listener), ",
            new="    print(play.song_id, caller.acts_as(play.listener), ",
        ),
    )

    def trials(self) -> Iterable[Trial]:
        """Return trials of about a minute, some of them on PostgreSQL; in smoke one round."""
        for number in range(self.workshop.pick(smoke=1, full=10)):
            server = number % 4 == 3 and bool(postgres_server.PROGRAMS)
            yield Trial(key=f"{'PostgreSQL' if server else 'SQLite'} {number}", options={"server": server})

    def set_up(self) -> None:
        """Start the process that commands are forked from."""
        self._bench = Bench(self.workshop, self.name)

    def tear_down(self) -> None:
        """End all processes."""
        if hasattr(self, "_bench"):
            self._bench.close()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        """Run rounds for about a minute, then the same tasks one after the other on another copy."""
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(postgres_server.running()) if trial.options["server"] else None
            address = [None if server is None else server.new_schema() for _ in range(2)]
            together = _Place(self._bench, "at-once", address[0])
            apart = _Place(self._bench, "one-by-one", address[1])
            deadline = time.monotonic() + self.workshop.pick(smoke=0.0, full=TRIAL_SECONDS)
            n_rounds, noted = 0, Acknowledged()
            while n_rounds == 0 or time.monotonic() < deadline:
                together.prepare(n_rounds)
                self._run_round(together, n_rounds, noted, random)
                n_rounds += 1
            for number in range(n_rounds):
                apart.prepare(number)
                for arguments in apart.tasks(number):
                    _done(apart.run(arguments), arguments)
            _check_equal(together, apart, noted)
            n_busy = together.n_busy
            check(n_busy <= n_rounds, f"commands were refused {n_busy} times in {n_rounds} rounds instead of waiting")
            figures = {"rounds": n_rounds, "answers": noted.answers, "plays": len(noted.plays), "busy": noted.busy}
            return figures | {"playlists": len(noted.playlists), "busy commands": together.n_busy}

    def _run_round(self, place: "_Place", number: int, noted: Acknowledged, random: np.random.Generator) -> None:
        tasks = place.tasks(number)
        ends: dict[int, Ended] = {}
        errors: list[BaseException] = []

        def work(turn: int) -> None:
            try:
                time.sleep(delays[turn])
                ends[turn] = place.run(tasks[turn])
            except BaseException as error:
                errors.append(error)

        delays = random.uniform(0.0, 0.5, len(tasks))
        threads = [threading.Thread(target=work, args=(turn,), daemon=True) for turn in range(len(tasks))]
        with WarmService(self._bench.warm, place.address, env=place.env) as service:
            over = threading.Event()
            client = threading.Thread(target=_use, args=(service, noted, over, number), daemon=True)
            for thread in [client, *threads]:
                thread.start()
            for thread in threads:
                thread.join()
            over.set()
            client.join()
            service.check_log()
        if errors:
            raise errors[0]
        for turn, ended in ends.items():
            _done(ended, tasks[turn])
        if noted.wrong:
            raise BrokenError(f"{len(noted.wrong)} wrong answers, such as {noted.wrong[0]}")

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        """Return how much was done at once."""
        names = ("rounds", "answers", "plays", "playlists", "busy", "busy commands")
        return {name: sum(row[name] for row in rows) for name in names}


class _Place:
    """A library with music of its own, on which tasks run."""

    def __init__(self, bench: Bench, name: str, address: str | None) -> None:
        self._bench = bench
        self.folder = bench.workshop.scratch("together", name)
        if address is None:
            shutil.copytree(bench.base("trainable"), self.folder, dirs_exist_ok=True)
            shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        self.address = address or str(self.folder / "library.sqlite")
        self.env = bench.env(self.folder)
        self.n_busy = 0
        # below the same name for all, so that contents can be compared
        self.music = bench.workshop.folder / "scratch" / "together" / "music"
        if address is not None:
            words = bench.words(("scan", "{music}", "--encoders", "gaussian,chroma"), self.folder, MANY_ARTISTS)
            _done(self.run(words[:-2]), words)
            words = bench.words(("listens", "import", "{listens}"), self.folder, MANY_ARTISTS)
            _done(self.run(words[:-2]), words)

    def prepare(self, number: int) -> None:
        """Make the new music and listens of a round, the same for all places."""
        for part in range(2):
            folder = self.music / f"new-{number}-{part}"
            if not folder.exists():
                music_library.make_music(folder, N_NEW_ARTISTS)
        path = self.music / f"listens-{number}.csv"
        if not path.exists():
            _write_listens(path, number)

    def tasks(self, number: int) -> list[tuple[str, ...]]:
        """Return the commands of a round."""
        return [
            ("scan", str(self.music / f"new-{number}-0"), "--workers", "1"),
            ("scan", str(self.music / f"new-{number}-1"), "--workers", "1"),
            TRAIN,
            ("listens", "import", str(self.music / f"listens-{number}.csv")),
        ]

    def run(self, arguments: Sequence[str]) -> Ended:
        """Run a command; one that says that the library is busy runs again."""
        for _ in range(BUSY_ATTEMPTS):
            ended = self._bench.warm.run(*arguments, "--library", self.address, env=self.env)
            if ended.code == 0 or "Traceback" in ended.errors:
                break
            if not any(words in ended.errors for words in BUSY_WORDS):
                break
            self.n_busy += 1
            time.sleep(0.2)
        return ended


def _write_listens(path: Path, number: int) -> None:
    random = np.random.default_rng(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "artist", "title", "time"])
        for row in range(1_500):
            artist = int(random.integers(MANY_ARTISTS))
            title = f"Song {artist * 10 + int(random.integers(2))}"
            user = f"user{number}-{int(random.integers(40))}"
            rows.writerow([user, music_library.artist_name(artist), title, 1_700_000_000 + 200 * row])


def _use(client: Client, noted: Acknowledged, over: threading.Event, number: int) -> None:
    """Query, play and save until the tasks are over, and note what was acknowledged."""
    turn = 0
    while not over.is_set() or turn < 5:
        name = f"round {number} turn {turn}"
        requests: tuple[tuple[str, str, Any, list[str] | None], ...] = (
            ("GET", "/api/v1/similar?seed=1&n=3", None, None),
            ("POST", "/api/v1/plays", {"song_id": 1 + turn % 9, "listener": name}, noted.plays),
            ("GET", "/api/v1/status", None, None),
            ("POST", "/api/v1/playlists", {"name": name, "songs": [1, 2]}, noted.playlists),
            ("GET", "/api/v1/listens", None, None),
        )
        for method, path, body, kept in requests:
            try:
                answer = client.send(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                noted.wrong.append(f"{method} {path}: {type(error).__name__}: {error}")
                return
            noted.answers += 1
            if answer.is_done and kept is not None:
                kept.append(name)
            elif answer.status == 503 and "retry-after" in {key.lower() for key in answer.headers}:
                noted.busy += 1
            elif not answer.is_done:
                noted.wrong.append(f"{method} {path}: {answer.words()}")
        turn += 1
        over.wait(0.05)


def _done(ended: Ended, arguments: Sequence[str]) -> None:
    where = " ".join(arguments[:2])
    check("Traceback" not in ended.errors, f"{where}: a traceback: {ended.errors.strip()[-300:]}")
    check(ended.code == 0, f"{where}: exit code {ended.code}: {ended.errors.strip()[-300:]}")


def _check_equal(together: _Place, apart: _Place, noted: Acknowledged) -> None:
    """Raise unless the library has what the tasks one after the other give, and what the service acknowledged."""
    found, wanted = contents_of(together.address), contents_of(apart.address)
    names = [name for name in wanted if name in SAME_ANYWAY or name.startswith("vectors ")]
    wanted_parts: Contents = {name: wanted[name] for name in names}
    found_parts: Contents = {name: found.get(name) for name in names}
    played = [one for one in found["histories"] if one[0] not in {other[0] for other in wanted["histories"]}]
    check(all("played" in one[0] for one in played), f"histories that nobody imported: {played}")
    found_parts["histories"] = [one for one in found["histories"] if one not in played]
    found_parts["listens"] = {name: value for name, value in found["listens"].items() if name in wanted["listens"]}
    lost = difference(wanted_parts, found_parts)
    check(not lost, f"not as one task after the other: {lost}")
    for name in found:
        if name.startswith("vectors ") or name == "embeddings":
            bare = found["tags"].keys() - found[name].keys()
            check(not bare, f"{len(bare)} songs have no {name}")
    check(
        found["active"] in found["kinds of models"],
        f"the active model is of no kind that is stored: {found['active']}",
    )
    players = {listener for listener, _track in found["plays"]}
    check(set(noted.plays) <= players, f"{len(set(noted.plays) - players)} acknowledged plays are lost")
    lists = {name for name, _songs in found["playlists"]}
    check(set(noted.playlists) <= lists, f"{len(set(noted.playlists) - lists)} acknowledged playlists are lost")
