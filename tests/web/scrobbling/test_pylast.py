"""pylast, a client that nobody here wrote, scrobbles to a real server over TLS.

It speaks HTTPS only, so it runs in a process of its own, which trusts the certificate of the test.
"""

import json
import os
import subprocess
import sys

import pytest

from nearsong.library import Library
from nearsong.web.settings import ServeSettings
from running_service import running

NOON = 1_700_000_000

SCROBBLER = """
import json, sys
import pylast

host, user, password, wrong = sys.argv[1:]

class Network(pylast.LastFMNetwork):
    def __init__(self, **known):
        self._own = (host, "/2.0/")
        super().__init__(api_key="key", api_secret="secret", **known)
    ws_server = property(lambda self: self._own, lambda self, _: None)

network = Network(username=user, password_hash=pylast.md5(password))
report = {"key": network.session_key}
network.scrobble("Björk", "Jóga", 1_700_000_000, album="Homogenic", duration=305, chosen_by_user=True)
many = [{"artist": "Ann", "title": f"Song {n}", "timestamp": 1_600_000_000 + 240 * n} for n in range(120)]
network.scrobble_many(many)
network.update_now_playing("Ann", "Now", duration=200)
track = network.get_track("Ann", "Not here")
track.love()
track.unlove()
again = Network(session_key=network.session_key)
report["name"] = again.get_authenticated_user().get_name()
report["plays"] = again.get_user(report["name"]).get_playcount()
def failure(act):
    try:
        act()
    except pylast.WSError as error:
        return [str(error.status), error.details]
report["wrong"] = failure(lambda: Network(username=user, password_hash=pylast.md5(wrong)))
report["ended"] = failure(lambda: Network(session_key="0" * 64).scrobble("a", "b", 1_700_000_000))
report["unsupported"] = failure(lambda: network.get_artist("Ann").get_bio_summary())
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that nobody else knows, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run([*command, *names, "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    except OSError:
        pytest.skip("there is no openssl on this machine")
    return paths


def test_pylast_logs_in_scrobbles_and_understands_errors(certificate, tmp_path):
    with Library.open(tmp_path / "library.sqlite") as library:
        library.accounts.add("Ben")
        password = library.accounts.renew_app_password("Ben")
        server = running(library, ServeSettings(port=0), certificate)
        with server as address:
            host = address.removeprefix("https://")
            done = subprocess.run(
                [sys.executable, "-c", SCROBBLER, host, "Ben", password, "wrong"],
                capture_output=True,
                text=True,
                env={**os.environ, "SSL_CERT_FILE": str(certificate[0])},
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            report = json.loads(done.stdout)
            assert server.service.now_playing.of("Ben").track.title == "Now"
        plays = library.play_log.latest("Ben", 1_000)
    assert (report["name"], report["plays"]) == ("Ben", 121)
    assert (plays[0].track.artist, plays[0].track.title, plays[0].time) == ("Björk", "Jóga", NOON)
    assert [play.track.title for play in plays[:0:-1]] == [f"Song {n}" for n in range(120)]
    assert (report["wrong"][0], report["ended"][0], report["unsupported"][0]) == ("4", "9", "3")
    assert "wrong user name or password" in report["wrong"][1]
