"""A service under systemd -> what it did and what it may do; runs beside it, in the root that `check.py` makes.

It synthesises music, then asks the service to scan it, to import listens, to train, and to say what is similar to a
song of the library and to an uploaded file: compiled functions, worker processes, SQLite and sockets, all within the
restrictions of the unit. Those are read from the kernel for every process of the service meanwhile.
"""

import json
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from nearsong.demo.music import make_demo_library

ADDRESS = "http://127.0.0.1:8337/api/v1"
CGROUP = Path("/sys/fs/cgroup/system.slice/nearsong.service/cgroup.procs")
WAIT_SECONDS = 600.0
ARTISTS = 32
RESTRICTED = {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0" * 16, "CapBnd": "0" * 16}
SEEN: dict[int, str] = {}
"""The processes of the service so far, by id, with what each runs."""


def ask(path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
    """Send a request with the token; return what is answered."""
    token = Path("/etc/nearsong/environment").read_text().strip().partition("=")[2]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    try:
        with urllib.request.urlopen(urllib.request.Request(ADDRESS + path, body, headers), timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{path}: {error.code} {error.read().decode()}") from error


def upload(path: str, file: Path) -> Any:
    """Send a file as a form does."""
    head = f'--end\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
    return ask(path, head.encode() + file.read_bytes() + b"\r\n--end--\r\n", "multipart/form-data; boundary=end")


def job(started: dict[str, Any]) -> dict[str, Any]:
    """Wait for a job, look at the processes meanwhile, and return its result."""
    while True:
        check_processes()
        now = ask(f"/jobs/{started['id']}")
        if now["state"] == "done":
            return now["result"]
        if now["state"] in ("failed", "cancelled"):
            raise SystemExit(f"a job of the service failed: {now}")
        time.sleep(0.1)


def check_processes() -> None:
    """See that the kernel restricts every process of the service."""
    for word in CGROUP.read_text().split():
        process = Path("/proc") / word
        try:
            status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
            mounts = (process / "mounts").read_text().splitlines()
        except OSError:  # it has just ended
            continue
        if status["State"].startswith("Z") or not mounts:
            continue
        found = {name: status[name] for name in RESTRICTED}
        if found != RESTRICTED:
            raise SystemExit(f"{status['Name']} is not restricted: {found}")
        of_root = [line.split()[3].split(",")[0] for line in mounts if line.split()[1] == "/"]
        if of_root[-1] != "ro":
            raise SystemExit(f"{status['Name']} could write to the system: {of_root}")
        SEEN[int(word)] = status["Name"]


def wait_for_health() -> None:
    """Wait until the service answers."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{ADDRESS}/health", timeout=10).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"the service does not answer: {error}") from error
            time.sleep(0.2)


def main() -> None:
    """Do all of it; the last line says that it is done."""
    made = make_demo_library("/srv/music", n_artists=ARTISTS, songs_an_artist=2, seconds=4.0, n_listeners=150)
    wait_for_health()
    scanned = job(ask("/jobs", json.dumps({"kind": "scan", "folders": [str(made.music)]}).encode()))
    print(f"the unit scans {scanned['songs']} songs", flush=True)
    job(upload("/listens", Path(made.listens)))
    trained = job(ask("/jobs", b'{"kind": "train"}'))
    print(f"trains ({trained['decision']})", flush=True)
    similar = ask("/similar?seed=1&n=3")["songs"]
    asked = upload("/query?n=3", Path(made.new[0]))["songs"]
    if not (scanned["songs"] >= ARTISTS and len(similar) == len(asked) == 3):
        raise SystemExit("it does not answer what is similar")
    print("answers for a song and for an uploaded file", flush=True)
    check_processes()
    print(f"{len(SEEN)} processes, all without capabilities, filtered, on a system that is read only", flush=True)
    print("all done", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        subprocess.run(["journalctl", "--no-pager", "-b", "-u", "nearsong", "-n", "40"], check=False)
        raise
