"""Supysonic, a Subsonic server that nobody here wrote, on a free port of this machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import sys
from supysonic.config import DefaultConfig
from supysonic.db import close_connection, init_database, open_connection
from supysonic.managers.folder import FolderManager
from supysonic.managers.user import UserManager
from supysonic.scanner import Scanner
from supysonic.web import create_application
from werkzeug.serving import make_server

folder, music, user, password = sys.argv[1:]


class Config(DefaultConfig):
    def __init__(self):
        super().__init__()
        self.BASE = {**DefaultConfig.BASE, "database_uri": f"sqlite:///{folder}/supysonic.db"}
        self.WEBAPP = {**DefaultConfig.WEBAPP, "cache_dir": folder, "mount_webui": False}
        self.DAEMON = {**DefaultConfig.DAEMON, "socket": f"{folder}/no.sock"}


init_database(f"sqlite:///{folder}/supysonic.db")
open_connection(True)
UserManager.add(user, password, admin=True)
FolderManager.add("music", music)
scanner = Scanner()
scanner.queue_folder("music")
scanner.run()
close_connection()
server = make_server("127.0.0.1", 0, create_application(Config()), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def supysonic(folder: Path, music: Path, user: str, password: str) -> Iterator[str]:
    """Scan a folder of music and serve it for one user; yield the URL."""
    folder.mkdir()
    log = folder / "log.txt"
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), str(music), user, password]
    with open(log, "w") as written, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().decode().strip()
            assert port, log.read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
