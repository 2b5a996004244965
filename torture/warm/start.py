"""Commands of nearsong that start at once: forks of a process that has imported it.

A campaign starts hundreds of commands, and most of the time of each would be imports. A fork shares nothing with the
next one but the imported modules. The server that its worker processes are forked from is a fork too, in its group.
"""

import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.attack import BrokenError
from torture.processes import PATIENCE_SECONDS

POLL_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    output: str
    errors: str
    seconds: float


class Command:
    """A command that runs in a fork, as the leader of a process group."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid = pid
        self._folder = folder
        self._started = time.monotonic()
        self._code: int | None = None
        self._has_ended = threading.Event()

    def note_end(self, code: int) -> None:
        """Take the exit code."""
        self._code = code
        self._has_ended.set()

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended."""
        return self._has_ended.is_set()

    def wait(self, seconds: float = PATIENCE_SECONDS) -> Ended:
        """Wait for the end; a command that takes longer is broken."""
        if not self._has_ended.wait(seconds):
            self.kill()
            raise BrokenError(f"hung: no end within {seconds:.0f} s ({self.errors().strip()[-200:]})")
        assert self._code is not None
        elapsed = time.monotonic() - self._started
        return Ended(code=self._code, output=self._text("stdout"), errors=self.errors(), seconds=elapsed)

    def wait_for_code(self, seconds: float | None = None) -> int | None:
        """Wait for the end and return the exit code; None if it has not ended after so long."""
        self._has_ended.wait(seconds)
        return self._code

    def errors(self) -> str:
        """Return what the command has written to standard error so far."""
        return self._text("stderr")

    def _text(self, stream: str) -> str:
        return (self._folder / stream).read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """Kill the command and its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)


class WarmStart:
    """Starts commands of nearsong as forks of one process; use it in a ``with`` block.

    Parameters
    ----------
    folder : Path
        For what the commands write to standard output and error.
    env : mapping, optional
        Added to the environment, such as that of `torture.faults.Faults`.
    """

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._n_started = 0
        self._lock = threading.Lock()
        self._commands: dict[int, Command] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torture.warm.start"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | dict(env or {}),
            text=True,
            start_new_session=True,
        )
        self._read_line()  # it is warm

    def _read_line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise BrokenError("the process that commands are forked from has ended")
        return json.loads(line)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> Command:
        """Start a command."""
        return self.start_in(self.new_folder(), *arguments, env=env)

    def new_folder(self) -> Path:
        """Return a new folder for what a command writes to standard output and error."""
        with self._lock:
            self._n_started += 1
            folder = self._folder / f"command-{self._n_started}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def start_in(
        self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None, module: str = "nearsong.cli"
    ) -> Command:
        """Start the ``main`` of a module, which writes to the files or named pipes of a folder."""
        with self._lock:
            assert self._process.stdin is not None
            task = {"module": module, "arguments": arguments, "folder": str(folder), "env": dict(env or {})}
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            command = Command(self._read_line()["pid"], folder)
            self._commands[command.pid] = command
        threading.Thread(target=self._watch, args=(command, folder / "code"), daemon=True).start()
        return command

    def _watch(self, command: Command, code: Path) -> None:
        while not code.exists() and self._process.poll() is None:
            time.sleep(POLL_SECONDS)
        command.note_end(int(code.read_text()) if code.exists() else -9)

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, seconds: float = PATIENCE_SECONDS) -> Ended:
        """Run a command to its end."""
        return self.start(*arguments, env=env).wait(seconds)

    def close(self) -> None:
        """Kill what still runs, and end."""
        for command in self._commands.values():
            if not command.has_ended:
                command.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> "WarmStart":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def main() -> None:
    """Import nearsong, then fork for each line of standard input."""
    import torture.warm.preload  # noqa: F401

    running: dict[int, Path] = {}
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    requests = b""
    _reply({"ready": True})
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _reap(running)
        if 0 in ready:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, requests = (requests + data).split(b"\n")
            for line in lines:
                task = json.loads(line)
                streams = _open_streams(task["folder"])
                pid = os.fork()
                if pid == 0:
                    _become(task, streams)
                os.setpgid(pid, pid)  # here too: once its number is known it can be killed with its group
                for stream in streams:
                    os.close(stream)
                running[pid] = Path(task["folder"])
                _reply({"pid": pid})


def _reply(value: Any) -> None:
    os.write(1, json.dumps(value).encode() + b"\n")


def _reap(running: dict[int, Path]) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            folder = running.pop(pid)
            (folder / "code.part").write_text(str(os.waitstatus_to_exitcode(status)))
            os.replace(folder / "code.part", folder / "code")


def _open_streams(folder: str) -> list[int]:
    """Return standard input, output and error of a command."""
    paths = [os.devnull, os.path.join(folder, "stdout"), os.path.join(folder, "stderr")]
    return [os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600) for path in paths]


def _become(task: Any, streams: list[int]) -> None:
    """Run a command in this fork, and exit with its code."""
    import importlib
    import tempfile
    from multiprocessing import util

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    os.environ.update(task["env"])
    tempfile.tempdir = None
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
        os.close(stream)
    vars(util)["spawnv_passfds"] = functools.partial(_start_helper, util.spawnv_passfds)
    sys.argv = [task["module"], *task["arguments"]]
    code = 1
    try:
        importlib.import_module(task["module"]).main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        with contextlib.suppress(BaseException):
            _run_exit_handlers()
        os._exit(code)


def _start_helper(spawn: Any, path: Any, arguments: Any, descriptors: Any) -> int:
    """Start a process of `multiprocessing`: the server that forks workers as a fork, any other as usual."""
    code = str(arguments[-1])
    if "multiprocessing.forkserver" not in code:
        return int(spawn(path, arguments, descriptors))
    pid = os.fork()
    if pid:
        return pid
    try:
        _close_other_end(descriptors[-1])
        exec(code, {})
    finally:
        os._exit(0)


def _close_other_end(descriptor: int) -> None:
    """Close the copy of the end of a pipe by whose closing the server sees that its parent is gone."""
    pipe = os.fstat(descriptor).st_ino
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if int(name) != descriptor and os.fstat(int(name)).st_ino == pipe:
                os.close(int(name))


def _run_exit_handlers() -> None:
    import atexit

    atexit._run_exitfuncs()


if __name__ == "__main__":
    main()
