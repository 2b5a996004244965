"""The service behind a real nginx with the file that `deploy/` has: page, audio, jobs, players, addresses."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from nearsong.library import Library
from nearsong.web.http.authentication import WRONG_TOKENS_PER_MINUTE
from nearsong.web.settings import ServeSettings
from running_service import running

ROOT = Path(__file__).parents[3]
TOKEN = "correct-horse-battery-staple-4242"
NAME = "music.example.org"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SLOW_JOB = """
import json, sys, time
print(json.dumps({"progress": ["learning", 1, 50]}), flush=True)
time.sleep(600)
"""


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def written_configuration(folder: Path, upstream: str, port: int) -> Path:
    """Write the file of `deploy/` with other ports and a certificate of its own, and the frame that nginx needs."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    for old, new in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/ssl/certs/music.example.org.pem": str(certificate),
        "/etc/ssl/private/music.example.org.key": str(key),
        "http://127.0.0.1:8337": upstream,
    }.items():
        assert old in site
        site = site.replace(old, new)
    (folder / "site.conf").write_text(site)
    folders = "".join(
        f"{kind}_temp_path {folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    frame = f"""
        daemon off;
        master_process off;
        pid {folder}/nginx.pid;
        error_log {folder}/error.log;
        events {{}}
        http {{ access_log off; {folders} include {folder}/site.conf; }}
    """
    (folder / "nginx.conf").write_text(frame)
    return folder / "nginx.conf"


@pytest.fixture(scope="module")
def behind(trained_file, tmp_path_factory):
    """A client of the service through nginx; ``service`` is what is behind."""
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("there is no nginx or no openssl on this machine")
    folder = tmp_path_factory.mktemp("nginx")
    library_file = shutil.copy(trained_file, folder / "library.sqlite")
    settings = ServeSettings(port=0, token=TOKEN, host_names=(NAME,), secure_cookie=True)
    with Library.open(library_file) as library:
        server = running(library, settings)
        with server as address:
            port = free_port()
            configuration = written_configuration(folder, address, port)
            with subprocess.Popen(["nginx", "-p", str(folder), "-c", str(configuration)]) as nginx:
                try:
                    client = httpx.Client(
                        base_url=f"https://127.0.0.1:{port}", headers={"Host": NAME}, verify=False, timeout=60
                    )
                    with client:
                        _wait_until_up(client, nginx)
                        client.service = server.service
                        yield client
                finally:
                    nginx.terminate()


def _wait_until_up(client: httpx.Client, nginx: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        assert nginx.poll() is None, "nginx has ended"
        try:
            client.get("/api/v1/health")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("nginx does not answer")


def test_a_browser_logs_in_over_https_and_writes(behind):
    origin = {"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
    answer = behind.post("/login", data={"token": TOKEN}, headers=origin)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    session = {"Cookie": cookie.partition(";")[0]}
    page = behind.get("/", headers=session)
    assert page.status_code == 200
    for asset in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
        assert behind.get(asset, headers=session).status_code == 200
    play = behind.post("/api/v1/plays", json={"song_id": 1}, headers={**session, **origin})
    assert play.status_code == 204
    foreign = {**session, "Origin": "https://elsewhere.example"}
    assert behind.post("/api/v1/plays", json={"song_id": 1}, headers=foreign).status_code == 403
    behind.cookies.clear()


def test_audio_is_sent_in_ranges(behind):
    whole = behind.get("/api/v1/songs/1/audio", headers=BEARER)
    part = behind.get("/api/v1/songs/1/audio", headers={**BEARER, "Range": "bytes=100-299"})
    assert (part.status_code, part.headers["content-range"]) == (206, f"bytes 100-299/{len(whole.content)}")
    assert part.content == whole.content[100:300]


def test_progress_of_a_job_arrives_while_it_runs(behind, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW_JOB)
    behind.service.jobs.command = (sys.executable, str(script))
    job = behind.post("/api/v1/jobs", json={"kind": "map"}, headers=BEARER).json()
    try:
        with behind.stream("GET", f"/api/v1/jobs/{job['id']}/events", headers=BEARER) as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            data = (json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: "))
            assert next(one for one in data if one["state"] == "running")["ended"] is None
    finally:
        behind.delete(f"/api/v1/jobs/{job['id']}", headers=BEARER)


def test_players_reach_it_and_stream(behind):
    query = {"apiKey": TOKEN, "v": "1.16.1", "c": "test", "f": "json"}
    answer = behind.get("/rest/ping.view", params=query).json()
    assert answer["subsonic-response"]["status"] == "ok"
    found = behind.get("/rest/search3", params={**query, "query": "Song", "songCount": 1}).json()
    song = found["subsonic-response"]["searchResult3"]["song"][0]["id"]
    sound = behind.get("/rest/stream", params={**query, "id": song}, headers={"Range": "bytes=0-99"})
    assert (sound.status_code, len(sound.content)) == (206, 100)


def test_an_address_that_a_client_claims_does_not_count(behind):
    """It could get around the limit of wrong tokens otherwise. The last test: this address is locked out then."""
    statuses = [
        behind.get(
            "/api/v1/songs", headers={"Authorization": "Bearer wrong", "X-Forwarded-For": f"203.0.113.{number}"}
        ).status_code
        for number in range(WRONG_TOKENS_PER_MINUTE + 1)
    ]
    assert statuses == WRONG_TOKENS_PER_MINUTE * [401] + [429]
