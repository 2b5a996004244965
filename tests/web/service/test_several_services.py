"""Two real services on one PostgreSQL behind a proxy: any of them answers, jobs run once, and one may be killed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import soundfile

import music_library
from nearsong.clock import VARIABLE
from nearsong.library import Library, restore
from nearsong.web.http.authentication import COOKIE
from nearsong.web.jobs.shared_queue import ORPHANED
from nearsong.web.service.automation.automation import INTERRUPTED
from round_robin import RoundRobin
from waiting import wait_for

WAIT = 300  # seconds until a test that hangs fails


class ServiceProcess:
    """``nearsong serve`` as a process of its own."""

    def __init__(self, library: str, clock: Path, cache: Path) -> None:
        environment = os.environ | {
            "NEARSONG_LIBRARY": library,
            VARIABLE: str(clock),
            "XDG_CACHE_HOME": str(cache),
        }
        command = [sys.executable, "-m", "nearsong", "serve", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    def wait(self) -> None:
        """Wait until it answers."""
        found = re.search(r"http://\S+:\d+", self.process.stdout.readline())
        assert found, "the service did not start"
        self.address = found[0]
        wait_for(lambda: httpx.get(f"{self.address}/api/v1/health", timeout=WAIT).status_code == 200)

    @property
    def jobs(self) -> list[int]:
        """The processes of jobs that it runs."""
        found = []
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for child in children.read_text().split():
                with suppress(OSError):  # it has ended
                    if b"nearsong.web.jobs.process" in Path(f"/proc/{child}/cmdline").read_bytes():
                        found.append(int(child))
        return found

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(WAIT)
        self.process.stdout.close()


@dataclass
class Together:
    """Two services, the proxy before them, and the library that they have."""

    services: list[ServiceProcess]
    proxy: RoundRobin
    library: Library
    clock: Path
    tokens: dict[str, str]
    open_ones: ExitStack

    def client(self, service: ServiceProcess | None = None, name: str = "Ada") -> httpx.Client:
        """Return a client of a service, or of the proxy, with the token of a listener."""
        address = self.proxy.address if service is None else service.address
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        client = httpx.Client(base_url=f"{address}/api/v1/", headers=headers, timeout=WAIT)
        return self.open_ones.enter_context(client)

    def clients(self) -> list[httpx.Client]:
        return [self.client(service) for service in self.services]


@pytest.fixture(scope="module")
def together(postgres, trained_file, tmp_path_factory) -> Iterator[Together]:
    folder, address = tmp_path_factory.mktemp("together"), postgres.new_schema()
    with Library.open(trained_file) as trained:
        restore(trained.backup(folder / "backup.sqlite"), address)
    clock = folder / "clock"
    clock.write_text("0")
    with ExitStack() as open_ones:
        library = open_ones.enter_context(Library.open(address))
        library.automation.change(is_on=False)
        tokens = {"Ada": library.accounts.add("Ada", is_admin=True)}
        services = []
        for number in range(2):
            service = ServiceProcess(address, clock, folder / f"cache {number}")  # as on machines of their own
            services.append(service)
            open_ones.callback(lambda service=service: service.process.poll() is None and service.end(signal.SIGTERM))
        for service in services:
            service.wait()
        proxy = open_ones.enter_context(RoundRobin([service.address for service in services]))
        yield Together(services, proxy, library, clock, tokens, open_ones)


def answers(client: httpx.Client, path: str, n: int = 4) -> set[int]:
    """Return the statuses of some requests, which go to all services in turn."""
    return {client.get(path).status_code for _ in range(n)}


def test_who_logs_in_stays_logged_in_on_all_and_logs_out_of_all(together):
    proxy = together.proxy
    with httpx.Client(base_url=proxy.address, timeout=WAIT) as browser:
        assert answers(browser, "/api/v1/songs") == {401}
        assert browser.post("/login", data={"token": together.tokens["Ada"]}).status_code == 303
        before = proxy.answered.copy()
        assert answers(browser, "/api/v1/songs", 6) == {200}
        assert [proxy.answered[service.address] - before[service.address] for service in together.services] == [3, 3]
        stolen = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        thief = together.open_ones.enter_context(httpx.Client(base_url=proxy.address, headers=stolen, timeout=WAIT))
        assert answers(thief, "/api/v1/songs") == {200}
        assert browser.post("/logout").status_code == 303
        wait_for(lambda: answers(thief, "/api/v1/songs") == {401})
        assert answers(thief, "/api/v1/songs", 6) == {401}


def test_a_listener_who_is_added_and_renews_the_token_is_known_to_all_at_once(together):
    together.tokens["Ben"] = together.client().post("listeners", json={"name": "Ben"}).json()["token"]
    ben = together.client(name="Ben")
    assert answers(ben, "songs") == {200}
    with httpx.Client(base_url=together.proxy.address, timeout=WAIT) as browser:
        assert browser.post("/login", data={"token": together.tokens["Ben"]}).headers["location"] == "/"
        renewed = browser.post("/api/v1/listeners/Ben/token")
        assert renewed.status_code == 200
        wait_for(lambda: answers(browser, "/api/v1/songs") == {200})  # with the session of the new token
    wait_for(lambda: answers(ben, "songs") == {401})  # with the earlier token


def test_a_job_of_one_is_followed_and_stopped_on_the_other_and_no_two_run_at_once(together):
    here, there = together.clients()
    with together.library._store.writing():  # the scan has to wait: it is there as long as it takes
        job = here.post("jobs", json={"kind": "scan"}).raise_for_status().json()
        assert there.get("jobs").json()[0]["id"] == job["id"]
        again = there.post("jobs", json={"kind": "scan"})
        assert (again.status_code, again.json()["id"]) == (200, job["id"])
        waits = there.post("jobs", json={"kind": "prune"}).json()
        wait_for(lambda: there.get(f"jobs/{job['id']}").json()["state"] == "running")
        assert here.get(f"jobs/{waits['id']}").json()["state"] == "pending"
        assert [len(service.jobs) for service in together.services] == [1, 0]
        with there.stream("GET", f"jobs/{job['id']}/events") as events:
            reports = (json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: "))
            assert next(reports)["state"] == "running"
            there.delete(f"jobs/{job['id']}").raise_for_status()
            *_, last = reports
        assert (last["state"], last["words"]) == (
            "cancelled",
            "Scan stopped. Songs analysed so far are in the library.",
        )
        assert here.get(f"jobs/{job['id']}").json() == last
    followed = here.get(f"jobs/{waits['id']}/events").text.splitlines()
    ended = json.loads([line for line in followed if line.startswith("data: ")][-1][6:])
    assert (ended["state"], ended["result"]["songs"]) == ("done", 72)
    assert {client.get(f"jobs/{waits['id']}").text for client in (here, there)} == {
        json.dumps(ended, separators=(",", ":"))
    }


def test_a_model_that_is_activated_on_one_is_the_one_of_all(together):
    here, there = together.clients()

    def models() -> set[int]:
        return {client.get("similar?seed=1").json()["model"]["id"] for client in (here, there)}

    learned, native = sorted(together.library.models(), key=lambda row: row.kind)
    assert (learned.kind, native.kind) == ("learned", "native")
    assert models() == {learned.id}
    for model in (native, learned):
        assert here.put("model", json={"id": model.id}).status_code == 200
        wait_for(lambda model=model: models() == {model.id})
        here, there = there, here


def test_a_file_that_one_has_analysed_is_a_seed_on_the_other_also_of_a_new_model(together, tmp_path):
    path = tmp_path / "nobody knows.flac"
    soundfile.write(path, music_library.sound(1, 5), music_library.RATE)
    here, there = together.clients()
    learned, native = sorted(together.library.models(), key=lambda row: row.kind)
    try:
        assert here.put("model", json={"id": native.id}).status_code == 200  # the other has not looked yet, perhaps
        analysed = here.post("query", files={"file": (path.name, path.read_bytes())}, params={"n": 3}).json()
        assert analysed["seed"]["model"] == native.id
        drafts = [
            client.post("playlists/draft", json={"upload_seeds": [analysed["seed"]], "length": 5})
            for client in (there, here)
        ]
        assert [draft.status_code for draft in drafts] == [200, 200], drafts[0].text
        assert drafts[0].json() == drafts[1].json()
    finally:
        here.put("model", json={"id": learned.id})
    wait_for(lambda: there.get("similar?seed=1").json()["model"]["id"] == learned.id)
    late = there.post("playlists/draft", json={"upload_seeds": [analysed["seed"]], "length": 5})
    assert (late.status_code, late.json()["type"]) == (409, "urn:nearsong:other-model")


def test_what_plays_and_what_a_player_has_queued_is_known_to_all(together):
    here, there = together.clients()
    playing = {"track_metadata": {"artist_name": "Björk", "track_name": "Jóga"}}
    submitted = {"listen_type": "playing_now", "payload": [playing]}
    assert here.post(f"{together.services[0].address}/1/submit-listens", json=submitted).status_code == 200
    told = there.get(f"{together.services[1].address}/1/user/Ada/playing-now").json()["payload"]["listens"]
    assert [one["track_metadata"]["track_name"] for one in told] == ["Jóga"]
    key = {"apiKey": together.tokens["Ada"], "c": "a player", "v": "1.16.1", "f": "json"}
    here.get(f"{together.services[0].address}/rest/savePlayQueue", params={**key, "id": [3, 4], "current": 4})
    queue = there.get(f"{together.services[1].address}/rest/getPlayQueue", params=key).json()
    assert queue["subsonic-response"]["playQueue"]["current"] == "4"


def test_a_model_that_is_trained_in_another_process_is_the_one_of_all(together):
    """How soon: `test_followed_models`."""
    library, clients = together.library, together.clients()
    learned, native = sorted(library.models(), key=lambda row: row.kind)

    def models() -> set[int]:
        return {client.get("similar?seed=1").json()["model"]["id"] for client in clients}

    library.use_model(native.id)  # a training has to be better than the model in use
    command = [sys.executable, "-m", "nearsong", "train", "--methods", "listener_space"]  # takes seconds
    caches = {"XDG_CACHE_HOME": str(together.clock.parent / "cache of the training")}
    environment = os.environ | caches | {"NEARSONG_LIBRARY": library.address}
    try:
        subprocess.run(command, check=True, capture_output=True, env=environment, timeout=2 * WAIT)
        (trained,) = {row.id for row in library.models()} - {learned.id, native.id}
        assert library.active_model == trained
        wait_for(lambda: models() == {trained})
    finally:
        library.use_model(learned.id)
    wait_for(lambda: models() == {learned.id})
    library.remove_model(trained)


def test_a_task_runs_by_itself_once_and_again_elsewhere_if_its_service_is_killed(together):
    library, services = together.library, together.services
    library.automation.change(
        is_on=True, scan_hours=1, watch=False, train_hours=0, quiet_from="00:00", quiet_to="00:00"
    )
    client = together.client()

    def jobs() -> list[dict[str, Any]]:
        return [job for job in client.get("jobs").json() if job["is_automatic"]]

    together.clock.write_text("86400")  # a day later
    wait_for(lambda: any(service.jobs for service in services))
    (killed,) = [service for service in services if service.jobs]
    (job,) = killed.jobs
    os.kill(job, signal.SIGSTOP)  # so that it is there as long as it takes
    try:
        together.clock.write_text("86500")  # both look once more
        wait_for(lambda: library.automation.state().running == "scan")
        assert [one["state"] for one in jobs()] == ["running"]
        assert sum(len(service.jobs) for service in services) == 1
        killed.end(signal.SIGKILL)
    finally:
        os.kill(job, signal.SIGKILL)
    assert answers(client, "songs") == {200}
    wait_for(lambda: [one["state"] for one in jobs()] == ["done", "failed"])
    assert jobs()[1]["words"] == ORPHANED
    wait_for(lambda: len(library.automation.state().runs) == 2)
    runs = [(run.task, run.state, run.words) for run in library.automation.state().runs]
    assert runs[1] == ("scan", "stopped", INTERRUPTED["scan"])
    assert runs[0][:2] == ("scan", "done")
    started = client.post("jobs", json={"kind": "prune"}).json()["id"]  # what one may do alone is free again
    wait_for(lambda: client.get(f"jobs/{started}").json()["state"] == "done")
