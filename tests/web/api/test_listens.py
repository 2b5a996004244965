"""Listening histories that are sent: read in the background, called as their sender calls them, gone afterwards."""

import gzip
import io
import json
import sys
import zipfile

import pytest

import music_library
from nearsong.errors import ListensError
from nearsong.listens import open_listens
from nearsong.web.jobs.import_listens import ImportListens

pytestmark = pytest.mark.usefixtures("jobs_here")


@pytest.fixture
def history(tmp_path) -> bytes:
    return music_library.write_listens(tmp_path / "more.csv", n_users=20, seed=7).read_bytes()


def send(client, content: bytes, name: str, **params):
    return client.post("/api/v1/listens", files={"file": (name, content)}, params=params)


def imported(client, content: bytes, name: str, **params):
    """Send a history and return the job when it has ended."""
    response = send(client, content, name, **params)
    assert response.status_code == 202, response.text
    job = response.json()
    assert job["kind"] == "listens"
    assert response.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    ended = client.service.jobs.wait(job["id"], 300)
    assert left(client) == []
    return ended


def left(client) -> list[str]:
    return sorted(path.name for path in client.service.uploads.folder.iterdir() if path.name != "in-use")


def test_a_history_is_imported_under_the_senders_name_and_the_same_file_twice_counts_once(client, history):
    before = client.get("/api/v1/listens").json()
    assert [(one["name"], one["format"], one["kind"]) for one in before] == [("listens.csv", "csv", "counts")]

    job = imported(client, history, "C:\\Users\\ann\\my plays.csv")
    assert job.state == "done", job.error
    result = job.result
    assert (result["state"], result["name"], result["format"]) == ("imported", "my plays.csv", "csv")
    assert result["rows"] == history.count(b"\n") - 1
    assert 0.9 < result["share_found"] < 1
    assert result["most_played_not_found"] == ["Nobody's Own Band - Nowhere"]

    of_one = imported(client, history, "plays.csv", user="ann")
    assert of_one.state == "failed"
    assert "plays.csv has listens of several users (" in of_one.error

    again = imported(client, history, "the same.csv")
    assert (again.result["state"], again.result["source"]) == ("known", result["source"])

    after = client.get("/api/v1/listens").json()
    assert [one["name"] for one in after] == ["listens.csv", "my plays.csv"]
    assert after[1]["id"] == result["source"]

    newer = imported(client, history + b"user1,Band A0,Song 0,5\n", "my plays.csv")
    assert newer.result["state"] == "replaced"
    assert newer.notes == ["replaced the earlier my plays.csv; for another person's file, name the user."]
    one_person = b"artist,title,plays\nBand A0,Song 0,5\n"
    other = imported(client, one_person, "my plays.csv", user="a/n\\n")
    assert (other.result["state"], other.result["name"]) == ("imported", "my plays.csv (n)")
    assert [one["name"] for one in client.get("/api/v1/listens").json()] == [
        "listens.csv",
        "my plays.csv",
        "my plays.csv (n)",
    ]


def test_packed_and_nested_formats_are_read(client, history):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        plays = [{"ts": f"2020-01-0{i}T10:00:00Z", "ms_played": 200_000} for i in range(1, 5)]
        names = {
            "master_metadata_track_name": "Song 0",
            "master_metadata_album_artist_name": "Band A0",
            "master_metadata_album_album_name": "First",
            "spotify_track_uri": "x",
        }
        archive.writestr("data/Streaming_History_Audio_2020.json", json.dumps([{**play, **names} for play in plays]))
    job = imported(client, packed.getvalue(), "my_spotify_data.zip")
    assert (job.state, job.result["format"], job.result["rows"]) == ("done", "spotify-extended", 4)
    job = imported(client, gzip.compress(history), "plays.csv.gz")
    assert (job.state, job.result["format"]) == ("done", "csv")


def test_a_zip_of_listens_and_playlists_gives_both(client):
    packed = io.BytesIO()
    stream = {"endTime": "2023-01-31 12:34", "artistName": "Band A0", "trackName": "Song 0", "msPlayed": 60_000}
    tracks = [{"track": {"artistName": "Band A1", "trackName": "Song 10"}}] * 2
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("StreamingHistory_music_0.json", json.dumps([stream]))
        archive.writestr("Playlist1.json", json.dumps({"playlists": [{"name": "Evening", "items": tracks}]}))
    job = imported(client, packed.getvalue(), "my_spotify_data.zip")
    assert (job.state, job.result["rows"], job.result["kinds"]) == ("done", 3, ["events", "playlists"])
    assert [one["name"] for one in client.get("/api/v1/listens").json()][1:] == [
        "my_spotify_data.zip",
        "my_spotify_data.zip (playlists)",
    ]


def test_what_is_no_history_is_one_line_with_the_senders_name(client):
    job = imported(client, b"\x00\x01nonsense" * 50, "holiday.csv")
    assert job.state == "failed"
    assert "holiday.csv" in job.error
    for secret in ("upload", "/", "\n"):
        assert secret not in job.error
    assert len(client.get("/api/v1/listens").json()) == 1


def test_rows_that_cannot_be_read_are_noted_with_the_senders_name(client):
    text = b"user,artist,title,timestamp\nann,Band A0,Song 0,2020-01-01T10:00:00Z\nann,Band A0,Song 0,soon\n"
    job = imported(client, text, "plays.csv")
    assert job.state == "done", job.error
    assert job.result["bad_rows"] == 1
    assert any("plays.csv" in note for note in job.notes)
    assert not any("upload" in note or "/" in note for note in job.notes)


def test_a_job_that_is_cancelled_or_never_had_its_turn_leaves_no_file(client, history, monkeypatch):
    service = client.service
    monkeypatch.setattr(service.jobs, "command", ("sleep", "600"))
    jobs = [send(client, history, f"{n}.csv").json()["id"] for n in range(3)]
    assert len(left(client)) == 3
    client.delete(f"/api/v1/jobs/{jobs[2]}")
    assert len(left(client)) == 2
    assert client.delete(f"/api/v1/jobs/{jobs[0]}").json()["state"] == "cancelled"
    assert len(left(client)) == 1
    folder = service.uploads.folder
    service.jobs.close()
    assert left(client) == []
    assert send(client, history, "late.csv").status_code == 503
    assert list(folder.glob("*/*")) == []


def test_a_history_that_is_not_there_cannot_be_forgotten(client):
    (there,) = client.get("/api/v1/listens").json()
    assert client.delete(f"/api/v1/listens/{there['id'] + 1}").status_code == 404
    assert client.delete("/api/v1/listens/0").status_code == 422
    assert client.delete(f"/api/v1/listens/{there['id']}").status_code == 204
    assert client.get("/api/v1/listens").json() == []


def test_too_many_are_refused_with_a_time(make_client):
    client = make_client(jobs_per_hour=1)
    assert send(client, b"", "a.csv").status_code == 202
    response = send(client, b"", "a.csv")
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0


# ---- bombs


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("piece", [b"ann,Bob,1\n", b"\n" * 9 + b","])
def test_what_unpacks_to_too_much_is_refused_whatever_it_says_of_itself(tmp_path, nested, piece):
    path = tmp_path / "bomb"
    packed = gzip.compress(b"user,artist,plays\n" + b"ann,Bob,1\n" * 9 + piece * (3 << 17), compresslevel=9)
    if nested:  # a gzip in a zip, which says it is small
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("plays.csv.gz", packed)
    else:
        path.write_bytes(packed)
    assert path.stat().st_size < 20_000
    assert sum(len(block) for block in open_listens(path, max_bytes=4 << 20).blocks()) >= 9
    with pytest.raises(ListensError, match="unpacks to more than 0 GB; unpack it and use"):
        list(open_listens(path, max_bytes=1 << 20).blocks())


def test_a_bomb_fails_as_a_job_in_limited_memory_and_leaves_nothing(client, monkeypatch, tmp_path):
    script, memory = tmp_path / "tight.py", tmp_path / "memory"
    script.write_text(
        "import pathlib, resource, sys\nfrom nearsong.web.jobs import import_listens, process\n"
        "import_listens.MAX_UNPACKED_BYTES = 1 << 20\ncode = process.main()\n"
        f"pathlib.Path({str(memory)!r}).write_text(str(resource.getrlimit(resource.RLIMIT_AS)[0]))\nsys.exit(code)\n"
    )
    monkeypatch.setattr(client.service.jobs, "command", (sys.executable, str(script)))
    job = imported(client, gzip.compress(b"user,artist,plays\n" + b"ann,Bob,1\n" * (3 << 17)), "plays.csv.gz")
    assert job.state == "failed"
    assert job.error.startswith("plays.csv.gz unpacks to more than")
    assert memory.read_text() == str(ImportListens.max_memory_bytes)
