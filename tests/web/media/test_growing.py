"""Converted songs are sent while they are made: their beginning, parts of them, and to whom they are still of use."""

import http.client
import io
import json
from pathlib import Path

import av
import httpx
import pytest
import soundfile

import foreign_music
from foreign_music import file_of, number_of
from nearsong.web.media import converted
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import wait_for

FIRST = 20_000  # bytes that are there before the gate


class Slow:
    """A service whose conversions stop after their beginning, until they are told to go on."""

    def __init__(self, library, service, base: str) -> None:
        self.library, self.conversions, self.base = library, service.conversions, base
        self.lines: list[http.client.HTTPConnection] = []
        self.answers: list[http.client.HTTPResponse] = []

    def address(self, title: str, **asked: str) -> str:
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        return f"/rest/stream?u=me&p=x&c=t&f=json&id={number_of(self.library, title)}&{query}"

    def line(self, address: str, method: str = "GET", **headers: str) -> http.client.HTTPConnection:
        line = http.client.HTTPConnection(self.base.removeprefix("http://"), timeout=60)
        line.request(method, address, headers=headers)
        self.lines.append(line)
        return line

    def answer(self, address: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        return self.answer_of(self.line(address, method, **headers))

    def answer_of(self, line: http.client.HTTPConnection) -> http.client.HTTPResponse:
        answer = line.getresponse()
        self.answers.append(answer)
        return answer

    def go_on(self, title: str, words: str = "") -> None:
        Path(f"{file_of(self.library, title)}.go").write_text(words)

    def is_making(self) -> bool:
        return self.conversions.n_active > 0


@pytest.fixture
def slow(foreign, monkeypatch):
    server = running(foreign, ServeSettings(port=0))
    monkeypatch.setattr(server.service.conversions._workers, "_function", foreign_music.convert_in_steps)
    with server as base:
        found = Slow(foreign, server.service, base)
        yield found
        for title in foreign_music.SONGS:
            found.go_on(title)
        for one in (*found.answers, *found.lines):
            one.close()


def n_decoded(data: bytes) -> int:
    """Return how many samples FFmpeg, which leaves out what a file says to leave out, makes of it."""
    with av.open(io.BytesIO(data)) as file:
        return sum(frame.samples for frame in file.decode(audio=0))


def test_an_mp3_begins_to_play_while_it_is_made_and_parts_of_it_are_waited_for(slow):
    address = slow.address("AIFF", maxBitRate="320")
    answer = slow.answer(address)
    beginning = answer.read(FIRST)
    assert (len(beginning), answer.status, slow.is_making()) == (FIRST, 200, True)
    length = int(answer.headers["content-length"])
    part = slow.answer(address, Range="bytes=1000-1999")
    assert (part.status, part.headers["content-range"]) == (206, f"bytes 1000-1999/{length}")
    assert (part.read(), slow.is_making()) == (beginning[1000:2000], True)
    head = slow.answer(address, "HEAD")
    assert (int(head.headers["content-length"]), slow.is_making()) == (length, True)
    later = slow.line(address, Range=f"bytes={length - 100}-")  # not there yet
    slow.go_on("AIFF")
    sent = beginning + answer.read()
    assert len(sent) == length
    assert slow.answer_of(later).read() == sent[-100:]
    wait_for(lambda: not slow.is_making())
    complete = httpx.get(slow.base + address)
    assert int(complete.headers["content-length"]) == length
    assert complete.headers["etag"] == answer.headers["etag"]
    assert complete.content[2000:] == sent[2000:]  # before it is what is known at the end only
    for data in (sent, complete.content):  # what to leave out is known at the beginning too
        assert n_decoded(data) == len(foreign_music.samples(0))


def test_flac_begins_without_a_length_and_parts_come_when_it_is_complete(slow):
    address = slow.address("AIFF", format="flac")
    beginnings = []
    for headers in ({}, {"Range": "bytes=0-"}):  # browsers and FFmpeg ask for all of it as a part
        answer = slow.answer(address, **headers)
        beginnings.append(answer.read(FIRST))
        assert (answer.status, beginnings[-1][:4], slow.is_making()) == (200, b"fLaC", True)
        assert (answer.headers["transfer-encoding"], answer.headers["accept-ranges"]) == ("chunked", None)
    parts = [slow.line(address, Range=part) for part in ("bytes=0-99", "bytes=1-")]
    slow.go_on("AIFF")
    sent, again = (one + answer.read() for one, answer in zip(beginnings, slow.answers, strict=True))
    assert sent == again
    assert soundfile.info(io.BytesIO(sent)).frames == len(foreign_music.samples(0))  # as it is lossless
    for part, found in zip(("0-99", f"1-{len(sent) - 1}"), map(slow.answer_of, parts), strict=True):
        assert (found.status, found.headers["content-range"]) == (206, f"bytes {part}/{len(sent)}")
    wait_for(lambda: not slow.is_making())
    whole = slow.answer(address, Range="bytes=0-")  # what is complete can be sought in
    assert (whole.status, int(whole.headers["content-length"])) == (206, len(sent))
    assert httpx.get(slow.base + address).content[100:] == sent[100:]


def test_the_page_can_wait_for_flac_that_it_can_seek_in(slow):
    address = foreign_music.address_of(slow.library, "AIFF")
    beginning = slow.answer(address, Range="bytes=0-").read(FIRST)
    complete = slow.line(f"{address}?complete=true", Range="bytes=0-")
    assert (beginning[:4], slow.is_making()) == (b"fLaC", True)
    slow.go_on("AIFF")
    answer = slow.answer_of(complete)
    assert (answer.status, len(answer.read())) == (206, int(answer.headers["content-length"]))


def test_what_fails_in_the_middle_is_cut_off_so_that_the_player_notices(slow):
    for asked in ({"maxBitRate": "320"}, {"format": "flac"}):
        Path(f"{file_of(slow.library, 'AIFF')}.go").unlink(missing_ok=True)
        answer = slow.answer(slow.address("AIFF", **asked))
        answer.read(FIRST)
        slow.go_on("AIFF", "fail")
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
        wait_for(lambda: not slow.is_making())


def test_a_player_that_left_gives_its_worker_to_the_next_song(slow, monkeypatch):
    monkeypatch.setattr(converted, "MAX_CONVERSIONS", 1)
    slow.conversions._threads._max_workers = 1
    left = slow.line(slow.address("AIFF"))
    answer = slow.answer_of(left)
    answer.read(FIRST)
    answer.close()
    left.close()
    wait_for(lambda: [one.n_wanting for one in slow.conversions._active.values()] == [0])
    assert slow.is_making()  # for the cache, as long as nobody else needs the worker
    following = slow.answer(slow.address("WMA"))
    assert len(following.read(FIRST)) == FIRST
    assert [one.song.title for one in slow.conversions._active.values()] == ["WMA"]
    again = slow.line(slow.address("AIFF"))  # begins anew
    slow.go_on("WMA")
    slow.go_on("AIFF")
    assert len(following.read()) > 0
    assert slow.answer_of(again).status == 200


def test_songs_are_made_at_the_same_time(slow):
    answers = [slow.answer(slow.address(title)) for title in ("AIFF", "WMA")]
    assert [len(answer.read(FIRST)) for answer in answers] == [FIRST, FIRST]
    assert slow.conversions.n_active == 2


def test_a_song_that_is_too_long_is_refused_before_it_begins(slow, monkeypatch):
    monkeypatch.setattr(converted, "MAX_AUDIO_SECONDS", 2.0)
    answer = json.loads(slow.answer(slow.address("AIFF")).read())["subsonic-response"]
    assert answer["error"]["message"].startswith("it is too long to convert")
    assert not slow.is_making()
