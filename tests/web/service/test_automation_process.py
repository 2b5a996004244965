"""The real service process learns by itself; only its clock is moved."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx

from nearsong.clock import VARIABLE
from nearsong.library import Library
from waiting import wait_for

PATIENCE = 600


class ServiceProcess:
    """``nearsong serve`` with a clock that a file moves."""

    def __init__(self, library: Path, clock: Path) -> None:
        command = [sys.executable, "-m", "nearsong", "--library", str(library), "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {VARIABLE: str(clock)}
        )
        self.address = re.search(r"http://\S+:\d+", self.process.stdout.readline())[0]
        wait_for(self._is_up, seconds=PATIENCE)

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.address}/api/v1/health").status_code == 200
        except httpx.TransportError:
            return False

    def get(self, path: str):
        return httpx.get(f"{self.address}/api/v1{path}", timeout=60).json()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def test_a_service_that_is_killed_while_it_trains_by_itself_trains_again(trained_file, tmp_path):
    file = Path(shutil.copy(trained_file, tmp_path / "library.sqlite"))
    with Library.open(file) as library:
        songs = [song.id for song in library.snapshot().space.songs]
        begin = time.time() - 86_400
        for listener in range(20):
            own = songs[listener % 3 :: 3]
            plays = [(own[i % len(own)], begin + 60 * i) for i in range(30)]
            library.play_log.record_all(plays, f"listener {listener}")
        library.automation.change(scan_hours=0, watch=False, quiet_from="00:00", quiet_to="00:00", train_hours=1)
        before = library.active_model
    clock = tmp_path / "clock"
    clock.write_text("0")
    service = ServiceProcess(file, clock)
    try:
        found = service.get("/automation")
        assert (found["is_on"], found["is_running"], found["running"]) == (True, True, None)
        assert found["listens_since"] == 600
        clock.write_text("86400")  # a day later
        wait_for(lambda: any(job["done"] > 1 for job in service.get("/jobs")), seconds=PATIENCE)
        assert service.get("/automation")["running"] == "train"
        assert service.get("/jobs")[0]["is_automatic"]
    finally:
        service.kill()
    with Library.open(file) as library:
        assert library.active_model == before
        assert library.similar(songs[0])
        assert library.automation.state().running == "train"
    service = ServiceProcess(file, clock)
    try:
        clock.write_text("90000")
        wait_for(lambda: len(service.get("/automation")["runs"]) > 1, seconds=PATIENCE)
        found = service.get("/automation")
        trained, interrupted = found["runs"]
        assert interrupted["words"] == "The service ended during a training; it will start again."
        assert (trained["task"], trained["state"]) == ("train", "done")
        assert trained["words"].startswith(("Better: ", "Not better", "No improvement", "Not clearly"))
        assert (found["listens_since"], found["running"]) == (0, None)
        assert "nearsong_automatic_runs_total" in httpx.get(f"{service.address}/metrics").text
    finally:
        service.kill()
