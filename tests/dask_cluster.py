"""A Dask scheduler and workers for tests, started by the commands of the guide; each of them can be killed."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 120.0
"""How long a scheduler and its workers may take to start on a busy machine; it only ends what hangs."""

Process = subprocess.Popen[bytes]


@dataclass
class Cluster:
    """A scheduler and its workers; what they say is in ``folder``, a file for each."""

    folder: Path
    environment: Mapping[str, str]
    options: Sequence[str]
    port: int
    scheduler: Process | None = None
    workers: list[Process] = field(default_factory=list)
    started: list[Process] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        """Start a scheduler at the address; workers that lost one come back to it by themselves."""
        command = ("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        self.scheduler = self._start(*command)

    def start_worker(self) -> None:
        """Start one more worker."""
        folder = self.folder / f"worker-{len(self.started)}"
        options = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(folder), *self.options)
        self.workers.append(self._start("worker", self.address, *options))

    def wait_for_workers(self, n_workers: int) -> None:
        """Wait until so many workers can be given work."""
        from distributed import Client

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with Client(self.address, timeout=5) as client:
                    client.wait_for_workers(n_workers, timeout=START_SECONDS)
                    return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def kill_worker(self, worker: int) -> None:
        """End a worker, as the system does that has no memory left."""
        _kill(self.workers[worker])

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        _kill(self.scheduler)

    def messages(self) -> str:
        """Return all that scheduler and workers said."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def _start(self, program: str, *arguments: str) -> Process:
        command = [sys.executable, "-m", "dask", program, *arguments]
        with (self.folder / f"{len(self.started)}-{program}.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=log, stderr=log)
        self.started.append(process)
        return process


@contextmanager
def dask_cluster(
    n_workers: int = 2, *, path: str = "", options: Sequence[str] = ("--no-nanny",), **environment: str
) -> Iterator[Cluster]:
    """Run a scheduler and some workers of one thread each.

    `path` is put before PYTHONPATH, for functions of a test; `options` are further ones of the workers: without
    ``--no-nanny``, what is killed as a worker is the nanny, with its worker.
    """
    paths = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory(prefix="nearsong-dask-", ignore_cleanup_errors=True) as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        cluster = Cluster(Path(folder), os.environ | {"PYTHONPATH": paths} | environment, options, port)
        try:
            cluster.start_scheduler()
            for _ in range(n_workers):
                cluster.start_worker()
            cluster.wait_for_workers(n_workers)
            yield cluster
        finally:
            for process in reversed(cluster.started):
                _kill(process)


def _kill(process: Process) -> None:
    process.kill()
    process.wait()
