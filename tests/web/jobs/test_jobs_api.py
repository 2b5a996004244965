"""Jobs over HTTP: started, followed by a real client of server-sent events, ended."""

import json
import sys
import threading
from collections.abc import Iterator

import httpx
import pytest

from nearsong.web.api import jobs as api
from nearsong.web.json.schemas import JobOut
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import wait_for

# stands in for the real process: says how far it is until a file appears
SLOW = """
import json, os, sys, time
spec = json.loads(sys.stdin.readline())
for step in range(10**6):
    print(json.dumps({"progress": ["learning", min(step, 50), 50]}), flush=True)
    if os.path.exists(sys.argv[1]):
        break
    time.sleep(0.05)
print(json.dumps({"result": {"kind": spec["kind"], "folders": spec.get("folders")}}), flush=True)
"""


@pytest.fixture
def go(tmp_path):
    """A file that lets slow jobs end."""
    return tmp_path / "go"


def slowly(service, go) -> None:
    script = go.with_name("slow.py")
    script.write_text(SLOW)
    service.jobs.command = (sys.executable, str(script), str(go))


@pytest.fixture
def slow(client, go):
    slowly(client.service, go)
    return client


def test_a_job_is_started_found_and_the_same_twice_is_one(slow, go):
    response = slow.post("/api/v1/jobs", json={"kind": "train"})
    assert response.status_code == 202
    job = response.json()
    JobOut.model_validate(job)
    assert (job["kind"], job["state"], job["stage"]) == ("train", "pending", "Waiting for its turn")
    assert response.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    again = slow.post("/api/v1/jobs", json={"kind": "train"})
    assert (again.status_code, again.json()["id"]) == (200, job["id"])
    other = slow.post("/api/v1/jobs", json={"kind": "map"})
    assert other.status_code == 202
    assert [one["id"] for one in slow.get("/api/v1/jobs").json()] == [other.json()["id"], job["id"]]
    go.touch()
    slow.service.jobs.wait(job["id"], 300)
    ended = slow.get(response.headers["Location"]).json()
    assert (ended["state"], ended["result"]) == ("done", {"kind": "train", "folders": None})
    assert slow.post("/api/v1/jobs", json={"kind": "train"}).status_code == 202  # it has ended: once more


def test_a_job_is_cancelled(slow):
    job = slow.post("/api/v1/jobs", json={"kind": "train"}).json()
    wait_for(lambda: slow.get(f"/api/v1/jobs/{job['id']}").json()["done"])
    response = slow.delete(f"/api/v1/jobs/{job['id']}")
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")
    assert response.json()["error"] is None


def test_folders_of_a_scan_must_be_there_and_full_paths(slow, tmp_path, go):
    (tmp_path / "file").touch()
    for folder, words in [
        ("music", "'music' is not an absolute path"),
        (str(tmp_path / "nowhere"), "folder not found: /"),
        (str(tmp_path / "file"), "folder not found: /"),
        ("/\0", "is not an absolute path"),
    ]:
        response = slow.post("/api/v1/jobs", json={"kind": "scan", "folders": [folder]})
        assert response.status_code == 400
        assert words in response.json()["detail"]
    response = slow.post("/api/v1/jobs", json={"kind": "train", "folders": [str(tmp_path)]})
    problem = (response.status_code, response.json()["detail"])
    assert problem == (422, "train.folders: Extra inputs are not permitted.")
    go.touch()
    job = slow.post("/api/v1/jobs", json={"kind": "scan", "folders": [str(tmp_path)]}).json()
    assert slow.service.jobs.wait(job["id"], 300).result == {"kind": "scan", "folders": [str(tmp_path)]}


def test_a_folder_may_begin_at_home(slow, tmp_path, go, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Music").mkdir()
    go.touch()
    job = slow.post("/api/v1/jobs", json={"kind": "scan", "folders": ["~/Music"]}).json()
    assert slow.service.jobs.wait(job["id"], 300).result["folders"] == [str(tmp_path / "Music")]


def test_folders_cannot_be_added_from_elsewhere(make_client, tmp_path):
    token = "correct-horse-battery-staple-4242"
    client = make_client(host="0.0.0.0", token=token)
    client.headers["Authorization"] = f"Bearer {token}"
    response = client.post("/api/v1/jobs", json={"kind": "scan", "folders": [str(tmp_path)]})
    assert response.status_code == 403
    assert response.json()["type"] == "urn:nearsong:no-folders-from-here"


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "dance"},
        {},
        {"kind": "scan", "folder": "/"},
        [],
        {"kind": "scan", "x": 1},
        {"kind": "listens", "path": "/", "name": "a", "user": "b"},
    ],
)
def test_what_is_no_job_is_refused(client, body):
    assert client.post("/api/v1/jobs", json=body).status_code == 422


@pytest.mark.parametrize("job_id", ["0" * 12, "f" * 12])
def test_a_job_that_is_not_there_is_a_problem(client, job_id):
    for response in (
        client.get(f"/api/v1/jobs/{job_id}"),
        client.get(f"/api/v1/jobs/{job_id}/events"),
        client.delete(f"/api/v1/jobs/{job_id}"),
    ):
        assert response.status_code == 404
        assert response.json()["type"] == "urn:nearsong:no-such-job"


def test_too_many_trainings_are_refused_with_a_time(make_client, go):
    client = make_client(jobs_per_hour=2)
    go.touch()
    slowly(client.service, go)
    answers = [client.post("/api/v1/jobs", json={"kind": "train"}) for _ in range(3)]
    assert [answer.status_code for answer in answers][2] == 429
    assert int(answers[2].headers["Retry-After"]) > 0


# ---- events


def events_of(lines: Iterator[str]) -> Iterator[dict]:
    """Read server-sent events as the standard has it."""
    kind, data = "message", []
    for line in lines:
        if line.startswith(":"):
            yield {"comment": line}
        elif line.startswith("event:"):
            kind = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield {"event": kind, "data": json.loads("\n".join(data))}
            kind, data = "message", []


def test_a_job_is_followed_to_its_end_by_many_who_hold_no_thread(trained, go, monkeypatch):
    monkeypatch.setattr(api, "HEARTBEAT_SECONDS", 0.0)
    server = running(trained, ServeSettings(port=0))
    with server as address, httpx.Client(base_url=address, timeout=60) as client:
        slowly(server.service, go)
        job = client.post("/api/v1/jobs", json={"kind": "train"}).json()
        reported: list[list[dict]] = [[] for _ in range(60)]  # more than there are threads

        def follow(number: int) -> None:
            with httpx.stream("GET", f"{address}/api/v1/jobs/{job['id']}/events", timeout=60) as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                assert response.headers["cache-control"] == "no-store"
                assert "content-encoding" not in response.headers
                for event in events_of(response.iter_lines()):
                    reported[number].append(event)

        threads = [threading.Thread(target=follow, args=(number,)) for number in range(len(reported))]
        for thread in threads:
            thread.start()
        wait_for(lambda: all(reported))
        assert client.get("/api/v1/jobs").status_code == 200  # a plain answer gets through among them
        go.touch()
        for thread in threads:
            thread.join(60)
    for events in reported:
        records = [event["data"] for event in events if event.get("event") == "progress"]
        assert records[-1]["state"] == "done"
        assert records[-1]["result"]["kind"] == "train"
        assert [record["done"] for record in records] == sorted(record["done"] for record in records)
        assert any("comment" in event for event in events)
        for record in records:
            JobOut.model_validate(record)


def test_following_ends_with_the_service(trained, go):
    server = running(trained, ServeSettings(port=0))
    with server as address:
        slowly(server.service, go)
        job = httpx.post(f"{address}/api/v1/jobs", json={"kind": "train"}, timeout=60).json()
        followed, ended = threading.Event(), threading.Event()

        def follow() -> None:
            with httpx.stream("GET", f"{address}/api/v1/jobs/{job['id']}/events", timeout=60) as response:
                for _ in response.iter_lines():
                    followed.set()
            ended.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert followed.wait(60)
    assert ended.wait(30)
    thread.join()
    assert server.service.jobs.get(job["id"]).state == "cancelled"
