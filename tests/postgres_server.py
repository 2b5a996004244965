"""A PostgreSQL server for tests, from Debian's packages, in a folder of its own; it can be stopped and come back."""

import glob
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))


@dataclass
class Server:
    """A PostgreSQL server of our own."""

    port: int
    password: str
    command: Sequence[str]
    as_whom: dict[str, Any]
    free: list[str] = field(default_factory=list)
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = subprocess.Popen(self.command, **self.as_whom)
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: what is asked just now is broken off."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(60)

    def url(self, database: str, password: str | None = None) -> str:
        return f"postgresql://nearsong:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def new_schema(self) -> str:
        """Make a schema, which is quicker than a database and as good, and return its URL."""
        name = f"library_{secrets.token_hex(6)}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def run(self, command: str, address: str | None = None) -> None:
        """Run a command of SQL."""
        import psycopg

        with psycopg.connect(address or self.url("postgres"), autocommit=True) as connection:
            connection.execute(command)

    def take_back(self, address: str) -> None:
        """Empty a library, so that another test can have it: that is quicker than to make one."""
        from nearsong.library.store import schema

        tables = [table.name for table in reversed(schema.metadata.sorted_tables)]
        keep = f"INSERT INTO settings VALUES ('schema', '{schema.FORMAT}')"
        self.run("; ".join([*(f"DELETE FROM {name}" for name in tables), keep]), address)
        self.free.append(address)

    def _wait(self) -> None:
        import psycopg

        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@contextmanager
def running() -> Iterator[Server]:
    """Give a server that runs."""
    bin = os.path.dirname(PROGRAMS[-1])
    folder = tempfile.mkdtemp(prefix="nearsong-postgres-", dir="/tmp")  # short: it holds a socket
    as_whom: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if os.geteuid() == 0:  # which the server refuses to be
        as_whom |= {"user": "nobody", "group": "nogroup", "extra_groups": []}
        shutil.chown(folder, "nobody", "nogroup")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, word, password = os.path.join(folder, "data"), Path(folder, "password"), secrets.token_hex(8)
    settings = ["fsync=off", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "max_connections=60"]
    command = [f"{bin}/postgres", "-D", data, "-p", str(port), *(part for text in settings for part in ("-c", text))]
    server = Server(port, password, command, as_whom)
    word.write_text(password)
    word.chmod(0o644)
    setup = ["-D", data, "-U", "nearsong", "-A", "scram-sha-256", f"--pwfile={word}", "-E", "UTF8", "--locale=C"]
    subprocess.run([f"{bin}/initdb", "--no-sync", *setup], check=True, timeout=120, **as_whom)
    try:
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)  # at once, without keeping anything
        shutil.rmtree(folder, ignore_errors=True)
