"""Whether browsers play a file: decided by what is in it, not by its name, and without decoding anything."""

import io

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from ffmpeg_files import write_ffmpeg
from nearsong.audio.playable import is_playable, is_playable_by_name
from nearsong.audio.tags import Tags, write_tags
from nearsong.library.files.find import ENDINGS

from .conftest import FORMATS, tone

FOREIGN = {"song.aiff", "song.wma", "alac.m4a"}


def plays(path, name="song") -> bool:
    with open(path, "rb", buffering=0) as file:
        return is_playable(file, name)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["song.mp3", "song.ape", "song"])
def test_the_content_decides_and_not_the_name(make_sound, kind, name):
    path = make_sound(kind)
    assert plays(path, name) is (kind not in FOREIGN)


@pytest.mark.parametrize(
    "kind", ["song.mp3", "song.flac", "song.m4a", "alac.m4a", "song.ogg", "song.opus", "song.aiff"]
)
def test_tags_and_pictures_change_nothing(make_sound, kind):
    path = make_sound(kind)
    write_tags(path, Tags("Artist", "Title" * 2000, "Album", "Genre", 2001))
    assert plays(path) is (kind not in FOREIGN)


@pytest.mark.parametrize(
    ("subtype", "wanted"),
    [("PCM_U8", True), ("PCM_16", True), ("PCM_24", True), ("PCM_32", True), ("FLOAT", True), ("ULAW", True),
     ("ALAW", True), ("DOUBLE", False), ("IMA_ADPCM", False), ("MS_ADPCM", False), ("GSM610", False)],
)  # fmt: skip
def test_wav_is_played_if_browsers_know_its_codec(tmp_path, subtype, wanted):
    for container in ("WAV", "WAVEX") if soundfile.check_format("WAVEX", subtype) else ("WAV",):
        soundfile.write(tmp_path / "song.wav", tone(8_000), 8_000, format=container, subtype=subtype)
        assert plays(tmp_path / "song.wav") is wanted


@pytest.mark.parametrize(
    ("codec", "container", "layout", "wanted"),
    [("mp2", "mp2", "s16", False), ("wavpack", "wv", "s16p", False), ("tta", "tta", "s16", False),
     ("flac", "matroska", "s16", False), ("libopus", "webm", "s16", True), ("flac", "mp4", "s16", True),
     ("ac3", "mp4", "fltp", False), ("pcm_s16be", "caf", "s16", False), ("pcm_s16be", "au", "s16", False),
     ("libopus", "ogg", "s16", True)],
)  # fmt: skip
def test_other_codecs_and_containers(tmp_path, codec, container, layout, wanted):
    sound = tone(48_000).reshape(1, -1)
    values = sound if layout == "fltp" else np.round(sound * 32_767).astype(np.int16)
    path = write_ffmpeg(tmp_path / "song", values, 48_000, codec, container, layout, is_stored_so=True)
    assert plays(path) is wanted


def test_speech_in_ogg_is_not_played(tmp_path):
    for packet, wanted in ((b"Speex   1.2", False), (b"\x7fFLAC\x01", True), (b"OpusHead", True)):
        (tmp_path / "song.ogg").write_bytes(b"OggS" + bytes(22) + b"\x01" + bytes([len(packet)]) + packet)
        assert plays(tmp_path / "song.ogg", "song.ogg") is wanted


def test_an_mp4_whose_index_comes_first_or_after_the_sound_is_the_same(tmp_path):
    for options in ({}, {"movflags": "faststart"}):
        samples = np.round(tone(44_100) * 32_767).astype(np.int16).reshape(1, -1)
        path = write_ffmpeg(tmp_path / "song.m4a", samples, 44_100, "alac", "ipod", "s16p", options=options)
        assert plays(path) is False


def test_every_ending_of_a_scan_is_known_to_play_or_not():
    played = [ending[1:] for ending in sorted(ENDINGS) if is_playable_by_name(f"x{ending}")]
    assert " ".join(played) == "aac flac m4a m4b mp3 mp4 oga ogg opus wav wave webm"


STARTS = (
    b"",
    b"ID3\x04\x00\x00\x00\x00\x00\x04....",
    b"OggS",
    b"RIFF....WAVE",
    b"....ftypM4A ",
    b"\xff",
    b"\x1a\x45\xdf\xa3",
)


@given(st.sampled_from(STARTS), st.binary(max_size=400), st.sampled_from(["x.mp3", "x.wma"]))
def test_whatever_is_in_a_file_there_is_an_answer(tmp_path_factory, start, data, name):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(start + data)
    assert plays(path, name) in (True, False)


@given(st.binary(max_size=300))
def test_boxes_that_lie_about_their_length_end_the_search(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "boxes"
    path.write_bytes(b"\x00\x00\x00\x10ftypM4A isom" + b"\x00\x00\x01\x34moov" + data)
    assert plays(path, "x.m4a") in (True, False)


def test_boxes_in_boxes_in_boxes_are_not_all_looked_at(tmp_path):
    def box(name: bytes, *inside: bytes) -> bytes:
        content = b"".join(inside)
        return (8 + len(content)).to_bytes(4, "big") + name + content

    class Counting(io.FileIO):
        looked = 0

        def read(self, *n):
            self.looked += 1
            return super().read(*n)

    track = box(b"trak", box(b"mdia", *[box(b"free")] * 300))
    (tmp_path / "song").write_bytes(box(b"ftyp", b"M4A isom") + box(b"moov", *[track] * 100))
    with Counting(tmp_path / "song") as file:
        assert is_playable(file, "song.m4a")
        assert file.looked < 6_000


def test_a_file_that_cannot_be_read_is_judged_by_its_name(tmp_path):
    class Broken(io.FileIO):
        def read(self, *_n):
            raise OSError(5, "Input/output error")

    (tmp_path / "song").write_bytes(b"FORM")
    with Broken(tmp_path / "song") as file:
        assert is_playable(file, "song.mp3") is True
        assert is_playable(file, "song.wma") is False
