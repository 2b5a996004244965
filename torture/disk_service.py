"""What a failing disk does to a running service, to commands that only read, and to files that stall."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from torture.attack import BrokenError, Figures, check
from torture.contents import contents_of
from torture.material import listens, music
from torture.warm.bench import Bench
from torture.warm.client import Answer, WarmService
from torture.warm.start import Ended

BUSY = (503, 507)
REFUSED = {"full": BUSY, "over quota": (*BUSY, 409), "failing": (*BUSY, 409), "read-only": (*BUSY, 409)}
"""Kind of fault -> the answers that refuse a write; of other faults SQLite says only that there was one."""

STALL_SECONDS = 90.0
STAT_SECONDS = 0.5
QUICK_SECONDS = 20.0
"""How long an answer may take that has nothing to do with the file that stalls."""

READERS = (
    ("status",),
    ("similar", "1"),
    ("playlist", "1", "--length", "3"),
    ("listens", "list"),
    ("models",),
)
"""Commands that need not write."""


def run(bench: Bench, kind: str, number: int) -> Figures:
    """Run a trial by its kind; those in full have several."""
    return {"service": _RUNNERS[kind](bench, number)}


def _full_service(bench: Bench, number: int) -> Figures:
    """Fill the disk while a service runs: reads go on, writes are refused, and work again when there is room."""
    folder = bench.fresh("scanned")
    library = str(folder / "library.sqlite")
    kind = ("full", "over quota", "failing", "read-only")[number % 4]
    figures = {"writes refused": 0, "writes kept": 0, "reads on a full disk": 0}
    names = []
    bench.faults.count_below(folder)
    with WarmService(bench.warm, library, env=bench.env(folder)) as service:
        _read_all(service, "before")
        bench.faults.fail(kind, 1 + 3 * (number // 4))
        try:
            for turn in range(4):
                for what, send in _writes(service, bench, f"while {turn}").items():
                    answer = send()
                    good = answer.is_done or answer.status in REFUSED[kind]
                    check(good, f"disk {kind}: {what} was answered {answer.words()}")
                    figures["writes refused"] += not answer.is_done
                    if answer.is_done and what == "playlist":
                        names.append(f"while {turn}")
                figures["reads on a full disk"] += _read_all(service, f"while the disk is {kind}")
        finally:
            bench.faults.mend()
        check(number >= 4 or figures["writes refused"] > 0, f"no write was refused while the disk was {kind}")
        for what, send in _writes(service, bench, "after").items():
            answer = send()
            check(answer.is_done, f"there is room again, but {what} was answered {answer.words()}")
        names.append("after")
        service.check_log()
    kept = [name for name, _songs in contents_of(library)["playlists"]]
    check(set(names) <= set(kept), f"acknowledged playlists are lost: {sorted(set(names) - set(kept))}")
    _check_whole(library)
    figures["writes kept"] = len(kept)
    return figures


def _writes(service: WarmService, bench: Bench, name: str) -> dict[str, Callable[[], Answer]]:
    song = next(path for path in sorted(music(bench.workshop, 3).rglob("*.flac")))
    return {
        "play": lambda: service.send("POST", "/api/v1/plays", {"song_id": 1, "listener": name}),
        "playlist": lambda: service.send("POST", "/api/v1/playlists", {"name": name, "songs": [1, 2]}),
        "upload": lambda: service.upload("/api/v1/query?n=2", song),
        "history": lambda: service.upload("/api/v1/listens", listens(bench.workshop, 120, 3)),
    }


def _read_all(service: WarmService, when: str) -> int:
    paths = ("/api/v1/status", "/api/v1/songs?limit=3", "/api/v1/similar?seed=1&n=2", "/api/v1/playlists")
    for path in paths:
        answer = service.get(path, timeout=QUICK_SECONDS)
        check(answer.is_done, f"{path} {when}: {answer.words()}")
    return len(paths)


def _read_only(bench: Bench, number: int) -> Figures:
    """Run commands that only read on read-only media, with and without a log that was not yet merged."""
    folder = bench.fresh("ready")
    bench.env(folder)  # makes the folder for temporary files
    if number % 2:
        _leave_log(folder / "library.sqlite")
    figures: Figures = {"read-only": "by EROFS", "readers that worked": 0, "readers that said why": 0}
    with _read_only_media(bench, folder) as way:
        figures["read-only"] = way
        for arguments in READERS:
            ended = bench.run(arguments, folder)
            where = f"{' '.join(arguments)} on read-only media"
            check("Traceback" not in ended.errors, f"{where}: a traceback that ends with {last_line(ended)!r}")
            figures["readers that worked"] += ended.code == 0
            if ended.code:
                check(last_line(ended).startswith("nearsong:"), f"{where}: {last_line(ended)!r}")
                check(
                    "read-only" in last_line(ended) or "permissions" in last_line(ended),
                    f"{where} says {last_line(ended)!r}",
                )
                figures["readers that said why"] += 1
    return figures


@contextmanager
def _read_only_media(bench: Bench, folder: Path) -> Iterator[str]:
    """Make a folder read-only, by a mount where that is allowed; give which way was used."""
    bind = subprocess.run(["mount", "--bind", str(folder), str(folder)], capture_output=True, check=False)
    if bind.returncode == 0:
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True, capture_output=True)
            yield "by a mount"
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
        return
    bench.faults.count_below(folder)
    bench.faults.fail("read-only", 1)
    try:
        yield "by EROFS"
    finally:
        bench.faults.mend()


def _leave_log(path: Path) -> None:
    """Write without closing, as a process does that is killed: what is new is in the log only."""
    code = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute(\"insert into settings values ('torture', '1')\"); db.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def _stalled_scan(bench: Bench, number: int) -> Figures:
    """Let one new file stall: the scan reports that it timed out, and analyses all others."""
    folder = bench.fresh("scanned")
    library = str(folder / "library.sqlite")
    own = shutil.copytree(music(bench.workshop, 3), folder / "music")
    songs = sorted(path for path in own.rglob("*") if path.is_file())
    stalls = songs[number % len(songs)]
    n_before = len(contents_of(library)["tags"])
    arguments = ("scan", str(own), "--workers", "2", "--timeout", "2")
    bench.faults.count_below(Path("/nowhere"))
    bench.faults.stall(stalls, STALL_SECONDS, STAT_SECONDS)
    try:
        command = bench.warm.start(*bench.words(arguments, folder), env=bench.env(folder))
        ended = command.wait(STALL_SECONDS / 2)
    finally:
        bench.faults.stall(stalls, 0)
    check(ended.code == 0, f"a scan with a file that stalls: {last_line(ended)}")
    found = contents_of(library)
    n_new = len(found["tags"]) - n_before
    check(n_new == len(songs) - 1, f"{n_new} of {len(songs) - 1} other songs are there")
    check(str(stalls) in str(found["problems"]), f"the file that stalls is not reported: {found['problems']}")
    again = bench.run((*arguments, "--retry"), folder)
    check(again.code == 0, f"a second scan: {last_line(again)}")
    n_new = len(contents_of(library)["tags"]) - n_before
    check(n_new == len(songs), "the file that no longer stalls is not analysed")
    return {"scans with a stall": 1}


def _stalled_service(bench: Bench, number: int) -> Figures:
    """Ask for a song that stalls, several times at once: other requests are answered."""
    folder = bench.fresh("scanned")
    own = music(bench.workshop, 3)
    n_clients = (48, 8)[number % 2]
    with WarmService(bench.warm, str(folder / "library.sqlite"), env=bench.env(folder)) as service:
        listed = service.get("/api/v1/songs?limit=1").json()["items"][0]
        stalls = next(own.rglob(f"*{listed['title']}.*"))
        bench.faults.stall(stalls, STALL_SECONDS)
        paths = (f"/api/v1/songs/{listed['id']}/audio", f"/api/v1/songs/{listed['id']}/cover")
        clients = [
            threading.Thread(target=_ignore, args=(service, paths[n % 2]), daemon=True) for n in range(n_clients)
        ]
        try:
            for client in clients:
                client.start()
            deadline = 200
            while not bench.faults.get("stalled") and deadline:
                deadline -= 1
                threading.Event().wait(0.05)
            check(bench.faults.get("stalled") > 0, "no request has reached the file that stalls")
            try:
                _read_all(service, f"while a file stalls for {n_clients} clients")
                answer = service.send(
                    "POST", "/api/v1/playlists", {"name": "stalled", "songs": [1]}, timeout=QUICK_SECONDS
                )
            except OSError as error:
                raise BrokenError(f"no answer while a file stalls for {n_clients} clients: {error}") from None
            check(answer.is_done, f"a playlist while a file stalls: {answer.words()}")
        finally:
            bench.faults.stall(stalls, 0)
            for client in clients:
                client.join(QUICK_SECONDS)
        service.check_log()
    return {"clients that waited": n_clients}


def _ignore(service: WarmService, path: str) -> None:
    try:
        service.get(path)
    except OSError:
        return


def _cold(bench: Bench, number: int) -> Figures:
    """Run a command in a process of its own, from its first import on, on a disk that is full from the start."""
    folder = bench.fresh(("none", "scanned")[number % 2])
    arguments = (("scan", "{music}", "--workers", "2"), ("listens", "import", "{listens}"))[number % 2]
    bench.faults.count_below(folder)
    env = bench.env(folder)
    bench.faults.fail("full", 1)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "nearsong", *bench.words(arguments, folder)],
            env=os.environ | bench.faults.env | env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    finally:
        bench.faults.mend()
    where = f"{arguments[0]} on a disk that is full from the start"
    lines = run.stderr.strip().splitlines() or [""]
    check("Traceback" not in run.stderr, f"{where}: a traceback that ends with {lines[-1]!r}")
    check(run.returncode == 2 and lines[-1].startswith("nearsong:"), f"{where}: {run.returncode}, {lines[-1]!r}")
    return {"cold starts": 1}


def _check_whole(library: str) -> None:
    with closing(sqlite3.connect(library)) as database:
        state = database.execute("PRAGMA integrity_check").fetchone()[0]
    check(state == "ok", f"the library is damaged: {state}")


def last_line(ended: Ended) -> str:
    """Return the last line that a command wrote, to standard error if it wrote there."""
    lines = [line for line in (ended.errors or ended.output).splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


_RUNNERS: dict[str, Callable[[Bench, int], Figures]] = {
    "full service": _full_service,
    "read-only": _read_only,
    "stalled scan": _stalled_scan,
    "stalled service": _stalled_service,
    "cold": _cold,
}

TRIALS = {"full service": 12, "read-only": 2, "stalled scan": 6, "stalled service": 2, "cold": 2}
"""Kind of trial -> how many there are in full."""
