"""The commands of the compose file, run: a real PostgreSQL, its service, scheduler and worker, and a scan by all.

There is no engine for containers here. So names of services become 127.0.0.1, ports free ones and mounted folders
temporary ones, in command lines and environments that are otherwise those of the files.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

import music_library
import postgres_server
from command_line import run_nearsong
from dask_cluster import START_SECONDS
from waiting import wait_for

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = (DEPLOY / "compose.yaml").read_text()
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
SCAN = shlex.split(re.search(r"exec service (nearsong scan .*)$", COMPOSE, re.MULTILINE)[1])
OF_THE_SYSTEM = ("PATH", "PYTHONPATH", "HOME", "NUMBA_CACHE_DIR")  # what is compiled already is not compiled again
NOT_COMPARED = {"library", "model"}  # where it is, and when its model was made


class Composition:
    """The services of the compose file as processes of this machine."""

    def __init__(self, folder: Path, database: postgres_server.Server) -> None:
        scheduler, service = _free_ports(2)
        self.services = yaml.safe_load(COMPOSE)["services"]
        self.folder, self.started = folder, list[subprocess.Popen[bytes]]()
        self.secrets = {"NEARSONG_TOKEN": "0123456789abcdef" * 4, "POSTGRES_PASSWORD": database.password}
        self.database = {"PGHOST": "127.0.0.1", "PGPORT": str(database.port)}
        for name in ("music", "data", "tmp"):
            (folder / name).mkdir()
        self.here = {
            "database/music": f"127.0.0.1:{database.port}/music",
            "scheduler:8786": f"127.0.0.1:{scheduler}",
            **{"8786": str(scheduler), "8337": str(service), "0.0.0.0": "127.0.0.1"},
            **{f"/{name}": str(folder / name) for name in ("music", "data", "tmp")},
        }

    def start(self, name: str, *more: str) -> subprocess.Popen[bytes]:
        """Start a service; what it says is in a file of its name."""
        service = self.services[name]
        entry = service.get("entrypoint") or json.loads(re.search(r"^ENTRYPOINT (.*)$", CONTAINERFILE, re.M)[1])
        command = [*self.words([*entry, *service["command"]]), *more]
        with (self.folder / f"{name}.log").open("wb") as log:
            options = {"env": self.environment(name), "cwd": self.folder / "data", "start_new_session": True}
            self.started.append(subprocess.Popen(command, stdout=log, stderr=log, **options))
        return self.started[-1]

    def run(self, name: str, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command as `exec` in the container of a service would."""
        options = {"env": self.environment(name), "cwd": self.folder / "data", "timeout": 600}
        return subprocess.run(self.words(words), capture_output=True, text=True, **options)

    def words(self, words: list[str]) -> list[str]:
        """Return a command line of a container as it is on this machine."""
        program, *rest = map(self._translated, words)
        return [sys.executable, *([] if program == "python3" else ["-m", program]), *rest]

    def environment(self, name: str) -> dict[str, str]:
        """Return what the image and the compose file give a service, and no more than it needs from here."""
        image = re.search(r"^ENV ((?:.*\\\n)*.*)$", CONTAINERFILE, re.MULTILINE)[1].replace("\\\n", " ")
        given = dict(word.split("=", 1) for word in shlex.split(image)) | self.services[name].get("environment", {})
        kept = {key: os.environ[key] for key in OF_THE_SYSTEM if key in os.environ}
        return {key: self._translated(value) for key, value in given.items()} | kept

    def end(self) -> None:
        for process in reversed(self.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _translated(self, text: str) -> str:
        """Put secrets into a text, nothing for variables that `.env` does not have, and places of this machine."""
        text = re.sub(r"\$\{(\w+)[^}]*\}", lambda found: self.secrets.get(found[1], ""), text)
        keys = sorted(self.here, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, keys)), lambda found: self.here[found[0]], text)


@pytest.fixture
def composition(postgres, tmp_path) -> Iterator[Composition]:
    postgres.run("CREATE DATABASE music")  # as the image of PostgreSQL does for POSTGRES_DB
    composition = Composition(tmp_path, postgres)
    try:
        yield composition
    finally:
        composition.end()
        postgres.run("DROP DATABASE music WITH (FORCE)")


def test_what_the_compose_file_runs_scans_on_its_worker_what_one_machine_would(composition, tmp_path):
    music_library.make_music(tmp_path / "music" / "of", 6)
    ready = composition.services["database"]["healthcheck"]["test"][1:]
    tools = Path(postgres_server.PROGRAMS[-1]).parent
    subprocess.run([str(tools / ready[0]), *ready[1:]], env=composition.database, check=True, capture_output=True)

    service = composition.start("service", "--port", composition.here["8337"])
    scheduler = composition.start("scheduler", "--host", "127.0.0.1")  # a test is for this machine alone
    worker = composition.start("worker")
    health = json.loads(re.search(r"^HEALTHCHECK .*\\\n +CMD (.*)$", CONTAINERFILE, re.MULTILINE)[1])

    def is_healthy() -> bool:
        assert [one.poll() for one in (service, scheduler, worker)] == [None] * 3, _said(tmp_path)
        return composition.run("service", health).returncode == 0

    wait_for(is_healthy, START_SECONDS)
    done = composition.run("service", SCAN)
    assert done.returncode == 0, done.stderr + _said(tmp_path)
    assert "12 new" in done.stdout
    of_cluster = json.loads(composition.run("service", ["nearsong", "status", "--json"]).stdout)

    alone = tmp_path / "alone.sqlite"
    assert run_nearsong("scan", tmp_path / "music", library=alone).returncode == 0
    of_one = json.loads(run_nearsong("status", "--json", library=alone).stdout)
    assert of_cluster["songs"] == 12
    assert _compared(of_cluster) == _compared(of_one)


def _compared(status: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in status.items() if name not in NOT_COMPARED}


def _said(folder: Path) -> str:
    return "\n".join(f"{path.stem}: {path.read_text()[-2000:]}" for path in sorted(folder.glob("*.log")))


def _free_ports(n_ports: int) -> list[int]:
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(n_ports)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
