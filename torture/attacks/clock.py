"""A clock that jumps during scans, imports, training and requests, and files with impossible dates."""

import os
import shutil
import threading
import time
from collections.abc import Iterable, Sequence
from http.cookies import SimpleCookie
from pathlib import Path
from typing import ClassVar

import numpy as np

from torture.attack import Attack, BrokenError, Defect, Figures, Trial, Workshop, check
from torture.contents import Contents, contents_of, difference
from torture.faults import Faults
from torture.material import listens, music
from torture.warm.bench import TASKS, Bench, Task
from torture.warm.client import WarmService

DAY_SECONDS = 86_400.0
HANG_SECONDS = 200.0
"""How long a command may take whose clock jumps; without jumps it takes seconds."""

TOKEN = "torture-" * 5
JUMPS = ("back a day", "ten years on", "before 1970", "beyond 2038", "jitter")
DATES_NS = (-(10**18), -1, 0, 4_000_000_000 * 10**9, 7_258_118_400 * 10**9, 9_000_000_000 * 10**9)
"""Modification times: 1938, just before 1970, 1970, 2096, 2200, 2255."""


def shift_of(jump: str) -> tuple[float, float]:
    """Return by how many seconds a jump shifts the clock, and by how many it jitters."""
    now = time.time()
    return {
        "back a day": (-DAY_SECONDS, 0.0),
        "ten years on": (3652 * DAY_SECONDS, 0.0),
        "before 1970": (-now - 30 * DAY_SECONDS, 0.0),
        "beyond 2038": (2**31 + 10 * DAY_SECONDS - now, 0.0),
        "jitter": (0.0, 2 * DAY_SECONDS),
    }[jump]


class JumpingClock:
    """Lets the clock jump at random moments while a block runs."""

    def __init__(self, faults: Faults, jump: str, random: np.random.Generator) -> None:
        self._faults, self._random = faults, random
        self._shift, self._jitter = shift_of(jump)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._jump, daemon=True)
        self.n_jumps = 0

    def _jump(self) -> None:
        while not self._stop.wait(float(self._random.uniform(0.01, 0.3))):
            self.n_jumps += 1
            is_shifted = self.n_jumps % 2
            self._faults.set_clock(is_shifted * self._shift, is_shifted * self._jitter)

    def __enter__(self) -> "JumpingClock":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._faults.set_clock(0.0)


class Clock(Attack):
    """Runs every task under a clock that jumps to and fro; what is stored must be the same, apart from dates."""

    name = "clock"
    title = "a clock that jumps back, on, before 1970 and beyond 2038, and files with impossible dates"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="sessions end by the time of day",
            file="nearsong/web/http/sessions.py",
            old="return time.monotonic() if clock is None else time.clock_gettime(clock)",
            new="return time.time()",
        ),
        Defect(
            name="rate limits go by the time of day",
            file="nearsong/web/http/rate_limits.py",
            old="clock: Callable[[], float] = time.monotonic",
            new="clock: Callable[[], float] = time.time",
        ),
    )

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._undisturbed: dict[str, Contents] = {}

    def trials(self) -> Iterable[Trial]:
        """Return each task with each jump, services with each jump, sessions and dates of files."""
        tasks = self.workshop.pick(smoke=["scan", "import"], full=["scan", "import", "train", "use", "map"])
        for number, task in enumerate(tasks):
            jumps = self.workshop.pick(smoke=[JUMPS[2 - number]], full=list(JUMPS))
            for jump in jumps:
                for turn in range(self.workshop.pick(smoke=1, full=3)):
                    yield Trial(key=f"{task}, {jump} {turn}", options={"task": task, "jump": jump})
        for jump in self.workshop.pick(smoke=["before 1970"], full=list(JUMPS)):
            yield Trial(key=f"service, {jump}", options={"service": jump})
        yield Trial(key="sessions")
        yield Trial(key="dates of files")

    def set_up(self) -> None:
        """Start the process that commands are forked from."""
        self._bench = Bench(self.workshop, self.name)

    def tear_down(self) -> None:
        """End all processes."""
        if hasattr(self, "_bench"):
            self._bench.close()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        """Run one task, one service, or the trial of sessions or of dates."""
        self._bench.faults.mend()
        if "task" in trial.options:
            task = next(task for task in TASKS if task.name == trial.options["task"])
            return self._run_task(task, trial.options["jump"], random)
        if "service" in trial.options:
            return self._run_service(trial.options["service"], random)
        return self._run_sessions() if trial.key == "sessions" else self._run_dates()

    def _reference(self, task: Task) -> Contents:
        if task.name not in self._undisturbed:
            folder = self._bench.fresh(task.base)
            ended = self._bench.run(task.arguments, folder, task.n_artists)
            check(ended.code == 0, f"{task.name} failed with a quiet clock: {ended.errors.strip()[-300:]}")
            self._undisturbed[task.name] = self._bench.contents(folder)
        return self._undisturbed[task.name]

    def _run_task(self, task: Task, jump: str, random: np.random.Generator) -> Figures:
        reference, bench = self._reference(task), self._bench
        folder = bench.fresh(task.base)
        bench.faults.set(clock_calls=0)
        with JumpingClock(bench.faults, jump, random) as clock:
            command = bench.warm.start(*bench.words(task.arguments, folder, task.n_artists), env=bench.env(folder))
            ended = command.wait(HANG_SECONDS)
        check(ended.code == 0, f"{task.name} with a clock {jump}: {ended.errors.strip()[-300:]}")
        check("Traceback" not in ended.errors, f"{task.name} with a clock {jump}: {ended.errors.strip()[-300:]}")
        lost = difference(reference, bench.contents(folder))
        check(not lost, f"{task.name} with a clock {jump}: {lost}")
        return {"jumps": clock.n_jumps, "looks": bench.faults.get("clock_calls")}

    def _run_service(self, jump: str, random: np.random.Generator) -> Figures:
        """Play, save and import while the clock jumps: what is acknowledged is there, and nothing is a 5xx."""
        bench, folder = self._bench, self._bench.fresh("scanned")
        library = str(folder / "library.sqlite")
        recorded: list[str] = []
        saved: list[str] = []
        with WarmService(bench.warm, library, env=bench.env(folder)) as service:
            with JumpingClock(bench.faults, jump, random) as clock:
                job = service.upload("/api/v1/listens", listens(self.workshop, 120, 3))
                check(job.status == 202, f"a history with a clock {jump}: {job.words()}")
                for turn in range(self.workshop.pick(smoke=20, full=120)):
                    name = f"listener {turn}"
                    play = service.send("POST", "/api/v1/plays", {"song_id": 1 + turn % 6, "listener": name})
                    check(play.status in (204, 400), f"a play with a clock {jump}: {play.words()}")
                    recorded += [name] if play.is_done else []
                    answer = service.send("POST", "/api/v1/playlists", {"name": name, "songs": [1]})
                    check(answer.is_done, f"a playlist with a clock {jump}: {answer.words()}")
                    saved.append(name)
                    for path in ("/api/v1/status", "/api/v1/similar?seed=1&n=2", "/api/v1/jobs", "/api/v1/playlists"):
                        answer = service.get(path)
                        check(answer.is_done, f"{path} with a clock {jump}: {answer.words()}")
                self._wait_for_job(service, job.json()["id"])
            service.check_log()
        found = contents_of(library)
        players = {listener for listener, _track in found["plays"]}
        check(set(recorded) <= players, f"plays are lost: {sorted(set(recorded) - players)[:3]}")
        lost = set(saved) - {name for name, _songs in found["playlists"]}
        check(not lost, f"playlists are lost: {sorted(lost)[:3]}")
        check(len(found["histories"]) >= 1, "the imported history is lost")
        return {"jumps": clock.n_jumps, "plays": len(recorded), "plays refused": len(saved) - len(recorded)}

    @staticmethod
    def _wait_for_job(service: WarmService, job: str) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            facts = service.get(f"/api/v1/jobs/{job}").json()
            if facts["ended"] is not None:
                check(facts["state"] == "done", f"an import with a clock that jumps ended as {facts}")
                return
            time.sleep(0.05)
        raise BrokenError("an import with a clock that jumps does not end")

    def _run_sessions(self) -> Figures:
        """Log in, with a clock that is right and one that is ahead: after forty days every session is over."""
        bench, folder = self._bench, self._bench.fresh("scanned")
        checked = 0
        with WarmService(bench.warm, str(folder / "library.sqlite"), env=bench.env(folder), token=TOKEN) as service:
            service.headers = {}
            for ahead in (0.0, 3652 * DAY_SECONDS, -DAY_SECONDS):
                bench.faults.set_clock(ahead)
                cookie = self._log_in(service)
                check(self._may_pass(service, cookie), "a session that has just begun is refused")
                bench.faults.set_clock(0.0)
                bench.faults.set_clock(40 * DAY_SECONDS, asleep=40 * DAY_SECONDS)
                has_ended = not self._may_pass(service, cookie)
                check(has_ended, f"a session lives after forty days; it began with a clock {ahead:.0f} s ahead")
                bench.faults.set_clock(0.0)
                checked += 1
            service.check_log()
        return {"sessions": checked}

    @staticmethod
    def _log_in(service: WarmService) -> str:
        answer = service.send(
            "POST",
            "/login",
            f"token={TOKEN}".encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded", "Origin": service.url},
        )
        cookie = SimpleCookie(answer.headers.get("set-cookie", ""))
        check("nearsong_session" in cookie, f"no session begins: {answer.words()}")
        return cookie["nearsong_session"].value

    @staticmethod
    def _may_pass(service: WarmService, cookie: str) -> bool:
        answer = service.send("GET", "/api/v1/status", headers={"Cookie": f"nearsong_session={cookie}"})
        check(answer.status in (200, 401), f"a request with a session: {answer.words()}")
        return answer.is_done

    def _run_dates(self) -> Figures:
        """Scan files of 1901 to 2255, scan again, and ask a service for them."""
        bench, folder = self._bench, self._bench.fresh("none")
        own = shutil.copytree(music(self.workshop, 3), folder / "music")
        files = sorted(path for path in own.rglob("*") if path.is_file())
        n_set = sum(_set_date(path, DATES_NS[turn % len(DATES_NS)]) for turn, path in enumerate(files))
        arguments = ("scan", str(own), "--workers", "1", "--encoders", "gaussian")
        for words in (f"{len(files)} new", f"{len(files)} unchanged"):
            ended = bench.run(arguments, folder)
            check(ended.code == 0, f"files with strange dates: {ended.errors.strip()[-300:]}")
            check(words in ended.output, f"files with strange dates: not {words!r} but {ended.output.strip()!r}")
        with WarmService(bench.warm, str(folder / "library.sqlite"), env=bench.env(folder)) as service:
            for song in service.get("/api/v1/songs?limit=50").json()["items"]:
                for path in (f"/api/v1/songs/{song['id']}", f"/api/v1/songs/{song['id']}/audio"):
                    answer = service.get(path)
                    check(answer.is_done, f"{path} of a file with a strange date: {answer.words()}")
            service.check_log()
        return {"dates": n_set}

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        """Return how often the clock jumped, and that the commands looked at it."""
        total = {name: sum(row.get(name, 0) for row in rows) for name in ("jumps", "looks", "plays", "sessions")}
        check(total["looks"] > 0, "no command looked at the clock that jumps: the faults do not reach it")
        return total


def _set_date(path: Path, date_ns: int) -> bool:
    """Set a file's date, where the file system can store it."""
    try:
        os.utime(path, ns=(date_ns, date_ns))
    except OSError:
        return False
    return path.stat().st_mtime_ns == date_ns
