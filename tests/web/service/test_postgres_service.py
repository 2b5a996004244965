"""The service on a library in PostgreSQL: all that people do, two who write at once, and a server that stops."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import soundfile
from libopensonic import AsyncConnection
from libopensonic.errors import SonicError

import music_library
from library_store import store_of
from nearsong.library import Library
from postgres_server import Server
from rest_server import connected
from waiting import wait_for

WAIT = 120  # seconds until a test that hangs fails


@dataclass
class Evening:
    """A service on a library in PostgreSQL, and what was seen of it."""

    client: httpx.Client
    library: Library
    server: Server
    cache: Path
    commands: set[str] = field(default_factory=set)
    done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def start(self, kind: str, **more: Any) -> str:
        return str(self.client.post("jobs", json={"kind": kind, **more}).raise_for_status().json()["id"])

    def ended(self, job: str) -> dict[str, Any]:
        """Follow a job to its end; return all that it reported on the way, the last at last."""

        def has_begun() -> bool:
            self.commands |= (shown := shown_commands())
            is_there = any("nearsong.web.jobs.process" in command for command in shown)
            return is_there or self.client.get(f"jobs/{job}").json()["ended"] is not None

        wait_for(has_begun)
        events = self.client.get(f"jobs/{job}/events").raise_for_status().text
        reports = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
        return reports[-1] | {"reports": reports}

    def run(self, kind: str, **more: Any) -> None:
        self.done[kind] = self.ended(self.start(kind, **more))

    def play(self, session: Callable[[AsyncConnection], Any]) -> Any:
        return connected(self.client.base_url.port, session, username="anyone", password="none")


def shown_commands() -> set[str]:
    """Return what everybody on this machine can see of the programs that run."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has ended
            continue
    return found


@pytest.fixture(scope="module")
def evening(postgres, serving, styled_music, tmp_path_factory) -> Iterator[Evening]:
    """Begin with nothing; scan, import, train and draw, all through the service."""
    folder = tmp_path_factory.mktemp("evening")

    def keeps_the_secret(response: httpx.Response) -> None:
        response.read()
        assert postgres.password not in response.text

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.1)
        with (
            Library.open(postgres.new_schema()) as library,
            serving(library) as address,
            httpx.Client(
                base_url=f"{address}/api/v1/", timeout=WAIT, event_hooks={"response": [keeps_the_secret]}
            ) as client,
        ):
            made = Evening(client, library, postgres, folder / "cache")
            made.run("scan", folders=[str(styled_music)])
            with music_library.write_listens(folder / "listens.csv").open("rb") as file:
                made.done["listens"] = made.ended(client.post("listens", files={"file": file}).json()["id"])
            made.run("train")
            made.run("map")
            wait_for(lambda: client.get("similar?seed=1").json()["model"]["kind"] == "learned")
            yield made


def test_jobs_find_the_same_library_and_no_list_of_programs_shows_its_password(evening):
    results = {kind: job["result"] for kind, job in evening.done.items()}
    assert [job["state"] for job in evening.done.values()] == ["done"] * 4, evening.done
    assert (results["scan"]["added"], results["scan"]["songs"], results["map"]["songs"]) == (72, 72, 72)
    assert results["listens"]["share_found"] > 0.99
    assert results["train"]["decision"] == "learned"
    steps = [
        report["done"] for report in evening.done["train"]["reports"] if report["stage"] == "Learning from listeners"
    ]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1]
    assert any("nearsong.web.jobs.process" in command for command in evening.commands)
    assert not any(evening.server.password in command for command in evening.commands)


def test_people_find_compare_and_understand_songs(evening):
    client, library = evening.client, evening.library
    assert client.get("status").json()["songs"] == 72
    (first, _) = client.get("songs", params={"search": "band a1", "sort": "title"}).json()["items"]
    near = client.get("similar", params={"seed": first["id"], "n": 5}).json()["songs"]
    assert [one["song"]["id"] for one in near] == library.neighbours(first["id"], n=5)[0].tolist()
    why = client.get("why", params={"query": first["id"], "other": near[0]["song"]["id"]}).json()
    assert why["sentences"]
    played = client.get(f"songs/{first['id']}/audio", headers={"Range": "bytes=0-99"})
    assert (played.status_code, len(played.content)) == (206, 100)
    assert client.get("model").json()["active"]["kind"] == "learned"
    assert client.get("model/cold-start").json()["never_played"] == 0
    assert client.get("map").json()["songs"] == 72


def test_a_file_that_nobody_knows_is_analysed(evening, tmp_path):
    path = tmp_path / "nobody knows.flac"
    soundfile.write(path, music_library.sound(1, 5), music_library.RATE)
    analysed = evening.client.post("query", files={"file": (path.name, path.read_bytes())}, params={"n": 3}).json()
    assert {one["song"]["genre"] for one in analysed["songs"]} == {music_library.STYLES[1]}
    assert len(analysed["why"]) == 3


def test_playlists_of_the_page_and_of_a_player_are_the_same(evening):
    client = evening.client
    made = client.post("playlists", json={"name": "Späti ♫", "songs": [3, 1, 2]}).json()

    async def session(player: AsyncConnection) -> tuple[list[str], list[str]]:
        near = await player.get_similar_songs("1", 4)
        await player.create_playlist(name="From the player", song_ids=[song.id for song in near])
        known = await player.get_playlists()
        songs = (await player.get_playlist(next(one.id for one in known if one.name == made["name"]))).entry
        return [one.name for one in known], [song.title for song in songs]

    names, titles = evening.play(session)
    assert names == ["Späti ♫", "From the player"]
    assert titles == [song["title"] for song in made["items"]]
    for one in client.get("playlists").json():
        assert client.delete(f"playlists/{one['id']}").status_code == 204
    assert client.get("playlists").json() == []


def test_a_scan_and_the_page_write_at_once_and_both_succeed(evening, tmp_path):
    for song in range(4):
        soundfile.write(tmp_path / f"Fresh - Tune {song}.wav", music_library.sound(0, 900 + song), music_library.RATE)
    client, job = evening.client, evening.start("scan", folders=[str(tmp_path)])

    def save(number: int) -> int:
        return client.post("playlists", json={"name": f"{number}", "songs": [1, 2]}).status_code

    saved: list[int] = []
    with ThreadPoolExecutor(4) as people:
        while not saved or client.get(f"jobs/{job}").json()["ended"] is None:
            saved.extend(people.map(save, range(8)))
            time.sleep(0.1)
    assert set(saved) == {201}
    assert client.get(f"jobs/{job}").json()["result"]["added"] == 4
    wait_for(lambda: client.get("songs", params={"search": "fresh"}).json()["total"] == 4)
    assert len(client.get("playlists").json()) == len(saved)
    assert client.get("model/cold-start").json()["never_played"] == 4


def test_a_server_that_stops_is_reported_once_and_found_again(evening, caplog):
    client, server = evening.client, evening.server
    asked = ("status", "playlists", "listens", "model", "why?query=1&other=6")
    server.stop()
    try:
        wait_for(lambda: "could not be read" in caplog.text)
        for path in ("songs", "similar?seed=1", "songs/1", "map", "songs/1/audio"):  # which are loaded
            assert client.get(path).status_code == 200, path
        for path in asked:
            answer = client.get(path)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2"), path
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert "the library cannot be reached right now; it will be used again" in answer.json()["detail"]
        assert client.post("playlists", json={"name": "Lost", "songs": [1]}).status_code == 503
        with pytest.raises(SonicError, match=r"^the library cannot be reached right now; it will be used"):
            evening.play(lambda player: player.get_playlists())
        assert client.post("jobs", json={"kind": "scan"}).status_code == 503
        assert client.get("jobs").json()[0]["kind"] == "scan"  # the last that is known
    finally:
        server.start()
    wait_for(lambda: "can be read again" in caplog.text)
    assert [client.get(path).status_code for path in asked] == [200] * len(asked)
    assert client.post("playlists", json={"name": "Found", "songs": [1]}).status_code == 201
    ours = [record.getMessage() for record in caplog.records if record.name == "nearsong.web"]
    assert len([line for line in ours if line == "the library can be read again."]) == 1
    lines = [line for line in ours if "could not be read" in line]
    assert len(lines) == len(set(lines))
    assert server.password not in caplog.text


def test_what_can_be_made_again_lies_in_a_folder_for_this_library_alone(evening):
    (ours,) = (evening.cache / "nearsong").iterdir()
    assert [file.name.endswith(".map.npz") for file in ours.iterdir()] == [True]
    assert evening.library.space.cache == ours
    with Library.open(evening.server.new_schema()) as other, store_of(other) as store:
        assert store.cache.parent == ours.parent
        assert store.cache != ours
