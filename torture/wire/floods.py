"""Floods of jobs, event streams, covers and uploads -> refused in time, and nothing grows."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from torture.attack import Figures, check
from torture.processes import PATIENCE_SECONDS
from torture.wire.client import Client, Reply, check_busy, closed_at_end, loopback_address, read_to_end
from torture.wire.target import Target

N_THREADS = 12
MAX_WAITING = 10
MAX_LISTED = 70
LISTENS = "/api/v1/listens"
COVER_SIZES = (16, 100, 320, 640, 1200)
Item = TypeVar("Item")
Result = TypeVar("Result")


def _all_at_once(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(work, items))


def flood_with_jobs(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Start more jobs than the queue takes, from many addresses; then cancel all."""
    folders = [target.scratch / f"folder {at}" for at in range(n)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    clients = [Client(target.service, loopback_address(random)) for _ in range(max(2, n // 40))]

    def start(at: int) -> Reply:
        job = {"kind": "scan", "folders": [str(folders[at])]}
        return clients[at % len(clients)].send("POST", "/api/v1/jobs", job)

    replies = _all_at_once(start, range(n))
    jobs = clients[0].ask("/api/v1/jobs").json()
    n_waiting = sum(job["state"] == "pending" for job in jobs)
    try:
        statuses = Counter(reply.status for reply in replies)
        check(set(statuses) <= {200, 202, 429, 503}, f"a flood of jobs got {dict(statuses)}")
        for reply in replies:
            check_busy(reply, "a job")
        check(n_waiting <= MAX_WAITING, f"{n_waiting} jobs wait")
        check(statuses[503] > 0, f"{n} jobs and none was refused: {dict(statuses)}")
    finally:
        end_jobs(clients[0])
    n_listed = len(clients[0].ask("/api/v1/jobs").json())
    check(n_listed <= MAX_LISTED, f"{n_listed} ended jobs are listed")
    return {"jobs": n, "jobs refused": statuses[503] + statuses[429], "jobs waiting": n_waiting}


def end_jobs(client: Client) -> None:
    """Cancel all jobs and wait until none runs."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        active = [job["id"] for job in client.ask("/api/v1/jobs").json() if job["ended"] is None]
        if not active:
            return
        for job in reversed(active):
            client.ask(f"/api/v1/jobs/{job}", method="DELETE")
        time.sleep(0.1)
    check(False, "cancelled jobs did not end")


def flood_with_streams(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Follow jobs on many connections, and leave them without a word."""
    client = Client(target.service, loopback_address(random))
    n = min(n, target.max_connections - 30)
    jobs = []
    for at in range(3):  # one runs, the others wait: their streams have no end of their own
        folder = target.scratch / f"stream {at}"
        folder.mkdir(exist_ok=True)
        jobs.append(client.send("POST", "/api/v1/jobs", {"kind": "scan", "folders": [str(folder)]}).json()["id"])
    n_events = 0
    try:
        with closed_at_end() as connections:
            for at in range(n):
                follower = Client(target.service, loopback_address(random))
                connection = follower.connect()
                connections.append(connection)
                path = f"/api/v1/jobs/{jobs[at % len(jobs)]}/events"
                connection.sendall(follower.head("GET", path) + b"\r\n")
                if at % 2:  # the others leave before they are answered
                    n_events += connection.recv(100).startswith(b"HTTP/1.1 200")
            check(client.ask("/api/v1/similar?seed=1").status == 200, "no answer beside many event streams")
    finally:
        end_jobs(client)
    check(n_events == n // 2, f"{n_events} of {n // 2} followers of a job were answered")
    return {"event streams": n}


def flood_with_covers(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Ask for hostile covers in all sizes at once."""
    asked = [
        f"/api/v1/songs/{random.choice(target.bombs)}/cover?size={random.choice(COVER_SIZES)}"
        for _ in range(n - len(target.bombs))
    ] + [f"/api/v1/songs/{song}/cover" for song in target.bombs]
    client = Client(target.service, loopback_address(random))
    replies = _all_at_once(client.ask, asked)
    statuses = Counter(reply.status for reply in replies)
    check(set(statuses) <= {200, 404, 429, 503}, f"a flood of covers got {dict(statuses)}")
    for reply in replies:
        check_busy(reply, "a cover")
        check(reply.status != 200 or len(reply.body) < 1_000_000, f"a cover of {len(reply.body)} bytes")
    check(statuses[200] > 0, "no cover was shown, not even one within the limits")
    return {"covers": n, "covers shown": statuses[200]}


def flood_with_uploads(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Send files that stop half-way, are too large or no audio; then a good one, which is answered."""
    audio = target.songs[0].read_bytes()
    kinds = list(UPLOADS)

    def upload(at: int) -> tuple[str, list[int]]:
        own = np.random.default_rng([int(first), at])
        kind = kinds[at % len(kinds)]
        client = Client(target.service, loopback_address(own))
        return kind, _upload(client, own, *UPLOADS[kind](audio))

    first = random.integers(2**32)
    for kind, statuses in _all_at_once(upload, range(n)):
        check(len(statuses) <= 1, f"{kind}: {len(statuses)} answers")
        check(all(400 <= status < 500 or status in (503, 507) for status in statuses), f"{kind}: {statuses}")
    end_jobs(Client(target.service))
    client, status = Client(target.service, loopback_address(random)), 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while status != 200 and time.monotonic() < deadline:  # slots become free when the service notices who has left
        reply = _send_file(client, audio)
        status = reply.status
        check(status in (200, 429, 503), f"a good file got {status} after bad ones: {reply.body[:200]!r}")
        time.sleep(0.1)
    check(status == 200, "no good file is taken after bad ones")
    check(len(reply.json()["songs"]) > 0, "a good file has no similar songs")
    return {"bad uploads": n, **_leftovers(target)}


def _leftovers(target: Target) -> Figures:
    """Check that no uploaded file is left."""
    deadline, left = time.monotonic() + 30, ["?"]
    while left and time.monotonic() < deadline:
        left = [str(path) for path in (target.scratch / "tmp").rglob("upload*") if path.is_file()]
        time.sleep(0.05)
    check(not left, f"{len(left)} uploaded files are left, such as {left[:1]}")
    return {"uploads left": 0}


def _form(data: bytes, name: str = "song.flac") -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + data + b"\r\n--b--\r\n"


def _send_file(client: Client, data: bytes) -> Reply:
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    return client.ask("/api/v1/query?n=3", method="POST", headers=kind, body=_form(data))


FORM_TYPE = "multipart/form-data; boundary=b"
UPLOADS: dict[str, Callable[[bytes], tuple[str, int, bytes]]] = {
    "left half-way": lambda audio: (FORM_TYPE, len(_form(audio)), _form(audio)[: len(audio) // 2]),
    "left in its head": lambda audio: (FORM_TYPE, 1000, b"--b\r\nContent-Dis"),
    "a giant length": lambda audio: (FORM_TYPE, 10**15, _form(audio)[:1000]),
    "a little too long": lambda audio: (FORM_TYPE, 202 << 20, _form(audio)[:1000]),
    "no form": lambda audio: ("audio/flac", len(audio), audio),
    "no boundary": lambda audio: ("multipart/form-data", len(_form(audio)), _form(audio)),
    "no audio": lambda audio: (FORM_TYPE, len(_form(b"no audio" * 99)), _form(b"no audio" * 99)),
    "an empty file": lambda audio: (FORM_TYPE, len(_form(b"")), _form(b"")),
    "another field": lambda audio: (FORM_TYPE, len(_form(audio)), _form(audio).replace(b'"file"', b'"life"')),
    "damaged audio": lambda audio: (FORM_TYPE, len(_form(audio[:4] + audio[3000:])), _form(audio[:4] + audio[3000:])),
}
"""Bad uploads: content type, declared length, and what is really sent."""


def _upload(client: Client, random: np.random.Generator, kind: str, length: int, data: bytes) -> list[int]:
    """Send a bad upload and leave if it is not complete; return the statuses of the answers."""
    path = str(random.choice(["/api/v1/query", "/api/v1/query", LISTENS]))
    with client.connect() as connection:
        with contextlib.suppress(OSError):
            head = client.head("POST", path, Content_Type=kind, Content_Length=str(length), Connection="close")
            connection.sendall(head + b"\r\n")
            connection.sendall(data)
        is_complete = len(data) >= length
        said, _ = read_to_end(connection, 60.0 if is_complete else 0.2) if random.integers(4) else (b"", False)
    statuses = [int(piece[:3]) for piece in said.split(b"HTTP/1.1 ")[1:]]
    if is_complete and path == LISTENS and statuses == [202]:  # a job finds out that it is no history
        return []
    return statuses
