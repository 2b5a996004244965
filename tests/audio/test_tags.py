"""Tags of audio files, and names from paths where there are none."""

import os
import random
import tracemalloc

import mutagen
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from mutagen import id3
from mutagen.apev2 import APEv2

from ffmpeg_files import write_ffmpeg
from nearsong.audio.headers import tag_file
from nearsong.audio.tags import (
    TAGS_TOO_LARGE,
    Tags,
    guess_from_path,
    read_tags,
    read_tags_and_length,
    write_tags,
)
from nearsong.audio.write import write_audio
from nearsong.errors import UnreadableAudioError
from nearsong.names import MAX_TEXT_LENGTH, clean_text
from tag_bombs import id3_tag, with_id3_bomb, with_sparse_ape_tag

RECORDING = "0b1e1a2c-5c11-4f0f-9d4e-1c2f5d3e4a55"
ARTIST = "83d91898-7763-47d7-b03b-b92132375c47"
FULL = Tags(
    "Sigur Rós", "Svefn-g-englar", "Ágætis byrjun", "Post-Rock", 1999, RECORDING, ARTIST, track_number=2,
    disc_number=1, album_artist="Various Artists", is_compilation=True,
    track_gain=-7.03, track_peak=0.988312, album_gain=0.0, album_peak=1.02,
)  # fmt: skip

FORMATS = {
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "wav": ("WAV", "PCM_16"),
    "aiff": ("AIFF", "PCM_16"),
    "m4a": ("aac", "ipod"),
    "wma": ("wmav2", "asf"),
}


def write_sound(path, seconds=0.5):
    """Write a tone in the format its name stands for."""
    rate = 44_100 if path.suffix == ".wma" else 48_000
    samples = (0.3 * np.sin(np.arange(int(rate * seconds)) * 0.05)).astype(np.float32)
    how = FORMATS[path.suffix[1:]]
    if path.suffix in (".m4a", ".wma"):
        write_ffmpeg(path, samples[None], rate, *how, "fltp", bit_rate=96_000)
    else:
        soundfile.write(path, samples, rate, format=how[0], subtype=how[1])
    return path


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    return {kind: write_sound(folder / f"sound.{kind}").read_bytes() for kind in FORMATS}


@pytest.fixture
def make(sounds, tmp_path):
    """Return a function that puts a sound without tags somewhere."""

    def make_file(name):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sounds[path.suffix[1:]])
        return path

    return make_file


# What files say


@pytest.mark.parametrize("kind", FORMATS)
def test_what_was_written_is_read_in_every_format(make, kind):
    path = make(f"x.{kind}")
    write_tags(path, FULL)
    tags, seconds = read_tags_and_length(path)
    assert tags == FULL
    assert seconds == pytest.approx(0.5, abs=0.11)
    assert 8 <= tags.bit_rate <= 1600
    assert tags.channels == 1
    assert tags.sample_rate in (None, 44_100, 48_000)  # Opus declares none


@pytest.mark.parametrize("kind", FORMATS)
def test_writing_again_replaces_everything(make, kind, tmp_path):
    path = make(f"x.{kind}")
    write_tags(path, FULL)
    write_tags(path, Tags(title="Another"))
    assert read_tags(path, tmp_path) == Tags(title="Another")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_without_tags_is_guessed_from_its_path_below_the_music_folder(make, kind, tmp_path):
    path = make(f"Björk/Homogenic (1997)/05 - Bachelorette.{kind}")
    assert read_tags(path, tmp_path) == Tags("Björk", "Bachelorette", "Homogenic", year=1997)


@pytest.mark.parametrize("version", ["v1", (2, 3), (2, 4)])
def test_every_version_of_id3_is_read(make, tmp_path, version):
    path = make("x.mp3")
    frames = id3.ID3()
    frames.add(id3.TPE1(encoding=1, text="Кино" if version != "v1" else "Kino"))
    frames.add(id3.TIT2(encoding=1, text="Song"))
    frames.add(id3.TCON(encoding=0, text="(17)"))
    frames.add(id3.TDRC(encoding=0, text="1988-12-01"))
    if version == "v1":
        frames.save(path, v1=2)
        frames.delete(path, delete_v1=False, delete_v2=True)
        assert path.read_bytes()[-128:-125] == b"TAG"
    else:
        if version == (2, 3):
            frames.update_to_v23()
        frames.save(path, v2_version=version[1])
    artist = "Kino" if version == "v1" else "Кино"
    assert read_tags(path, tmp_path) == Tags(artist, "Song", genre="Rock", year=1988)


def test_id3_of_version_2_2_is_read(make, tmp_path):
    path = make("x.mp3")

    def frame(name, text):
        data = b"\0" + text.encode("latin-1")
        return name + len(data).to_bytes(3, "big") + data

    body = frame(b"TP1", "Can") + frame(b"TT2", "Halleluhwah") + frame(b"TYE", "1971") + frame(b"TCO", "(17)")
    path.write_bytes(b"ID3\x02\x00\x00\x00\x00\x00" + bytes([len(body)]) + body + path.read_bytes())
    assert read_tags(path, tmp_path) == Tags("Can", "Halleluhwah", genre="Rock", year=1971)


@pytest.mark.parametrize("kind", ["mp3", "wav", "tag"])
def test_ape_tags_are_read_wherever_they_are(sounds, tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(sounds.get(kind, b""))
    ape = APEv2()
    ape.update({"Artist": "Neu!", "Title": "Hallogallo", "Year": "1972", "MUSICBRAINZ_TRACKID": RECORDING})
    ape.save(path)
    assert read_tags(path, tmp_path) == Tags("Neu!", "Hallogallo", year=1972, recording_mbid=RECORDING)


def test_of_several_artists_the_first_counts(make):
    flac, mp3 = make("x.flac"), make("x.mp3")
    file = mutagen.File(flac)
    file["artist"] = ["", "Miles Davis", "John Coltrane"]
    file.save()
    frames = id3.ID3()
    frames.add(id3.TPE1(encoding=3, text=["Miles Davis", "John Coltrane"]))
    frames.save(mp3)
    assert read_tags(flac).artist == read_tags(mp3).artist == "Miles Davis"


@pytest.mark.parametrize(("of_the_album", "expected"), [("Kraftwerk", "Kraftwerk"), ("Various Artists", "")])
def test_the_albums_artist_stands_in_for_a_missing_one_only(make, tmp_path, of_the_album, expected):
    path = make("x.flac")
    file = mutagen.File(path)
    file["albumartist"] = of_the_album
    file.save()
    assert read_tags(path, tmp_path).artist == expected
    file["artist"] = "Guest"
    file.save()
    assert read_tags(path, tmp_path).artist == "Guest"


@pytest.mark.parametrize("peak", [0.0, 0.75])
def test_the_gains_of_id3s_own_frame_are_those_of_replaygain(make, peak):
    path = make("x.mp3")
    frames = id3.ID3()
    frames.add(id3.RVA2(desc="track", channel=1, gain=-6.5, peak=peak))
    frames.add(id3.RVA2(desc="album", channel=1, gain=-5.25, peak=peak))
    frames.save(path)
    tags = read_tags(path)
    assert (tags.track_gain, tags.album_gain) == (-6.5, -5.25)
    assert tags.track_peak == tags.album_peak == (peak or None)
    frames.add(id3.TXXX(encoding=3, desc="replaygain_track_gain", text=["-7.00 dB"]))
    frames.save(path)
    assert read_tags(path).track_gain == -7.0


def test_the_gains_of_opus_are_fixed_point_numbers_to_another_reference(make):
    path = make("x.opus")
    file = mutagen.File(path)
    file["R128_TRACK_GAIN"] = str(-7 * 256)
    file["R128_ALBUM_GAIN"] = "loud"
    file["REPLAYGAIN_TRACK_GAIN"] = "+9.00 dB"
    file["REPLAYGAIN_ALBUM_GAIN"] = "-3.00 dB"
    file.save()
    tags = read_tags(path)
    assert (tags.track_gain, tags.album_gain) == (-2.0, -3.0)


@pytest.mark.parametrize("text", ["inf", "nan", "1e3", "-600 dB", "9" * 400, "-", ""])
def test_a_gain_that_cannot_be_is_none(make, text):
    path = make("x.flac")
    file = mutagen.File(path)
    file["replaygain_track_gain"] = file["replaygain_track_peak"] = text
    file["discnumber"] = "99999999999"
    file.save()
    tags = read_tags(path)
    assert (tags.track_gain, tags.track_peak, tags.disc_number) == (None, None, None)


def test_missing_fields_alone_come_from_the_path(make, tmp_path):
    path = make("Folder Artist/Folder Album (2003)/02 - Name.mp3")
    write_tags(path, Tags(artist="Said", recording_mbid=RECORDING))
    assert read_tags(path, tmp_path) == Tags("Said", "Name", "Folder Album", year=2003, recording_mbid=RECORDING)


def test_mbids_are_found_in_other_words_and_nonsense_is_not_taken_for_one(make, tmp_path):
    path = make("x.flac")
    file = mutagen.File(path)
    file["musicbrainz_trackid"] = f"{RECORDING.upper()}"
    file["musicbrainz_artistid"] = ["none", f"{ARTIST}; {RECORDING}"]
    file.save()
    assert read_tags(path).recording_mbid == RECORDING
    assert read_tags(path).artist_mbid == ARTIST
    file["musicbrainz_trackid"] = "12345"
    file.save()
    assert read_tags(path).recording_mbid == ""


def test_tags_are_cleaned_and_cut(make):
    path = make("x.flac")
    file = mutagen.File(path)
    file["title"] = " \x00 A\x07B\nC\u200a "
    file["artist"] = "x" * 10_000
    file["date"] = "0000"
    file.save()
    tags = read_tags(path)
    assert tags.title == "A B C"
    assert tags.artist == "x" * MAX_TEXT_LENGTH
    assert tags.year is None


@given(st.text(st.characters(), max_size=40))
def test_a_clean_text_can_be_written_and_stays_clean(text):
    clean = clean_text(text + "\ud800")
    assert clean.encode("utf-8", "replace").decode("utf-8") == clean
    assert clean_text(clean) == clean
    assert "\0" not in clean


# Files that are not what they should be


@pytest.mark.parametrize("kind", FORMATS)
def test_a_damaged_file_has_tags_or_a_guess_but_never_raises(make, kind, tmp_path):
    path = make(f"Artist - Title.{kind}")
    write_tags(path, FULL)
    complete = path.read_bytes()
    chance = random.Random(0)
    for _ in range(40):
        broken = bytearray(complete[: chance.randrange(len(complete))])
        for position in range(min(len(broken), 3000)):
            if chance.random() < 0.02:
                broken[position] = chance.randrange(256)
        path.write_bytes(broken)
        tags, seconds = read_tags_and_length(path, tmp_path)
        assert tags.title
        assert seconds is None or seconds > 0
        assert all(value is None or value > 0 for value in (tags.bit_rate, tags.sample_rate, tags.channels))


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 1000, b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f", b"fLaC", b"just a text\n" * 50]
)
@pytest.mark.parametrize("kind", [*FORMATS, "txt"])
def test_what_is_no_audio_is_guessed_from_its_name(tmp_path, content, kind):
    path = tmp_path / f"Can - Halleluhwah.{kind}"
    path.write_bytes(content)
    assert read_tags_and_length(path, tmp_path) == (Tags("Can", "Halleluhwah"), None)


def test_the_header_of_an_mp3_without_sound_still_speaks(tmp_path):
    path = tmp_path / "x.mp3"
    frames = id3.ID3()
    frames.add(id3.TIT2(encoding=3, text="Said"))
    frames.save(path)
    path.write_bytes(path.read_bytes() + b"noise" * 1000)
    assert read_tags(path, tmp_path).title == "Said"


def test_a_file_that_is_not_there_and_a_folder_are_guessed(tmp_path):
    assert read_tags(tmp_path / "A - B.mp3", tmp_path) == Tags("A", "B")
    assert read_tags(tmp_path, tmp_path.parent).title


def test_a_name_that_is_no_text_gives_one_that_can_be_written(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/R\xf3s - S\xf3ng.mp3")
    assert read_tags(path, tmp_path) == Tags("R\ufffds", "S\ufffdng")


@pytest.mark.parametrize("content", [None, b"", b"text"])
def test_tags_cannot_be_written_into_what_is_no_audio(tmp_path, content):
    path = tmp_path / "x.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableAudioError, match=r"x\.txt: cannot be tagged .*convert it"):
        write_tags(path, FULL)


# ---- hostile tags


@pytest.mark.parametrize("bomb", [with_id3_bomb, with_sparse_ape_tag])
def test_tags_that_would_take_much_memory_are_refused_and_reported(tmp_path, bomb):
    path = bomb(write_audio(tmp_path / "Song.mp3", np.full(24_000, 0.1), 24_000), 300)
    read_tags(path)  # everything is imported
    damages = []
    tracemalloc.start()
    try:
        assert read_tags(path, tmp_path, damages.append).title == "Song"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert damages == [TAGS_TOO_LARGE]
    assert peak < 64 << 20


def test_compressed_names_are_read(tmp_path):
    path, damages = tmp_path / "song.mp3", []
    path.write_bytes(id3_tag(b"TIT2", b"\x03A Title"))
    assert read_tags(path, on_damage=damages.append).title == "A Title"
    assert damages == []


def test_all_compressed_frames_of_a_file_share_one_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(tag_file, "MAX_UNPACKED_BYTES", 30)
    path, damages = tmp_path / "song.mp3", []
    title, artist = (id3_tag(name, b"\x03" + 19 * b"x") for name in (b"TIT2", b"TPE1"))
    size = len(title) + len(artist) - 20
    path.write_bytes(title[:6] + bytes([0, 0, size >> 7, size & 127]) + title[10:] + artist[10:])
    tags = read_tags(path, tmp_path, damages.append)
    assert (tags.title, tags.artist, damages) == (19 * "x", "", [TAGS_TOO_LARGE])


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_has_no_tags(tmp_path):
    os.mkfifo(tmp_path / "Pipe.mp3")
    assert read_tags(tmp_path / "Pipe.mp3", tmp_path) == guess_from_path(tmp_path / "Pipe.mp3", tmp_path)
