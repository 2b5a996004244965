"""What players get as the sound of a song: the file, or an MP3 if they ask for less or could not play it."""

import io
import os
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

import foreign_music
from nearsong.audio import load_audio
from nearsong.library.records import Song
from nearsong.library.snapshot import Snapshot
from rest_server import playing


@pytest.fixture(scope="module")
def player(foreign_file, tmp_path_factory):
    """Ask a method of a server whose library has songs of foreign formats."""
    folder = tmp_path_factory.mktemp("foreign")
    address = foreign_music.move_library(foreign_file, folder)
    (folder / "served").mkdir()
    with playing(address, folder / "served") as client:
        yield client


def song(player, title: str) -> Song:
    return player.snapshot.song(foreign_music.number_of(player.service.library, title))


def stream(player, title: str, **asked):
    answer = player.response("stream", id=song(player, title).id, **asked)
    assert answer.status_code == 200
    assert int(answer.headers.get("content-length", len(answer.content))) == len(answer.content)
    return answer


def is_original(player, title: str, **asked) -> bool:
    return stream(player, title, **asked).content == Path(song(player, title).path).read_bytes()


def kbit(answer) -> float:
    return len(answer.content) * 8 / 1000 / foreign_music.SECONDS


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        ("AAC", {}),
        ("AAC", {"maxBitRate": 0}),
        ("AAC", {"maxBitRate": 320}),
        ("AAC", {"maxBitRate": 9999}),
        ("AAC", {"format": "flac"}),
        ("AAC", {"format": "ogg"}),
        ("AIFF", {"format": "raw"}),
        ("Apple Lossless", {"format": "raw", "maxBitRate": 64}),
    ],
)
def test_what_can_be_played_and_is_small_enough_is_sent_as_it_is(player, title, asked):
    assert is_original(player, title, **asked)


@pytest.mark.parametrize("title", ["AIFF", "Apple Lossless", "WMA"])
def test_what_players_cannot_be_expected_to_play_comes_as_mp3(player, title):
    answer = stream(player, title)
    assert answer.headers["content-type"] == "audio/mpeg"
    found = soundfile.info(io.BytesIO(answer.content))
    assert (found.format, found.channels, found.samplerate) == ("MP3", 2, foreign_music.RATE)
    assert found.duration == pytest.approx(foreign_music.SECONDS, abs=0.2)


@pytest.mark.parametrize(
    ("title", "asked", "least", "most"),
    [
        ("AIFF", {}, 300, 345),
        ("AIFF", {"maxBitRate": 128}, 110, 145),
        ("AIFF", {"maxBitRate": 100, "format": "mp3"}, 80, 112),
        ("AAC", {"maxBitRate": 64}, 50, 80),
        ("AAC", {"maxBitRate": 1}, 25, 45),
        ("AAC", {"format": "mp3"}, 128, 345),
    ],
)
def test_an_mp3_has_no_more_bits_than_the_player_wants(player, title, asked, least, most):
    answer = stream(player, title, **asked)
    assert answer.headers["content-type"] == "audio/mpeg"
    assert least < kbit(answer) < most


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        ("AAC", {"maxBitRate": 64, "format": "opus"}),
        ("AAC", {"maxBitRate": 64, "format": "ogg"}),
        ("AIFF", {"format": "opus"}),
    ],
)
def test_opus_is_made_for_one_who_prefers_it_with_as_many_samples(player, title, asked):
    answer = stream(player, title, **asked)
    assert (answer.headers["content-type"], answer.content[28:36]) == ("audio/ogg", b"OpusHead")
    found = soundfile.info(io.BytesIO(answer.content))
    n_samples = song(player, title).seconds * 48_000
    assert found.frames == pytest.approx(n_samples, abs=1)
    if "maxBitRate" in asked:
        assert kbit(answer) < 1.3 * asked["maxBitRate"]


def decoded(data: bytes) -> np.ndarray:
    """Return what FFmpeg, which leaves out what a file says to leave out, makes of it."""
    with av.open(io.BytesIO(data)) as file:
        return np.concatenate([frame.to_ndarray() for frame in file.decode(audio=0)], axis=1)


def test_an_mp3_says_what_to_leave_out_so_that_songs_follow_without_a_gap(player):
    for kbit_limit in (320, 128, 32):
        stream(player, "AIFF", maxBitRate=kbit_limit)
        complete = stream(player, "AIFF", maxBitRate=kbit_limit).content  # from the cache
        assert decoded(complete).shape[1] == len(foreign_music.samples(0))


@pytest.mark.parametrize("asked", [{}, {"format": "flac"}, {"format": "opus"}])
def test_a_song_can_start_later(player, asked):
    answer = stream(player, "AIFF", timeOffset=2, **asked)
    n_samples = decoded(answer.content).shape[1] / (2 if asked.get("format") == "flac" else 1)
    rate = 48_000 if asked.get("format") == "opus" else foreign_music.RATE
    assert n_samples / rate == pytest.approx(foreign_music.SECONDS - 2, abs=0.06)
    later = {**asked, "timeOffset": 9999}  # the last second, not nothing
    assert len(stream(player, "AIFF", **later).content) > 1000
    assert is_original(player, "AIFF", timeOffset=2, format="raw")


def test_what_could_be_sent_as_it_is_is_converted_to_start_later(player):
    answer = stream(player, "AAC", timeOffset=1)
    assert answer.headers["content-type"] == "audio/mpeg"


def test_flac_is_made_for_one_who_prefers_it(player):
    stream(player, "AIFF", format="flac")
    answer = stream(player, "AIFF", format="flac")  # from the cache
    assert answer.headers["content-type"] == "audio/flac"
    sound, _ = soundfile.read(io.BytesIO(answer.content), dtype="int16")
    assert (sound == foreign_music.samples(0)).all()


def test_an_mp3_with_a_large_picture_is_not_made_worse_for_it(player, tmp_path, monkeypatch):
    path = tmp_path / "song.mp3"
    path.write_bytes(stream(player, "AIFF", maxBitRate=128).content)
    found = song(player, "AIFF")
    moved = replace(found, path=str(path), seconds=3.0)
    monkeypatch.setattr(Snapshot, "song", lambda *_: moved)
    data = path.read_bytes()
    for asked, same in (
        ({"maxBitRate": 128}, True),
        ({"maxBitRate": 128, "format": "mp3"}, True),
        ({"maxBitRate": 64}, False),
    ):
        assert (player.response("stream", id=found.id, **asked).content == data) is same
    path.write_bytes(data + bytes(len(data) // 10))
    assert player.response("stream", id=found.id, maxBitRate=128).content == path.read_bytes()


def test_parts_of_an_mp3_and_forms_are_answered_as_those_of_a_file(player):
    complete = stream(player, "AIFF", maxBitRate=96)
    part = player.client.get(complete.request.url, headers={"Range": "bytes=500-999"})
    assert (part.status_code, part.content) == (206, complete.content[500:1000])
    form = {"u": "me", "p": "", "f": "json", "id": song(player, "AIFF").id, "maxBitRate": 96}
    sent = player.client.post("stream", data=form, headers={"Range": "bytes=500-999"})
    assert (sent.status_code, sent.content) == (206, part.content)
    head = player.client.head(complete.request.url)
    assert (head.content, int(head.headers["content-length"])) == (b"", len(complete.content))
    known = player.client.get(complete.request.url, headers={"If-None-Match": complete.headers["etag"]})
    assert known.status_code == 304
    assert stream(player, "AIFF", maxBitRate=64).headers["etag"] != complete.headers["etag"]


def test_a_download_is_always_the_file(player):
    answer = player.response("download", id=song(player, "AIFF").id, maxBitRate=64, format="mp3")
    assert answer.content == Path(song(player, "AIFF").path).read_bytes()
    assert 'filename="AIFF.aiff"' in answer.headers["content-disposition"]


def test_songs_say_what_they_are_and_what_they_come_as(player):
    reply = {title: player.ask("getSong", id=song(player, title).id)["song"] for title in foreign_music.SONGS}
    kinds = {title: (one["suffix"], one["contentType"], one.get("transcodedSuffix"), one.get("transcodedContentType"))
             for title, one in reply.items()}  # fmt: skip
    assert kinds == {
        "AIFF": ("aiff", "audio/aiff", "mp3", "audio/mpeg"),
        "Apple Lossless": ("m4a", "audio/mp4", "mp3", "audio/mpeg"),
        "AAC": ("m4a", "audio/mp4", None, None),
        "WMA": ("wma", "audio/x-ms-wma", "mp3", "audio/mpeg"),
    }
    listed = player.ask("getAlbum", id=reply["AIFF"]["albumId"])["album"]["song"]
    assert {one["title"]: one.get("transcodedSuffix") for one in listed if one["suffix"] != "m4a"} == {
        "AIFF": "mp3",
        "WMA": "mp3",
    }


def test_the_sound_of_the_mp3_is_that_of_the_song(player, tmp_path):
    (tmp_path / "song.mp3").write_bytes(stream(player, "AIFF").content)
    found, wanted = load_audio(tmp_path / "song.mp3"), load_audio(song(player, "AIFF").path)
    n = min(len(found), len(wanted))
    lag = max(range(-1200, 1200, 1), key=lambda k: float(wanted[2000 : n - 2000] @ found[2000 + k : n - 2000 + k]))
    here, there = wanted[2000 : n - 2000], found[2000 + lag : n - 2000 + lag]
    assert float(here @ there) / float((here @ here) ** 0.5 * (there @ there) ** 0.5) > 0.98


def test_a_song_that_cannot_be_converted_is_an_error_of_the_protocol(player):
    path = song(player, "WMA").path
    complete = Path(path).read_bytes()
    try:
        Path(path).write_bytes(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11 and nothing else")
        reply = player.fails("stream", id=song(player, "WMA").id)
        assert reply == (0, "its file cannot be read; download it to play it elsewhere.")
        os.unlink(path)
        assert player.fails("stream", id=song(player, "WMA").id)[0] == 70
    finally:
        Path(path).write_bytes(complete)


def test_a_limit_that_is_no_number_is_an_error(player):
    code, message = player.fails("stream", id=song(player, "AIFF").id, maxBitRate="much")
    assert (code, message) == (0, "maxBitRate='much' is not an integer.")
