"""Songs that browsers cannot play are sent as FLAC: in parts, made once for all who ask, cached within bounds."""

import asyncio
import contextlib
import http.client
import io
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
import soundfile

import foreign_music
from foreign_music import address_of, complete, file_of, left_in
from nearsong.audio.conversion.forms import AudioFormat
from nearsong.audio.workers import AudioWorkers
from nearsong.errors import AudioTimeoutError, NearsongError
from nearsong.web.http.problems import ApiError
from nearsong.web.media import converted
from nearsong.web.media.converted import Conversions
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import wait_for

FLAC_HEAD = 42  # bytes, of which some are known at the end only

# ---- what is sent


def test_aiff_and_apple_lossless_come_as_flac_with_the_same_samples(make_client, foreign):
    client = make_client(foreign)
    for seed, title in ((0, "AIFF"), (1, "Apple Lossless")):
        answer = complete(client, address_of(foreign, title))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "audio/flac")
        sound, rate = soundfile.read(io.BytesIO(answer.content), dtype="int16")
        assert rate == foreign_music.RATE
        np.testing.assert_array_equal(sound[: len(foreign_music.samples(seed))], foreign_music.samples(seed))


def test_what_browsers_play_comes_as_it_is_and_nothing_is_converted(make_client, foreign, monkeypatch):
    client = make_client(foreign)
    monkeypatch.setattr(Conversions, "open_converted", None)
    answer = client.get(address_of(foreign, "AAC"))
    assert (answer.content, answer.headers["content-type"]) == (file_of(foreign, "AAC").read_bytes(), "audio/mp4")
    for number in (1, 2, 3):
        assert client.get(f"/api/v1/songs/{number}/audio").status_code == 200


def test_the_original_can_be_asked_for(make_client, foreign):
    answer = make_client(foreign).get(address_of(foreign, "AIFF"), params={"original": "true"})
    assert answer.content == file_of(foreign, "AIFF").read_bytes()
    assert answer.headers["content-type"] == "audio/aiff"


def test_parts_head_and_tags_are_those_of_any_file(make_client, foreign):
    client, where = make_client(foreign), address_of(foreign, "AIFF")
    head = client.head(where)
    complete = client.get(where)
    assert head.content == b""
    assert int(head.headers["content-length"]) == len(complete.content)
    assert head.headers["etag"] == complete.headers["etag"]
    assert complete.headers["accept-ranges"] == "bytes"
    part = client.get(where, headers={"Range": "bytes=1000-1999"})
    assert (part.status_code, part.content) == (206, complete.content[1000:2000])
    assert part.headers["content-range"] == f"bytes 1000-1999/{len(complete.content)}"
    assert part.headers["content-type"] == "audio/flac"
    held = {"Range": "bytes=0-9", "If-Range": complete.headers["etag"]}
    assert client.get(where, headers=held).status_code == 206
    assert client.get(where, headers={**held, "If-Range": '"another"'}).status_code == 200
    assert client.get(where, headers={"Range": f"bytes={len(complete.content)}-"}).status_code == 416
    original = client.head(where, params={"original": "true"})
    assert original.headers["etag"] != complete.headers["etag"]
    assert original.headers["last-modified"] == complete.headers["last-modified"]


def test_the_caller_who_has_it_gets_a_304_and_nothing_is_made(make_client, foreign, monkeypatch):
    tag = make_client(foreign).head(address_of(foreign, "AIFF")).headers["etag"]
    client = make_client(foreign)  # another service, which has made nothing yet
    monkeypatch.setattr(Conversions, "open_converted", None)
    answer = client.get(address_of(foreign, "AIFF"), headers={"If-None-Match": tag})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert answer.headers["cache-control"] == "private, no-cache"


def test_a_file_that_changes_is_made_anew_under_another_tag(make_client, foreign):
    client, path = make_client(foreign), file_of(foreign, "AIFF")
    before = complete(client, address_of(foreign, "AIFF"))
    foreign_music.write_song(path, "AIFF", seed=77)
    after = complete(client, address_of(foreign, "AIFF"))
    assert after.headers["etag"] != before.headers["etag"]
    sound, _ = soundfile.read(io.BytesIO(after.content), dtype="int16")
    np.testing.assert_array_equal(sound, foreign_music.samples(77))


# ---- which file


def test_a_link_instead_of_the_song_is_not_converted_either(make_client, foreign, tmp_path):
    path, secret = file_of(foreign, "AIFF"), tmp_path / "secret.aiff"
    soundfile.write(secret, np.full(44_100, 0.5), 44_100)
    path.unlink()
    path.symlink_to(secret)
    client = make_client(foreign)
    assert client.get(address_of(foreign, "AIFF")).status_code == 404
    assert client.get(address_of(foreign, "AIFF"), params={"original": "true"}).status_code == 404


def test_a_link_that_replaces_the_opened_file_is_not_read(make_client, foreign, tmp_path, monkeypatch):
    path, secret = file_of(foreign, "AIFF"), tmp_path / "secret.aiff"
    shutil.copy2(path, secret)
    convert = Conversions._convert

    def swapped_first(self, wanted):
        path.unlink()
        path.symlink_to(secret)
        convert(self, wanted)

    monkeypatch.setattr(Conversions, "_convert", swapped_first)
    answer = make_client(foreign).get(address_of(foreign, "AIFF"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["detail"] == "the song's file has just changed; try again."


# ---- what goes wrong


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"FORM\x00\x00\x00\x10AIFFnothing at all", "its file cannot be read; download it to play it elsewhere."),
        (b"", "its file cannot be read; download it to play it elsewhere."),
    ],
)
def test_a_file_that_gives_no_sound_is_problem_422(make_client, foreign, temporary, content, detail):
    file_of(foreign, "AIFF").write_bytes(content)
    answer = make_client(foreign).get(address_of(foreign, "AIFF"))
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["detail"] == detail
    assert left_in(temporary) == []


def test_a_song_that_is_too_long_says_so(make_client, foreign, monkeypatch):
    monkeypatch.setattr(converted, "MAX_AUDIO_SECONDS", 2.0)
    answer = make_client(foreign).get(address_of(foreign, "AIFF"))
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("it is too long to convert; download it")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (AudioTimeoutError("x", "took longer than 300 s"), 422, "takes too long; download it"),
        (NearsongError("workers are gone"), 503, "try again in a few seconds"),
        (OSError(28, "No space left on device"), 507, "no space to convert the song (No space left on device)"),
        (KeyError("a bug"), 500, "unexpected error"),
    ],
)
def test_whatever_happens_to_the_worker_the_answer_is_a_problem(
    make_client, foreign, monkeypatch, error, status, words
):
    client = make_client(foreign)

    def fail(*_given):
        raise error

    monkeypatch.setattr(AudioWorkers, "run", fail)
    answer = client.get(address_of(foreign, "AIFF"))
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert words in answer.json()["detail"]
    assert client.service.conversions.n_active == 0


# ---- many at once


def waiting_for(conversions, title_waiters: int):
    return lambda: sum(one.n_wanting for one in list(conversions._active.values())) == title_waiters


def test_many_who_ask_at_once_get_the_same_from_one_conversion(foreign, held):
    server = running(foreign, ServeSettings(port=0))
    with server as base, ThreadPoolExecutor(6) as threads:
        where = base + address_of(foreign, "AIFF")
        answers = [threads.submit(httpx.get, where, timeout=60) for _ in range(6)]
        wait_for(waiting_for(server.service.conversions, 6))
        held.gate.set()
        found = {answer.result().content[FLAC_HEAD:] for answer in answers}
    assert held.begun == ["AIFF"]
    assert len(found) == 1


def leave_early(base: str, where: str) -> http.client.HTTPConnection:
    line = http.client.HTTPConnection(base.removeprefix("http://"), timeout=60)
    line.request("GET", where)
    return line


def test_one_who_leaves_spoils_nothing_for_the_others(foreign, held):
    server = running(foreign, ServeSettings(port=0))
    with server as base, ThreadPoolExecutor(1) as threads:
        conversions = server.service.conversions
        line = leave_early(base, address_of(foreign, "AIFF"))
        wait_for(waiting_for(conversions, 1))
        other = threads.submit(httpx.get, base + address_of(foreign, "AIFF"), timeout=60)
        wait_for(waiting_for(conversions, 2))
        line.close()
        wait_for(waiting_for(conversions, 1))
        held.gate.set()
        assert other.result().status_code == 200
    assert held.begun == ["AIFF"]


def test_what_nobody_waits_for_any_more_is_not_begun_and_gives_back_its_slot(foreign, held, monkeypatch):
    monkeypatch.setattr(converted, "MAX_CONVERSIONS", 1)
    server = running(foreign, ServeSettings(port=0))
    with server as base:
        conversions = server.service.conversions
        with contextlib.closing(leave_early(base, address_of(foreign, "AIFF"))) as first:
            held.until(1)
            second = leave_early(base, address_of(foreign, "WMA"))
            wait_for(lambda: conversions.n_active == 2)
            second.close()
            wait_for(lambda: conversions.n_active == 1)
            held.gate.set()
            assert first.getresponse().status == 200
    assert held.begun == ["AIFF"]


def test_when_too_many_wait_the_next_is_asked_to_come_back(foreign, held, monkeypatch):
    monkeypatch.setattr(converted, "MAX_CONVERSIONS", 1)
    monkeypatch.setattr(converted, "MAX_PENDING", 1)
    server = running(foreign, ServeSettings(port=0))
    with server as base, ThreadPoolExecutor(2) as threads:
        answers = []
        for n, title in enumerate(("AIFF", "WMA"), 1):
            answers.append(threads.submit(httpx.get, base + address_of(foreign, title), timeout=60))
            wait_for(lambda n=n: server.service.conversions.n_active == n)
        refused = httpx.get(base + address_of(foreign, "Apple Lossless"), timeout=60)
        held.gate.set()
        assert [answer.result().status_code for answer in answers] == [200, 200]
        assert httpx.get(base + address_of(foreign, "Apple Lossless"), timeout=60).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert refused.json()["detail"] == "too many songs are being converted; try again in a few seconds."


def test_closing_while_songs_are_converted_answers_those_who_wait(foreign, temporary, monkeypatch):
    conversions = Conversions()
    song = foreign.snapshot().song(foreign_music.number_of(foreign, "AIFF"))
    begun = threading.Event()
    run = AudioWorkers.run

    def slow(*given):
        begun.set()
        time.sleep(0.2)
        return run(*given)

    monkeypatch.setattr(AudioWorkers, "run", slow)

    async def ask() -> None:
        with await conversions.open_converted(song, foreign.open_file(song), AudioFormat()) as growing:
            await growing.until(float("inf"))

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(asyncio.run, ask())
        assert begun.wait(60)
        conversions.close()
        with pytest.raises(ApiError, match="try again in a few seconds"):
            answer.result(60)
    assert left_in(temporary) == []
    with pytest.raises(ApiError, match="too many songs"):
        asyncio.run(ask())


def test_whether_browsers_play_a_file_is_looked_up_once(make_client, foreign, monkeypatch):
    looked = []
    real = converted.is_playable
    monkeypatch.setattr(converted, "is_playable", lambda file, path: looked.append(path) or real(file, path))
    client = make_client(foreign)
    for _ in range(3):
        client.get(address_of(foreign, "AAC"), headers={"Range": "bytes=0-1"})
    assert len(looked) == 1
    os.utime(file_of(foreign, "AAC"), ns=(1, 1))
    client.get(address_of(foreign, "AAC"), headers={"Range": "bytes=0-1"})
    assert len(looked) == 2
