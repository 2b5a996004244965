"""A service -> scans and trainings as its jobs, one after the other, until told to stop."""

import shutil
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from torture.processes import RunningService
from torture.wire.client import Client, loopback_address

MAX_NEW_SONGS = 40
"""Songs in the scanned folder; then the oldest makes room for the next, so that the library does not grow."""


class EndlessJobs:
    """Adds a song to a folder and scans it, then trains, again and again.

    Parameters
    ----------
    service : RunningService
    songs : list of Path
        Files that are copied into the folder.
    folder : Path
    train_seconds : float
        When a training that still runs is cancelled, so that scans get their turn.

    Attributes
    ----------
    counts : Counter
        Ended jobs by kind and state.
    failures : list of str
        What failed jobs said.
    """

    def __init__(self, service: RunningService, songs: list[Path], folder: Path, train_seconds: float) -> None:
        self._service, self._songs, self._folder = service, songs, folder
        self._train_seconds = train_seconds
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """Start no further job."""
        self._is_over.set()
        self._thread.join(60)

    def _run(self) -> None:
        at = 0
        while not self._is_over.is_set():
            song = self._songs[at % len(self._songs)]
            shutil.copy(song, self._folder / f"{at % MAX_NEW_SONGS:03}{song.suffix}")
            at += 1
            try:
                self._job({"kind": "scan", "folders": [str(self._folder)]}, float("inf"))
                self._job({"kind": "train"}, self._train_seconds)
            except Exception as error:
                if not self._is_over.is_set():
                    self.failures.append(f"{type(error).__name__}: {error}")
                    self._is_over.wait(5)

    def _job(self, wanted: dict[str, Any], seconds: float) -> None:
        """Start a job and follow it to its end; cancel it when it takes too long."""
        client = Client(self._service, loopback_address(np.random.default_rng()))  # no address starts too many
        job = client.send("POST", "/api/v1/jobs", wanted).json()
        deadline = time.monotonic() + seconds
        while job["ended"] is None and not self._is_over.wait(0.5):
            if time.monotonic() > deadline:
                client.ask(f"/api/v1/jobs/{job['id']}", method="DELETE")
            job = client.ask(f"/api/v1/jobs/{job['id']}").json()
        if job["ended"] is not None:
            self.counts[f"{wanted['kind']} {job['state']}"] += 1
            if job["state"] == "failed":
                self.failures.append(f"{wanted['kind']}: {job['error']}")
