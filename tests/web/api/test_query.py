"""A file outside the library is sent, analysed and answered, and leaves nothing behind."""

import base64
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

import music_library
from nearsong.audio.tags import Tags, write_tags
from nearsong.audio.workers import AudioWorkers
from nearsong.library.scanning.analyse_file import analyse_upload_with
from nearsong.web.media import uploads


class Shared(AudioWorkers):
    """Workers that several services use in turn: to start a process takes longer than a test."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def workers():
    made = Shared(analyse_upload_with, workers=2, memory=uploads.MEMORY_BYTES)
    yield made
    AudioWorkers.close(made)


@pytest.fixture(autouse=True)
def _started_once(workers, monkeypatch):
    monkeypatch.setattr(uploads, "AudioWorkers", lambda *_function, **_options: workers)


@pytest.fixture
def new_song(tmp_path):
    """Return a function that writes a song of a style that the library does not have, tagged."""

    def make(style: int = 1, ending: str = "flac", seconds: float = 3.0, tags: Tags | None = None):
        path = tmp_path / f"new {style}.{ending}"
        soundfile.write(path, music_library.sound(style, 9_999, seconds), music_library.RATE)
        write_tags(path, tags or Tags("New Band", "Unheard", genre=music_library.STYLES[style]))
        return path

    return make


def send(client, content: bytes | Path, name: str = "song.flac", **params):
    data = content if isinstance(content, bytes) else content.read_bytes()
    return client.post("/api/v1/query", files={"file": (name, data)}, params=params)


def left(client) -> list[str]:
    """Return what is left of files that were sent."""
    folder = client.service.uploads.folder
    assert folder.stat().st_mode & 0o077 == 0  # for this user alone
    return sorted(path.name for path in folder.iterdir() if path.name != "in-use" and path.suffix != ".npz")


def test_a_new_file_is_near_songs_of_its_style_as_learned_and_by_sound_with_reasons(client, new_song):
    response = send(client, new_song(2), "whatever.flac", n=8)
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["artist"], found["title"], found["name"]) == ("New Band", "Unheard", "whatever.flac")
    assert (found["damage"], found["saved"]) == (None, False)
    assert found["seconds"] == pytest.approx(3.0, abs=0.05)
    assert found["model"] == {"id": client.service.snapshot.model.id, "kind": "learned"}
    assert len(found["songs"]) == len(found["native"]) == len(found["why"]) == 8
    assert {near["song"]["genre"] for near in found["songs"]} == {"high pulses"}
    assert found["songs"] != found["native"]
    for near, why in zip(found["songs"], found["why"], strict=True):
        assert near["distance"] == pytest.approx(why["distance"], rel=1e-5)
        assert why["query"] == "New Band - Unheard"
        assert why["sentences"]
    assert left(client) == []


def test_the_answer_is_what_the_library_says_of_the_same_file(client, new_song, trained):
    path = new_song(0)
    found = send(client, path, n=5).json()
    expected = trained.similar(path, n=5)
    assert [near["song"]["id"] for near in found["songs"]] == [near.song.id for near in expected]
    distances = [near["distance"] for near in found["songs"]]
    np.testing.assert_allclose(distances, [near.distance for near in expected], rtol=1e-5)
    embedding = np.frombuffer(base64.b64decode(found["seed"]["embedding"]), "<f4")
    np.testing.assert_allclose(embedding, trained.load_model().project(trained.load_model().encode(path)), rtol=1e-5)
    assert found["seed"]["model"] == trained.active_model


def test_what_a_file_does_not_say_is_guessed_from_the_senders_name_and_not_from_ours(client, tmp_path):
    soundfile.write(tmp_path / "x.wav", music_library.sound(1, 5), music_library.RATE)
    found = send(client, tmp_path / "x.wav", "Some One - A Song.wav").json()
    assert (found["artist"], found["title"]) == ("Some One", "A Song")
    found = send(client, tmp_path / "x.wav", "recording.wav").json()
    assert (found["artist"], found["title"], found["name"]) == ("", "recording", "recording.wav")


BAD = {
    "text": (b"hello " * 1000, "it is not a readable audio file; check that it plays, or convert it"),
    "empty": (b"", "it is empty; copy or download it again."),
    "a page": (b"<html><script>alert(1)</script></html>" * 50, "it is not a readable audio file"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_sound_is_one_line_without_our_paths_and_without_names_of_decoders(client, kind, caplog):
    content, words = BAD[kind]
    response = send(client, content, "../../etc/my song.mp3")
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    answer = response.json()
    assert answer["type"] == "urn:nearsong:unusable-audio"
    assert answer["detail"].startswith("my song.mp3: ")
    assert words in answer["detail"]
    assert "/" not in answer["detail"].replace("; ", "")
    assert "\n" not in answer["detail"]
    assert not re.search("ffmpeg|libsndfile|codec", answer["detail"], re.IGNORECASE)
    assert kind == "empty" or "FFmpeg: " in caplog.text
    assert str(client.service.uploads.folder) not in caplog.text
    assert left(client) == []


def test_silence_and_a_moment_are_refused(client, tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(44_100), 22_050)
    answer = send(client, tmp_path / "silent.wav", "silent.wav").json()
    assert answer["detail"] == "silent.wav: it is silent; there is nothing to compare."
    soundfile.write(tmp_path / "short.wav", music_library.sound(1, 5)[:500], 22_050)
    answer = send(client, tmp_path / "short.wav", "short.wav").json()
    assert answer["detail"] == "short.wav: it is too short to analyse; send a longer file."
    assert answer["status"] == 422


def test_a_file_that_breaks_off_is_used_and_reported(client, new_song, caplog):
    complete = new_song(1, "wav").read_bytes()
    found = send(client, complete[: len(complete) * 2 // 3], "half.wav").json()
    assert found["seconds"] < 2.5
    assert re.fullmatch(r"it is damaged; the readable 2\.0 s were used\.", found["damage"])
    assert "half.wav: damaged (its last " in caplog.text


def test_of_a_long_file_the_beginning_is_analysed_and_that_is_reported(make_client, new_song):
    client = make_client(upload_minutes=1 / 60)
    found = send(client, new_song(1, seconds=3.0)).json()
    assert found["seconds"] == pytest.approx(1.0, abs=0.05)
    assert found["damage"] == "it is longer than 1 seconds; only its beginning was used."


def test_a_decoder_that_takes_too_long_is_stopped_and_nothing_is_left(make_client, new_song, monkeypatch):
    monkeypatch.setattr(uploads, "AudioWorkers", AudioWorkers)
    client = make_client(upload_seconds=0.05)
    client.service.uploads.warm()
    response = send(client, new_song(1, seconds=600.0), "endless.flac")
    assert response.status_code == 422
    words = "it takes too long to read; send a shorter file, or convert it to another format."
    assert response.json()["detail"] == f"endless.flac: {words}"
    assert left(client) == []


def test_another_model_analyses_with_its_own_encoder(client, new_song, trained):
    path = new_song(1)
    first = send(client, path).json()
    native = next(row.id for row in trained.models() if row.kind == "native")
    trained.use_model(native)
    client.service.refresh()
    second = send(client, path).json()
    assert (first["model"]["kind"], second["model"]["kind"]) == ("learned", "native")
    by_both = [[near["song"]["id"] for near in answer["songs"]] for answer in (first, second)]
    assert by_both[1] == [near["song"]["id"] for near in second["native"]] != by_both[0]


def test_an_empty_library_says_so_before_the_file_comes(empty_client, new_song):
    response = send(empty_client, new_song(1))
    assert response.status_code == 409
    assert response.json()["type"] == "urn:nearsong:empty-library"


@pytest.mark.parametrize(("n", "status"), [(0, 422), (51, 422), (50, 200), ("many", 422)])
def test_how_many_is_bounded(client, new_song, n, status):
    assert send(client, new_song(1), n=n).status_code == status


def test_too_many_files_in_a_minute_are_refused_with_a_time(make_client):
    client = make_client(uploads_per_minute=2)
    assert [send(client, b"no").status_code for _ in range(3)] == [422, 422, 429]
    response = send(client, b"no")
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert response.json()["type"] == "urn:nearsong:too-many-requests"


# ---- keeping


def test_nothing_is_cached_where_there_is_no_folder_for_it(client, new_song):
    response = send(client, new_song(1), save=True)
    assert response.status_code == 403
    assert response.json()["type"] == "urn:nearsong:uploads-not-saved"


def test_a_file_is_stored_under_a_safe_name_and_comes_into_the_library(make_client, new_song, tmp_path):
    folder = tmp_path / "kept"
    client = make_client(save_uploads=folder)
    tags = Tags("AC/DC", "../..\\Thunder: struck?")
    path = new_song(2, tags=tags)
    found = send(client, path, "x.flac", save=True).json()
    assert found["saved"] is True
    (stored,) = folder.iterdir()
    assert stored.name == "AC_DC - .._.._Thunder_ struck_.flac"
    assert stored.read_bytes() == path.read_bytes()
    (job,) = client.get("/api/v1/jobs").json()
    assert job["kind"] == "scan"
    ended = client.service.jobs.wait(job["id"], 300)
    assert ended.state == "done", ended.error
    assert ended.result["added"] == 1
    client.service.refresh()
    songs = client.get("/api/v1/songs", params={"search": "thunder"}).json()
    assert [song["artist"] for song in songs["items"]] == ["AC/DC"]
    assert left(client) == []


def test_a_file_without_a_known_ending_is_analysed_but_not_stored(make_client, new_song, tmp_path):
    client = make_client(save_uploads=tmp_path / "kept")
    assert send(client, new_song(1), "song.exe").status_code == 200
    response = send(client, new_song(1), "song.exe", save=True)
    assert response.status_code == 422
    assert "has no ending of an audio file" in response.json()["detail"]
    assert not (tmp_path / "kept").exists()
