"""Another process that holds SQLite's write lock -> reads are answered, writes get 503 and when to come back."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np

from torture.attack import Figures, check
from torture.wire.client import Client, Reply, loopback_address
from torture.wire.target import Target

READS = (
    "/api/v1/status",
    "/api/v1/songs?search=song",
    "/api/v1/songs/{song}",
    "/api/v1/songs/{song}/audio?original=true",
    "/api/v1/similar?seed={song}",
    "/api/v1/playlists",
    "/api/v1/listens",
    "/api/v1/model",
    "/api/v1/jobs",
    "/rest/getAlbumList2?type=newest&f=json&apiKey={token}",
    "/rest/getPlaylists?f=json&apiKey={token}",
)
N_READERS = 4
READ_PAUSE_SECONDS = 0.02
MAX_WRITE_SECONDS = 45.0
"""How long a write may wait: by its limits 10 s, on a busy machine more."""


def hold_lock(target: Target, random: np.random.Generator, n_writers: int) -> Figures:
    """Hold the write lock while many write and some read; then let it go and write again."""
    client = Client(target.service, loopback_address(random))
    kept = client.send("POST", "/api/v1/playlists", {"name": "before", "songs": [1, 2]}).json()["id"]
    reads: list[tuple[str, int, float]] = []
    is_over = threading.Event()

    def read(reader: int) -> None:
        own = np.random.default_rng([reader, int(kept)])
        while not is_over.wait(READ_PAUSE_SECONDS):
            path = str(own.choice(READS)).format(song=own.integers(1, target.n_songs), token=target.service.token)
            started = time.monotonic()
            reads.append((path, client.ask(path).status, time.monotonic() - started))

    with ThreadPoolExecutor(n_writers + N_READERS) as pool:
        with closing(sqlite3.connect(target.library, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            readers = [pool.submit(read, reader) for reader in range(N_READERS)]
            try:
                started = time.monotonic()
                replies = list(pool.map(lambda at: _write(target, client, at, kept), range(n_writers)))
                seconds = time.monotonic() - started
            finally:
                is_over.set()
                connection.rollback()
        for reader in readers:
            reader.result()
    for reply in replies:
        check(reply.status in (429, 503), f"a write while another process writes got {reply.status}")
        check(reply.headers.get("retry-after", "").isdigit(), f"a write got {reply.status} without Retry-After")
    check(seconds <= MAX_WRITE_SECONDS, f"writes were refused after {seconds:.0f} s")
    wrong = [(path, status) for path, status, _ in reads if status != 200]
    check(not wrong, f"{len(wrong)} of {len(reads)} reads beside a writer failed, such as {wrong[:2]}")
    check(len(reads) >= N_READERS, f"only {len(reads)} reads were answered in {seconds:.0f} s beside a writer")
    check(client.send("PUT", f"/api/v1/playlists/{kept}", {"name": "after", "songs": [3]}).status == 200, "no write")
    check(client.ask(f"/api/v1/playlists/{kept}", method="DELETE").status == 204, "a playlist cannot be deleted")
    slowest = max(seconds for _, _, seconds in reads)
    return {
        "reads beside a writer": len(reads),
        "slowest read beside a writer in s": round(slowest, 2),
        "writes refused": n_writers,
        "seconds until writes were refused": round(seconds, 1),
    }


def _write(target: Target, client: Client, at: int, kept: int) -> Reply:
    """Change something in one of several ways."""
    writes = [
        lambda: client.send("POST", "/api/v1/playlists", {"name": f"number {at}", "songs": [1]}),
        lambda: client.send("PUT", f"/api/v1/playlists/{kept}", {"name": "other", "songs": [2]}),
        lambda: client.ask(f"/api/v1/playlists/{kept}", method="DELETE"),
        lambda: client.send("POST", "/api/v1/plays", {"song_id": at % target.n_songs + 1}),
        lambda: client.ask(f"/rest/createPlaylist?f=json&apiKey={target.service.token}&name=x&songId=1"),
    ]
    return writes[at % len(writes)]()
