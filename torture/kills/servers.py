"""Servers that are killed while they work: the process of a job, the service, PostgreSQL under a scan."""

import contextlib
import os
import shutil
import signal
import threading
import time
import urllib.error
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import postgres_server
from nearsong.library import Library
from nearsong.web.jobs.scan import Scan
from torture import material
from torture.attack import BrokenError, Figures, Workshop, check
from torture.contents import contents_of, difference
from torture.kills.tasks import KilledScan
from torture.processes import PATIENCE_SECONDS, RunningService, children_of
from torture.warm.victim import Victim

MAX_ACKNOWLEDGED = 400
"""Writes that a client sends to a service before it is killed at the latest."""


class KilledServer(ABC):
    """A server that is killed once a trial."""

    name: ClassVar[str]
    smoke_trials: ClassVar[int] = 0

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop

    @abstractmethod
    def run(self, folder: Path, random: np.random.Generator) -> Figures:
        """Kill it once, and check what is left."""

    def close(self) -> None:  # noqa: B027 - most keep nothing
        """End what is shared by trials."""


class JobKills(KilledServer):
    """The process of a scan that the service runs as a job: the job fails in words, and the next one continues."""

    name = "job"

    def run(self, folder: Path, random: np.random.Generator) -> Figures:
        scan = KilledScan(self.workshop)
        scan.learn_reference()
        address, music = str(folder / "library.sqlite"), str(material.music(self.workshop))
        Library.open(address).close()
        with RunningService(address, log=folder / "service.log") as service:
            job = service.send("POST", "/api/v1/jobs", {"kind": "scan", "folders": [music]})
            self._wait_for_moment(service, job["id"], scan, random)
            running = children_of(service.process.pid)
            for pid in running[: 1 if random.random() < 0.5 else None]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            ended = self._wait(service, job["id"])
            stage = "too late" if ended["state"] == "done" else "running"
            if stage == "running":
                check(ended["state"] == "failed" and bool(ended["error"]), f"a killed job is {ended}")
            again = service.send("POST", "/api/v1/jobs", {"kind": "scan", "folders": [music]})
            done = self._wait(service, again["id"])
            check(done["state"] == "done", f"the job after a killed one is {done}")
        changed = difference(scan.reference, contents_of(address))
        check(not changed, f"after a killed job: {changed}")
        return {"kills": {f"job: {stage}": 1}}

    def _wait_for_moment(
        self, service: RunningService, job: str, scan: KilledScan, random: np.random.Generator
    ) -> None:
        """Wait for a random part of the time that a scan takes, at most until its last phase has begun."""
        seconds = sum(scan.seconds_of(phase) for phase in set(scan.phases))
        deadline, last = time.monotonic() + random.random() * seconds, Scan.words_of(scan.phases[-1])
        while time.monotonic() < deadline and service.get(f"/api/v1/jobs/{job}")["stage"] != last:
            time.sleep(0.02)

    def _wait(self, service: RunningService, job: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            found: dict[str, Any] = service.get(f"/api/v1/jobs/{job}")
            if found["state"] in ("done", "failed", "cancelled"):
                return found
            time.sleep(0.1)
        raise BrokenError("a job never ended")


class ServiceKills(KilledServer):
    """The service while clients write: what it has acknowledged is there when it is started again."""

    name = "service"
    smoke_trials = 1

    def run(self, folder: Path, random: np.random.Generator) -> Figures:
        address = str(folder / "library.sqlite")
        shutil.copy(material.library(self.workshop, trained=True), address)
        before = contents_of(address)
        acknowledged: list[str] = []
        with RunningService(address, log=folder / "service.log") as service:
            writers = [
                threading.Thread(target=_write, args=(service, acknowledged, i), daemon=True) for i in range(4)
            ]
            for writer in writers:
                writer.start()
            time.sleep(0.2 + 2.0 * random.random())
            service.kill()
            for writer in writers:
                writer.join(30)
        with RunningService(address, log=folder / "service.log") as service:
            names = {one["name"] for one in service.get("/api/v1/playlists")}
            lost = [name for name in acknowledged if name not in names]
            check(not lost, f"{len(lost)} of {len(acknowledged)} acknowledged playlists are lost")
            code = service.stop()
            check(code == 0, f"the service stopped with exit code {code}")
        after = contents_of(address)
        changed = difference(before | {"playlists": None}, after | {"playlists": None})
        check(not changed, f"after a killed service: {changed}")
        return {"kills": {"service: writing": 1}, "acknowledged": len(acknowledged), "lost": 0}


def _write(service: RunningService, acknowledged: list[str], writer: int) -> None:
    """Save playlists until the service is gone."""
    for i in range(MAX_ACKNOWLEDGED // 4):
        name = f"Playlist {writer}-{i}"
        try:
            service.send("POST", "/api/v1/playlists", {"name": name, "songs": [1 + i % 72, 1 + writer]}, timeout=30)
        except urllib.error.HTTPError as error:
            if error.code == 503:  # busy: not acknowledged
                continue
            raise
        except OSError:
            return
        acknowledged.append(name)


class PostgresKills(KilledServer):
    """PostgreSQL under a scan: the scan ends with an error in words, and the next one continues."""

    name = "postgres"

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._lock = threading.Lock()  # a kill of the server meets every trial on it
        self._stack = contextlib.ExitStack()
        self._server: postgres_server.Server | None = None

    def _running(self) -> postgres_server.Server:
        if self._server is None:
            check(bool(postgres_server.PROGRAMS), "PostgreSQL is not installed (Debian: apt-get install postgresql)")
            self._server = self._stack.enter_context(postgres_server.running())
        return self._server

    def run(self, folder: Path, random: np.random.Generator) -> Figures:
        scan = KilledScan(self.workshop)
        scan.learn_reference()
        with self._lock:
            server = self._running()
            command = {**scan.command(folder), "library": server.new_schema()}
            victim = Victim(command)
            stages = [phase for phase in scan.phases if phase != "starting"]
            wanted = stages[int(random.integers(len(stages)))]
            was_met = victim.wait_for_stage(wanted)
            time.sleep(random.random() * scan.seconds_of(wanted))
            self._kill(server)
            stage = victim.stage
            try:
                victim.wait()
                was_met = False  # it had nothing more to ask the server
            except BrokenError as error:
                check("exit code 3" in str(error), f"a scan whose server was killed ended so: {error}")
            server.start()
            Victim(command).wait()
            changed = difference(scan.reference, contents_of(command["library"]))
        check(not changed, f"after PostgreSQL was killed in {stage}: {changed}")
        return {"kills": {f"postgres: {scan.phase_of(stage)}" if was_met else "postgres: too late": 1}}

    def _kill(self, server: postgres_server.Server) -> None:
        assert server.process is not None
        for pid in [server.process.pid, *children_of(server.process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server.process.wait()

    def close(self) -> None:
        self._stack.close()
