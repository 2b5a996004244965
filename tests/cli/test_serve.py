"""`nearsong serve`: one line for an error, an address when it runs, and a clean end."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing

import httpx
import pytest

from nearsong.errors import LibraryError
from nearsong.web.settings import ServeSettings

TOKEN = "correct-horse-battery-staple-4242"


@pytest.fixture
def started(monkeypatch):
    """Return the calls of `serve`, which does nothing."""
    calls = []
    monkeypatch.setattr(
        "nearsong.web.server.serve", lambda library, settings, **more: calls.append((library, settings, more))
    )
    return calls


def test_every_option_reaches_the_settings(nearsong, started, tmp_path):
    result = nearsong(
        "serve", "--host", "0.0.0.0", "--port", 9000, "--token", TOKEN, "--host-name", "music.example", "--host-name",
        "other.example", "--upload-megabytes", 7, "--save-uploads", tmp_path, "--secure-cookie", "--no-automatic",
        "--log", "--open", "--no-plays", "--trusted-proxy", "10.0.0.2", "--trusted-proxy", "fd00::/8",
        "--plain-client", "Old", "--plain-client", "Older",
        library=tmp_path / "library.sqlite",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    ((_, settings, more),) = started
    names = ("music.example", "other.example")
    assert settings == ServeSettings(
        "0.0.0.0",
        9000,
        TOKEN,
        names,
        7,
        save_uploads=tmp_path,
        plays=False,
        secure_cookie=True,
        verbose=True,
        trusted_proxies=("10.0.0.2", "fd00::/8"),
        plain_clients=("Old", "Older"),
    )
    assert more["browser"] is True


def test_a_missing_library_is_created_and_reported_the_first_time(nearsong, started, tmp_path):
    address = tmp_path / "new" / "library.sqlite"
    first, again = (nearsong("serve", library=address) for _ in range(2))
    assert (first.returncode, again.returncode) == (0, 0)
    assert address.exists()
    assert started[0][1] == ServeSettings(automatic=True)
    assert first.stdout == f"Created an empty library: {address}\n"
    assert again.stdout == ""


def test_the_token_may_come_from_the_environment_and_the_option_wins(nearsong, started, tmp_path):
    address = tmp_path / "library.sqlite"
    nearsong("serve", library=address, NEARSONG_TOKEN="from-the-environment-0123456789abcdef")
    nearsong(
        "serve",
        "--token",
        "from-the-command-line-0123456789abcdef",
        library=address,
        NEARSONG_TOKEN="from-the-environment-0123456789abcdef",
    )
    nearsong("serve", library=address, NEARSONG_TOKEN="")
    assert [settings.token for _, settings, _ in started] == [
        "from-the-environment-0123456789abcdef",
        "from-the-command-line-0123456789abcdef",
        None,
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "can be reached by others, so a token is needed"),
        (["--host-name", "music.example"], "so a token is needed"),
        (["--token", "short"], "could be guessed; use 32 or more random letters and digits, as in"),
        (["--trusted-proxy", "proxy"], "proxy is not an address or a network"),
        (["--port", "99999"], "99999 is not a port; choose one from 1024 to 65535, or 0 for any free one."),
        (["--host", ""], "the host is empty; use 127.0.0.1, or 0.0.0.0 for all addresses."),
        (["--upload-megabytes", "0"], "upload_megabytes"),
        (
            ["--host", "no.such.host.invalid", "--token", TOKEN],
            "is not an address of this machine",
        ),
    ],
)
def test_an_invalid_option_is_one_line_and_exit_code_2(nearsong, tmp_path, arguments, words):
    result = nearsong("serve", *arguments, library=tmp_path / "library.sqlite")
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr


def test_a_port_in_use_is_one_line(nearsong, tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        result = nearsong("serve", "--port", port, library=tmp_path / "library.sqlite")
    assert result.returncode == 2
    assert result.stderr.strip().endswith(
        f"port {port} is in use; choose another with --port, or 0 for any free one."
    )


@pytest.mark.parametrize("token", [None, TOKEN])
def test_it_prints_its_address_serves_and_ends_cleanly_on_ctrl_c(trained_file, tmp_path, token):
    library = shutil.copy(trained_file, tmp_path / "library.sqlite")
    command = [sys.executable, "-m", "nearsong", "--library", str(library), "serve", "--port", "0"]
    environment = os.environ | ({"NEARSONG_TOKEN": token} if token else {})
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        lines = [process.stdout.readline()]
        address = re.fullmatch(r"nearsong runs at (http://127\.0\.0\.1:\d+)/\n", lines[0])[1]
        while not lines[-1].startswith("Press Ctrl-C"):
            lines.append(process.stdout.readline())
        assert any("Authorization: Bearer TOKEN" in line for line in lines) == (token is not None)
        assert token is None or token not in "".join(lines)
        assert _get(f"{address}/api/v1/health").json()["status"] == "ok"
        assert httpx.get(f"{address}/api/v1/songs").status_code == (401 if token else 200)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert (out, err) == ("", "")


def _get(address):
    deadline = time.monotonic() + 60
    while True:
        try:
            return httpx.get(address)
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_an_error_while_it_is_loaded_is_one_line_and_exit_code_2(nearsong, tmp_path, monkeypatch):
    def failing(*_arguments):
        raise LibraryError("the library is gone; start again.")

    monkeypatch.setattr("nearsong.web.app.create_app", failing)
    result = nearsong("serve", "--port", 0, library=tmp_path / "library.sqlite")
    assert result.returncode == 2
    assert result.stderr == "nearsong: the library is gone; start again.\n"


LOADING = """
import threading
from nearsong.cli import main
from nearsong.web import opening, server
opening.CLOSE_SECONDS = 0.1
server._load = lambda *_arguments: threading.Event().wait()
main()
"""


def test_ctrl_c_while_it_is_loaded_ends_it_cleanly(tmp_path):
    command = [sys.executable, "-c", LOADING, "--library", str(tmp_path / "library.sqlite"), "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        address = re.fullmatch(r"nearsong runs at (http://127\.0\.0\.1:\d+/)\n", lines[1])[1]
        assert httpx.get(address).status_code == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "", "")


def test_the_browser_is_opened_when_the_page_answers(nearsong, tmp_path, monkeypatch):
    found, over = [], threading.Event()

    def visit(address):
        found.append(httpx.get(address).status_code)
        over.set()

    def load(*_arguments):
        over.wait()
        raise LibraryError("enough.")

    monkeypatch.setattr("nearsong.web.server.webbrowser.open", visit)
    monkeypatch.setattr("nearsong.web.server._load", load)
    nearsong("serve", "--port", 0, "--open", library=tmp_path / "library.sqlite")
    assert found == [200]
