"""`nearsong listens pull`: from a service into the library, once or at an interval, stopped at any moment."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from nearsong.cli.listens import pull as command
from nearsong.library.store import Store
from pull_servers import FakeLastfm, FakeListenBrainz, FakeSubsonic, serving, some_listens
from pulled_rows import check_history, rows_of


@pytest.fixture
def library(tmp_path):
    return tmp_path / "library.sqlite"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Make no pauses between requests."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("nearsong.library.listeners.pull.from_listenbrainz.INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr("nearsong.library.listeners.pull.from_lastfm.INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr("nearsong.library.listeners.pull.http_json.FIRST_BACK_OFF_SECONDS", 0.01)


def test_listens_are_pulled_listed_and_removed(nearsong, library):
    service = FakeListenBrainz(some_listens(120), hearts=some_listens(2))
    with serving(service) as url:
        done = nearsong("listens", "pull", "listenbrainz", "ann", "--url", url, library=library)
        assert done.returncode == 0, done.stderr
        host = url.removeprefix("http://")
        assert f"listenbrainz: ann at {host}: 120 new rows, 122 rows in all, 2 hearts among them" in done.stdout
        again = nearsong("listens", "pull", "listenbrainz", "ann", "--url", url, library=library)
        assert "0 new rows" in again.stdout
    listed = nearsong("listens", "list", library=library, COLUMNS="118")
    assert f"listenbrainz: ann at {host}" in listed.stdout
    assert nearsong("listens", "remove", "1", library=library).returncode == 0
    assert "No listening histories" in nearsong("listens", "list", library=library).stdout


def test_keys_come_from_the_environment_and_are_printed_nowhere(nearsong, library):
    with serving(FakeLastfm(some_listens(5))) as url:
        asked = ("listens", "pull", "lastfm", "ann", "--url", f"{url}/2.0", "--user", "me")
        missing = nearsong(*asked, library=library)
        assert missing.returncode == 2
        assert missing.stderr.count("\n") <= 2
        assert "NEARSONG_LASTFM_KEY" in missing.stderr
        done = nearsong(*asked, library=library, NEARSONG_LASTFM_KEY=FakeLastfm.key)
        assert "5 new rows" in done.stdout
        assert "listener me" in done.stdout
        wrong = nearsong(*asked, library=library, NEARSONG_LASTFM_KEY="wrong-key-12")
        assert wrong.returncode == 2
        assert "wrong-key-12" not in wrong.stderr
    with serving(FakeSubsonic([{"id": "1", "albumId": "a", "artist": "Ann", "title": "One", "playCount": 7}])) as url:
        asked = ("listens", "pull", "subsonic", url, "--name", "ann", "--user", "me")
        done = nearsong(*asked, library=library, NEARSONG_SUBSONIC_PASSWORD="sesame")
        assert "1 new row" in done.stdout
    content = b"".join(path.read_bytes() for path in library.parent.glob("library.sqlite*"))
    assert FakeLastfm.key.encode() not in content
    assert b"sesame" not in content


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1_800), ("6h", 21_600), (" 1D ", 86_400), ("1 d", 86_400)])
def test_an_interval_is_read(text, seconds):
    assert command.interval_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "6", "0m", "-1h", "5s", "1w", "h", "1e3h", "999999999d", "6h 30m"])
def test_an_interval_that_makes_no_sense_is_refused(nearsong, library, text):
    done = nearsong("listens", "pull", "listenbrainz", "ann", f"--every={text}", library=library)
    assert done.returncode == 2
    assert "such as 30m, 6h or 1d" in done.stderr


def test_every_pulls_again_and_an_error_does_not_end_it(nearsong, library, monkeypatch):
    service = FakeListenBrainz(some_listens(10))
    waits = []

    def wait(seconds):
        if seconds < 100:
            return  # back-off
        waits.append(seconds)
        if len(waits) == 1:
            service.faults = [500] * 7
        if len(waits) == 2:
            service.listens += some_listens(3, start=1_700_000_000)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", wait)
    with serving(service) as url:
        done = nearsong("listens", "pull", "listenbrainz", "ann", "--url", url, "--every", "6h", library=library)
    assert done.returncode == 130
    assert "10 new rows" in done.stdout
    assert "3 new rows" in done.stdout
    assert "HTTP 500" in done.stderr
    assert all(21_000 < seconds <= 21_600 for seconds in waits)


def started(library, url):
    """Start a pull in a process of its own."""
    words = [sys.executable, "-m", "nearsong", "--library", str(library), "listens", "pull", "listenbrainz", "ann"]
    return subprocess.Popen([*words, "--url", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows_stored(library) -> int:
    if not os.path.exists(library):
        return 0
    with closing(Store(library)) as store:
        return sum(history.rows for history in store.listens.histories())


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_pull_has_stored_its_pages_and_goes_on(nearsong, library):
    service = FakeListenBrainz(some_listens(2_000, step=3_600))
    with serving(service) as url:
        process = started(library, url)
        wait_for(lambda: len(service.requests) >= 4)
        process.kill()
        process.communicate()
        stored, n_requests = rows_stored(library), len(service.requests)
        assert stored >= 200
        assert nearsong("listens", "pull", "listenbrainz", "ann", "--url", url, library=library).returncode == 0
        assert len(service.requests) - n_requests < (2_000 - stored) / 99 + 8
    with closing(Store(library)) as store:
        (history,) = store.listens.histories()
        assert rows_of(store, history.id) == sorted(service.listens)
        check_history(store, history.id)


def test_ctrl_c_ends_a_pull_though_the_service_hangs(library):
    service = FakeListenBrainz(some_listens(10))
    release = threading.Event()
    service.answer = lambda path, asked: (200, lambda handler: release.wait(600))
    with serving(service) as url:
        process = started(library, url)
        try:
            wait_for(lambda: service.requests)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            err = ""
            while "interrupted" not in err and (line := process.stderr.readline()):
                err += line
            err += process.communicate(timeout=60)[1]  # the interpreter ends, slowly on a busy machine
            assert process.returncode == 130
            assert "Traceback" not in err
        finally:
            release.set()
            process.kill()
