"""Processes of nearsong that attacks start, watch and kill."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torture.attack import BrokenError

PATIENCE_SECONDS = 300.0
"""How long anything may take before an attack calls it hung; this machine may be busy."""


def nearsong(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a nearsong command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "nearsong", *arguments],
        env=os.environ | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RunningService:
    """``nearsong serve`` in a process group of its own.

    Parameters
    ----------
    library : str
        Address of the library.
    options : str
        Further options of ``nearsong serve``.
    env : mapping, optional
        Added to the environment.
    log : Path, optional
        Where its output goes.
    token : str, optional
        That it asks for, and that `get` and `send` show.
    max_files : int, optional
        Files that it may have open, which limits connections.
    """

    def __init__(
        self,
        library: str,
        *options: str,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        token: str | None = None,
        max_files: int | None = None,
    ) -> None:
        self.port = free_port()
        self.token = token
        secret = {} if token is None else {"NEARSONG_TOKEN": token}
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = open(log or os.devnull, "ab")  # noqa: SIM115 - open as long as the process
        command = [
            sys.executable,
            "-m",
            "nearsong",
            "serve",
            "--library",
            library,
            "--port",
            str(self.port),
            "--no-automatic",
            *options,
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=os.environ | dict(env or {}) | secret,
            start_new_session=True,
            preexec_fn=None if max_files is None else partial(_limit_files, max_files),
        )

    @property
    def headers(self) -> dict[str, str]:
        """The header that shows the token."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def wait_until_up(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise BrokenError(f"the service ended at its start (exit code {self.process.returncode})")
            with contextlib.suppress(OSError):
                self.get("/api/v1/status")
                return
            time.sleep(0.1)
        raise BrokenError("the service did not answer")

    def get(self, path: str, timeout: float = PATIENCE_SECONDS) -> Any:
        """Return the JSON of a GET."""
        request = urllib.request.Request(self.url + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read())

    def send(self, method: str, path: str, body: Any = None, timeout: float = PATIENCE_SECONDS) -> Any:
        """Send JSON and return the JSON of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers=self.headers | {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def kill(self) -> None:
        """Kill the service, not its children, with SIGKILL."""
        self.process.kill()
        self.process.wait()
        self._log.close()

    def stop(self) -> int:
        """End it as Ctrl-C would, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill_group()
            raise BrokenError("the service did not stop within a minute") from None
        self._log.close()
        return code

    def kill_group(self) -> None:
        """Kill the service and what is left of its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()

    def __enter__(self) -> "RunningService":
        try:
            self.wait_until_up()
        except BaseException:
            self.kill_group()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.kill_group()


def children_of(pid: int) -> list[int]:
    """Return all descendants of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            direct = [int(text) for text in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
            for child in direct:
                found += [child, *children_of(child)]
    return found


def memory_of(pid: int) -> tuple[int, int]:
    """Return current and peak resident memory of a process in MB; zeros if it has ended."""
    facts: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                facts[name] = int(value.split()[0]) // 1024
    return facts.get("VmRSS", 0), facts.get("VmHWM", 0)


def n_descriptors(pid: int) -> int:
    """Return how many files and connections a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def n_threads(pid: int) -> int:
    """Return how many threads a process has."""
    return len(os.listdir(f"/proc/{pid}/task"))


def _limit_files(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


class MemoryWatch:
    """Records the peak memory of a process and of its descendants while a block runs.

    Attributes
    ----------
    peaks : dict of str to int
        Peak in MB of ``parent`` and of the largest ``child``.
    """

    def __init__(self, pid: int | Callable[[], int], *, every_seconds: float = 0.02) -> None:
        self._pid, self._every = pid, every_seconds
        self.peaks = {"parent": 0, "child": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.is_set():
            pid = self._pid() if callable(self._pid) else self._pid
            self.peaks["parent"] = max(self.peaks["parent"], memory_of(pid)[1])
            for child in children_of(pid):
                self.peaks["child"] = max(self.peaks["child"], memory_of(child)[1])
            self._stop.wait(self._every)

    def __enter__(self) -> "MemoryWatch":
        if isinstance(self._pid, int):
            with contextlib.suppress(OSError):  # so that its peak is that of the block
                Path(f"/proc/{self._pid}/clear_refs").write_text("5")
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
